#include "tensor/cpu/last_cache.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>

namespace kiln::cpu {
namespace {

constexpr std::int64_t kUsual = 32 << 20;

// Of the cache with that number: "32768K". 0 when there is none. (sysconf adds up the caches of all sockets
// on some machines.)
std::int64_t bytes_of_cache(int number) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(number) + "/size");
  std::int64_t size = 0;
  char unit = ' ';
  if (!(file >> size)) return 0;
  file >> unit;
  return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

std::int64_t bytes_of_last() {
  std::int64_t last = 0;
  for (int number = 0; const std::int64_t bytes = bytes_of_cache(number); ++number)
    last = std::max(last, bytes);
  return last > 0 ? last : kUsual;
}

std::atomic<std::int64_t>& known() {
  static std::atomic<std::int64_t> bytes{bytes_of_last()};
  return bytes;
}

}  // namespace

std::int64_t last_cache_bytes() { return known().load(std::memory_order_relaxed); }
void set_last_cache_bytes(std::int64_t bytes) { known().store(bytes, std::memory_order_relaxed); }

}  // namespace kiln::cpu
