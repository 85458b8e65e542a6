// Pooling against naive loops over options, dtypes and layouts; what PyTorch gives at the edges; errors.
#include <catch2/catch.hpp>

#include "tensor/parallel.h"
#include "tests/tensor/tensors.h"

namespace kiln::pool_test {

using namespace kiln::testing;

namespace {

struct Pool {
  Dims planes, kernel, stride, padding{0, 0}, dilation{1, 1};
  bool ceil_mode = false;

  // Windows along dimension d, by the definition: all that begin before the end (padding included).
  Dim count(std::size_t d) const {
    const Dim reach = (kernel[d] - 1) * dilation[d] + 1;
    Dim n = 0;
    while (n * stride[d] - padding[d] + reach <= planes[d] + padding[d]) ++n;
    const Dim next = n * stride[d] - padding[d];
    const bool begun = next < planes[d] + padding[d] &&
                       (n == 0 || (n - 1) * stride[d] - padding[d] + reach < planes[d] + padding[d]);
    return ceil_mode && begun && next < planes[d] ? n + 1 : n;
  }
};

const Pool kPools[] = {
    {{6, 7}, {2, 2}, {2, 2}},
    {{6, 7}, {3, 2}, {1, 3}, {1, 1}},
    {{5, 5}, {2, 2}, {2, 2}, {1, 0}, {1, 1}, true},
    {{7, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true},
    {{1, 4}, {1, 2}, {1, 1}},
    {{6, 4}, {6, 4}, {6, 4}},
};

// Calls f(result, place or -1 in the padding) for every element of every window of one plane.
template <class F>
void each_place(const Pool& p, F f) {
  for (Dim i = 0; i < p.count(0); ++i)
    for (Dim j = 0; j < p.count(1); ++j)
      for (Dim a = 0; a < p.kernel[0]; ++a)
        for (Dim b = 0; b < p.kernel[1]; ++b) {
          const Dim r = i * p.stride[0] - p.padding[0] + a * p.dilation[0];
          const Dim c = j * p.stride[1] - p.padding[1] + b * p.dilation[1];
          const bool beyond = r >= p.planes[0] + p.padding[0] || c >= p.planes[1] + p.padding[1];
          if (beyond) continue;  // what ceil_mode adds is no padding
          const bool inside = r >= 0 && r < p.planes[0] && c >= 0 && c < p.planes[1];
          f(i * p.count(1) + j, inside ? r * p.planes[1] + c : -1);
        }
}

std::vector<NamedAttr> attrs_of(const Pool& p) {
  return {
      {"kernel_size", p.kernel}, {"stride", p.stride}, {"padding", p.padding}, {"ceil_mode", p.ceil_mode}};
}
Dims sizes_of(const Pool& p) { return {2, 3, p.count(0), p.count(1)}; }

Tensor mixed(const Dims& sizes, DType dtype) {
  return make(sizes, dtype, [=](std::int64_t i) {
    return static_cast<double>(i * 29 % 53) - (dtype == DType::U8 ? 0 : 20);
  });
}

OpError error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const OpError& error) {
    return error;
  }
  return {ErrorKind::Internal, "no error"};
}

constexpr DType kFloats[] = {DType::F16, DType::BF16, DType::F32, DType::F64};
constexpr DType kOrderedDTypes[] = {DType::U8,  DType::I8,   DType::I16, DType::I32, DType::I64,
                                    DType::F16, DType::BF16, DType::F32, DType::F64};
const auto kLays = {+[](const Tensor& t) { return t; }, strided, backwards};

}  // namespace

