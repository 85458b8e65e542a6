// Elementwise ops of operands that are spread: the bits of the same operands written out, for rows and
// periods around those of blocks, on any number of threads and every instruction set.
#include <catch2/catch.hpp>

#include "tensor/cpu/elementwise/copy.h"
#include "tests/tensor/every_isa.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::testing::broadcast_test {
namespace {

// All of them with these sizes, contiguous.
std::vector<Tensor> written_out(std::vector<Tensor> inputs, const Dims& sizes) {
  for (Tensor& x : inputs) x = cpu::contiguous_copy(ops::expand(x, sizes), x.dtype());
  return inputs;
}

void check_spread(std::string_view op, const std::vector<Tensor>& inputs, const Dims& sizes) {
  INFO(op << " into " << to_string(sizes));
  for (const Tensor& x : inputs) UNSCOPED_INFO(to_string(x.type()));
  CHECK(same_bits(call(op, inputs)[0], call(op, written_out(inputs, sizes))[0]));
}

// Every way of leaving dimensions out of the second operand.
void check_sizes(const Dims& sizes, DType dtype) {
  const Tensor whole = noise(sizes, dtype, 1);
  const Tensor mask = noise(sizes, DType::Bool, 2, -1, 1.99);
  for (unsigned left_out = 1; left_out < 1U << sizes.size(); ++left_out) {
    Dims fewer = sizes;
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if ((left_out >> d & 1) != 0) fewer[d] = 1;
    const Tensor part = noise(fewer, dtype, 3);
    check_spread("mul", {whole, part}, sizes);
    check_spread("lt", {part, whole}, sizes);
    check_spread("where", {mask, part, whole}, sizes);
    check_spread("add", {strided(whole), part}, sizes);
    if (dtype == DType::F32) check_spread("sub", {part, ops::to(whole, DType::F16)}, sizes);
  }
  if (sizes.size() < 2) return;
  Dims row = sizes, column = sizes;
  for (std::size_t d = 0; d + 1 < sizes.size(); ++d) row[d] = 1;
  column.back() = 1;
  check_spread("add", {noise(row, dtype, 4), noise(column, dtype, 5)}, sizes);
  check_spread("where", {noise(column, DType::Bool, 2, -1, 1.99), noise(row, dtype, 4), whole}, sizes);
}

}  // namespace

TEST_CASE("operands that are spread give what they give written out", "[elementwise][broadcast]") {
  for (const int count : {1, 3}) {
    const Threads threads(count);
    test::every_isa([] {
      for (const DType dtype : {DType::F32, DType::F64, DType::I64, DType::U8, DType::F16, DType::BF16}) {
        for (const Dims& sizes : {Dims{700, 3},
                                  {260, 15},
                                  {90, 64},
                                  {40, 129},
                                  {20, 513},
                                  {9, 1030},
                                  {3, 5, 200},
                                  {2, 3, 4, 140},
                                  {3, 5000},
                                  {7, 11, 17},
                                  {5, 64, 3, 3},
                                  {2, 3, 300, 2}})
          check_sizes(sizes, dtype);
      }
    });
  }
}

TEST_CASE("operands spread over large tensors, from wherever threads begin", "[elementwise][broadcast]") {
  const Threads threads(3);
  for (const Dims& sizes :
       {Dims{70'001, 3}, {3000, 63}, {700, 300}, {64, 33, 80}, {40, 33, 260}, {2, 150001}})
    check_sizes(sizes, DType::F32);
}

TEST_CASE("bounds that are one value give what they give written out", "[elementwise][broadcast]") {
  for (const int count : {1, 4}) {
    const Threads threads(count);
    for (const DType dtype :
         {DType::F32, DType::F64, DType::I32, DType::I64, DType::I8, DType::F16, DType::BF16}) {
      for (const Dim n : {1, 255, 1023, 1024, 1025, 4097, 150'001}) {
        const Tensor x = noise({n}, dtype, 1, -9, 9), low = noise({}, dtype, 2, -3, -1),
                     high = noise({}, dtype, 3, 1, 3);
        set_element(x, n / 2, is_float(dtype) ? NAN : 0);
        set_element(x, n / 3, -0.0);
        const std::vector<Tensor> bounds = written_out({low, high}, {n});
        for (const Tensor& each : {x, strided(x)}) {
          INFO(to_string(each.type()) << " on " << count << " threads");
          CHECK(same_bits(ops::clamp(each, low, high), ops::clamp(each, bounds[0], bounds[1])));
          CHECK(same_bits(ops::clamp(each, low, Tensor()), ops::clamp(each, bounds[0], Tensor())));
          CHECK(same_bits(ops::clamp(each, Tensor(), high), ops::clamp(each, Tensor(), bounds[1])));
        }
      }
    }
  }
}

TEST_CASE("a spread operand is written into in place", "[elementwise][broadcast]") {
  for (const Dims& sizes : {Dims{700, 3}, {90, 64}, {20, 513}}) {
    const Tensor x = noise(sizes, DType::F32, 1), column = noise({sizes[0], 1}, DType::F32, 2);
    const Tensor expected = ops::mul(x, column);
    bind_inplace(*OpTable::get().find("mul"), std::vector{x, column},
                 attrs_of(*OpTable::get().find("mul"), {}));
    CHECK(same_bits(x, expected));
  }
}

}  // namespace kiln::testing::broadcast_test
