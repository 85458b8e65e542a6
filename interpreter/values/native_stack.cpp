#include "interpreter/values/native_stack.h"

#include <pthread.h>

#include <algorithm>
#include <string>

#include "interpreter/values/raise.h"

namespace kiln::interp {
namespace {

// Machine stack kept free for what a host function may need.
constexpr std::size_t kNativeReserve = std::size_t{1} << 20;

}  // namespace

const char* lowest_stack_address() {
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  // The main thread's stack grows on demand: no more than 64 MiB of it are used.
  const std::size_t used = std::min<std::size_t>(size, std::size_t{64} << 20);
  return static_cast<const char*>(lowest) + (size - used) + std::min(kNativeReserve, used / 4);
}

void check_native_stack(std::string_view sentence) {
  thread_local const char* const limit = lowest_stack_address();
  const char here = 0;
  if (&here < limit) raise("RecursionError", std::string(sentence));
}

}  // namespace kiln::interp
