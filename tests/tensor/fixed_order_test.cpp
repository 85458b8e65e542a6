// The order of every reduction is the documented one, whatever the layout, the threads and the instruction
// set.
#include <bit>
#include <catch2/catch.hpp>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/folds/fold.h"
#include "tensor/parallel.h"
#include "tests/tensor/every_isa.h"
#include "tests/tensor/tensors.h"

namespace kiln::fixed_order_test {

using namespace kiln::testing;

namespace {

// tensor/fixed_order.h, word by word.
template <class T, class F>
T documented(const std::vector<T>& e, T identity, F combine) {
  std::vector<T> blocks;
  for (std::size_t begin = 0; begin < e.size(); begin += kReductionBlock) {
    const std::size_t end = std::min<std::size_t>(e.size(), begin + kReductionBlock);
    std::vector<T> lane(kReductionLanes, identity);
    for (std::size_t i = begin; i < end; ++i) {
      T& each = lane[(i - begin) % kReductionLanes];
      each = combine(each, e[i]);
    }
    for (std::size_t half = kReductionLanes / 2; half >= 1; half /= 2)
      for (std::size_t j = 0; j < half; ++j) lane[j] = combine(lane[j], lane[j + half]);
    blocks.push_back(lane[0]);
  }
  while (blocks.size() > 1) {
    std::vector<T> next;
    for (std::size_t i = 0; i + 1 < blocks.size(); i += 2) next.push_back(combine(blocks[i], blocks[i + 1]));
    if (blocks.size() % 2 == 1) next.push_back(blocks.back());
    blocks = next;
  }
  return blocks[0];
}
template <class T>
T documented_sum(const std::vector<T>& e) {
  return documented(e, T(0), [](T a, T b) { return a + b; });
}

// The sum over `dims` of a 3-d tensor, one output at a time.
template <class T>
Tensor reference(const Tensor& x, const Dims& dims) {
  const auto reduced = [&](int d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); };
  Dims sizes;
  for (int d = 0; d < 3; ++d)
    if (!reduced(d)) sizes.push_back(x.size(d));
  const Tensor result = Tensor::empty(sizes, x.dtype());
  std::vector<std::vector<T>> sequences(static_cast<std::size_t>(result.numel()));
  for (Dim i = 0; i < x.size(0); ++i)
    for (Dim j = 0; j < x.size(1); ++j)
      for (Dim k = 0; k < x.size(2); ++k) {
        const Dim at[] = {i, j, k};
        std::int64_t output = 0;
        for (int d = 0; d < 3; ++d)
          if (!reduced(d)) output = output * x.size(d) + at[d];
        sequences[static_cast<std::size_t>(output)].push_back(
            static_cast<T>(element(x, (i * x.size(1) + j) * x.size(2) + k)));
      }
  for (std::size_t o = 0; o < sequences.size(); ++o) result.writable<T>()[o] = documented_sum(sequences[o]);
  return result;
}

const Dims kSubsets[] = {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};

struct Settings {
  int threads = num_threads();
  cpu::Isa isa = cpu::isa();
  ~Settings() {
    set_num_threads(threads);
    cpu::set_isa(isa);
  }
};

}  // namespace

TEST_CASE("sums follow the documented order", "[reduce][order]") {
  const Dims shapes[] = {{1, 1, 1},    {3, 5, 7},    {2, 33, 65},  {130, 4, 31},
                         {5, 9000, 3}, {1, 20, 600}, {700, 1, 130}};
  for (const Dims& shape : shapes) {
    const Tensor x = noise(shape, DType::F32, 1);
    const Tensor wide = noise(shape, DType::F64, 2);
    for (const Dims& dims : kSubsets) {
      INFO(to_string(shape) << " over " << to_string(dims));
      CHECK(same_bits(cpu::fold(x, dims, cpu::Combine::Sum), reference<float>(x, dims)));
      CHECK(same_bits(cpu::fold(wide, dims, cpu::Combine::Sum), reference<double>(wide, dims)));
    }
  }
}

