#include "cel/arena.h"

#include <algorithm>

namespace nodeward::cel {

void Arena::grow(std::size_t bytes) {
  while (!blocks_.empty() && current_ + 1 < blocks_.size()) {   // blocks kept by reset()
    ++current_;
    if (blocks_[current_].size >= bytes) {
      next_ = blocks_[current_].bytes.get();
      end_ = next_ + blocks_[current_].size;
      return;
    }
  }
  const std::size_t doubled = blocks_.empty() ? kFirstBlock : 2 * blocks_.back().size;
  const std::size_t size = std::max(bytes, std::min<std::size_t>(doubled, 1 << 20));
  blocks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
  current_ = blocks_.size() - 1;
  next_ = blocks_.back().bytes.get();
  end_ = next_ + size;
}

void Arena::drop_blocks() {
  std::size_t kept = 0;
  std::size_t total = 0;
  while (kept < blocks_.size() && total + blocks_[kept].size <= kKept) total += blocks_[kept++].size;
  blocks_.resize(kept);
  current_ = 0;
}

std::size_t Arena::bytes_reserved() const {
  std::size_t total = 0;
  for (const Block& block : blocks_) total += block.size;
  return total;
}

}  // namespace nodeward::cel