TEST_CASE("max_pool2d of all options, dtypes and layouts", "[pool]") {
  std::vector<Pool> pools(std::begin(kPools), std::end(kPools));
  pools.push_back({{7, 8}, {2, 3}, {2, 1}, {1, 2}, {3, 2}});
  for (const Pool& p : pools) {
    const std::int64_t results = p.count(0) * p.count(1), size = p.planes[0] * p.planes[1];
    for (const DType dtype : kOrderedDTypes) {
      const Tensor x = mixed({2, 3, p.planes[0], p.planes[1]}, dtype);
      std::vector<NamedAttr> attrs = attrs_of(p);
      attrs.push_back({"dilation", p.dilation});
      attrs.push_back({"return_indices", true});
      for (const auto lay : kLays) {
        const Tensors found = call("max_pool2d", {lay(x)}, attrs);
        REQUIRE(found.size() == 2);
        REQUIRE(found[0].type() == TensorType{dtype, Device{}, sizes_of(p)});
        REQUIRE(found[1].type() == TensorType{DType::I64, Device{}, sizes_of(p)});
        for (std::int64_t plane = 0; plane < 6; ++plane) {
          std::vector<std::int64_t> best(static_cast<std::size_t>(results), -1);
          each_place(p, [&](Dim result, Dim place) {
            std::int64_t& now = best[static_cast<std::size_t>(result)];
            if (place < 0) return;
            if (now < 0 || element(x, plane * size + place) > element(x, plane * size + now)) now = place;
          });
          for (std::int64_t i = 0; i < results; ++i) {
            const std::int64_t place = best[static_cast<std::size_t>(i)];
            REQUIRE(element(found[1], plane * results + i) == place);
            REQUIRE(element(found[0], plane * results + i) == element(x, plane * size + place));
          }
        }
      }
    }
  }
}