// Short rows, and the first lanes of few rows, are folded while they are in registers.
TEST_CASE("sums of few elements follow the documented order", "[reduce][order]") {
  const Settings restore;
  for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
    if (!cpu::has_kernels(isa)) continue;
    cpu::set_isa(isa);
    for (const Dim count :
         {1, 2, 4, 5, 8, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 96, 100, 127, 128, 129, 257}) {
      for (const Dim outputs : {1, 3, 16, 37}) {
        const Tensor x = noise({outputs, count, 1}, DType::F32, 7);
        const Tensor wide = noise({outputs, count, 1}, DType::F64, 8);
        const Tensor columns = noise({2, count, outputs}, DType::F32, 9);
        INFO(outputs << " of " << count << " on " << name(isa));
        CHECK(same_bits(cpu::fold(x, {1}, cpu::Combine::Sum), reference<float>(x, {1})));
        CHECK(same_bits(cpu::fold(wide, {1}, cpu::Combine::Sum), reference<double>(wide, {1})));
        CHECK(same_bits(cpu::fold(columns, {1}, cpu::Combine::Sum), reference<float>(columns, {1})));
        const Tensor longer = noise({3, outputs, count + 5}, DType::F32, 15);
        const Tensor part = ops::narrow(longer, 2, 1, count);
        CHECK(same_bits(cpu::fold(part, {2}, cpu::Combine::Sum), reference<float>(part, {2})));
      }
      for (const Dim width : {64, 130, 600}) {  // of which each is one leaf, where there are few
        const Tensor columns = noise({2, count, width}, DType::F32, 10);
        const Tensor wide = noise({2, count, width}, DType::F64, 11);
        INFO(count << " rows of " << width << " on " << name(isa));
        CHECK(same_bits(cpu::fold(columns, {1}, cpu::Combine::Sum), reference<float>(columns, {1})));
        CHECK(same_bits(cpu::fold(wide, {1}, cpu::Combine::Sum), reference<double>(wide, {1})));
      }
    }
  }
}

// Runs go on in the lane where the one before ended, whether it is whole or not.
TEST_CASE("sums of runs that lie apart follow the documented order", "[reduce][order]") {
  for (const Dim run : {1, 2, 3, 7, 16, 31, 32, 33, 49, 64, 95, 196, 1000}) {
    const Tensor x = noise({23, 3, run}, DType::F32, 12, -3.0, 3.0);
    const Tensor wide = noise({23, 3, run}, DType::F64, 13, -3.0, 3.0);
    const Tensor twice = noise({23, 3, 2 * run}, DType::F32, 14);
    const Tensor many = noise({2 * kReductionBlock / run, 2, run}, DType::F32, 15);  // blocks end within runs
    Tensor some_nan = ops::clone(x);
    set_element(some_nan, 3 * run - 1, NAN);
    const Dims dims{0, 2};
    const auto in_a_row = [&](const Tensor& each) {  // each sequence without gaps
      return ops::reshape(cpu::contiguous_copy(ops::permute(each, Dims{1, 0, 2}), each.dtype()),
                          Dims{3, 23 * run});
    };
    test::every_isa([&] {
      INFO("runs of " << run);
      CHECK(same_bits(cpu::fold(x, dims, cpu::Combine::Sum), reference<float>(x, dims)));
      CHECK(same_bits(cpu::fold(wide, dims, cpu::Combine::Sum), reference<double>(wide, dims)));
      CHECK(same_bits(cpu::fold(many, dims, cpu::Combine::Sum), reference<float>(many, dims)));
      const Tensor every_other = ops::slice(twice, 2, 0, 2 * run, 2),
                   part = ops::narrow(twice, 2, run / 2, run);
      CHECK(same_bits(cpu::fold(every_other, dims, cpu::Combine::Sum), reference<float>(every_other, dims)));
      CHECK(same_bits(cpu::fold(part, dims, cpu::Combine::Sum), reference<float>(part, dims)));
      for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
        const Tensor each = cpu::contiguous_copy(some_nan, dtype), row = in_a_row(each);
        for (const cpu::Map map : {cpu::Map::Identity, cpu::Map::Square, cpu::Map::Abs})
          CHECK(same_bits(cpu::fold(each, dims, cpu::Combine::Sum, map),
                          cpu::fold(row, {1}, cpu::Combine::Sum, map)));
        for (const cpu::Combine combine : {cpu::Combine::Max, cpu::Combine::Min, cpu::Combine::Prod})
          CHECK(same_bits(cpu::fold(each, dims, combine), cpu::fold(row, {1}, combine)));
      }
    });
  }
}

