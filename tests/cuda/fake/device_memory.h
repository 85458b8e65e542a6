// Owns the memory of the fake cards: one region of addresses, with blocks in it that have red zones around
// them and are filled before they are used and after.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tensor/cuda/api_types.h"
#include "tests/cuda/fake/loaded_code.h"

namespace kiln::fake {

inline cuda::Address address_of(const void* place) { return reinterpret_cast<cuda::Address>(place); }

struct Block {
  std::size_t bytes = 0;
  int device = 0;
  bool is_freed = false;  // it may still be used by work that was given before
};

// Not for several threads at once.
class DeviceMemory {
 public:
  // 0 where the machine has no more.
  cuda::Address allocate(std::size_t bytes, int device);
  // Begins the end of a block: nothing given from now on may use it. Null for what is no block in use.
  Block* mark_freed(cuda::Address address);
  // When all work that may use it is done: the block is filled, and its addresses are used again later.
  // The result says what is wrong around it, and is empty where nothing is.
  std::string release(cuda::Address address);

  // The block in use that holds all these bytes; null where there is none.
  const Block* find(cuda::Address address, std::size_t bytes) const;
  // May work that was given use them: are they of a block, be it one whose end has begun?
  bool may_be_used(cuda::Address address, std::size_t bytes) const;
  // All blocks that work may use, in order.
  std::vector<MemoryRange> blocks() const;
  // Tells of the freed block that this address was a byte of. The text is empty where no block had it.
  std::string freed_at(cuda::Address address) const;
  // What is wrong around any block, or in one that was freed; "" where nothing is.
  std::string check() const;

 private:
  struct Place {
    cuda::Address address;
    std::size_t bytes, room;
  };

  const Block* find_any(cuda::Address address, std::size_t bytes) const;
  cuda::Address take_room(std::size_t room);
  std::string forget_oldest();

  cuda::Address begin_ = 0, top_ = 0, open_ = 0, end_ = 0;
  std::map<cuda::Address, Block> blocks_;
  std::deque<Place> quarantine_;
  std::size_t quarantined_ = 0;
  std::map<std::size_t, std::vector<cuda::Address>> free_;  // by room
};

}  // namespace kiln::fake
