// Memory for what one evaluation, or one input document, builds: handed out in one direction, given back all at once.
// reset() keeps the memory, so an arena that is used again does not touch the heap. One thread.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nodeward::cel {

class Arena {
 public:
  Arena() = default;
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  void* allocate(std::size_t bytes) {
    bytes = (bytes + kAlign - 1) & ~(kAlign - 1);
    if (static_cast<std::size_t>(end_ - next_) < bytes) grow(bytes);
    char* const result = next_;
    next_ += bytes;
    return result;
  }
  // Elements are value-initialised; their destructors never run.
  template <class T>
  std::span<T> array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kAlign);
    if (count == 0) return {};
    T* const first = static_cast<T*>(allocate(sizeof(T) * count));
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
  }
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* const to = static_cast<char*>(allocate(text.size()));
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }

  void reset() {
    if (blocks_.size() > 1) drop_blocks();
    next_ = blocks_.empty() ? nullptr : blocks_.front().bytes.get();
    end_ = blocks_.empty() ? nullptr : next_ + blocks_.front().size;
  }
  std::size_t bytes_reserved() const;

 private:
  static constexpr std::size_t kAlign = 8;
  static constexpr std::size_t kFirstBlock = 1024;
  // What reset() keeps at most: one outsized evaluation must not pin its memory for ever.
  static constexpr std::size_t kKept = 256 * 1024;
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size;
  };
  void grow(std::size_t bytes);
  void drop_blocks();

  std::vector<Block> blocks_;
  std::size_t current_ = 0;   // index of the block in use, when there is one
  char* next_ = nullptr;
  char* end_ = nullptr;
};

}  // namespace nodeward::cel
