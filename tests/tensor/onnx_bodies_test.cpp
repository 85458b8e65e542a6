// Bodies over smaller ops that stand for a row in models of ONNX: they give what the row gives.
#include <catch2/catch.hpp>

#include "tests/tensor/samples.h"

namespace kiln::onnx_bodies_test {

using namespace kiln::testing;

namespace {

Tensor turned(const Tensor& x) { return ops::transpose(x, x.rank() - 2, x.rank() - 1); }

void check_near(const Tensor& found, const Tensor& wanted) {
  REQUIRE(found.type() == wanted.type());
  for (std::int64_t i = 0; i < wanted.numel(); ++i) {
    const long double a = element(found, i), b = element(wanted, i);
    INFO("element " << i);
    CHECK((a == b || std::abs(a - b) <= 1e-9L * (1 + std::abs(b))));
  }
}
void check_orthonormal_columns(const Tensor& x) {
  const Tensor product = ops::matmul(turned(x), x);
  const Dim n = x.size(x.rank() - 1);
  check_near(product, ops::expand(make({n, n}, DType::F64, [n](std::int64_t i) { return i % (n + 1) == 0; }),
                                  product.sizes()));
}

Tensors body_of(std::string_view name, const Tensor& x) {
  const Op& op = OpTable::get().at(name);
  return op.onnx.body(op, {&x, 1}, Attrs(op));
}

// Vectors are determined up to their sign.
void check_svd(const Tensor& x) {
  const Tensors usv = body_of("thin_svd", x);
  check_near(usv[1], call("svdvals", {x})[0]);
  check_near(body_of("svdvals", x)[0], usv[1]);
  check_near(ops::matmul(usv[0] * ops::unsqueeze(usv[1], usv[1].rank() - 1), usv[2]), x);
  check_orthonormal_columns(usv[0]);
  check_orthonormal_columns(turned(usv[2]));
}
void check_eigh(const Tensor& x) {
  const Tensors found = body_of("eigh", x);
  check_near(found[0], call("eigvalsh", {x})[0]);
  check_near(body_of("eigvalsh", x)[0], found[0]);
  check_near(ops::matmul(found[1] * ops::unsqueeze(found[0], found[0].rank() - 1), turned(found[1])), x);
  check_orthonormal_columns(found[1]);
}
bool has_free_signs(const Op& op) { return op.name() == "eigh" || op.name() == "thin_svd"; }

}  // namespace

TEST_CASE("Bodies for models give what their rows give", "[onnx][bodies]") {
  int rows = 0;
  for (const Op* op : OpTable::get().ops()) {
    if (op->onnx.body == nullptr || has_free_signs(*op)) continue;
    ++rows;
    for (const Sample& sample : samples_of(*op)) {
      INFO(op->name());
      const std::vector<Tensor> given = sample.in_domain(sample.inputs);
      const Tensors inputs(given.begin(), given.end());
      const Attrs attrs = attrs_of(*op, sample.attrs);
      const Tensors wanted = kiln::bind(*op, inputs, attrs), found = op->onnx.body(*op, inputs, attrs);
      REQUIRE(found.size() == wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) check_near(found[i], wanted[i]);
    }
  }
  CHECK(rows > 20);
}

TEST_CASE("Spectra by rotations", "[onnx][bodies]") {
  for (const Dims& sizes : {Dims{1, 1}, Dims{5, 5}, Dims{2, 3, 4}, Dims{7, 2}, Dims{32, 32}})
    check_svd(noise(sizes, DType::F64, 3));
  for (const Dims& sizes : {Dims{1, 1}, Dims{2, 2}, Dims{2, 5, 5}, Dims{32, 32}}) {
    const Tensor x = noise(sizes, DType::F64, 4);
    check_eigh(x + turned(x));
  }
}

TEST_CASE("Spectra by rotations of matrices without full rank", "[onnx][bodies]") {
  const Tensor x = noise({6, 2}, DType::F64, 5);
  check_svd(ops::matmul(x, turned(x)));
  check_eigh(ops::matmul(x, turned(x)));
  check_svd(ops::zeros(Dims{3, 2}, DType::F64));
  check_eigh(ops::ones(Dims{4, 4}, DType::F64));
}

TEST_CASE("Elimination exchanges rows", "[onnx][bodies]") {
  const Tensor x = make({3, 3}, DType::F64, [](std::int64_t i) { return i == 1 || i == 5 || i == 6; });
  check_near(body_of("inv", x)[0], turned(x));
  check_near(body_of("slogdet", x)[0], ops::ones(Dims{}, DType::F64));
  const Tensors singular = body_of("slogdet", ops::zeros(Dims{2, 2}, DType::F64));
  CHECK(element(singular[0], 0) == 0);
  CHECK(element(singular[1], 0) == -HUGE_VAL);
}

}  // namespace kiln::onnx_bodies_test
