// scaled_dot_product_attention against long double loops: masks, causality, groups of heads; errors.
#include <catch2/catch.hpp>

#include "tensor/autograd.h"
#include "tests/tensor/tensors.h"

namespace kiln::attention_test {

using namespace kiln::testing;

namespace {

struct Options {
  Tensor mask;  // [l, s], bool or of the queries' dtype
  bool causal = false;
  long double scale = 0;  // 0: 1 / sqrt(e)
};

// q [b, l, e], k [b, s, e], v [b, s, d].
std::vector<long double> reference(const Tensor& q, const Tensor& k, const Tensor& v,
                                   const Options& options) {
  const Dim l = q.size(1), e = q.size(2), s = k.size(1), d = v.size(2);
  std::vector<long double> result;
  for (Dim b = 0; b < q.size(0); ++b)
    for (Dim i = 0; i < l; ++i) {
      std::vector<long double> scores;
      for (Dim j = 0; j < s; ++j) {
        long double score = 0;
        for (Dim c = 0; c < e; ++c)
          score += element(q, (b * l + i) * e + c) * element(k, (b * s + j) * e + c);
        score *= options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<long double>(e));
        if (options.causal && j > i) score = -HUGE_VALL;
        if (options.mask && options.mask.dtype() != DType::Bool) score += element(options.mask, i * s + j);
        if (options.mask && options.mask.dtype() == DType::Bool && element(options.mask, i * s + j) == 0)
          score = -HUGE_VALL;
        scores.push_back(score);
      }
      const long double most = *std::max_element(scores.begin(), scores.end());
      long double total = 0;
      for (long double& score : scores) total += score = most == -HUGE_VALL ? 0 : std::exp(score - most);
      for (Dim c = 0; c < d; ++c) {
        long double sum = 0;
        for (Dim j = 0; j < s; ++j)
          sum += scores[static_cast<std::size_t>(j)] * element(v, (b * s + j) * d + c);
        result.push_back(total == 0 ? 0 : sum / total);
      }
    }
  return result;
}

constexpr const char* kName = "scaled_dot_product_attention";

void check_near(const Tensor& found, const std::vector<long double>& expected, DType dtype) {
  const long double most = dtype == DType::F64   ? 1e-14L
                           : dtype == DType::F32 ? 2e-6L
                           : dtype == DType::F16 ? 2e-3L
                                                 : 2e-2L;
  REQUIRE(found.dtype() == dtype);
  REQUIRE(found.numel() == static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i)
    REQUIRE(std::abs(element(found, static_cast<std::int64_t>(i)) - expected[i]) <= most);
}

std::string message(const std::vector<Tensor>& in, const std::vector<NamedAttr>& attrs = {}) {
  try {
    call(kName, in, attrs);
  } catch (const OpError& error) {
    return error.message();
  }
  return "no error";
}

}  // namespace

TEST_CASE("attention of every dtype, layout and mask", "[attention]") {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    for (const auto& [l, s] : {std::pair<Dim, Dim>{3, 5}, {6, 2}, {1, 1}}) {
      const Tensor q = noise({2, l, 4}, dtype, 1), k = noise({2, s, 4}, dtype, 2),
                   v = noise({2, s, 3}, dtype, 3);
      // The first query sees nothing.
      const Dim keys = s;
      const Tensor seen = make({l, s}, DType::Bool, [=](std::int64_t i) { return i >= keys && i % 3 != 1; });
      const Tensor added = make({l, s}, dtype, [=](std::int64_t i) {
        return i < keys ? -HUGE_VAL : static_cast<double>(i % 4) / 4;
      });
      for (const auto lay : {+[](const Tensor& t) { return t; }, strided, backwards}) {
        const auto run = [&](const Tensor& mask, const std::vector<NamedAttr>& attrs) {
          return call(kName, {lay(q), lay(k), lay(v), mask}, attrs)[0];
        };
        check_near(run({}, {}), reference(q, k, v, {}), dtype);
        check_near(run({}, {{"is_causal", true}}), reference(q, k, v, {{}, true}), dtype);
        check_near(run(seen, {}), reference(q, k, v, {seen}), dtype);
        check_near(run(added, {{"scale", 0.25}}), reference(q, k, v, {added, false, 0.25L}), dtype);
      }
    }
  }
}