TEST_CASE("max_pool2d: nan wins, -inf pads, the first of equals", "[pool]") {
  const double nan = std::nan(""), low = -HUGE_VAL;
  const auto pool = [](std::vector<double> values) {
    const Tensor x =
        make({1, 2, 2}, DType::F32, [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    const Tensors found = call("max_pool2d", {x}, {{"kernel_size", Dims{2}}, {"return_indices", true}});
    return std::pair(static_cast<double>(element(found[0], 0)), static_cast<int>(element(found[1], 0)));
  };
  CHECK(std::isnan(pool({1, nan, 2, 3}).first));
  CHECK(pool({1, nan, 2, 3}).second == 1);
  CHECK(pool({nan, 1, nan, 3}).second == 2);
  CHECK(pool({low, low, low, low}) == std::pair(low, 0));
  CHECK(pool({1, 5, 5, 3}) == std::pair(5.0, 1));
  CHECK(call("max_pool2d", {mixed({1, 4, 4}, DType::F32)}, {{"kernel_size", Dims{2}}}).size() == 1);
  CHECK(call("max_pool2d", {mixed({0, 3, 4, 4}, DType::F32)}, {{"kernel_size", Dims{2}}})[0].sizes() ==
        Dims{0, 3, 2, 2});
}

TEST_CASE("avg_pool2d of all options, dtypes and layouts, and its gradient", "[pool]") {
  for (const Pool& p : kPools) {
    const std::int64_t results = p.count(0) * p.count(1), size = p.planes[0] * p.planes[1];
    for (const DType dtype : kFloats) {
      const Tensor x = mixed({2, 3, p.planes[0], p.planes[1]}, dtype), g = mixed(sizes_of(p), dtype);
      const long double unit = dtype == DType::F64   ? 1e-14L
                               : dtype == DType::F32 ? 1e-5L
                               : dtype == DType::F16 ? 0.03L
                                                     : 0.25L;
      for (const auto& [include, divisor] : {std::pair{true, 0}, {false, 0}, {true, 5}}) {
        std::vector<NamedAttr> attrs = attrs_of(p);
        attrs.push_back({"count_include_pad", include});
        if (divisor != 0) attrs.push_back({"divisor_override", std::int64_t{divisor}});
        std::vector<long double> sums(static_cast<std::size_t>(6 * results)),
            back(static_cast<std::size_t>(6 * size));
        std::vector<int> counts(static_cast<std::size_t>(results));
        each_place(p, [&](Dim result, Dim place) {
          if (place >= 0 || include) ++counts[static_cast<std::size_t>(result)];
        });
        if (divisor != 0) std::fill(counts.begin(), counts.end(), divisor);
        each_place(p, [&](Dim result, Dim place) {
          if (place < 0) return;
          const long double n = counts[static_cast<std::size_t>(result)];
          for (std::int64_t plane = 0; plane < 6; ++plane) {
            sums[static_cast<std::size_t>(plane * results + result)] += element(x, plane * size + place) / n;
            back[static_cast<std::size_t>(plane * size + place)] += element(g, plane * results + result) / n;
          }
        });
        for (const auto lay : kLays) {
          const Tensor y = call("avg_pool2d", {lay(x)}, attrs)[0];
          REQUIRE(y.type() == TensorType{dtype, Device{}, sizes_of(p)});
          for (std::size_t i = 0; i < sums.size(); ++i)
            REQUIRE(std::abs(element(y, static_cast<std::int64_t>(i)) - sums[i]) <= unit);
          std::vector<NamedAttr> sized = attrs;
          sized.push_back({"sizes", p.planes});
          const Tensor spread = call("avg_pool2d_backward", {lay(g)}, sized)[0];
          for (std::size_t i = 0; i < back.size(); ++i)
            REQUIRE(std::abs(element(spread, static_cast<std::int64_t>(i)) - back[i]) <= unit * 4);
        }
      }
    }
  }
  const Tensor whole = call("avg_pool2d", {make({1, 2, 2}, DType::I64, [](std::int64_t i) { return -i; })},
                            {{"kernel_size", Dims{2}}})[0];
  CHECK(whole.dtype() == DType::I64);
  CHECK(element(whole, 0) == -1);  // -6 / 4, towards zero
}

TEST_CASE("adaptive pools cover everything, whatever the size", "[pool]") {
  for (const DType dtype : kFloats) {
    const Tensor x = mixed({2, 3, 5, 7}, dtype);
    const long double unit = dtype == DType::F64   ? 1e-14L
                             : dtype == DType::F32 ? 1e-5L
                             : dtype == DType::F16 ? 0.03L
                                                   : 0.25L;
    for (const Dims& output : {Dims{1, 1}, Dims{3, 4}, Dims{5, -1}, Dims{8, 9}}) {
      const Dim rows = output[0], columns = output[1] < 0 ? 7 : output[1];
      const Tensor mean = call("adaptive_avg_pool2d", {strided(x)}, {{"output_size", output}})[0];
      const Tensor most = call("adaptive_max_pool2d", {backwards(x)}, {{"output_size", output}})[0];
      REQUIRE(mean.sizes() == Dims{2, 3, rows, columns});
      for (std::int64_t i = 0; i < mean.numel(); ++i) {
        const Dim r = i / columns % rows, c = i % columns, plane = i / (rows * columns);
        long double sum = 0, max = -HUGE_VALL;
        int count = 0;
        for (Dim a = r * 5 / rows; a * rows < (r + 1) * 5; ++a)
          for (Dim b = c * 7 / columns; b * columns < (c + 1) * 7; ++b, ++count) {
            sum += element(x, plane * 35 + a * 7 + b);
            max = std::max(max, element(x, plane * 35 + a * 7 + b));
          }
        REQUIRE(std::abs(element(mean, i) - sum / count) <= unit);
        REQUIRE(element(most, i) == max);
      }
    }
  }
  CHECK(
      call("adaptive_avg_pool2d", {mixed({3, 4, 4}, DType::F32)}, {{"output_size", Dims{0, 2}}})[0].sizes() ==
      Dims{3, 0, 2});
}

TEST_CASE("pools of lines are pools of planes of height 1", "[pool]") {
  const Tensor x = mixed({2, 3, 9}, DType::F64);
  const std::vector<NamedAttr> line = {{"kernel_size", Dims{3}}, {"stride", Dims{2}}, {"padding", Dims{1}}};
  const std::vector<NamedAttr> plane = {
      {"kernel_size", Dims{1, 3}}, {"stride", Dims{1, 2}}, {"padding", Dims{0, 1}}};
  for (const char* kind : {"max", "avg"}) {
    const std::string name(kind);
    const Tensor flat = call(name + "_pool2d", {ops::unsqueeze(x, 2)}, plane)[0];
    CHECK(same_bits(call(name + "_pool1d", {x}, line)[0], ops::squeeze(flat, Dims{2})));
    CHECK(same_bits(call(name + "_pool1d", {ops::select(x, 0, 1)}, line)[0],
                    ops::select(ops::squeeze(flat, Dims{2}), 0, 1)));
  }
  const Tensor flat = call("adaptive_avg_pool2d", {ops::unsqueeze(x, 2)}, {{"output_size", Dims{1, 4}}})[0];
  CHECK(same_bits(call("adaptive_avg_pool1d", {x}, {{"output_size", Dims{4}}})[0],
                  ops::squeeze(flat, Dims{2})));
}

TEST_CASE("pools have the same bits on any number of threads", "[pool]") {
  const Tensor x = noise({4, 64, 20, 20}, DType::F32, 1);
  const std::vector<NamedAttr> attrs = {{"kernel_size", Dims{3}}, {"stride", Dims{2}}, {"padding", Dims{1}}};
  const int threads = num_threads();
  set_num_threads(1);
  const Tensor max = call("max_pool2d", {x}, attrs)[0], mean = call("avg_pool2d", {x}, attrs)[0];
  set_num_threads(3);
  CHECK(same_bits(call("max_pool2d", {x}, attrs)[0], max));
  CHECK(same_bits(call("avg_pool2d", {x}, attrs)[0], mean));
  set_num_threads(threads);
}

TEST_CASE("pools say what does not fit", "[pool]") {
  const Tensor x = noise({2, 3, 5, 5}, DType::F32, 1);
  const auto message = [](const char* op, const Tensor& in, const std::vector<NamedAttr>& attrs) {
    return error_of([&] { call(op, {in}, attrs); }).message();
  };
  const NamedAttr two{"kernel_size", Dims{2}};
  CHECK(message("max_pool2d", x, {{"kernel_size", Dims{7}}}) ==
        "max_pool2d: a kernel that reaches 7 does not fit into a height of 5");
  CHECK(message("avg_pool2d", x, {{"kernel_size", Dims{2, 9}}, {"padding", Dims{0, 1}}}) ==
        "avg_pool2d: a kernel that reaches 9 does not fit into a width of 5 padded by 1");
  CHECK(message("max_pool2d", x, {two, {"padding", Dims{2}}}) ==
        "max_pool2d: padding must be at most half of what the kernel reaches, 2, it is 2");
  CHECK(message("max_pool2d", x, {{"kernel_size", Dims{0}}}) ==
        "max_pool2d: kernel_size must be at least 1, it is 0");
  CHECK(message("max_pool2d", x, {two, {"stride", Dims{0}}}) ==
        "max_pool2d: stride must be at least 1, it is 0");
  CHECK(message("avg_pool2d", x, {{"kernel_size", Dims{2, 2, 2}}}) ==
        "avg_pool2d: kernel_size has 3 entries for 2 spatial dimensions");
  CHECK(message("max_pool1d", noise({3, 5}, DType::F32, 1), {{"kernel_size", Dims{2, 2}}}) ==
        "max_pool1d: kernel_size has 2 entries for 1 spatial dimensions");
  CHECK(message("avg_pool2d", x, {two, {"divisor_override", std::int64_t{0}}}) ==
        "avg_pool2d: divisor_override must not be 0");
  CHECK(message("max_pool2d", noise({5, 5}, DType::F32, 1), {two}) ==
        "max_pool2d: expects 4 dimensions, [n, channels, height, width], or 3 without the batch, got f32[5, "
        "5]");
  CHECK(message("max_pool2d", noise({2, 3, 0, 4}, DType::F32, 1), {two}) ==
        "max_pool2d: the images of f32[2, 3, 0, 4] have no elements");
  CHECK(message("max_pool2d", ops::to(x, DType::Bool), {two}) ==
        "max_pool2d: bool has no order, and this is bool[2, 3, 5, 5]");
  CHECK(message("avg_pool2d", ops::to(x, DType::I32), {two}) ==
        "avg_pool2d needs float elements, and this is i32[2, 3, 5, 5]");
  CHECK(message("max_pool2d", noise({1, 1, 1}, DType::F32, 1),
                {two, {"dilation", Dims{5}}, {"padding", Dims{3}}}) ==
        "max_pool2d: a window that begins in the padding steps over the whole input");
  CHECK(message("adaptive_avg_pool2d", x, {{"output_size", Dims{2, -2}}}) ==
        "adaptive_avg_pool2d: output_size must be at least -1, it is -2");
}

}  // namespace kiln::pool_test
