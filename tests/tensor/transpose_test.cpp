// Copies between layouts that run along different dimensions, against a loop over elements.
#include "every_isa.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensors.h"

namespace kiln::transpose_test {

using namespace kiln::testing;

namespace {

// Whether result[m, r, c] is x[m, c, r] for all of it.
bool is_transposed(const Tensor& result, const Tensor& x) {
  const Dim rows = result.size(1), columns = result.size(2);
  for (Dim i = 0; i < result.numel(); ++i) {
    const Dim matrix = i / (rows * columns), r = i / columns % rows, c = i % columns;
    if (element(result, i) != element(x, (matrix * columns + c) * rows + r)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("transposed copies have each element in its place, squares and edges", "[copy]") {
  // A block is 64 or 128 bytes of rows by 256 or 512 bytes of columns; squares have 4 to 16 elements a side.
  const Dims shapes[] = {{1, 8, 8},    {1, 64, 256}, {1, 65, 257}, {2, 9, 23},   {1, 130, 16},
                         {3, 31, 129}, {1, 16, 300}, {1, 7, 40},   {1, 15, 513}, {1, 200, 33}};
  test::every_isa([&] {
    for (const DType dtype : {DType::U8, DType::I16, DType::BF16, DType::F32, DType::I64}) {
      for (const Dims& shape : shapes) {
        CAPTURE(name(dtype), shape[0], shape[1], shape[2]);
        const Tensor x = make({shape[0], shape[2], shape[1]}, dtype, [](std::int64_t i) { return i % 251; });
        CHECK(is_transposed(cpu::contiguous_copy(ops::transpose(x, 1, 2), dtype), x));
      }
    }
  });
}

TEST_CASE("copies of runs in another order have each element in its place", "[copy]") {
  for (const DType dtype : {DType::U8, DType::BF16, DType::F32, DType::I64}) {
    for (const Dim run : {16, 33, 64, 100, 300}) {
      for (const auto& [rows, columns] : {std::pair<Dim, Dim>{2, 3}, {70, 9}, {65, 64}}) {
        CAPTURE(name(dtype), run, rows, columns);
        const Tensor x = make({2, columns, rows, run}, dtype, [](std::int64_t i) { return i % 251; });
        const Tensor result = cpu::contiguous_copy(ops::transpose(x, 1, 2), dtype);
        bool same = true;
        for (Dim i = 0; i < result.numel(); ++i) {
          const Dim at = i % run, c = i / run % columns, r = i / (run * columns) % rows,
                    outer = i / (run * columns * rows);
          same = same && element(result, i) == element(x, ((outer * columns + c) * rows + r) * run + at);
        }
        CHECK(same);
      }
    }
  }
}

}  // namespace kiln::transpose_test