// Outputs are computed as they lie in memory.
TEST_CASE("sums follow the documented order whichever way outputs lie", "[reduce][order]") {
  const Dims orders[] = {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const Dims& order : orders) {
    const Tensor stored = noise({40, 21, 34}, DType::F32, 16), x = ops::permute(stored, order);
    const Tensor whole = cpu::contiguous_copy(x, x.dtype());
    for (const Dims& dims : kSubsets) {
      INFO(to_string(order) << " over " << to_string(dims));
      const Tensor sums = cpu::fold(x, dims, cpu::Combine::Sum);
      CHECK(same_bits(sums, reference<float>(x, dims)));
      CHECK(sums.is_contiguous());
      CHECK(same_bits(cpu::fold(x, dims, cpu::Combine::Max), cpu::fold(whole, dims, cpu::Combine::Max)));
      CHECK(same_bits(cpu::fold(x, dims, cpu::Combine::Sum, cpu::Map::CenteredSquare, sums),
                      cpu::fold(whole, dims, cpu::Combine::Sum, cpu::Map::CenteredSquare, sums)));
    }
  }
  const Tensor repeated = ops::expand(noise({40, 1, 34}, DType::F32, 17), Dims{40, 21, 34});
  const Tensor x = ops::permute(repeated, Dims{2, 1, 0});
  CHECK(same_bits(cpu::fold(x, {2}, cpu::Combine::Sum), reference<float>(x, {2})));
}

// Whatever way memory is walked, the terms of one sum are added in the one documented order.
TEST_CASE("sums across memory follow the documented order", "[reduce][order]") {
  const Settings restore;
  for (const Dims& shape : {Dims{700, 3, 1000}, Dims{2, 9000, 100}, Dims{300, 2, 4096}}) {
    for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::I64, DType::U8}) {
      const Tensor x = ops::to(noise(shape, DType::F32, 17, -9.0, 9.0), dtype);
      for (const Dims& order : {Dims{1, 2, 0}, Dims{2, 1, 0}, Dims{0, 2, 1}}) {
        const Tensor view = ops::permute(x, order);
        const Tensor laid = cpu::contiguous_copy(view, dtype);
        for (const int threads : {1, 4}) {
          set_num_threads(threads);
          for (const Dims& dims : {Dims{1, 2}, Dims{0, 1, 2}}) {
            INFO(to_string(shape) << " as " << to_string(order) << " over " << to_string(dims) << " of "
                                  << name(dtype));
            for (const cpu::Combine combine : {cpu::Combine::Sum, cpu::Combine::Max})
              CHECK(same_bits(cpu::fold(view, dims, combine), cpu::fold(laid, dims, combine)));
            CHECK(same_bits(cpu::fold(view, dims, cpu::Combine::Sum, cpu::Map::NonZero),
                            cpu::fold(laid, dims, cpu::Combine::Sum, cpu::Map::NonZero)));
          }
        }
      }
    }
  }
}

