// Copies, casts, fills and new tensors on a card: the CPU's bits, of every dtype and layout, and its errors.
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

namespace kiln::create_test {

using namespace kiln::testing;

namespace {

// Of floats also what no integer holds.
Tensor numbers(const Dims& sizes, DType dtype) {
  const Tensor x = noise(sizes, dtype, 5, is_float(dtype) ? -300.0 : 0.0, 300.0);
  const double special[] = {std::nan(""), INFINITY, -INFINITY, -0.0, 1e30, -1e30, 70000.0, 2147483648.0};
  if (!is_float(dtype)) return x;
  for (std::int64_t i = 3; i < x.numel(); i += 17)
    set_element(x, i, special[static_cast<std::size_t>(i / 17) % std::size(special)]);
  return x;
}

template <class F>
void each_dtype(const F& f) {
  for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) f(static_cast<DType>(dtype));
}

}  // namespace

TEST_CASE("casts on a card have the CPU's bits, of every pair of dtypes", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          each_dtype([&](DType from) {
            const Tensor x = numbers(Dims{7, 43}, from);
            each_dtype([&](DType to) {
              // Some of them, in which each dtype is on either side.
              if ((static_cast<int>(from) + 3 * static_cast<int>(to)) % 5 == 0 || from == to)
                all.check("cast", x, {{"dtype", to}});
            });
          });
          return all.wrong(25);
        }) == "");
}

TEST_CASE("copies on a card have the CPU's bits, of every layout and size of elements", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const DType dtype : {DType::Bool, DType::F16, DType::F32, DType::I64}) {
            const Tensor cube = numbers(Dims{4, 18, 45}, dtype);
            for (const Shown& shown : kShown) {
              all.check("clone", cube, shown, {});
              // The same layout as a target, from one in order.
              all.check_program(std::string("copy_ ") + shown.name, [&](Device device) -> Tensors {
                const Tensor base = ops::zeros(cube.sizes(), dtype, device);
                const Tensor target = shown.of(base);
                if (std::string(shown.name) == "broadcast") return {};
                ops::copy_(target, ops::to(noise(target.sizes(), dtype, 8), device));
                return {base};
              });
            }
          }
          return all.wrong(60);
        }) == "");
}

TEST_CASE("transposes on a card have the CPU's bits", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const DType dtype : {DType::U8, DType::BF16, DType::F32, DType::F64}) {
            for (const Dims& sizes : {Dims{70, 45}, Dims{32, 32}, Dims{16, 200}, Dims{33, 15}})
              all.check("clone", numbers(sizes, dtype),
                        {"transposed", [](const Tensor& x) { return ops::permute(x, Dims{1, 0}); }}, {});
          }
          const Tensor cube = numbers(Dims{3, 40, 37}, DType::F32);
          for (const Dims& order : {Dims{0, 2, 1}, Dims{2, 0, 1}, Dims{2, 1, 0}, Dims{1, 0, 2}})
            all.check_program("a cube", [&](Device device) -> Tensors {
              const Tensor x = ops::permute(ops::to(cube, device), order);
              return {ops::clone(x), ops::to(x, DType::F16), ops::clone(ops::slice(x, 2, 1, x.size(2)))};
            });
          all.check_program("into a transposed target", [&](Device device) -> Tensors {
            const Tensor target = ops::zeros(Dims{37, 40, 3}, DType::F32, device);
            ops::copy_(ops::permute(target, Dims{2, 1, 0}), ops::to(cube, device));
            return {target};
          });
          return all.wrong(20);
        }) == "");
}

