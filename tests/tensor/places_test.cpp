// Picks, puts and orders of many elements: what threads share, against loops over elements.
#include <numeric>

#include "nd.h"
#include "tensor/cpu/isa.h"
#include "tensor/cpu/moves/place_kernels.h"
#include "tensor/parallel.h"

namespace kiln::places_test {

using namespace kiln::test;

namespace {

constexpr std::int64_t kMany = 100'003;  // beyond every grain, and no multiple of a block

// Numbers that look random, the same each time.
std::vector<std::int64_t> scrambled(std::int64_t count, std::int64_t below) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  std::uint64_t state = 1;
  for (std::int64_t& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
  }
  return values;
}

template <class T>
Tensor tensor_from(const std::vector<T>& values, const Dims& sizes, DType dtype) {
  const Tensor result = Tensor::empty(sizes, dtype);
  std::copy(values.begin(), values.end(), result.writable<T>());
  return result;
}

Tensor mask_of(const std::vector<std::int64_t>& numbers, std::int64_t below, const IntDims& sizes) {
  const Tensor mask = Tensor::empty(sizes, DType::Bool);
  std::transform(numbers.begin(), numbers.end(), mask.writable<bool>(), [=](auto v) { return v < below; });
  return mask;
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  const Tensor left = cpu::contiguous_copy(a, a.dtype()), right = cpu::contiguous_copy(b, b.dtype());
  return std::equal(left.raw(), left.raw() + left.numel() * static_cast<std::int64_t>(size_of(a.dtype())),
                    right.raw());
}

// On one thread and on several, with every instruction set.
template <class F>
void every_way(const F& f) {
  const int threads = num_threads();
  const cpu::Isa best = cpu::isa();
  for (const int count : {1, 3}) {
    for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
      if (!cpu::has_kernels(isa)) continue;
      set_num_threads(count);
      cpu::set_isa(isa);
      f();
    }
  }
  set_num_threads(threads);
  cpu::set_isa(best);
}

}  // namespace

TEST_CASE("true places of flags at every length", "[index]") {
  const std::vector<std::int64_t> numbers = scrambled(300, 4);
  const Tensor mask = mask_of(numbers, 1, Dims{300});
  const bool* flags = mask.data<bool>();
  every_way([&] {
    for (std::int64_t count = 0; count <= 300; ++count) {
      std::vector<std::uint32_t> expected, found(static_cast<std::size_t>(count + cpu::kTruePlacesSlack));
      for (std::int64_t i = 0; i < count; ++i)
        if (flags[i]) expected.push_back(static_cast<std::uint32_t>(i));
      const std::int64_t many = cpu::place_kernels().true_places(flags, count, found.data());
      found.resize(static_cast<std::size_t>(many));
      CHECK(found == expected);
      CHECK(cpu::place_kernels().count_true(flags, count) == many);
    }
  });
}

TEST_CASE("nonzero and masks of many elements", "[index]") {
  for (const Dims& sizes : {Dims{kMany}, Dims{kMany / 101, 101}, Dims{kMany / 21, 7, 3}}) {
    const std::int64_t count = count_elements(sizes);
    for (const std::int64_t share : {1, 50, 100}) {
      const Tensor mask = mask_of(scrambled(count, 100), share, sizes);
      const Tensor x = ops::reshape(ops::arange(0, count), sizes);
      std::vector<std::int64_t> places, chosen;
      for (std::int64_t i = 0; i < count; ++i) {
        if (!mask.data<bool>()[i]) continue;
        chosen.push_back(i);
        std::vector<std::int64_t> index;
        std::int64_t rest = i;
        for (std::size_t d = sizes.size(); d-- > 0; rest /= sizes[d].fixed())
          index.push_back(rest % sizes[d]);
        places.insert(places.end(), index.rbegin(), index.rend());
      }
      const auto found = static_cast<std::int64_t>(chosen.size());
      const Tensor expected =
          tensor_from(places, Dims{found, static_cast<std::int64_t>(sizes.size())}, DType::I64);
      const Tensor picked = tensor_from(chosen, Dims{found}, DType::I64);
      every_way([&] {
        CHECK(same(ops::nonzero(mask), expected));
        CHECK(same(ops::index(x, Tensors{mask}), picked));
        CHECK(same(ops::index(laid_out(x, Lay::Reversed), Tensors{mask}), picked));
        const Tensor put = ops::index_put(ops::zeros(sizes, DType::I64), Tensors{mask}, picked);
        CHECK(same(ops::index(put, Tensors{mask}), picked));
        CHECK(same(ops::sum(put), ops::sum(picked)));
      });
    }
  }
}

TEST_CASE("a mask fills from its own memory", "[index]") {
  const Tensor x = tensor_of(Nd{{4}, {1, 0, 1, 1}}, DType::Bool);
  const Tensor front = ops::slice(x, 0, 0, 3), back = ops::slice(x, 0, 1, 4);
  call_inplace("index_put", {back, Tensor::number(false), front}, {false});
  check_equal(x, Nd{{4}, {1, 0, 1, 0}});
}

