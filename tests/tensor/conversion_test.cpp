#include <cmath>
#include <cstring>

#include "every_isa.h"
#include "nd.h"

namespace kiln::conversion_test {

using namespace kiln::test;

namespace {

// More than two blocks of every size, and a rest; what each dtype holds, nan and infinities where it has
// such.
Tensor values_of(DType dtype) {
  const Nd numbers = build({1337}, [&](const IntDims& i) {
    const double value = static_cast<double>(i[0] * 7919 % 1009) / 8 - 60;
    if (!is_float(dtype)) return dtype == DType::Bool || dtype == DType::U8 ? std::abs(value) : value;
    if (i[0] % 100 == 17) return i[0] % 200 == 17 ? std::nan("") : HUGE_VAL;
    return i[0] % 50 == 3 ? value * 0x1p-24 : value;
  });
  return tensor_of(numbers, dtype);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.numel()) * size_of(a.dtype())) == 0;
}

}  // namespace

TEST_CASE("dense tensors are converted as strided ones are", "[conversion]") {
  every_isa([] {
    for (const DType from : kAllDtypes) {
      const Tensor x = values_of(from);
      const Tensor gaps = laid_out(x, Lay::Gaps);
      REQUIRE_FALSE(gaps.is_contiguous());
      for (const DType to : kAllDtypes) {
        CAPTURE(name(from), name(to));
        const Tensor dense = cpu::contiguous_copy(x, to);
        CHECK(same_bits(dense, cpu::contiguous_copy(gaps, to)));
        CHECK(dense.numel() == x.numel());
      }
    }
  });
}

TEST_CASE("transposed tensors are converted as they are laid out first", "[conversion]") {
  // Tiles that are whole and parts of them, of one matrix and of several.
  every_isa([] {
    for (const DType from : kAllDtypes) {
      const Tensor x = values_of(from);
      for (const Dims& sizes :
           {Dims{1, 167, 8}, Dims{1, 8, 167}, Dims{2, 70, 9}, Dims{1, 9, 140}, Dims{3, 20, 22}}) {
        const Tensor part = ops::narrow(x, 0, 0, count_elements(sizes));
        const Tensor across = ops::transpose(ops::view(part, sizes), 1, 2);
        const Tensor laid_out = cpu::contiguous_copy(across, from);
        for (const DType to : kAllDtypes) {
          CAPTURE(name(from), name(to), sizes[1], sizes[2]);
          CHECK(same_bits(cpu::contiguous_copy(across, to), cpu::contiguous_copy(laid_out, to)));
        }
      }
    }
  });
}

TEST_CASE("conversions keep what both dtypes hold", "[conversion]") {
  for (const DType through : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::I16}) {
    const Nd numbers = build({2000}, [](const IntDims& i) { return static_cast<double>(i[0] % 200) - 100; });
    for (const DType from : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32, DType::I64}) {
      CAPTURE(name(from), name(through));
      const Tensor back = cpu::contiguous_copy(cpu::contiguous_copy(tensor_of(numbers, from), through), from);
      CHECK(nd_of(back).values == numbers.values);
    }
  }
}

}  // namespace kiln::conversion_test
