// Draws on a card: the CPU's numbers of a seed, and its draws counted.
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"
#include "tests/cuda/talk.h"

namespace kiln::random_test {

using namespace kiln::testing;

namespace {

constexpr DType kFloats[] = {DType::F16, DType::BF16, DType::F32, DType::F64};

}  // namespace

TEST_CASE("numbers drawn on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const DType dtype : kFloats) {
            for (const Dims& sizes : {Dims{}, Dims{0}, Dims{1}, Dims{3}, Dims{7, 11}, Dims{4096}}) {
              for (const char* const op : {"rand", "randn"})
                all.check(op, {}, {{"size", sizes}, {"dtype", dtype}});
            }
            const Tensor x = noise(Dims{5, 7}, dtype, 1);
            for (const char* const op : {"rand_like", "randn_like"}) all.check(op, x, {});
            all.check("uniform", x, {{"low", -2.0}, {"high", 3.0}});
            all.check("uniform", x, {{"low", 1.0}, {"high", 1.0}});
            all.check("normal_functional", x, {{"mean", 3.0}, {"std", 0.5}});
            all.check("dropout", x, {{"p", 0.25}});
          }
          return all.wrong(60);
        }) == "");
}

TEST_CASE("numbers drawn on a card into what is there are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const Tensor cube = noise(Dims{4, 18, 45}, DType::F32, 1);
          for (const Shown& shown : kShown) {
            all.check_written("uniform", cube, shown, {{"low", -2.0}, {"high", 3.0}});
            all.check_written("normal_functional", cube, shown, {});
            all.check_written("bernoulli.p", cube, shown, {{"p", 0.5}});
          }
          return all.wrong(24);
        }) == "");
}

TEST_CASE("integers drawn on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) {
            const NamedAttr as{"dtype", static_cast<DType>(dtype)};
            all.check("randint", {}, {{"high", std::int64_t{2}}, {"size", Dims{3, 7}}, as});
            all.check("randint.low", {},
                      {{"low", std::int64_t{0}}, {"high", std::int64_t{1}}, {"size", Dims{5}}, as});
          }
          all.check("randint.low", {},
                    {{"low", std::int64_t{-1} << 62}, {"high", std::int64_t{1} << 62}, {"size", Dims{1000}}});
          all.check("randint.low", {},
                    {{"low", std::int64_t{-100}},
                     {"high", std::int64_t{27}},
                     {"size", Dims{999}},
                     {"dtype", DType::I8}});
          return all.wrong(22);
        }) == "");
}

TEST_CASE("chances are met on a card as on the CPU, and what is none is refused", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) {
            const Tensor x = make(Dims{77}, static_cast<DType>(dtype), [](std::int64_t) { return 1.0; });
            for (const double p : {0.0, 1e-9, 0.3, 1 - 1e-12, 1.0}) all.check("bernoulli.p", x, {{"p", p}});
          }
          for (const DType dtype : kFloats) {
            const Tensor chances = noise(Dims{4, 18, 45}, dtype, 3, 0.0, 1.0);
            for (const Shown& shown : kShown) all.check("bernoulli", chances, shown, {});
            for (const double wrong : {1.5, -0.25, 1e4}) {
              set_element(chances, 500, wrong);
              all.check("bernoulli", chances, {});
            }
            set_element(chances, 37, std::nan(""));
            all.check("bernoulli", chances, {});
          }
          all.check("bernoulli", noise(Dims{0}, DType::F32, 1), {});
          all.check("bernoulli.p", noise(Dims{3}, DType::F32, 1), {{"p", 2.0}});
          return all.wrong(95);
        }) == "");
}

TEST_CASE("shuffles on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const std::int64_t n : {0, 1, 2, 3, 50, 257, 4096, 4097, 20000})
            all.check("randperm", {}, {{"n", n}});
          for (const DType dtype : {DType::I32, DType::F32})
            all.check("randperm", {}, {{"n", std::int64_t{100}}, {"dtype", dtype}});
          return all.wrong(11);
        }) == "");
}

TEST_CASE("draws that are skipped on a card count", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const std::int64_t count : {5, -2}) {
            all.check_program("skip_draws", [&](Device device) -> Tensors {
              set_default_device(device);
              const Tensors skipped = call("skip_draws", {}, {{"count", count}});
              set_default_device(Device{});
              return skipped;
            });
          }
          return all.wrong(2);
        }) == "");
}

TEST_CASE("classes that are drawn by weight on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const auto weights = [](const Dims& sizes, DType dtype) {
            const Tensor x = noise(sizes, dtype, 6, 0.0, 3.0);
            for (std::int64_t i = 0; i < x.numel(); i += 3) set_element(x, i, 0.0);
            return x;
          };
          const auto check = [&](const Tensor& x, std::int64_t samples, bool replacement) {
            all.check("multinomial", x, {{"num_samples", Dim(samples)}, {"replacement", replacement}});
          };
          for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
            check(weights(Dims{3, 9}, dtype), 4, false);
            check(weights(Dims{3, 9}, dtype), 40, true);
          }
          for (const std::int64_t classes : {2, 255, 257, 2049, 5000}) {
            check(weights(Dims{classes}, DType::F32), 1, false);
            check(weights(Dims{2, classes}, DType::F32), classes / 2, false);
            check(weights(Dims{2, classes}, DType::F32), 300, true);
          }
          for (const bool replacement : {false, true}) {
            check(make(Dims{1}, DType::F32, [](std::int64_t) { return 2.0; }), 1, replacement);
            check(make(Dims{2, 5}, DType::F32, [](std::int64_t i) { return i < 5 ? 1.0 : 0.0; }), 1,
                  replacement);
            for (const double wrong : {-1.0, static_cast<double>(INFINITY), std::nan("")}) {
              const Tensor x = weights(Dims{3, 50}, DType::F32);
              set_element(x, 70, wrong);
              check(x, 2, replacement);
            }
            check(weights(Dims{0, 5}, DType::F32), 2, replacement);
          }
          check(weights(Dims{30}, DType::F32), 25, false);
          check(weights(Dims{3, 0}, DType::F32), 2, true);
          return all.wrong(36);
        }) == "");
}

TEST_CASE("kernels that draw are not taken for kernels that read", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          return printed_for({"@jit\nfn f(x, y) { return (rand_like(x) * 2 + 1, y * 2 + 1) }",
                              "x = zeros(4).cuda(); y = ones(3, 2).cuda()", "f(x, y);",
                              "print(f(x, y)[1].tolist())"});
        }) == "[[3.0, 3.0], [3.0, 3.0], [3.0, 3.0]]\n");
}

}  // namespace kiln::random_test
