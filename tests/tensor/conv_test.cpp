// Convolutions against a naive long double reference, over options, dtypes and layouts.
#include <catch2/catch.hpp>
#include <cstring>

#include "tensor/parallel.h"
#include "tests/tensor/tensors.h"

namespace kiln::conv_test {

using namespace kiln::testing;

namespace {

using Numbers = std::vector<long double>;

struct Case {
  Dims x, weight;
  Dims stride{1, 1}, padding{0, 0}, dilation{1, 1};
  std::int64_t groups = 1;

  Dims y() const {
    Dims sizes{x[0], weight[0]};
    for (std::size_t d = 0; d < 2; ++d) {
      const Dim reach = (weight[d + 2] - 1) * dilation[d] + 1;
      sizes.push_back((x[d + 2] + 2 * padding[d] - reach) / stride[d] + 1);
    }
    return sizes;
  }
  std::vector<NamedAttr> attrs() const {
    return {{"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}};
  }
  std::vector<NamedAttr> attrs(const Dims& sizes) const {
    std::vector<NamedAttr> all = attrs();
    all.push_back({"sizes", Dims(sizes.begin() + 2, sizes.end())});
    return all;
  }
};

const Case kCases[] = {
    {{2, 3, 6, 7}, {4, 3, 3, 2}},
    {{1, 1, 5, 5}, {2, 1, 5, 5}},
    {{2, 4, 6, 6}, {6, 2, 3, 3}, {2, 1}, {1, 2}, {1, 1}, 2},
    {{3, 2, 8, 7}, {3, 2, 2, 3}, {1, 2}, {2, 0}, {3, 2}},
    {{2, 5, 6, 6}, {5, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 5},
    {{1, 3, 5, 4}, {6, 1, 2, 2}, {3, 2}, {2, 2}, {1, 2}, 3},
    {{2, 17, 4, 4}, {33, 17, 1, 1}},
    {{2, 3, 1, 1}, {2, 3, 3, 3}, {2, 2}, {1, 1}},
    {{0, 2, 4, 4}, {3, 2, 2, 2}},
    {{2, 0, 4, 4}, {3, 0, 2, 2}},
    {{18, 2, 3, 3}, {2, 2, 2, 2}},
};

// Calls f(place in x, place in weight, place in y) for every product of a convolution.
template <class F>
void each_product(const Case& c, F f) {
  const Dims y = c.y();
  const Dim in = c.weight[1], out = c.weight[0] / c.groups;
  for (Dim n = 0; n < y[0]; ++n)
    for (Dim o = 0; o < y[1]; ++o)
      for (Dim i = 0; i < y[2]; ++i)
        for (Dim j = 0; j < y[3]; ++j)
          for (Dim k = 0; k < in; ++k)
            for (Dim a = 0; a < c.weight[2]; ++a)
              for (Dim b = 0; b < c.weight[3]; ++b) {
                const Dim r = i * c.stride[0] - c.padding[0] + a * c.dilation[0];
                const Dim s = j * c.stride[1] - c.padding[1] + b * c.dilation[1];
                if (r < 0 || r >= c.x[2] || s < 0 || s >= c.x[3]) continue;
                const Dim channel = o / out * in + k;
                f(((n * c.x[1] + channel) * c.x[2] + r) * c.x[3] + s,
                  ((o * in + k) * c.weight[2] + a) * c.weight[3] + b, ((n * y[1] + o) * y[2] + i) * y[3] + j);
              }
}

enum class Which { Forward, Input, Weight };
Numbers reference(const Case& c, Which which, const Tensor& first, const Tensor& second) {
  const Numbers a = elements(first), b = elements(second);
  const Dims sizes = which == Which::Forward ? c.y() : which == Which::Input ? c.x : c.weight;
  Numbers result(static_cast<std::size_t>(count_elements(sizes)), 0);
  each_product(c, [&](Dim x, Dim w, Dim y) {
    const auto ix = static_cast<std::size_t>(x), iw = static_cast<std::size_t>(w),
               iy = static_cast<std::size_t>(y);
    if (which == Which::Forward) result[iy] += a[ix] * b[iw];
    if (which == Which::Input) result[ix] += a[iy] * b[iw];
    if (which == Which::Weight) result[iw] += a[ix] * b[iy];
  });
  return result;
}

// Small integers: every order of adding gives the same.
Tensor small(const Dims& sizes, DType dtype, int seed) {
  const bool is_signed = dtype != DType::U8;
  return make(sizes, dtype, [=](std::int64_t i) {
    return static_cast<double>((i * 7 + seed * 3 + i / 5) % 3) - (is_signed ? 1.0 : 0.0);
  });
}

void check_exact(const Tensor& actual, const Dims& sizes, const Numbers& expected) {
  REQUIRE(actual.sizes() == sizes);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    long double wrapped = expected[i];
    if (actual.dtype() == DType::U8) wrapped = static_cast<std::uint8_t>(static_cast<int>(wrapped));
    INFO("element " << i << " of " << describe(actual));
    REQUIRE(element(actual, static_cast<std::int64_t>(i)) == wrapped);
  }
}

void check_near(const Tensor& actual, const Numbers& expected, long double tolerance) {
  REQUIRE(actual.numel() == static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("element " << i << " of " << describe(actual));
    REQUIRE(std::abs(element(actual, static_cast<std::int64_t>(i)) - expected[i]) <= tolerance);
  }
}

constexpr DType kDTypes[] = {DType::U8,  DType::I8,   DType::I16, DType::I32, DType::I64,
                             DType::F16, DType::BF16, DType::F32, DType::F64};

OpError error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const OpError& error) {
    return error;
  }
  return {ErrorKind::Internal, "no error"};
}

// Leaves nothing but nans in the memory that this thread makes tensors and scratch buffers of next.
void poison_free_memory() {
  std::vector<Ref<Buffer>> blocks;
  for (std::size_t bytes = 64; bytes <= (std::size_t{1} << 21); bytes += bytes / 8) {
    for (int i = 0; i < 2; ++i) {
      blocks.push_back(Buffer::allocate(bytes, Device{}));
      std::memset(blocks.back()->data(), 0xff, bytes);
    }
  }
}

Tensor f32(const Dims& sizes) { return noise(sizes, DType::F32, 1); }

}  // namespace

TEST_CASE("convolutions and their adjoints of all options, dtypes and layouts", "[conv]") {
  for (const Case& c : kCases) {
    for (const DType dtype : kDTypes) {
      const Tensor x = small(c.x, dtype, 1), weight = small(c.weight, dtype, 2), y = small(c.y(), dtype, 3);
      INFO(describe(x) << " by " << describe(weight));
      for (const auto lay : {+[](const Tensor& t) { return t; }, strided, backwards}) {
        check_exact(call("convolution", {lay(x), lay(weight), {}}, c.attrs())[0], c.y(),
                    reference(c, Which::Forward, x, weight));
        check_exact(call("convolution_input", {lay(y), lay(weight)}, c.attrs(c.x))[0], c.x,
                    reference(c, Which::Input, y, weight));
        check_exact(call("convolution_weight", {lay(x), lay(y)}, c.attrs(c.weight))[0], c.weight,
                    reference(c, Which::Weight, x, y));
      }
    }
  }
}

TEST_CASE("convolutions round as little as their dtype lets them", "[conv]") {
  const Case cases[] = {{{3, 32, 12, 12}, {48, 32, 3, 3}, {1, 1}, {1, 1}},
                        {{2, 32, 11, 11}, {32, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 32},
                        {{4, 3, 20, 20}, {16, 3, 5, 5}, {2, 1}, {2, 2}}};
  for (const Case& c : cases) {
    for (const auto& [dtype, unit] : {std::pair{DType::F64, 0x1p-52L},
                                      {DType::F32, 0x1p-23L},
                                      {DType::F16, 0x1p-10L},
                                      {DType::BF16, 0x1p-7L}}) {
      const Tensor x = noise(c.x, dtype, 1, -1, 1), weight = noise(c.weight, dtype, 2, -1, 1);
      const Tensor y = noise(c.y(), dtype, 3, -1, 1);
      const long double most = unit * 128;
      check_near(call("convolution", {x, weight, {}}, c.attrs())[0], reference(c, Which::Forward, x, weight),
                 most);
      check_near(call("convolution_input", {y, weight}, c.attrs(c.x))[0],
                 reference(c, Which::Input, y, weight), most);
      check_near(call("convolution_weight", {x, y}, c.attrs(c.weight))[0], reference(c, Which::Weight, x, y),
                 most * 4);
    }
  }
}

TEST_CASE("convolutions read nothing that was not written", "[conv]") {
  const int threads = num_threads();
  set_num_threads(1);
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  for (const Dim width : {1, 2, 3}) {
    for (const std::int64_t stride : {1, 2, 3})
      cases.push_back({{1, 5, 2, width}, {33, 5, 2, 3}, {1, stride}, {1, 2}});
  }
  for (const Case& c : cases) {
    for (const DType dtype : {DType::F32, DType::BF16}) {
      const Tensor x = small(c.x, dtype, 1), weight = small(c.weight, dtype, 2), y = small(c.y(), dtype, 3);
      poison_free_memory();
      const Tensor forward = call("convolution", {x, weight, {}}, c.attrs())[0];
      poison_free_memory();
      const Tensor input = call("convolution_input", {y, weight}, c.attrs(c.x))[0];
      poison_free_memory();
      const Tensor gradient = call("convolution_weight", {x, y}, c.attrs(c.weight))[0];
      check_exact(forward, c.y(), reference(c, Which::Forward, x, weight));
      check_exact(input, c.x, reference(c, Which::Input, y, weight));
      check_exact(gradient, c.weight, reference(c, Which::Weight, x, y));
    }
  }
  set_num_threads(threads);
}

TEST_CASE("an expanded input counts like its copy", "[conv]") {
  const Tensor row = f32({1, 2, 1, 6});
  const Tensor expanded = ops::expand(row, Dims{3, 2, 5, 6});
  const Tensor weight = f32({4, 2, 3, 3});
  CHECK(same_bits(call("conv2d", {expanded, weight, {}})[0],
                  call("conv2d", {ops::contiguous(expanded), weight, {}})[0]));
}

TEST_CASE("convolutions have the same bits on any number of threads and in any batch", "[conv]") {
  const int threads = num_threads();
  for (const DType dtype : {DType::F32, DType::F64}) {
    for (const auto& [channels, groups] : {std::pair<Dim, std::int64_t>{24, 1}, {24, 24}}) {
      const Case c{
          {7, channels, 13, 13}, {channels, channels / groups, 3, 3}, {1, 1}, {1, 1}, {1, 1}, groups};
      const Tensor x = noise(c.x, dtype, 1), weight = noise(c.weight, dtype, 2), y = noise(c.y(), dtype, 3);
      const Tensor bias = noise({channels}, dtype, 4);
      const auto all = [&] {
        return std::vector<Tensor>{call("convolution", {x, weight, bias}, c.attrs())[0],
                                   call("convolution_input", {y, weight}, c.attrs(c.x))[0],
                                   call("convolution_weight", {x, y}, c.attrs(c.weight))[0]};
      };
      set_num_threads(1);
      const std::vector<Tensor> alone = all();
      for (const int count : {2, 3, 5}) {
        set_num_threads(count);
        const std::vector<Tensor> together = all();
        for (std::size_t i = 0; i < alone.size(); ++i) CHECK(same_bits(alone[i], together[i]));
      }
      for (Dim n = 0; n < c.x[0]; ++n) {
        CHECK(same_bits(call("convolution", {ops::narrow(x, 0, n, 1), weight, bias}, c.attrs())[0],
                        ops::narrow(alone[0], 0, n, 1)));
        CHECK(same_bits(call("convolution_input", {ops::narrow(y, 0, n, 1), weight}, c.attrs(c.x))[0],
                        ops::narrow(alone[1], 0, n, 1)));
      }
    }
  }
  set_num_threads(threads);
}

// Large images are cut into stripes of rows, signals into parts.
TEST_CASE("convolutions of large images are those of f64, on any number of threads", "[conv]") {
  const int threads = num_threads();
  const Case cases[] = {
      {{2, 64, 96, 80}, {64, 64, 3, 3}, {1, 1}, {1, 1}},
      {{1, 64, 97, 80}, {64, 64, 5, 3}, {1, 1}, {0, 1}, {2, 1}},
      {{1, 32, 200, 100}, {64, 32, 5, 5}, {2, 1}, {3, 2}},
      {{1, 32, 1, 32001}, {32, 32, 1, 9}, {1, 1}, {0, 4}, {1, 3}},
  };
  for (const Case& c : cases) {
    const Tensor x = noise(c.x, DType::F64, 1), weight = noise(c.weight, DType::F64, 2);
    const Tensor y = noise(c.y(), DType::F64, 3), bias = noise({c.weight[0]}, DType::F64, 4);
    const auto all = [&](DType dtype) {
      const auto in = [=](const Tensor& each) { return ops::to(each, dtype); };
      return std::vector<Tensor>{call("convolution", {in(x), in(weight), in(bias)}, c.attrs())[0],
                                 call("convolution_input", {in(y), in(weight)}, c.attrs(c.x))[0],
                                 call("convolution_weight", {in(x), in(y)}, c.attrs(c.weight))[0]};
    };
    const std::vector<Tensor> exact = all(DType::F64);
    for (const DType dtype : {DType::F32, DType::BF16}) {
      set_num_threads(1);
      const std::vector<Tensor> alone = all(dtype);
      set_num_threads(3);
      const std::vector<Tensor> together = all(dtype);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        INFO("result " << i << " in " << name(dtype));
        CHECK(same_bits(alone[i], together[i]));
        const Tensor error = ops::amax(ops::abs(ops::to(alone[i], DType::F64) - exact[i]));
        const double scale = ops::amax(ops::abs(exact[i])).item_float();
        CHECK(error.item_float() <= scale * (dtype == DType::F32 ? 1e-5 : 2e-2));
      }
    }
  }
  set_num_threads(threads);
}

TEST_CASE("conv1d and conv2d: batches, one image, padding by word, bias", "[conv]") {
  const Tensor x = noise({2, 3, 5, 4}, DType::F64, 1), weight = noise({4, 3, 2, 4}, DType::F64, 2);
  const Tensor bias = noise({4}, DType::F64, 3);
  const Tensor plain = call("conv2d", {x, weight, {}})[0];
  const Tensor biased = call("conv2d", {x, weight, bias})[0];
  for (std::int64_t i = 0; i < biased.numel(); ++i)
    CHECK(element(biased, i) == static_cast<double>(element(plain, i) + element(bias, i / 4 % 4)));
  CHECK(same_bits(call("conv2d", {ops::select(x, 0, 1), weight, bias})[0], ops::select(biased, 0, 1)));
  CHECK(same_bits(call("conv2d.named", {x, weight, bias}, {{"padding", std::string("valid")}})[0], biased));
  // "same" of even kernels: the odd zero comes last.
  const Tensor same = call("conv2d.named", {x, weight, bias}, {{"padding", std::string("same")}})[0];
  CHECK(same.sizes() == Dims{2, 4, 5, 4});
  const Tensor padded = call("constant_pad", {x}, {{"pad", Dims{1, 2, 0, 1}}})[0];
  check_near(same, elements(call("conv2d", {padded, weight, bias})[0]), 1e-12L);

  const Tensor line = noise({2, 3, 9}, DType::F64, 4), kernel = noise({2, 3, 3}, DType::F64, 5);
  const Tensor flat = call("conv2d", {ops::unsqueeze(line, 2), ops::unsqueeze(kernel, 2), {}},
                           {{"stride", Dims{1, 2}}, {"padding", Dims{0, 1}}})[0];
  CHECK(same_bits(call("conv1d", {line, kernel, {}}, {{"stride", Dims{2}}, {"padding", Dims{1}}})[0],
                  ops::squeeze(flat, Dims{2})));
  const Tensor kept = call("conv1d.named", {line, kernel, {}}, {{"padding", std::string("same")}})[0];
  CHECK(same_bits(kept, call("conv1d", {line, kernel, {}}, {{"padding", Dims{1}}})[0]));
}

TEST_CASE("conv_transpose2d undoes the sizes of conv2d", "[conv]") {
  const Tensor x = noise({2, 4, 3, 2}, DType::F64, 1), weight = noise({4, 3, 3, 2}, DType::F64, 2);
  const Tensor bias = noise({6}, DType::F64, 3);
  const std::vector<NamedAttr> attrs = {{"stride", Dims{2, 3}},
                                        {"padding", Dims{1, 0}},
                                        {"output_padding", Dims{1, 2}},
                                        {"groups", std::int64_t{2}},
                                        {"dilation", Dims{2, 1}}};
  const Tensor y = call("conv_transpose2d", {x, weight, bias}, attrs)[0];
  REQUIRE(y.sizes() == Dims{2, 6, 8, 7});
  const Case adjoint{{2, 6, 8, 7}, {4, 3, 3, 2}, {2, 3}, {1, 0}, {2, 1}, 2};
  REQUIRE(adjoint.y() == x.sizes());
  Numbers expected = reference(adjoint, Which::Input, x, weight);
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] += element(bias, static_cast<std::int64_t>(i) / 56 % 6);
  check_near(y, expected, 1e-12L);
  CHECK(same_bits(call("conv_transpose2d", {ops::select(x, 0, 1), weight, bias}, attrs)[0],
                  ops::select(y, 0, 1)));
  // Output padding within the dilation, beyond the stride.
  const Tensor wide =
      call("conv_transpose1d",
           {noise({1, 1, 3}, DType::F64, 4), make({1, 1, 2}, DType::F64, [](auto) { return 1.0; }), {}},
           {{"dilation", Dims{3}}, {"output_padding", Dims{2}}})[0];
  CHECK(wide.sizes() == Dims{1, 1, 8});
  CHECK(element(wide, 7) == 0);
}

