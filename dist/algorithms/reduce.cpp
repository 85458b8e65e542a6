#include "dist/algorithms/reduce.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "tensor/rank_values.h"

namespace kiln::dist {
namespace {

// What one step of the tree works on: small enough that the levels of a tree stay in the first cache.
constexpr std::size_t kBlock = 512;

// The tree over blocks of at most kBlock elements of type T, computed in the type W that T is read as.
template <class T, class Op>
class Tree {
 public:
  using W = decltype(ranks::read(T{}));

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
      std::transform(first, first + count, into, [](T x) { return ranks::read(x); });
    } else if (n == 2) {
      const T* const second = input(lo + 1) + begin;
      std::transform(first, first + count, second, into,
                     [](T a, T b) { return Op::apply(ranks::read(a), ranks::read(b)); });
    } else {
      const std::size_t cut = cut_of_tree(n);
      W* const right = into + kBlock;
      reduce(lo, cut, begin, count, into);
      reduce(lo + cut, n - cut, begin, count, right);
      std::transform(into, into + count, right, into, [](W a, W b) { return Op::apply(a, b); });
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
        return reduce_all<T, ranks::Add>(inputs, output, count);
      case ReduceOp::Product:
        return reduce_all<T, ranks::Multiply>(inputs, output, count);
      case ReduceOp::Min:
        return reduce_all<T, ranks::Smaller>(inputs, output, count);
      case ReduceOp::Max:
        return reduce_all<T, ranks::Larger>(inputs, output, count);
    }
  });
}

}  // namespace kiln::dist
