// Owns the oracle's arrays: plain doubles in row-major order, and tensors of every dtype and layout made from
// them.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <random>
#include <vector>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/functions.h"
#include "tensor/op.h"

namespace kiln::test {

struct Nd {
  IntDims sizes;
  std::vector<double> values;

  std::int64_t count() const {
    std::int64_t result = 1;
    for (const std::int64_t size : sizes) result *= size;
    return result;
  }
  double& at(const IntDims& index) { return values[place(index)]; }
  double at(const IntDims& index) const { return values[place(index)]; }

 private:
  std::size_t place(const IntDims& index) const {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) at = at * sizes[d] + index[d];
    return static_cast<std::size_t>(at);
  }
};

// Calls f(index) for every index of a shape, in row-major order.
inline void for_each_index(const IntDims& sizes, const std::function<void(const IntDims&)>& f) {
  for (const std::int64_t size : sizes) {
    if (size == 0) return;
  }
  IntDims index(sizes.size(), 0);
  while (true) {
    f(index);
    std::size_t d = sizes.size();
    while (d-- > 0) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
      if (d == 0) return;
    }
    if (sizes.empty()) return;
  }
}

// An array whose elements are given by their index.
inline Nd build(const IntDims& sizes, const std::function<double(const IntDims&)>& value) {
  Nd result{sizes, {}};
  for_each_index(sizes, [&](const IntDims& index) { result.values.push_back(value(index)); });
  return result;
}

// Small integers, exact in every dtype; bool gets zeros and ones.
inline Nd sample(const IntDims& sizes, unsigned seed = 1, bool binary = false) {
  std::mt19937 engine(seed);
  return build(sizes, [&](const IntDims&) {
    const auto word = engine();
    return binary ? word % 2 : static_cast<double>(word % 23);
  });
}

inline Tensor tensor_of(const Nd& array, DType dtype = DType::F64) {
  const Tensor wide = Tensor::empty(array.sizes, DType::F64);
  std::copy(array.values.begin(), array.values.end(), wide.writable<double>());
  return cpu::contiguous_copy(wide, dtype);
}

inline Tensor vector_of(std::initializer_list<double> values, DType dtype = DType::I64) {
  return tensor_of(Nd{{static_cast<std::int64_t>(values.size())}, values}, dtype);
}

// Numbers without pattern in [-1, 1).
inline Tensor noise(const Dims& sizes, DType dtype, unsigned seed = 1) {
  std::mt19937 engine(seed);
  return tensor_of(build(sizes, [&](const IntDims&) { return static_cast<double>(engine()) * 0x1p-31 - 1; }),
                   dtype);
}

inline Nd nd_of(const Tensor& x) {
  const Tensor wide = cpu::contiguous_copy(x, DType::F64);
  const auto* values = wide.data<double>();
  return {x.sizes(), {values, values + x.numel()}};
}

inline void check_equal(const Tensor& actual, const Nd& expected) {
  CHECK(to_string(actual.sizes()) == to_string(expected.sizes));
  if (actual.sizes() == expected.sizes) CHECK(nd_of(actual).values == expected.values);
}

// Equal sizes and the same bytes: nans differ where their bits do.
inline bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() &&
         std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.numel()) * size_of(a.dtype())) == 0;
}

// The same elements as `x`, laid out in other ways: dense, back to front, and with gaps from an offset on.
enum class Lay { Dense, Reversed, Gaps };
inline constexpr Lay kLays[] = {Lay::Dense, Lay::Reversed, Lay::Gaps};
inline Tensor laid_out(const Tensor& x, Lay lay) {
  if (lay == Lay::Dense) return x;
  Layout layout{x.sizes(), x.strides(), 0};
  std::int64_t reach = 1;
  const int step = lay == Lay::Gaps ? 2 : 1;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    const std::size_t d = lay == Lay::Reversed ? i : layout.sizes.size() - 1 - i;
    layout.strides[d] = reach * step;
    reach *= std::max<std::int64_t>(layout.sizes[d], 1) * step;
  }
  layout.offset = lay == Lay::Gaps ? 3 : 0;
  const Tensor memory = Tensor::empty(IntDims{reach + 8}, x.dtype());
  cpu::fill(memory, Tensor::number(true));
  const Tensor result = Tensor::alias(memory, layout);
  cpu::copy(result, x);
  return result;
}

inline constexpr DType kAllDtypes[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                                       DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};

// Calls f(tensor, array) with the sample of a shape in every dtype and layout.
inline void for_each_tensor(const IntDims& sizes, const std::function<void(const Tensor&, const Nd&)>& f) {
  for (const DType dtype : kAllDtypes) {
    const Nd array = sample(sizes, 7, dtype == DType::Bool);
    for (const Lay lay : kLays) {
      CAPTURE(name(dtype), static_cast<int>(lay));
      f(laid_out(tensor_of(array, dtype), lay), array);
    }
  }
}

// Applies an op by name with its first attributes.
inline Tensors call_all(std::string_view name, std::initializer_list<Tensor> inputs,
                        std::initializer_list<Attr> attrs = {}) {
  const Op& op = OpTable::get().at(name);
  Attrs values(op);
  std::copy(attrs.begin(), attrs.end(), values.values().begin());
  return kiln::bind(op, Inputs(inputs.begin(), inputs.size()), values);
}
inline Tensor call(std::string_view name, std::initializer_list<Tensor> inputs,
                   std::initializer_list<Attr> attrs = {}) {
  return call_all(name, inputs, attrs).front();
}
inline Tensor call_inplace(std::string_view name, std::initializer_list<Tensor> inputs,
                           std::initializer_list<Attr> attrs = {}) {
  const Op& op = OpTable::get().at(name);
  Attrs values(op);
  std::copy(attrs.begin(), attrs.end(), values.values().begin());
  return kiln::bind_inplace(op, Inputs(inputs.begin(), inputs.size()), values);
}

// What an op that must fail says.
inline std::string error_of(const std::function<void()>& f, ErrorKind kind) {
  try {
    f();
  } catch (const OpError& error) {
    CHECK(name(error.kind()) == name(kind));
    return error.message();
  }
  return "no error";
}

inline constexpr std::int64_t operator""_i(unsigned long long value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace kiln::test
