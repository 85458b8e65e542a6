#include "jit/runtime/roof.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tensor/functions.h"
#include "tensor/parallel.h"

namespace kiln::jit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLeast = std::int64_t{1} << 12;
constexpr std::int64_t kMost = std::int64_t{1} << 27;  // more is in no cache
constexpr double kPass = 100e-6;                       // seconds of one measurement: the clock weighs nothing
constexpr int kPasses = 12;
constexpr std::int64_t kGrain = std::int64_t{1} << 15;  // bytes that are worth a thread

// Seconds of one call of f, the best of several rows of calls.
template <class F>
double best_seconds(const F& f) {
  std::int64_t calls = 1;
  double best = 0;
  for (int pass = 0; pass < kPasses;) {
    const Clock::time_point start = Clock::now();
    for (std::int64_t k = 0; k < calls; ++k) f();
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    if (took < kPass) {
      calls *= 4;
      continue;
    }
    const double one = took / static_cast<double>(calls);
    best = pass == 0 ? one : std::min(best, one);
    ++pass;
  }
  return best;
}

// Sums that nothing depends on but this sink, so that reading is not left out.
volatile std::uint64_t sink = 0;

void read_words(const std::uint64_t* words, std::int64_t count) {
  std::array<std::uint64_t, 16> sums{};
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (std::size_t k = 0; k < 16; ++k) sums[k] ^= words[static_cast<std::size_t>(i) + k];
  }
  std::uint64_t all = 0;
  for (const std::uint64_t each : sums) all ^= each;
  sink = all;
}

double bandwidth(std::int64_t bytes) {
  std::vector<std::uint64_t> memory(static_cast<std::size_t>(bytes) / sizeof(std::uint64_t), 1);
  const auto half = static_cast<std::int64_t>(memory.size() / 2) * std::int64_t{sizeof(std::uint64_t)};
  auto* const from = reinterpret_cast<std::byte*>(memory.data());
  const auto copy = [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(from + half + begin, from + begin, static_cast<std::size_t>(end - begin));
  };
  const auto words = static_cast<std::int64_t>(memory.size());
  const auto read = [&](std::int64_t begin, std::int64_t end) {
    read_words(memory.data() + begin, end - begin);
  };
  const double seconds =
      std::min({best_seconds([&] { copy(0, half); }), best_seconds([&] { read(0, words); }),
                best_seconds([&] { parallel_for(half, kGrain, copy); }),
                best_seconds([&] { parallel_for(words, kGrain / 8, read); })});
  return static_cast<double>(bytes) / seconds;
}

double product_speed() {
  constexpr std::int64_t kSide = 768;
  static const Tensor a = ops::full(Dims{kSide, kSide}, Tensor::number(1.0), DType::F32, Device{});
  return 2.0 * kSide * kSide * kSide / best_seconds([] { ops::matmul(a, a); });
}

// Measures a roof that is not known, or that something was seen above.
template <class Measure>
void raise(double& roof, double seen, const Measure& measure) {
  constexpr int kMoments = 3;
  if (roof == 0) roof = measure();
  for (int k = 0; k < kMoments && roof < seen; ++k) roof = std::max(roof, measure());
  roof = std::max(roof, seen);
}

// Zero where the system does not say.
std::int64_t cache_bytes(int name) { return std::max<std::int64_t>(sysconf(name), 0); }

std::string_view level_of(std::int64_t bytes) {
  const std::int64_t threads = num_threads();
  if (bytes <= cache_bytes(_SC_LEVEL1_DCACHE_SIZE) * threads) return "L1";
  if (bytes <= cache_bytes(_SC_LEVEL2_CACHE_SIZE) * threads) return "L2";
  if (bytes <= cache_bytes(_SC_LEVEL3_CACHE_SIZE)) return "L3";
  return "memory";
}

}  // namespace

Roof memory_roof(std::int64_t bytes, double seen) {
  static std::mutex mutex;
  static std::map<std::int64_t, double> known;
  const std::int64_t size =
      std::clamp(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes))), kLeast, kMost);
  const std::lock_guard lock(mutex);
  double& roof = known[size];
  raise(roof, seen, [size] { return bandwidth(size); });
  return {level_of(bytes), roof};
}

double arithmetic_roof(double seen) {
  static std::mutex mutex;
  static double roof = 0;
  const std::lock_guard lock(mutex);
  raise(roof, seen, product_speed);
  return roof;
}

}  // namespace kiln::jit
