// Composed expressions against finite differences, to the second order.
#include <catch2/catch.hpp>

#include "gradcheck.h"
#include "ops_by_name.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"

namespace kiln::test_tape_expressions_test {

using namespace kiln::gradients;
using namespace kiln::ops;

namespace {

// x and y are f64[2, 3] in [0.5, 1.5), v is f64[3], m is f64[3, 2].
struct Expression {
  const char* text;
  Tensor (*run)(const Tensor& x, const Tensor& y, const Tensor& v, const Tensor& m);
};

#define EXPRESSION(...)                                                                      \
  {#__VA_ARGS__, [](auto& x, auto& y, auto& v, auto& m) -> Tensor {                          \
     static_cast<void>(x), static_cast<void>(y), static_cast<void>(v), static_cast<void>(m); \
     return __VA_ARGS__;                                                                     \
   }}

const Expression kExpressions[] = {
    EXPRESSION(x * y + x / y - y),
    EXPRESSION(exp(sin(x)) * log(y)),
    EXPRESSION(pow(x, y)),
    EXPRESSION(sqrt(x* x + y * y)),
    EXPRESSION(tanh(matmul(x, m))),
    EXPRESSION(matmul(x, v)),
    EXPRESSION(matmul(matmul(x, m), matmul(y, m))),
    EXPRESSION((x + v) * sum(y, Dims{0})),
    EXPRESSION(x* sum(x) + mean(y, Dims{1}, true)),
    EXPRESSION(softmax(x* y, 1)),
    EXPRESSION(-sum(log_softmax(x + v, 1) * y)),
    EXPRESSION(logsumexp(x* v, Dims{1})),
    EXPRESSION(transpose(x, 0, 1) * m),
    EXPRESSION(cat(std::vector<Tensor>{x * y, y, x}, 1)),
    EXPRESSION(stack(std::vector<Tensor>{x, x* y}, 0)),
    EXPRESSION(select(x, 0, 1) * slice(y, 0, 0, 1) * v),
    EXPRESSION(diagonal(matmul(x, m)) * diagonal(matmul(y, m))),
    EXPRESSION(unfold(reshape(x, Dims{6}), 0, 3, 1) * v),
    EXPRESSION(expand(v, Dims{2, 3}) * x),
    EXPRESSION(where(gt(x, y), x* y, y* y)),
    EXPRESSION(maximum(x, y) * minimum(x, v)),
    EXPRESSION(clamp(x, 0.7, 1.2) * y),
    EXPRESSION(cumsum(x* y, 1)),
    EXPRESSION(prod(x) * prod(v)),
    EXPRESSION(amax(x, Dims{1}) * amin(y, Dims{1})),
    EXPRESSION(sigmoid(x) * erf(y) + atan2(x, y)),
    EXPRESSION(gelu(x) + silu(y) + softplus(x)),
    EXPRESSION(index_select(x, 1, vec({2, 0, 2}, DType::I64)) * v),
    EXPRESSION(gather(x, 1, make({0, 1, 2, 2}, Dims{2, 2}, DType::I64)) * 2.0),
    EXPRESSION(scatter_add(x, 1, make({0, 2, 2, 1}, Dims{2, 2}, DType::I64), matmul(y, m))),
    EXPRESSION(linear(x, y, slice(v, 0, 0, 2))),
    EXPRESSION(outer(v, v) * matmul(m, x)),
    EXPRESSION(dot(v, v) * v),
    EXPRESSION(rsqrt(x) * reciprocal(y) + log1p(x) - expm1(y)),
    EXPRESSION(tril(matmul(m, x)) + triu(matmul(m, y), 1)),
    EXPRESSION(flip(x, Dims{0, 1}) * y),
    EXPRESSION(as_strided(x* y, Dims{2, 2}, Dims{1, 2}, 1)),
    EXPRESSION(as_strided(slice(x* y, 1, 1, 3), Dims{2, 2}, Dims{1, 3}, 1)),
    EXPRESSION(slice_scatter(x, unsqueeze(select(y, 0, 0) * v, 0), 0, 0, 1)),
};

}  // namespace

TEST_CASE("expressions have the gradients of finite differences", "[tape][expressions]") {
  const std::vector<Tensor> inputs = {scattered(Dims{2, 3}, 0.5, 1.5, 1), scattered(Dims{2, 3}, 0.5, 1.5, 2),
                                      scattered(Dims{3}, 0.5, 1.5, 3), scattered(Dims{3, 2}, 0.5, 1.5, 4)};
  for (const Expression& expression : kExpressions) {
    INFO(expression.text);
    CHECK(compare_gradients(
              [&](const std::vector<Tensor>& in) {
                return std::vector<Tensor>{expression.run(in[0], in[1], in[2], in[3])};
              },
              inputs) == "");
  }
}

TEST_CASE("a small network to the second order", "[tape][expressions]") {
  const auto loss = [](const std::vector<Tensor>& in) {
    const Tensor hidden = tanh(linear(in[0], in[1], in[2]));
    const Tensor logits = linear(hidden, in[3], in[4]);
    return std::vector<Tensor>{-mean(select(log_softmax(logits, 1), 1, 0)) + sum(in[1] * in[1]) * 0.01};
  };
  CHECK(compare_gradients(loss, {scattered(Dims{4, 3}, -1, 1, 1), scattered(Dims{5, 3}, -1, 1, 2),
                                 scattered(Dims{5}, -1, 1, 3), scattered(Dims{2, 5}, -1, 1, 4),
                                 scattered(Dims{2}, -1, 1, 5)}) == "");
}

}  // namespace kiln::test_tape_expressions_test