TEST_CASE("writes of copies on a card take sources of any kind", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const Tensor x = numbers(Dims{6, 40}, DType::F32);
          for (const Dims& sizes : {Dims{40}, Dims{6, 1}, Dims{}, Dims{1, 1}})
            for (const DType dtype : {DType::F32, DType::I16})
              all.check_program("broadcast", [&](Device device) -> Tensors {
                const Tensor y = ops::clone(ops::to(x, device));
                return {ops::copy_(y, ops::to(numbers(sizes, dtype), device)), y};
              });
          // A source that the host has.
          for (const Dims& sizes : {Dims{6, 40}, Dims{40}, Dims{}})
            for (const DType dtype : {DType::F32, DType::U8})
              all.check_program("from the host", [&](Device device) -> Tensors {
                const Tensor y = ops::clone(ops::to(x, device));
                ops::copy_(y, numbers(sizes, dtype));
                ops::copy_(ops::permute(y, Dims{1, 0}),
                           ops::permute(numbers(Dims{6, 40}, dtype), Dims{1, 0}));
                return {y};
              });
          all.check_program("of itself", [&](Device device) -> Tensors {
            const Tensor y = ops::clone(ops::to(x, device));
            ops::copy_(ops::narrow(y, 1, 1, 20), ops::narrow(y, 1, 0, 20));
            ops::copy_(y, y);
            ops::copy_(ops::narrow(y, 0, 0, 1), ops::narrow(y, 0, 0, 1));
            return {y};
          });
          all.check("copy", x, {}, {Tensor::number(0.5)});
          all.check("copy", numbers(Dims{4}, DType::I32), {}, {Tensor::number(0.5)});
          all.check("fill", numbers(Dims{4}, DType::U8), {}, {Tensor::number(std::int64_t{300})});
          all.check("zero", x, {});
          return all.wrong(18);
        }) == "");
}

TEST_CASE("copies go between cards", "[cuda]") {
  CHECK(in_child(fakes({{"KILN_FAKE_CARDS", "2"}}), []() -> std::string {
          const Tensor x = numbers(Dims{6, 40}, DType::F32);
          const Device first = parse_device("cuda"), second = parse_device("cuda:1");
          const Tensor y = ops::zeros(Dims{40, 6}, DType::F64, second);
          ops::copy_(ops::permute(y, Dims{1, 0}), ops::to(x, first));
          const Tensor wanted = ops::zeros(Dims{40, 6}, DType::F64);
          ops::copy_(ops::permute(wanted, Dims{1, 0}), x);
          return same_bits(ops::to(y, Device{}), wanted) ? "" : describe(y);
        }) == "");
}

TEST_CASE("fills and new tensors on a card have the CPU's bits", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          each_dtype([&](DType dtype) {
            for (const Dims& size : {Dims{3, 41}, Dims{}, Dims{0, 4}}) {
              for (const char* const op : {"zeros", "ones"})
                all.check(op, {}, {{"size", size}, {"dtype", dtype}});
              all.check("full", {}, {{"size", size}, {"dtype", dtype}}, {Tensor::number(std::int64_t{3})});
            }
            for (const char* const op : {"zeros_like", "ones_like"})
              all.check(op, numbers(Dims{5}, dtype), {});
            all.check("full_like", numbers(Dims{5, 3}, dtype), {{"fill_value", Dim{7}}});
            all.check("new_full", numbers(Dims{5}, dtype), {{"size", Dims{2, 33}}, {"fill_value", Dim{100}}});
            all.check_program("fill_ with steps", [&](Device device) -> Tensors {
              const Tensor x = ops::zeros(Dims{7, 41}, dtype, device);
              ops::fill_(ops::slice(x, 1, 1, 41, 2), Tensor::number(std::int64_t{5}));
              ops::fill_(ops::narrow(x, 0, 3, 1), Tensor::number(std::int64_t{6}));
              ops::fill_(ops::permute(ops::narrow(x, 0, 5, 2), Dims{1, 0}),
                         ops::to(make(Dims{}, DType::F32, [](auto) { return 9; }), device));
              return {x};
            });
          });
          all.check("full", make(Dims{1}, DType::F16, [](auto) { return 0.1; }),
                    {{"size", Dims{3, 3}}, {"dtype", DType::F64}});
          all.check("full", {}, {{"size", Dims{3}}, {"dtype", DType::U8}},
                    {Tensor::number(std::int64_t{256})});
          all.check("full_like", numbers(Dims{5}, DType::I32), {{"fill_value", 0.5}});
          return all.wrong(120);
        }) == "");
}

