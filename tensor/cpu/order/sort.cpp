#include "tensor/cpu/order/sort.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "tensor/cpu/moves/offsets.h"
#include "tensor/cpu/order/radix.h"
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

// Below this many elements comparing beats counting digits.
constexpr std::int64_t kRadixFrom = 256;
// From this many on, threads share the work on one line.
constexpr std::int64_t kLongLine = 1 << 17;

template <class Key>
const Entry<Key>* sort_entries(Entry<Key>* entries, Entry<Key>* scratch, std::int64_t count) {
  if (count >= kRadixFrom) return RadixSort<Key>(entries, scratch, count)();
  std::sort(entries, entries + count);  // no two are equal: the index decides
  return entries;
}

// Room for the entries of a line, twice.
template <class Key>
struct EntryMemory {
  Ref<Buffer> buffer;
  Entry<Key>*entries, *scratch;

  explicit EntryMemory(std::int64_t count)
      : buffer(Buffer::allocate(2 * static_cast<std::size_t>(count) * sizeof(Entry<Key>), Device{})),
        entries(reinterpret_cast<Entry<Key>*>(buffer->data())),
        scratch(entries + count) {}
};

// Where lines along `dim` start, in `x` and in a contiguous result with `length` there.
struct Lines {
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
  std::int64_t from_step;
  std::int64_t to_step;
  std::int64_t size;

  Lines(const Tensor& x, int dim, const Tensor& result) : from_step(1), to_step(1), size(1) {
    if (x.rank() == 0) {
      from = to = {0};
      return;
    }
    const auto d = static_cast<std::size_t>(dim);
    IntDims sizes = x.sizes();
    IntDims x_strides = x.strides();
    IntDims result_strides = result.strides();
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

// Calls `order(entries, scratch)` for every line and writes the first `count` indices of what it gives.
template <class T, class Order>
void order_lines(const Tensor& x, int dim, const Tensor& result, std::int64_t count, bool descending,
                 const Order& order) {
  using Key = KeyOf<T>;
  const Lines lines(x, dim, result);
  const T* in = x.data<T>();
  auto* out = result.writable<std::int64_t>();
  // Elements far apart are on pages of their own, which the system has to bring: Ctrl-C is seen between some.
  const auto each_element = [](std::int64_t begin, std::int64_t end, const auto& f) {
    constexpr std::size_t kSome = 4096;
    in_pieces(static_cast<std::size_t>(end - begin), kSome, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) f(begin + static_cast<std::int64_t>(i));
    });
  };
  const auto one = [&](std::int64_t line, const EntryMemory<Key>& memory) {
    const T* from = in + lines.from[static_cast<std::size_t>(line)];
    parallel_for(lines.size, kLongLine, [&](std::int64_t begin, std::int64_t end) {
      each_element(begin, end, [&](std::int64_t i) {
        const Key key = key_of(from[i * lines.from_step]);
        memory.entries[i] = {descending ? static_cast<Key>(~key) : key, static_cast<std::uint32_t>(i)};
      });
    });
    const Entry<Key>* ordered = order(memory.entries, memory.scratch);
    std::int64_t* to = out + lines.to[static_cast<std::size_t>(line)];
    parallel_for(count, kLongLine, [&](std::int64_t begin, std::int64_t end) {
      each_element(begin, end, [&](std::int64_t i) { to[i * lines.to_step] = ordered[i].index; });
    });
  };
  const auto lines_count = static_cast<std::int64_t>(lines.from.size());
  if (lines.size >= kLongLine) {  // one after the other, each on all threads
    const EntryMemory<Key> memory(lines.size);
    for (std::int64_t line = 0; line < lines_count; ++line) one(line, memory);
    return;
  }
  parallel_for(lines_count, std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(lines.size, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 const EntryMemory<Key> memory(lines.size);
                 for (std::int64_t line = begin; line < end; ++line) one(line, memory);
               });
}

// The first `count`, in order, of the entries of a line; equal ones come in the order of the line. An element
// is left out by a comparison with the last of those found. Spans of elements are looked at from their ends:
// where elements rise, the best of a span come first and leave the rest behind them, as they do where
// elements fall.
template <class T, class Key = KeyOf<T>>
class BestOfLine {
 public:
  BestOfLine(std::int64_t step, bool greatest, Entry<Key>* best, std::int64_t count)
      : step_(step), greatest_(greatest), best_(best), count_(count) {}

  void find(const T* from, std::int64_t size) const {
    for (std::int64_t i = 0; i < count_; ++i) best_[i] = entry_of(from, i);
    std::sort(best_, best_ + count_);
    constexpr std::int64_t kSpan = 64;
    for (std::int64_t begin = count_; begin < size; begin += kSpan) {
      for (std::int64_t i = std::min(begin + kSpan, size); i-- > begin;) {
        if (may_be(from[i * step_], worst(from))) put(entry_of(from, i));
      }
    }
  }

