#include "tensor/cpu/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "tensor/cpu/offsets.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

namespace {

template <class T>
using KeyOf = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;

// An unsigned number that orders as the element does.
template <class T>
KeyOf<T> key_of(T value) {
  using Key = KeyOf<T>;
  if constexpr (requires { to_float(value); }) {
    return key_of(to_float(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return ~Key{0};
    constexpr Key kSign = Key{1} << (sizeof(Key) * 8 - 1);
    const Key bits = std::bit_cast<Key>(value + T{0});  // -0 becomes +0
    return bits & kSign ? ~bits : bits | kSign;
  } else if constexpr (std::is_signed_v<T>) {
    constexpr Key kSign = Key{1} << (sizeof(Key) * 8 - 1);
    return static_cast<Key>(static_cast<std::make_signed_t<Key>>(value)) ^ kSign;
  } else {
    return static_cast<Key>(value);
  }
}

template <class Key>
struct Entry {
  Key key;
  std::uint32_t index;
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

// Below this many elements comparing beats counting digits.
constexpr std::size_t kRadixFrom = 256;

template <class Key>
void radix_sort(std::vector<Entry<Key>>& entries, std::vector<Entry<Key>>& scratch) {
  constexpr int kDigits = sizeof(Key);
  std::array<std::array<std::uint32_t, 256>, kDigits> counts{};
  for (const auto& entry : entries) {
    for (int d = 0; d < kDigits; ++d) ++counts[static_cast<std::size_t>(d)][(entry.key >> (8 * d)) & 255];
  }
  scratch.resize(entries.size());
  for (int d = 0; d < kDigits; ++d) {
    auto& count = counts[static_cast<std::size_t>(d)];
    if (count[(entries.front().key >> (8 * d)) & 255] == entries.size()) continue;
    std::uint32_t start = 0;
    for (std::uint32_t& c : count) start += std::exchange(c, start);
    for (const auto& entry : entries) scratch[count[(entry.key >> (8 * d)) & 255]++] = entry;
    entries.swap(scratch);
  }
}

template <class Key>
void sort_entries(std::vector<Entry<Key>>& entries, std::vector<Entry<Key>>& scratch) {
  if (entries.size() < kRadixFrom) {
    std::sort(entries.begin(), entries.end());  // no two are equal: the index decides
  } else {
    radix_sort(entries, scratch);
  }
}

// Where lines along `dim` start, in `x` and in a contiguous result with `length` there.
struct Lines {
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
  Dim from_step;
  Dim to_step;
  Dim size;

  Lines(const Tensor& x, int dim, const Tensor& result) : from_step(1), to_step(1), size(1) {
    if (x.rank() == 0) {
      from = to = {0};
      return;
    }
    const auto d = static_cast<std::size_t>(dim);
    Dims sizes = x.sizes();
    Dims x_strides = x.strides();
    Dims result_strides = result.strides();
    size = sizes[d];
    from_step = x_strides[d];
    to_step = result_strides[d];
    sizes.erase(sizes.begin() + dim);
    x_strides.erase(x_strides.begin() + dim);
    result_strides.erase(result_strides.begin() + dim);
    from = all_offsets(sizes, x_strides);
    to = all_offsets(sizes, result_strides);
  }
};

// Calls `order(entries, scratch)` for every line and writes the first `count` indices of what it leaves.
template <class T, class Order>
void order_lines(const Tensor& x, int dim, const Tensor& result, std::int64_t count, bool descending,
                 const Order& order) {
  const Lines lines(x, dim, result);
  const T* in = x.data<T>();
  auto* out = result.writable<std::int64_t>();
  parallel_for(
      static_cast<std::int64_t>(lines.from.size()), std::max<Dim>(1, 4096 / std::max<Dim>(lines.size, 1)),
      [&](std::int64_t begin, std::int64_t end) {
        std::vector<Entry<KeyOf<T>>> entries(static_cast<std::size_t>(lines.size));
        std::vector<Entry<KeyOf<T>>> scratch;
        for (std::int64_t line = begin; line < end; ++line) {
          const T* from = in + lines.from[static_cast<std::size_t>(line)];
          for (std::size_t i = 0; i < entries.size(); ++i) {
            const auto key = key_of(from[static_cast<std::int64_t>(i) * lines.from_step]);
            entries[i] = {descending ? static_cast<KeyOf<T>>(~key) : key, static_cast<std::uint32_t>(i)};
          }
          order(entries, scratch);
          std::int64_t* to = out + lines.to[static_cast<std::size_t>(line)];
          for (std::int64_t i = 0; i < count; ++i)
            to[i * lines.to_step] = entries[static_cast<std::size_t>(i)].index;
        }
      });
}

void check_length(Dim length) {
  if (length <= Dim{0xffffffff}) return;
  throw OpError(ErrorKind::Value, "lines of more than 2^32 - 1 elements cannot be sorted", {0});
}

}  // namespace

Tensor argsort(const Tensor& x, int dim, bool descending) {
  const Tensor result = Tensor::empty(x.sizes(), DType::I64, x.device());
  if (x.numel() == 0) return result;
  const Dim size = x.rank() == 0 ? 1 : x.size(dim);
  check_length(size);
  visit_dtype(x.dtype(), [&]<class T>() {
    order_lines<T>(x, dim, result, size, descending,
                   [](auto& entries, auto& scratch) { sort_entries(entries, scratch); });
  });
  return result;
}

Tensor topk(const Tensor& x, int dim, std::int64_t k, bool largest) {
  Dims sizes = x.sizes();
  if (x.rank() > 0) sizes[static_cast<std::size_t>(dim)] = k;
  const Tensor result = Tensor::empty(sizes, DType::I64, x.device());
  if (result.numel() == 0 || k == 0) return result;
  check_length(x.rank() == 0 ? 1 : x.size(dim));
  visit_dtype(x.dtype(), [&]<class T>() {
    order_lines<T>(x, dim, result, k, largest, [k](auto& entries, auto&) {
      std::partial_sort(entries.begin(), entries.begin() + k, entries.end());
    });
  });
  return result;
}

}  // namespace kiln::cpu