TEST_CASE("a query that sees nothing gives 0 and no nan gradients", "[attention]") {
  for (const bool is_bool : {true, false}) {
    std::vector<Tensor> in;
    for (int i = 0; i < 3; ++i) {
      in.push_back(noise({1, 2, 3}, DType::F64, i));
      set_requires_grad(in.back(), true);
    }
    in.push_back(is_bool ? make({2, 2}, DType::Bool, [](std::int64_t i) { return i > 1; })
                         : make({2, 2}, DType::F64, [](std::int64_t i) { return i > 1 ? 0 : -HUGE_VAL; }));
    const Op& op = OpTable::get().at(kName);
    const Tensor y = kiln::bind(op, in, Attrs(op))[0];
    for (std::int64_t i = 0; i < 3; ++i) CHECK(element(y, i) == 0);
    backward(ops::sum(y));
    for (int i = 0; i < 3; ++i)
      for (std::int64_t e = 0; e < 6; ++e)
        CHECK(std::isfinite(static_cast<double>(element(grad_of(in[static_cast<std::size_t>(i)]), e))));
    for (std::int64_t e = 0; e < 3; ++e) CHECK(element(grad_of(in[0]), e) == 0);
  }
}

TEST_CASE("heads of keys are shared by groups of heads of queries", "[attention]") {
  const Tensor q = noise({2, 6, 3, 4}, DType::F64, 1), k = noise({2, 2, 5, 4}, DType::F64, 2);
  const Tensor v = noise({2, 2, 5, 3}, DType::F64, 3);
  const Tensor y = call(kName, {q, k, v, {}}, {{"enable_gqa", true}})[0];
  REQUIRE(y.sizes() == Dims{2, 6, 3, 3});
  for (Dim head = 0; head < 6; ++head) {
    const auto of = [](const Tensor& x, Dim h) { return ops::contiguous(ops::select(x, 1, h)); };
    check_near(ops::contiguous(of(y, head)), reference(of(q, head), of(k, head / 3), of(v, head / 3), {}),
               DType::F64);
  }
}

TEST_CASE("dropout_p drops weights", "[attention]") {
  const Tensor q = noise({1, 4, 2}, DType::F32, 1), k = noise({1, 64, 2}, DType::F32, 2);
  const Tensor v = make({1, 64, 1}, DType::F32, [](auto) { return 1.0; });
  for (const auto& [p, least, most] :
       {std::tuple{0.0, 0.999L, 1.001L}, {0.5, 0.3L, 1.7L}, {1.0, 0.0L, 0.0L}}) {
    const Tensor y = call(kName, {q, k, v, {}}, {{"dropout_p", p}})[0];
    for (std::int64_t i = 0; i < 4; ++i) CHECK((element(y, i) >= least && element(y, i) <= most));
  }
}

TEST_CASE("attention says what does not fit", "[attention]") {
  const auto f32 = [](const Dims& sizes) { return noise(sizes, DType::F32, 1); };
  const Tensor q = f32({2, 3, 4});
  const std::string name = std::string(kName) + ": ";
  CHECK(message({f32({3}), q, q, {}}) ==
        name +
            "query, key and value have at least 2 dimensions, [..., length, features]: f32[3], f32[2, 3, 4], "
            "f32[2, 3, 4]");
  CHECK(message({q, f32({2, 3, 5}), q, {}}) ==
        name + "the query f32[2, 3, 4] and the key f32[2, 3, 5] have different numbers of features");
  CHECK(message({q, f32({2, 5, 4}), q, {}}) ==
        name + "the key f32[2, 5, 4] and the value f32[2, 3, 4] have different lengths");
  CHECK(message({q, noise({2, 3, 4}, DType::F64, 1), q, {}}) ==
        name + "query, key and value must have one dtype: f32[2, 3, 4], f64[2, 3, 4], f32[2, 3, 4]");
  CHECK(message({ops::to(q, DType::I32), q, q, {}}) ==
        std::string(kName) + " needs float elements, and this is i32[2, 3, 4]");
  CHECK(message({q, q, q, ops::to(f32({3, 3}), DType::Bool)}, {{"is_causal", true}}) ==
        name + "give attn_mask or is_causal=true, not both");
  CHECK(message({q, q, q, noise({3, 3}, DType::F64, 1)}) ==
        name + "attn_mask must be bool or f32, it is f64[3, 3]");
  CHECK(message({q, q, q, f32({3, 4})}) ==
        name + "attn_mask f32[3, 4] does not broadcast to the scores [2, 3, 3]");
  CHECK(message({f32({3, 2, 4}), f32({2, 2, 4}), f32({2, 2, 4}), {}}, {{"enable_gqa", true}}) ==
        name +
            "with enable_gqa the heads (dimension -3) of key and value must be equally many and divide those "
            "of the query: f32[3, 2, 4], f32[2, 2, 4], f32[2, 2, 4]");
}

}  // namespace kiln::attention_test
