#include "kube/symbol.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_set>

namespace nodeward::kube {

struct Symbol::Entry {
  std::atomic<std::uint32_t> holders;
  std::uint32_t size;

  std::string_view view() const { return {reinterpret_cast<const char*>(this + 1), size}; }

  static Entry* make(std::string_view text) {
    void* memory = ::operator new(sizeof(Entry) + text.size());
    auto* entry = new (memory) Entry{1, static_cast<std::uint32_t>(text.size())};
    std::memcpy(static_cast<void*>(entry + 1), text.data(), text.size());
    return entry;
  }
  static void free(Entry* entry) {
    entry->~Entry();
    ::operator delete(entry);
  }
};

namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  std::size_t operator()(const Symbol::Entry* entry) const { return (*this)(entry->view()); }
};
struct TextEqual {
  using is_transparent = void;
  static std::string_view view(std::string_view text) { return text; }
  static std::string_view view(const Symbol::Entry* entry) { return entry->view(); }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return view(a) == view(b);
  }
};

struct Shard {
  std::mutex mutex;
  std::unordered_set<Symbol::Entry*, TextHash, TextEqual> entries;
};

// 16 shards: four reflectors and sixteen workers seldom meet on one. Never destroyed: Symbols may outlive main.
std::array<Shard, 16>& shards() {
  static auto* all = new std::array<Shard, 16>;
  return *all;
}
Shard& shard_of(std::string_view text) { return shards()[TextHash{}(text) >> 60]; }

}  // namespace

Symbol::Symbol(std::string_view text) {
  if (text.empty()) return;
  Shard& shard = shard_of(text);
  const std::lock_guard lock(shard.mutex);
  if (const auto found = shard.entries.find(text); found != shard.entries.end()) {
    entry_ = *found;
    entry_->holders.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  entry_ = Entry::make(text);
  shard.entries.insert(entry_);
}

Symbol::Symbol(const Symbol& other) : entry_(other.entry_) {
  if (entry_ != nullptr) entry_->holders.fetch_add(1, std::memory_order_relaxed);
}

Symbol::~Symbol() {
  if (entry_ == nullptr) return;
  // Not the last holder: no lock. The last one takes the shard's lock first, so that nobody finds the entry meanwhile.
  std::uint32_t holders = entry_->holders.load(std::memory_order_relaxed);
  while (holders > 1) {
    if (entry_->holders.compare_exchange_weak(holders, holders - 1, std::memory_order_release, std::memory_order_relaxed)) return;
  }
  Shard& shard = shard_of(entry_->view());
  const std::lock_guard lock(shard.mutex);
  if (entry_->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  shard.entries.erase(entry_);
  Entry::free(entry_);
}

std::string_view Symbol::view() const { return entry_ == nullptr ? std::string_view{} : entry_->view(); }

std::size_t interned_count() {
  std::size_t count = 0;
  for (Shard& shard : shards()) {
    const std::lock_guard lock(shard.mutex);
    count += shard.entries.size();
  }
  return count;
}

}  // namespace nodeward::kube
