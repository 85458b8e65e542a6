#include "dist/cards/rooms.h"

#include <bit>
#include <map>

namespace kiln::dist {

struct Rooms::Kept {
  std::multimap<std::size_t, Block> free;  // by size
};

Rooms::Rooms(Make make) : make_(std::move(make)), kept_(std::make_shared<Kept>()) {}

Room Rooms::take(std::size_t bytes) {
  if (bytes == 0) return {};
  const std::size_t size = std::bit_ceil(bytes);
  Block block;
  if (const auto found = kept_->free.find(size); found != kept_->free.end()) {
    block = std::move(found->second);
    kept_->free.erase(found);
  } else {
    block = make_(size);
  }
  std::byte* const first = block.second;
  const auto give_back = [kept = kept_, size, block](std::byte*) { kept->free.emplace(size, block); };
  return {std::shared_ptr<std::byte>(first, give_back), {first, bytes}};
}

}  // namespace kiln::dist