TEST_CASE("mapped reductions are those of their compositions", "[reduce][order]") {
  const Settings restore;
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    for (const Dims& sizes : {Dims{40, 1}, Dims{40, 3}, Dims{40, 16}, Dims{40, 33}, Dims{40, 100},
                              Dims{40, 128}, Dims{40, 129}, Dims{40, 300}, Dims{300, 70}, Dims{600, 513}}) {
      Tensor x = noise(sizes, dtype, 10, -3.0, 3.0);
      set_element(x, 0, NAN);
      for (const Tensor& each :
           {x, strided(x), ops::transpose(cpu::contiguous_copy(ops::transpose(x, 0, 1), dtype), 0, 1)}) {
        for (const std::string_view name : {"norm", "var", "logsumexp", "any", "all", "count_nonzero"}) {
          const Op& op = OpTable::get().at(name);
          Attrs attrs(op);
          attrs.set("dim", Dims{1});
          const Tensor body = op.decompose(op, Inputs(&each, 1), attrs)[0];
          for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
            if (!cpu::has_kernels(isa)) continue;
            cpu::set_isa(isa);
            INFO(name << " of " << to_string(each.type()) << " on " << kiln::cpu::name(isa));
            CHECK(same_bits(run_eager(op, Inputs(&each, 1), attrs)[0], body));
          }
        }
      }
    }
  }
}

// They may be combined in any groups, as the last of equals and the first that is no number stay the same.
TEST_CASE("maxima and minima are the zero and the nan of the documented order", "[reduce][order]") {
  const Settings restore;
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (const Dim n : {1, 31, 64, 127, 128, 129, 500, 4096, 5000}) {
    for (const int nans : {0, 3}) {
      std::vector<float> e(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < e.size(); ++i) e[i] = i * 7919 % 13 < 6 ? 0.0F : -0.0F;
      for (int k = 1; k <= nans; ++k)
        e[e.size() * static_cast<std::size_t>(k) / 4] =
            std::bit_cast<float>(0x7fc00000U + static_cast<unsigned>(k));
      const Tensor x = Tensor::empty(Dims{n}, DType::F32);
      std::copy(e.begin(), e.end(), x.writable<float>());
      const float most = documented(e, -INFINITY, [](float a, float b) { return a > b || a != a ? a : b; });
      const float least = documented(e, INFINITY, [](float a, float b) { return a < b || a != a ? a : b; });
      for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
        if (!cpu::has_kernels(isa)) continue;
        cpu::set_isa(isa);
        INFO(n << " elements, " << nans << " of them no numbers, on " << name(isa));
        CHECK(bits(cpu::fold(x, {0}, cpu::Combine::Max).data<float>()[0]) == bits(most));
        CHECK(bits(cpu::fold(x, {0}, cpu::Combine::Min).data<float>()[0]) == bits(least));
      }
    }
  }
}

TEST_CASE("layout, threads and instruction set leave the bits of a reduction alone", "[reduce][order]") {
  const Settings restore;
  const Dims shapes[] = {{64, 70, 33}, {3, 9000, 10}, {200, 3, 300}};
  for (const Dims& shape : shapes) {
    for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::U8, DType::I8,
                              DType::I16, DType::I32, DType::I64, DType::Bool}) {
      const Tensor x = noise(shape, dtype, 3, dtype == DType::U8 ? 0.0 : -3.0, 3.0);
      const Tensor layouts[] = {strided(x), backwards(x)};
      for (const Dims& dims : kSubsets) {
        for (const cpu::Combine combine :
             {cpu::Combine::Sum, cpu::Combine::Prod, cpu::Combine::Max, cpu::Combine::Min}) {
          set_num_threads(1);
          cpu::set_isa(cpu::Isa::Baseline);
          const Tensor expected = cpu::fold(x, dims, combine);
          INFO(to_string(x.type()) << " over " << to_string(dims) << " by " << static_cast<int>(combine));
          for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
            if (!cpu::has_kernels(isa)) continue;
            cpu::set_isa(isa);
            set_num_threads(1);
            CHECK(same_bits(cpu::fold(x, dims, combine), expected));
            set_num_threads(3);
            CHECK(same_bits(cpu::fold(x, dims, combine), expected));
            for (const Tensor& layout : layouts) CHECK(same_bits(cpu::fold(layout, dims, combine), expected));
          }
        }
      }
    }
  }
}

