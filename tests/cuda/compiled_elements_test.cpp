// Compiled functions without reductions on a card: the CPU's bits, one element a thread or a vector of them.
#include <catch2/catch.hpp>

#include "jit/cuda/tiles.h"
#include "jit/cuda/vectors.h"
#include "tests/cuda/agree.h"
#include "tests/cuda/child.h"
#include "tests/cuda/talk.h"

namespace kiln::compiled_elements_test {

using namespace kiln::testing;

namespace {

// c = a + b of one dtype, over one axis.
jit::LoopNest sum_of(DType dtype) {
  jit::LoopNest nest;
  nest.axes = {100};
  for (int k = 0; k < 2; ++k) {
    jit::Load& load = nest.loads.emplace_back();
    load.input = k;
    load.dtype = dtype;
  }
  nest.stores.resize(1);
  nest.stores[0].dtype = dtype;
  return nest;
}
int width_along(const jit::LoopNest& nest, const IntDims& sizes, std::vector<IntDims> strides) {
  strides.push_back(IntDims(contiguous_strides(Dims(sizes))));
  return jit::plan_vectors(nest, cuda::WalkAxes(sizes, strides)).width;
}

}  // namespace

TEST_CASE("compiled elements have the CPU's bits on a card, in vectors and alone", "[cuda]") {
  CHECK(
      in_child(fakes(), [] {
        return printed_for(
            {kAgree,
             // Of two widths, drawn, one for all of a row and of a column, and from places where no vector
             // begins.
             "@jit\nfn mixed(x) { y = x * 2 + 1; return (y.half(), y > 0, y.double() - x, dropout(y, 0.5)) }",
             "@jit\nfn spread(x) { return ((x[0] * 2 + x).half(), x - x[:, 1:2] * 3) }",
             "@jit\nfn shifted(x) { y = x.flatten(); return (y[1:] * 2 + y[:-1], (y[4:] + 1) * y[0]) }",
             "print([agree(f, [[12, 16], [3, 7], [1, 3], [5, 8]]) for f in [mixed, spread, shifted]])"});
      }) == "[true, true, true]\n");
}

TEST_CASE("compiled elements that lie transposed to each other have the CPU's bits on a card", "[cuda]") {
  CHECK(
      in_child(fakes(), [] {
        return printed_for(
            {kAgree,
             // Tiles that are whole and not; of matrices of a batch; more operands than have a tile.
             "@jit\nfn turned(x) { y = x.t(); return (y * 2 + y.half(), y[0:-1] + rand_like(y)[1:]) }",
             "@jit\nfn inner(x) { return (x.transpose(0, 2) * 2 + x[0, 0, 0], x.permute(2, 0, 1) // 0.5) }",
             "@jit\nfn many(x) { y = x[0:20]; return (y.t() + x[1:21].t() * x[2:22].t() - 1, x.t().int() * "
             "2) }",
             "print(agree(turned, [[40, 70], [32, 64], [3, 50]]), agree(inner, [[17, 3, 35], [33, 1, 20]]))",
             "print(agree(many, [[40, 70]]))"});
      }) == "true true\ntrue\n");
}

TEST_CASE("an element that is refused in a vector is told, and what is beyond the last one is not",
          "[cuda]") {
  CHECK(in_child(fakes(), [] {
          return printed_for({"@jit\nfn f(x, y) { return x // y + 1 }", "x = ones(7).int().cuda()",
                              "print(f(x, x).tolist())", "y = ones(7).int().cuda(); y[6] = 0",
                              "try { print(f(x, y)) } catch e { print(e.message) }"});
        }) == "[2, 2, 2, 2, 2, 2, 2]\nfloor_div: division of an integer by zero\n");
}

TEST_CASE("vectors have 16 bytes of the widest elements, and short computations alone have some") {
  CHECK(jit::vector_width(sum_of(DType::F32)) == 4);
  CHECK(jit::vector_width(sum_of(DType::F16)) == 8);
  CHECK(jit::vector_width(sum_of(DType::F64)) == 2);
  jit::LoopNest rows = sum_of(DType::F32);
  rows.row_rank = 1;
  CHECK(jit::vector_width(rows) == 0);
}

TEST_CASE("vectors are taken where whole ones of neighbours lie together") {
  const jit::LoopNest nest = sum_of(DType::F32);
  CHECK(width_along(nest, {103}, {{1}, {1}}) == 4);
  CHECK(width_along(nest, {103}, {{1}, {0}}) == 4);
  CHECK(width_along(nest, {103}, {{2}, {1}}) == 0);
  CHECK(width_along(nest, {3}, {{1}, {1}}) == 0);
  CHECK(width_along(nest, {6, 8}, {{8, 1}, {0, 1}}) == 4);
  CHECK(width_along(nest, {6, 8}, {{12, 1}, {1, 0}}) == 4);
  CHECK(width_along(nest, {6, 8}, {{9, 1}, {0, 1}}) == 0);
  CHECK(width_along(nest, {6, 7}, {{8, 1}, {0, 1}}) == 0);
}

TEST_CASE("tiles are taken where operands have neighbours along another axis than results") {
  jit::LoopNest nest = sum_of(DType::F32);
  const auto tiles = [&](const IntDims& sizes, const IntDims& a, const IntDims& b) {
    const std::vector<IntDims> strides = {a, b, IntDims(contiguous_strides(Dims(sizes)))};
    cuda::WalkAxes axes(sizes, strides);
    return jit::plan_tiles(nest, axes);
  };
  CHECK(tiles({40, 70}, {1, 40}, {70, 1}).tiles == 0);  // no view, which no transposed operand is without
  nest.loads[0].steps.push_back({&OpTable::get().at("transpose"), {}, {}, 0});
  const cuda::TileJob job = tiles({40, 70}, {1, 40}, {70, 1});
  CHECK(job.tiles == 2 * 3);
  CHECK(job.rows == 40);
  CHECK(job.columns == 70);
  CHECK(job.of_slot[0] == 0);
  CHECK(job.of_slot[1] == -1);
  CHECK(tiles({40, 70}, {1, 40}, {1, 40}).of_slot[1] == 1);
  CHECK(tiles({5, 40, 70}, {2800, 1, 40}, {0, 70, 1}).tiles == 5 * 2 * 3);
  CHECK(tiles({40, 5, 70}, {1, 2800, 40}, {0, 70, 1}).rows == 40);
  CHECK(tiles({40, 70}, {70, 1}, {70, 1}).tiles == 0);
  CHECK(tiles({8, 70}, {1, 8}, {70, 1}).tiles == 0);
}

TEST_CASE("vectors are taken where operands begin at whole ones") {
  const jit::LoopNest nest = sum_of(DType::F32);
  const IntDims sizes{100};
  const std::vector<IntDims> strides(3, IntDims{1});
  const cuda::WalkAxes axes(sizes, strides);
  jit::ArgumentWords words({1, 100, 1, cuda::WalkAxes({}, std::vector<IntDims>(3)), axes}, 0, {});
  const auto place = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
  for (std::size_t k = 0; k < 3; ++k) words.put_data(k, place(64 + 16 * k));
  const jit::VectorPlan plan = jit::plan_vectors(nest, axes);
  CHECK(jit::takes_vectors(plan, words));
  for (std::size_t k = 0; k < 3; ++k) {
    words.put_data(k, place(68));
    CHECK(!jit::takes_vectors(plan, words));
    words.put_data(k, place(64));
  }
}

}  // namespace kiln::compiled_elements_test
