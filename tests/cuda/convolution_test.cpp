// Convolutions on a card. Elements are small whole numbers, so that every sum is exact in every order and
// dtype, and results are the CPU's to the bit.
#include <catch2/catch.hpp>

#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

namespace kiln::convolution_test {

using namespace kiln::testing;

namespace {

struct Case {
  Dims x, weight, stride, padding, dilation;
  std::int64_t groups;
};
const std::vector<Case> kCases = {
    {{2, 3, 7, 6}, {4, 3, 3, 2}, {1, 1}, {0, 0}, {1, 1}, 1},
    {{3, 4, 8, 8}, {6, 2, 3, 3}, {2, 3}, {1, 2}, {1, 1}, 2},
    {{2, 3, 9, 5}, {3, 1, 2, 3}, {1, 2}, {1, 1}, {3, 2}, 3},
    {{2, 5, 4, 4}, {3, 5, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
    {{1, 2, 6, 6}, {2, 2, 1, 1}, {3, 2}, {1, 0}, {1, 1}, 1},
    {{2, 3, 11}, {2, 3, 4}, {3}, {2}, {2}, 1},
    {{0, 3, 5, 5}, {2, 3, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 1},
};

Tensor whole_numbers(const Dims& sizes, DType dtype, int seed) {
  const bool is_signed = dtype != DType::U8;
  return make(sizes, dtype, [=](std::int64_t i) {
    return static_cast<double>((i * 7 + i / 5 + seed) % 5) - (is_signed ? 2.0 : 0.0);
  });
}

std::vector<NamedAttr> options(const Case& of) {
  return {{"stride", of.stride}, {"padding", of.padding}, {"dilation", of.dilation}, {"groups", of.groups}};
}

// The convolution and both its adjoints.
void check_all(Agreement& all, const Case& of, DType dtype, const Shown& shown = {"as it is", as_it_is}) {
  const Tensor weight = whole_numbers(of.weight, dtype, 1), x = whole_numbers(of.x, dtype, 2);
  const Tensor bias = whole_numbers(Dims{of.weight[0]}, dtype, 3);
  std::vector<NamedAttr> attrs = options(of);
  const Tensor y = call("convolution", {x, weight, bias}, attrs)[0];
  all.check("convolution", x, shown, attrs, {weight, bias});
  all.check("convolution", x, attrs, {weight, Tensor()});
  const auto spatial = [](const Dims& sizes) { return Dims(sizes.begin() + 2, sizes.end()); };
  attrs.push_back({"sizes", spatial(of.x)});
  all.check("convolution_input", y, shown, attrs, {weight});
  attrs.back() = {"sizes", spatial(of.weight)};
  all.check("convolution_weight", x, shown, attrs, {y});
}

}  // namespace

TEST_CASE("convolutions on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Case& each : kCases) check_all(all, each, DType::F32);
          for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) {
            if (static_cast<DType>(dtype) != DType::Bool)
              check_all(all, kCases[1], static_cast<DType>(dtype));
          }
          return all.wrong(60);
        }) == "");
}

TEST_CASE("images whose channels lie last are convolved on a card", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          all.check_program("channels last", [](Device device) {
            const Tensor x = ops::to(whole_numbers(Dims{2, 6, 5, 3}, DType::F32, 1), device);
            const Tensor weight = ops::to(whole_numbers(Dims{4, 3, 3, 3}, DType::F32, 2), device);
            const Dims ones{1, 1};
            return call(
                "convolution", {ops::permute(x, Dims{0, 3, 1, 2}), weight, Tensor()},
                {{"stride", ones}, {"padding", ones}, {"dilation", ones}, {"groups", std::int64_t{1}}});
          });
          return all.wrong(1);
        }) == "");
}

}  // namespace kiln::convolution_test