 private:
  static auto comparable(T value) {
    if constexpr (requires { to_float(value); }) return to_float(value);
    if constexpr (!requires { to_float(value); }) return value;
  }
  Entry<Key> entry_of(const T* from, std::int64_t i) const {
    const Key key = key_of(from[i * step_]);
    return {greatest_ ? static_cast<Key>(~key) : key, static_cast<std::uint32_t>(i)};
  }
  T worst(const T* from) const { return from[best_[count_ - 1].index * step_]; }

  // Where one is nan, the keys decide.
  bool may_be(T value, T last) const {
    return greatest_ ? !(comparable(value) < comparable(last)) : !(comparable(value) > comparable(last));
  }
  void put(const Entry<Key>& entry) const {
    std::int64_t place = count_ - 1;
    if (!(entry < best_[place])) return;
    for (; place > 0 && entry < best_[place - 1]; --place) best_[place] = best_[place - 1];
    best_[place] = entry;
  }

  std::int64_t step_;
  bool greatest_;
  Entry<Key>* best_;
  std::int64_t count_;
};

// Indices of the `count` best of every line.
template <class T>
void best_of_lines(const Tensor& x, int dim, const Tensor& result, std::int64_t count, bool greatest) {
  const Lines lines(x, dim, result);
  const T* in = x.data<T>();
  auto* out = result.writable<std::int64_t>();
  parallel_for(static_cast<std::int64_t>(lines.from.size()),
               std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(lines.size, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 SmallVector<Entry<KeyOf<T>>, 32> best(static_cast<std::size_t>(count));
                 const BestOfLine<T> found(lines.from_step, greatest, best.data(), count);
                 for (auto line = static_cast<std::size_t>(begin); line < static_cast<std::size_t>(end);
                      ++line) {
                   found.find(in + lines.from[line], lines.size);
                   std::int64_t* to = out + lines.to[line];
                   for (std::int64_t i = 0; i < count; ++i)
                     to[i * lines.to_step] = best[static_cast<std::size_t>(i)].index;
                 }
               });
}

void check_length(std::int64_t length) {
  if (length <= std::int64_t{0xffffffff}) return;
  throw OpError(ErrorKind::Value, "lines of more than 2^32 - 1 elements cannot be sorted", {0});
}

// Elements whose key is `alone` are alike to none.
template <class T, class Key = KeyOf<T>>
SortedGroups groups_of(const T* from, std::int64_t count, std::optional<Key> alone) {
  const EntryMemory<Key> memory(count);
  parallel_for(count, kLongLine, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      memory.entries[i] = {key_of(from[i]), static_cast<std::uint32_t>(i)};
  });
  const Entry<Key>* sorted = sort_entries(memory.entries, memory.scratch, count);
  const SortedGroups groups{Tensor::empty(IntDims{count}, DType::I64, Device{}),
                            Tensor::empty(IntDims{count}, DType::Bool, Device{})};
  auto* order = groups.order.writable<std::int64_t>();
  bool* starts = groups.starts.writable<bool>();
  parallel_for(count, kLongLine, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      order[i] = sorted[i].index;
      starts[i] = i == 0 || sorted[i].key != sorted[i - 1].key || sorted[i].key == alone;
    }
  });
  return groups;
}

}  // namespace

void argsort(const Tensor& result, const Tensor& x, int dim, bool descending) {
  if (x.numel() == 0) return;
  const std::int64_t size = x.rank() == 0 ? 1 : x.size(dim);
  check_length(size);
  visit_dtype(x.dtype(), [&]<class T>() {
    order_lines<T>(x, dim, result, size, descending,
                   [=](auto* entries, auto* scratch) { return sort_entries(entries, scratch, size); });
  });
}

void topk(const Tensor& result, const Tensor& x, int dim, std::int64_t k, bool largest) {
  if (result.numel() == 0 || k == 0) return;
  check_length(x.rank() == 0 ? 1 : x.size(dim));
  constexpr std::int64_t kFew = 32;  // are put where they belong one by one
  visit_dtype(x.dtype(), [&]<class T>() {
    if (k <= kFew) return best_of_lines<T>(x, dim, result, k, largest);
    const std::int64_t size = x.rank() == 0 ? 1 : x.size(dim);
    order_lines<T>(x, dim, result, k, largest, [=](auto* entries, auto*) -> decltype(entries) {
      std::partial_sort(entries, entries + k, entries + size);
      return entries;
    });
  });
}

SortedGroups sorted_groups(const Tensor& x) {
  const std::int64_t count = x.numel();
  check_length(count);
  if (count == 0)
    return {Tensor::empty(IntDims{0}, DType::I64, Device{}),
            Tensor::empty(IntDims{0}, DType::Bool, Device{})};
  return visit_dtype(x.dtype(), [&]<class T>() {
    using Key = KeyOf<T>;
    const std::optional<Key> nan = is_float(x.dtype()) ? std::optional<Key>(~Key{0}) : std::nullopt;
    return groups_of(x.data<T>(), count, nan);
  });
}

}  // namespace kiln::cpu
