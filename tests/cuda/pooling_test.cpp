// Pools on a card: the CPU's bits, of values, places and adjoints.
#include <catch2/catch.hpp>

#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

namespace kiln::pooling_test {

using namespace kiln::testing;

namespace {

struct Window {
  Dims kernel, stride, padding, dilation;
  bool ceil_mode;
};
const std::vector<Window> kWindows = {
    {{2, 2}, {2, 2}, {0, 0}, {1, 1}, false}, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, false},
    {{3, 2}, {1, 3}, {1, 1}, {1, 2}, true},  {{5, 1}, {2, 1}, {2, 0}, {2, 1}, true},
    {{1, 1}, {3, 3}, {0, 0}, {1, 1}, false},
};

std::vector<NamedAttr> attributes(const Window& window) {
  return {{"kernel_size", window.kernel},
          {"stride", window.stride},
          {"padding", window.padding},
          {"ceil_mode", window.ceil_mode}};
}

Tensor images(DType dtype) {
  const Tensor x = noise(Dims{2, 3, 11, 9}, dtype, 2, -9.0, 9.0);
  for (std::int64_t i = 0; i < x.numel(); i += 3) set_element(x, i, 2.0);  // equal ones
  if (is_float(dtype)) set_element(x, 40, std::nan(""));
  return x;
}

const Shown kLayouts[] = {
    {"in order", as_it_is},
    {"channels last", [](const Tensor& x) { return ops::permute(x, Dims{0, 2, 3, 1}); }},
    {"stepped", [](const Tensor& x) { return ops::slice(x, 3, 0, x.size(3), 2); }},
    {"of one image", [](const Tensor& x) { return ops::select(x, 0, 1); }},
};

}  // namespace

TEST_CASE("maxima of windows on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) {
            const Tensor x = images(static_cast<DType>(dtype));
            for (const Window& window : kWindows) {
              std::vector<NamedAttr> attrs = attributes(window);
              attrs.push_back({"dilation", window.dilation});
              all.check("max_pool2d_with_indices", x, attrs);
              if (static_cast<DType>(dtype) == DType::F32)
                for (const Shown& shown : kLayouts) all.check("max_pool2d_with_indices", x, shown, attrs);
            }
            all.check("adaptive_max_pool2d_with_indices", x, {{"output_size", Dims{4, 5}}});
          }
          return all.wrong(70);
        }) == "");
}

TEST_CASE("averages of windows on a card are the CPU's, and so are their adjoints", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I64}) {
            const Tensor x = images(dtype);
            for (const Window& window : kWindows) {
              for (const bool counts : {false, true}) {
                std::vector<NamedAttr> attrs = attributes(window);
                attrs.push_back({"count_include_pad", counts});
                all.check("avg_pool2d", x, attrs);
                if (dtype == DType::F32)
                  for (const Shown& shown : kLayouts) all.check("avg_pool2d", x, shown, attrs);
                if (dtype == DType::I64) continue;
                const Dims planes = call("avg_pool2d", {x}, attrs)[0].sizes();
                attrs.push_back({"sizes", Dims{11, 9}});
                all.check("avg_pool2d_backward", noise(planes, dtype, 8), attrs);
              }
            }
            for (const Dims& size : {Dims{4, 5}, Dims{11, 9}, Dims{1, 20}, Dims{3, 2}}) {
              if (dtype != DType::I64)
                all.check("adaptive_avg_pool2d_backward", noise(Dims{2, 3, size[0], size[1]}, dtype, 8),
                          {{"output_size", size}, {"sizes", Dims{11, 9}}});
              all.check("adaptive_avg_pool2d", x, {{"output_size", size}});
            }
          }
          all.check("avg_pool2d", images(DType::F32),
                    {{"kernel_size", Dims{2, 2}}, {"divisor_override", std::int64_t{3}}});
          return all.wrong(100);
        }) == "");
}

TEST_CASE("the adjoint of maxima on a card is the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const DType dtype : {DType::F16, DType::F32, DType::F64}) {
            const Tensor x = images(dtype);
            const Tensors found =
                call("max_pool2d_with_indices", {x}, {{"kernel_size", Dims{3, 3}}, {"stride", Dims{1, 1}}});
            const Tensor y = noise(found[0].sizes(), dtype, 9);
            all.check("max_pool2d_backward", y, {{"sizes", Dims{11, 9}}}, {found[1]});
            all.check("max_pool2d_backward", y, {{"sizes", Dims{3, 2}}}, {found[1]});
          }
          return all.wrong(6);
        }) == "");
}

}  // namespace kiln::pooling_test