TEST_CASE("convolutions say what does not fit", "[conv]") {
  const auto message = [](const std::vector<Tensor>& in, const std::vector<NamedAttr>& attrs = {},
                          const char* op = "conv2d") {
    return error_of([&] { call(op, in, attrs); }).message();
  };
  const Tensor x = f32({2, 3, 5, 5});
  CHECK(message({x, f32({4, 2, 3, 3}), {}}) ==
        "conv2d: the input f32[2, 3, 5, 5] has 3 channels and the weight f32[4, 2, 3, 3] takes 2");
  CHECK(
      message({x, f32({3, 2, 3, 3}), {}}, {{"groups", std::int64_t{3}}}) ==
      "conv2d: the input f32[2, 3, 5, 5] has 3 channels and the weight f32[3, 2, 3, 3] takes 6 in 3 groups");
  CHECK(message({x, f32({4, 1, 3, 3}), {}}, {{"groups", std::int64_t{3}}}) ==
        "conv2d: the 4 output channels of the weight f32[4, 1, 3, 3] do not divide into 3 groups");
  CHECK(message({x, f32({4, 3, 7, 3}), {}}) ==
        "conv2d: the kernel of the weight f32[4, 3, 7, 3] is larger than the padded input f32[2, 3, 5, 5]");
  CHECK(message({x, f32({4, 3, 0, 3}), {}}) == "conv2d: the kernel of f32[4, 3, 0, 3] is empty");
  CHECK(message({f32({5, 5}), f32({4, 3, 3, 3}), {}}) ==
        "conv2d: expects 4 dimensions, [n, channels, ...], or 3 without the batch, got f32[5, 5]");
  CHECK(message({x, f32({4, 3, 3}), {}}) == "conv2d: expects a weight of 4 dimensions, got f32[4, 3, 3]");
  CHECK(message({x, f32({4, 3, 3, 3}), f32({3})}) ==
        "conv2d: the bias is f32[3], and there are 4 output channels");
  CHECK(message({x, f32({4, 3, 3, 3}), noise({4}, DType::F64, 1)}) ==
        "conv2d: the bias is f64[4] and the input f32[2, 3, 5, 5]: dtypes differ");
  CHECK(message({x, noise({4, 3, 3, 3}, DType::F64, 1), {}}) ==
        "conv2d: the input is f32[2, 3, 5, 5] and the weight f64[4, 3, 3, 3]: dtypes differ");
  CHECK(message({ops::to(x, DType::Bool), ops::to(f32({4, 3, 3, 3}), DType::Bool), {}}) ==
        "conv2d: bool has no product");
  CHECK(message({x, f32({4, 3, 3, 3}), {}}, {{"stride", Dims{0}}}) ==
        "conv2d: stride must be at least 1, it is 0");
  CHECK(message({x, f32({4, 3, 3, 3}), {}}, {{"padding", Dims{-1, 0}}}) ==
        "conv2d: padding must be at least 0, it is -1");
  CHECK(message({x, f32({4, 3, 3, 3}), {}}, {{"dilation", Dims{1, 1, 1}}}) ==
        "conv2d: dilation has 3 entries for 2 spatial dimensions");
  CHECK(message({x, f32({4, 3, 3, 3}), {}}, {{"groups", std::int64_t{0}}}) ==
        "conv2d: groups must be at least 1, it is 0");
  CHECK(message({x, f32({4, 3, 3, 3}), {}}, {{"padding", std::string("same")}, {"stride", Dims{2}}},
                "conv2d.named") == "conv2d: padding=\"same\" needs a stride of 1");
  CHECK(message({x, f32({4, 3, 3, 3}), {}}, {{"padding", std::string("full")}}, "conv2d.named") ==
        "conv2d: padding is a size, \"same\" or \"valid\", not \"full\"");
  CHECK(message({x, f32({4, 3, 3, 3}), {}}, {}, "conv_transpose2d") ==
        "conv_transpose2d: f32[2, 3, 5, 5] has 3 channels and the weight f32[4, 3, 3, 3] takes 4");
  CHECK(message({x, f32({3, 2, 3, 3}), {}}, {{"stride", Dims{2}}, {"output_padding", Dims{2}}},
                "conv_transpose2d") ==
        "conv_transpose2d: output_padding must be smaller than the stride or the dilation, it is 2");
  CHECK(message({f32({1, 3, 1, 1}), f32({3, 2, 1, 1}), {}}, {{"padding", Dims{3}}}, "conv_transpose2d") ==
        "conv_transpose2d: dimension 2 of the result would have size -5");
  CHECK(message({x, f32({4, 3, 3, 3})}, {{"sizes", Dims{4, 4}}}, "convolution_input") ==
        "convolution_input: f32[2, 3, 5, 5] has 3 channels and the weight f32[4, 3, 3, 3] takes 4");
  CHECK(message({x, f32({3, 3, 3, 3})}, {{"sizes", Dims{4, 4}}}, "convolution_input") ==
        "convolution_input: a convolution of [4, 4] by the weight f32[3, 3, 3, 3] has no places for f32[2, "
        "3, 5, 5]");
  CHECK(
      message({x, f32({3, 3, 3, 3})}, {{"sizes", Dims{4, 4}}}, "convolution_weight") ==
      "convolution_weight: x f32[2, 3, 5, 5] and y f32[3, 3, 3, 3] are not both sides of a convolution of 1 "
      "groups by a kernel of [4, 4]");
}

}  // namespace kiln::conv_test