TEST_CASE("row kernels give the same bits on any threads and instruction set", "[reduce][order]") {
  const Settings restore;
  const Tensor x = noise({40, 5000}, DType::F32, 4, -8.0, 8.0);
  const Tensor g = noise({40, 5000}, DType::F32, 5);
  const Tensor w = noise({5000}, DType::F32, 6);
  const auto run = [&] {
    std::vector<Tensor> all;
    for (const char* name : {"softmax", "log_softmax"})
      all.push_back(call(name, {x}, {{"dim", std::int64_t{1}}})[0]);
    for (const char* name : {"softmax_backward", "log_softmax_backward"})
      all.push_back(call(name, {g, x}, {{"dim", std::int64_t{0}}})[0]);
    all.push_back(call("logsumexp", {x}, {{"dim", Dims{0}}})[0]);
    all.push_back(call("layer_norm", {x, w, w}, {{"normalized_shape", Dims{5000}}})[0]);
    all.push_back(call("rms_norm", {x, w}, {{"normalized_shape", Dims{5000}}})[0]);
    for (const char* name : {"layer_norm_backward", "rms_norm_backward"})
      for (const Tensor& each : call(name, {g, x, w}, {{"normalized_shape", Dims{5000}}}))
        all.push_back(each);
    return all;
  };
  set_num_threads(1);
  cpu::set_isa(cpu::Isa::Baseline);
  const std::vector<Tensor> expected = run();
  for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
    if (!cpu::has_kernels(isa)) continue;
    cpu::set_isa(isa);
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      const std::vector<Tensor> now = run();
      for (std::size_t i = 0; i < now.size(); ++i) {
        INFO("result " << i << " on " << name(isa) << " with " << threads << " threads");
        CHECK(same_bits(now[i], expected[i]));
      }
    }
  }
}

TEST_CASE("softmax along columns has the bits of softmax along rows", "[order]") {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    for (const Dims& sizes : {Dims{5000, 17}, Dims{70, 300}, Dims{3, 40, 33}}) {
      const Tensor x = noise(sizes, dtype, 31, -9, 9);
      set_element(x, 5, INFINITY);
      set_element(x, 6, NAN);
      set_element(x, 7, -INFINITY);
      const int dim = x.rank() - 2;
      const Tensor rows = cpu::contiguous_copy(ops::transpose(x, dim, dim + 1), dtype);
      for (const char* op : {"softmax", "log_softmax"}) {
        INFO(op << " of " << to_string(x.type()));
        const Tensor by_columns = call(op, {x}, {{"dim", std::int64_t{dim}}})[0];
        const Tensor by_rows = call(op, {rows}, {{"dim", std::int64_t{dim + 1}}})[0];
        CHECK(same_bits(by_columns, cpu::contiguous_copy(ops::transpose(by_rows, dim, dim + 1), dtype)));
      }
    }
  }
}

TEST_CASE("gradients of norms have the bits of their composition", "[order]") {
  const Settings restore;
  for (const Dims& sizes :
       {Dims{300, 260}, Dims{257, 1000}, Dims{4200, 256}, Dims{8200, 300}, Dims{255, 300}, Dims{300, 40}}) {
    for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16}) {
      const Tensor x = noise(sizes, dtype, 4, -2, 5), g = noise(sizes, dtype, 5),
                   w = noise({sizes[1]}, dtype, 6);
      for (const char* name : {"layer_norm_backward", "rms_norm_backward"}) {
        const Op& op = OpTable::get().at(name);
        for (const Tensor& weight : {w, Tensor()}) {
          const Tensor inputs[] = {g, x, weight};
          Attrs attrs(op);
          attrs.set("normalized_shape", Dims{sizes[1]});
          const Tensors body = op.decompose(op, Inputs(inputs, 3), attrs);
          for (const int threads : {1, 3}) {
            set_num_threads(threads);
            const Tensors kernel = run_eager(op, Inputs(inputs, 3), attrs);
            for (std::size_t i = 0; i < body.size(); ++i) {
              INFO(name << " of " << to_string(x.type()) << (weight ? "" : " without weight") << ", result "
                        << i);
              CHECK(same_bits(kernel[i], body[i]));
            }
          }
        }
      }
    }
  }
}

}  // namespace kiln::fixed_order_test