TEST_CASE("many single puts: the last one stays, sums go in order", "[index]") {
  for (const std::int64_t below : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{3} * kMany}) {
    const std::vector<std::int64_t> places = scrambled(kMany, below);
    const Tensor index = tensor_from(places, Dims{kMany}, DType::I64);
    for (const DType dtype : {DType::U8, DType::F32, DType::I64}) {
      const Tensor values = ops::to(ops::arange(0, kMany) * 0.37, dtype);
      const Tensor target = ops::to(ops::arange(0, below) * 0.11, dtype);
      Tensor written = ops::clone(target), summed = ops::clone(target);
      visit_dtype(dtype, [&]<class T>() {
        if constexpr (std::is_arithmetic_v<T>) {
          for (std::size_t i = 0; i < places.size(); ++i) {
            written.writable<T>()[places[i]] = values.data<T>()[i];
            T& sum = summed.writable<T>()[places[i]];
            sum = static_cast<T>(sum + values.data<T>()[i]);
          }
        }
      });
      every_way([&] {
        CHECK(same(ops::index_put(target, Tensors{index}, values), written));
        CHECK(same(ops::index_put(target, Tensors{index}, values, true), summed));
        const Tensor apart = laid_out(target, Lay::Gaps);
        call_inplace("index_put", {apart, values, index}, {false});
        CHECK(same(apart, written));
      });
    }
  }
}

TEST_CASE("long rows are added in order, to many places or mostly to one", "[index]") {
  const std::int64_t count = 200;
  for (const std::int64_t inner : {200, 700}) {
    for (const bool spread : {true, false}) {
      std::vector<std::int64_t> places;
      for (std::int64_t i = 0; i < count; ++i)
        places.push_back(spread ? i * 37 % 150 : i % 20 == 3 ? i % 150 : 7);
      const Tensor source = tensor_of(sample({count, inner}, 3), DType::F32);
      const Tensor target = tensor_of(sample({150, inner}, 4), DType::F32);
      const Tensor want = ops::clone(target);
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t k = 0; k < inner; ++k)
          want.writable<float>()[places[static_cast<std::size_t>(i)] * inner + k] +=
              source.data<float>()[i * inner + k];
      every_way([&] {
        const Tensor index = tensor_from(places, Dims{count}, DType::I64);
        CHECK(same(ops::index_add(target, 0, index, source), want));
      });
    }
  }
}

TEST_CASE("sorting and finding the distinct ones of a long line", "[sort]") {
  std::vector<std::int64_t> wide = scrambled(300'001, 5'000);
  for (std::size_t i = 0; i < wide.size(); ++i)
    wide[i] = (i % 3 == 0 ? wide[i] : -wide[i]) * (i % 7 == 0 ? std::int64_t{1} << 50 : 1);
  const auto count = static_cast<std::int64_t>(wide.size());
  const Tensor x = tensor_from(wide, Dims{count}, DType::I64);
  for (const Tensor& each :
       {x, ops::to(x, DType::F32), ops::remainder(x, Tensor::number(std::int64_t{100}))}) {
    visit_dtype(each.dtype(), [&]<class T>() {
      if constexpr (std::is_arithmetic_v<T>) {
        const T* from = each.data<T>();
        std::vector<std::int64_t> order(wide.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [=](auto a, auto b) { return from[a] < from[b]; });
        std::vector<T> distinct;
        std::vector<std::int64_t> counts, inverse(wide.size());
        for (const std::int64_t i : order) {
          if (distinct.empty() || distinct.back() != from[i])
            distinct.push_back(from[i]), counts.push_back(0);
          ++counts.back();
          inverse[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(counts.size()) - 1;
        }
        const auto groups = static_cast<std::int64_t>(distinct.size());
        for (const int threads : {1, 3}) {
          const int before = num_threads();
          set_num_threads(threads);
          const Op& op = OpTable::get().at("unique");
          Attrs attrs(op);
          attrs.set("return_inverse", true).set("return_counts", true);
          const Tensors found = kiln::bind(op, {&each, 1}, attrs);
          CHECK(same(found[0], tensor_from(distinct, Dims{groups}, each.dtype())));
          CHECK(same(found[1], tensor_from(inverse, Dims{count}, DType::I64)));
          CHECK(same(found[2], tensor_from(counts, Dims{groups}, DType::I64)));
          CHECK(same(ops::argsort(each), tensor_from(order, Dims{count}, DType::I64)));
          set_num_threads(before);
        }
      }
    });
  }
}

TEST_CASE("transposing large matrices moves every element", "[shape]") {
  for (const Dims& sizes : {Dims{1500, 1601}, Dims{1536, 1600}, Dims{3, 700, 1056}}) {
    for (const DType dtype : {DType::I16, DType::I32, DType::F64}) {
      const Tensor x = ops::to(ops::reshape(ops::arange(0, count_elements(sizes)), sizes), dtype);
      const int last = x.rank() - 1;
      const std::int64_t rows = sizes[sizes.size() - 2], columns = sizes.back();
      every_way([&] {
        const Tensor y = ops::contiguous(ops::transpose(x, last - 1, last));
        bool equal = true;
        visit_dtype(dtype, [&]<class T>() {
          if constexpr (std::is_arithmetic_v<T>) {
            const T *from = x.data<T>(), *to = y.data<T>();
            for (std::int64_t i = 0; i < x.numel(); ++i) {
              const std::int64_t matrix = i / (rows * columns), r = i / columns % rows, c = i % columns;
              equal = equal && to[(matrix * columns + c) * rows + r] == from[i];
            }
          }
        });
        CHECK(equal);
      });
    }
  }
}

}  // namespace kiln::places_test
