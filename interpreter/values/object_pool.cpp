// Memory of the language's objects: programs make and drop small ones all the time, so blocks of a few sizes
// are kept in lists, one set for each thread. A block may be freed by another thread than took it.
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "interpreter/values/value.h"
#include "tensor/integers.h"

namespace kiln::interp {
namespace {

constexpr std::size_t kStep = 16;
constexpr std::size_t kLargest = 256;
constexpr std::size_t kChunk = std::size_t{1} << 16;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPooling = false;  // the sanitizer has to see each object's life
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kPooling = false;
#else
constexpr bool kPooling = true;
#endif
#else
constexpr bool kPooling = true;
#endif

struct Block {
  Block* next;
};
using Lists = std::array<Block*, kLargest / kStep + 1>;
thread_local constinit Lists free_blocks{};

// The lists of threads that ended, for those that need a chunk.
struct Left {
  std::mutex mutex;
  Lists lists{};
};
Left& left() {
  static auto* const only = new Left;  // outlives the threads
  return *only;
}

// At the end of a thread that cut chunks.
struct LeavesBlocks {
  ~LeavesBlocks() {
    const std::lock_guard lock(left().mutex);
    for (std::size_t k = 0; k < free_blocks.size(); ++k) {
      while (Block* const block = free_blocks[k]) {
        free_blocks[k] = block->next;
        block->next = left().lists[k];
        left().lists[k] = block;
      }
    }
  }
};
thread_local LeavesBlocks leaves_blocks;

Block* taken_over(std::size_t step) {
  const std::lock_guard lock(left().mutex);
  return std::exchange(left().lists[step], nullptr);
}

// Cuts a chunk into blocks, in order of address: objects made one after another lie side by side.
Block* cut_chunk(std::size_t size) {
  auto* chunk = static_cast<std::byte*>(std::malloc(kChunk));
  if (!chunk) throw std::bad_alloc();
  const std::size_t count = kChunk / size;
  Block* first = nullptr;
  for (std::size_t i = count; i > 0; --i) first = new (chunk + (i - 1) * size) Block{first};
  return first;
}

[[gnu::noinline, gnu::cold]] Block* more_blocks(std::size_t step) {
  static_cast<void>(&leaves_blocks);  // makes its destructor run at the end of the thread
  Block* const blocks = taken_over(step);
  return blocks != nullptr ? blocks : cut_chunk(step * kStep);
}

}  // namespace

void* Object::operator new(std::size_t bytes) {
  if (!kPooling || bytes > kLargest) return ::operator new(bytes);
  const std::size_t step = ceil_divide(bytes, kStep);
  Block*& list = free_blocks[step];
  if (!list) [[unlikely]]
    list = more_blocks(step);
  Block* block = list;
  list = block->next;
  return block;
}

void Object::operator delete(void* memory, std::size_t bytes) {
  if (!kPooling || bytes > kLargest) return ::operator delete(memory);
  Block*& list = free_blocks[ceil_divide(bytes, kStep)];
  list = new (memory) Block{list};
}

}  // namespace kiln::interp
