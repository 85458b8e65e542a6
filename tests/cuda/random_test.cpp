// Draws on a card: the CPU's numbers of a seed, and its draws counted.
#include <catch2/catch.hpp>

#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

using namespace kiln;
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
          for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
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
          for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
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

TEST_CASE("draws that the host makes count for those on a card", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          all.check("randperm", {}, {{"n", std::int64_t{50}}});
          all.check("multinomial", noise(Dims{3, 9}, DType::F32, 4, 0.0, 1.0), {{"num_samples", Dim{4}}});
          return all.wrong(2);
        }) == "");
}