TEST_CASE("ranges on a card have the CPU's bits", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const DType dtype : {DType::Bool, DType::U8, DType::I64, DType::F16, DType::F64}) {
            all.check("arange", {},
                      {{"start", Dim{-3}}, {"end", Dim{120}}, {"step", Dim{2}}, {"dtype", dtype}});
            all.check("arange", {}, {{"start", 0.5}, {"end", 40.0}, {"step", 0.3}, {"dtype", dtype}});
            all.check("linspace", {},
                      {{"start", Dim{-3}}, {"end", Dim{7}}, {"steps", Dim{50}}, {"dtype", dtype}});
          }
          for (const std::int64_t steps : {0, 1, 2, 3})
            all.check("linspace", {}, {{"start", Dim{1}}, {"end", Dim{8}}, {"steps", Dim{steps}}});
          const auto large = std::int64_t{1} << 62;
          all.check(
              "linspace", {},
              {{"start", Dim{-large}}, {"end", Dim{large + 1}}, {"steps", Dim{9}}, {"dtype", DType::I64}});
          all.check("arange", {}, {{"start", Dim{0}}, {"end", Dim{0}}, {"step", Dim{1}}});
          return all.wrong(20);
        }) == "");
}

TEST_CASE("matrices on a card have the CPU's bits", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const DType dtype : {DType::Bool, DType::F16, DType::F32, DType::F64}) {
            for (const auto [n, m] :
                 std::initializer_list<std::pair<Dim, Dim>>{{5, 5}, {3, 40}, {40, 3}, {0, 4}, {4, 0}})
              all.check("eye", {}, {{"n", n}, {"m", m}, {"dtype", dtype}});
            const Tensor cube = numbers(Dims{4, 18, 45}, dtype);
            for (const char* const op : {"tril", "triu"}) {
              for (const std::int64_t diagonal : {0, 3, -7, 100, -100})
                all.check(op, cube, {{"diagonal", Dim{diagonal}}});
              for (const Shown& shown : kShown) all.check(op, cube, shown, {});
              all.check(op, numbers(Dims{3, 0, 4}, dtype), {});
            }
          }
          for (const DType dtype : {DType::U8, DType::I64}) {
            const Tensor index = make(Dims{5, 9}, dtype, [](std::int64_t i) { return i * 7 % 10; });
            all.check("one_hot", index, {});
            all.check("one_hot", index, {{"num_classes", Dim{12}}});
            all.check("one_hot", index, {{"num_classes", Dim{6}}});
            all.check("one_hot", index, {{"num_classes", Dim{0}}});
            all.check_program("one_hot of a transposed index", [&](Device device) {
              return call("one_hot", {ops::permute(ops::to(index, device), Dims{1, 0})},
                          {{"num_classes", Dim{10}}});
            });
            all.check("one_hot", ops::narrow(index, 0, 0, 0), {{"num_classes", Dim{3}}});
            all.check("one_hot", ops::narrow(index, 0, 0, 0), {});
          }
          all.check("one_hot", make(Dims{3}, DType::I64, [](std::int64_t i) { return -1 - i; }), {});
          // The error tells the index as it was.
          all.check_program("a wrong class", [&](Device device) -> Tensors {
            const Tensor index =
                ops::to(make(Dims{4}, DType::I64, [](std::int64_t i) { return i * 5; }), device);
            const Tensor rows = ops::one_hot(index, 6);
            ops::fill_(index, Tensor::number(std::int64_t{0}));
            return {rows};
          });
          return all.wrong(100);
        }) == "");
}

}  // namespace kiln::create_test
