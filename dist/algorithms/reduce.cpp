#include "dist/algorithms/reduce.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tensor/convert.h"
#include "tensor/math/arithmetic.h"

namespace kiln::dist {
namespace {

// What one step of the tree works on: small enough that the levels of a tree stay in the first cache.
constexpr std::size_t kBlock = 512;

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return math::add(a, b);
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    return math::mul(a, b);
  }
};
struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    return math::minimum(a, b);
  }
};
struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return math::maximum(a, b);
  }
};

// An element in the type of its arithmetic.
template <class T>
auto read(T x) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return math::Int64{x};
  } else {
    return scalar::widen(x);
  }
}

// The tree over blocks of at most kBlock elements of type T, computed in the type W that T is read as.
template <class T, class Op>
class Tree {
 public:
  using W = decltype(read(T{}));

  explicit Tree(std::span<const std::byte* const> inputs)
      : inputs_(inputs), levels_((std::bit_width(inputs.size()) + 1) * kBlock) {}

  void block(std::size_t begin, std::size_t count, T* output) {
    reduce(0, inputs_.size(), begin, count, levels_.data());
    std::transform(levels_.data(), levels_.data() + count, output, [](W x) { return scalar::convert<T>(x); });
  }

 private:
  const T* input(std::size_t k) const { return reinterpret_cast<const T*>(inputs_[k]); }

  // Leaves T(lo, n) in `into`; what is behind that is room for the levels below.
  void reduce(std::size_t lo, std::size_t n, std::size_t begin, std::size_t count, W* into) {
    const T* const first = input(lo) + begin;
    if (n == 1) {
      std::transform(first, first + count, into, [](T x) { return read(x); });
    } else if (n == 2) {
      const T* const second = input(lo + 1) + begin;
      std::transform(first, first + count, second, into, [](T a, T b) { return Op()(read(a), read(b)); });
    } else {
      const std::size_t cut = cut_of_tree(n);
      W* const right = into + kBlock;
      reduce(lo, cut, begin, count, into);
      reduce(lo + cut, n - cut, begin, count, right);
      std::transform(into, into + count, right, into, Op());
    }
  }

  std::span<const std::byte* const> inputs_;
  std::vector<W> levels_;
};

template <class T, class Op>
void reduce_all(std::span<const std::byte* const> inputs, std::byte* output, std::size_t count) {
  Tree<T, Op> tree(inputs);
  for (std::size_t begin = 0; begin < count; begin += kBlock)
    tree.block(begin, std::min(kBlock, count - begin), reinterpret_cast<T*>(output) + begin);
}

}  // namespace

std::size_t cut_of_tree(std::size_t n) { return std::bit_floor(n - 1); }

void reduce_in_order(DType dtype, ReduceOp op, std::span<const std::byte* const> inputs, std::byte* output,
                     std::size_t count) {
  visit_dtype(dtype, [&]<class T>() {
    switch (op) {
      case ReduceOp::Sum:
        return reduce_all<T, Add>(inputs, output, count);
      case ReduceOp::Product:
        return reduce_all<T, Multiply>(inputs, output, count);
      case ReduceOp::Min:
        return reduce_all<T, Smaller>(inputs, output, count);
      case ReduceOp::Max:
        return reduce_all<T, Larger>(inputs, output, count);
    }
  });
}

}  // namespace kiln::dist
