// A kernel of each family and form: the sample that the test `cuda_ptx` runs by the PTX of NVRTC.
#include <catch2/catch.hpp>

#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"
#include "tests/cuda/talk.h"

namespace kiln::sample_test {

using namespace kiln::testing;

namespace {

NamedAttr along(std::int64_t dim) { return {"dim", dim}; }
NamedAttr along(const Dims& dims) { return {"dim", dims}; }

Tensor cube(DType dtype) { return noise(Dims{4, 18, 45}, dtype, 3, -3.0, 3.0); }

}  // namespace

TEST_CASE("elements of a sample of kernels have the CPU's bits on a card", "[cuda][sample]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const Tensor x = cube(DType::F32);
          for (const Shown& shown : kShown) {
            all.check("sin", x, shown, {});
            all.check("clone", x, shown, {});
          }
          for (const char* const op : {"rand", "randn"}) all.check(op, {}, {{"size", Dims{7, 11}}});
          all.check("dropout", x, {{"p", 0.25}});
          all.check_program("casts", [&](Device device) {
            return Tensors{ops::to(ops::to(x, device), DType::F16), ops::to(ops::to(x, device), DType::I8)};
          });
          return all.wrong(20);
        }) == "");
}

TEST_CASE("rows of a sample of kernels have the CPU's bits on a card", "[cuda][sample]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const Tensor x = cube(DType::F32);
          for (const Dims& dims : {Dims{2}, Dims{0}, Dims{0, 1, 2}}) all.check("sum", x, {along(dims)});
          all.check("sum", noise(Dims{5, 9000}, DType::F32, 5, -1.0, 1.0), {along(Dims{1})});
          for (const std::int64_t dim : {1, 2}) {
            for (const char* const op : {"max.dim", "cumsum", "cummax"}) all.check(op, x, {along(dim)});
          }
          all.check("max_pool2d_with_indices", noise(Dims{2, 3, 11, 9}, DType::F32, 2, -9.0, 9.0),
                    {{"kernel_size", Dims{3, 3}}, {"stride", Dims{2, 2}}, {"padding", Dims{1, 1}}});
          return all.wrong(11);
        }) == "");
}

TEST_CASE("orders and places of a sample of kernels are the CPU's on a card", "[cuda][sample]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const std::int64_t n : {300, 5000})
            all.check("sort", noise(Dims{2, n}, DType::F32, 4, -9.0, 9.0), {along(1)});
          all.check("unique", make(Dims{300}, DType::F32, [](std::int64_t i) { return i * 37 % 11 - 5.0; }),
                    {{"return_inverse", true}, {"return_counts", true}});
          all.check("nonzero", ops::floor(cube(DType::F32)), {});
          all.check("flip", cube(DType::F32), {{"dims", Dims{0, 2}}});
          return all.wrong(5);
        }) == "");
}

TEST_CASE("products of a sample of kernels have the CPU's bits on a card", "[cuda][sample]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          // In turn, fused in parts that are computed apart, by rows and by columns of a matrix with a
          // vector.
          const Tensor x = noise(Dims{33, 800}, DType::F32, 1);
          all.check("matmul", noise(Dims{5, 7}, DType::F32, 1), {}, {noise(Dims{7, 6}, DType::F32, 2)});
          all.check("matmul", x, {}, {noise(Dims{800, 20}, DType::F32, 2)});
          all.check("matmul", x, {}, {noise(Dims{800}, DType::F32, 2)});
          all.check("matmul", noise(Dims{33}, DType::F32, 2), {}, {x});
          return all.wrong(4);
        }) == "");
}

TEST_CASE("compiled functions of each form have the CPU's bits on a card", "[cuda][sample]") {
  CHECK(in_child(fakes(), [] {
          return printed_for(
              {"fn agrees(f, x) {\n  seed(3)\n  here = f(x)\n  seed(3)\n  there = f(x.cuda())\n"
               "  return all([equal(a, b.cpu()) for a, b in zip(here, there)])\n}",
               "@jit\nfn elements(x) { return ((x.sin() * 2 + x).exp().half(), x.t() * rand_like(x).t()) }",
               "@jit\nfn short_rows(x) { return ((dropout(x, 0.5) + x).softmax(1), x) }",
               "@jit\nfn long_rows(x) { return ((x * x).sum(1), (x - x.mean(1, true)).amax(1)) }",
               "print(agrees(elements, rand(6, 40)), agrees(short_rows, rand(60, 40)))",
               "print(agrees(long_rows, randn(2, 9000)))"});
        }) == "true true\ntrue\n");
}

}  // namespace kiln::sample_test
