#include "tests/tensor/tensors.h"

#include "tensor/cpu/elementwise/copy.h"

namespace kiln::testing {
namespace {

std::int64_t place(const Tensor& x, std::int64_t i) {
  std::int64_t offset = 0;
  for (int d = x.rank() - 1; d >= 0; --d) {
    offset += i % x.size(d) * x.strides()[static_cast<std::size_t>(d)];
    i /= x.size(d);
  }
  return offset;
}

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

long double element(const Tensor& x, std::int64_t i) {
  return visit_dtype(x.dtype(), [&]<class T>() -> long double {
    const T value = x.data<T>()[place(x, i)];
    if constexpr (requires { to_float(value); }) {
      return to_float(value);
    } else {
      return static_cast<long double>(value);
    }
  });
}

void set_element(const Tensor& x, std::int64_t i, long double value) {
  visit_dtype(x.dtype(), [&]<class T>() {
    T& to = x.writable<T>()[place(x, i)];
    if constexpr (std::is_same_v<T, Half>) {
      to = to_half(static_cast<float>(value));
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      to = to_bfloat16(static_cast<float>(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      to = value != 0;
    } else {
      to = static_cast<T>(value);
    }
  });
}

std::vector<long double> elements(const Tensor& x) {
  std::vector<long double> all;
  for (std::int64_t i = 0; i < x.numel(); ++i) all.push_back(element(x, i));
  return all;
}

Tensor make(const Dims& sizes, DType dtype, const std::function<double(std::int64_t)>& f) {
  const Tensor x = Tensor::empty(sizes, dtype, Device{});
  for (std::int64_t i = 0; i < x.numel(); ++i) set_element(x, i, f(i));
  return x;
}

Tensor noise(const Dims& sizes, DType dtype, int seed, double low, double high) {
  return make(sizes, dtype, [=](std::int64_t i) {
    const auto bits = mix(static_cast<std::uint64_t>(i) * 1000003U + static_cast<std::uint64_t>(seed));
    return low + (high - low) * (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
  });
}

Tensor strided(const Tensor& x) {
  Dims wide = x.sizes();
  wide.push_back(2);
  const Tensor room = make(wide, x.dtype(), [](std::int64_t i) { return static_cast<double>(i % 5) + 1.0; });
  Layout layout{x.sizes(), {}, 1};
  for (int d = 0; d < x.rank(); ++d) layout.strides.push_back(room.strides()[static_cast<std::size_t>(d)]);
  const Tensor result = Tensor::alias(room, layout);
  cpu::copy(result, x);
  return result;
}

Tensor backwards(const Tensor& x) {
  Dims sizes(x.sizes().size());
  std::reverse_copy(x.sizes().begin(), x.sizes().end(), sizes.begin());
  Dims strides = contiguous_strides(sizes);
  std::reverse(strides.begin(), strides.end());
  const Tensor result = Tensor::alias(Tensor::empty(sizes, x.dtype()), {x.sizes(), strides, 0});
  cpu::copy(result, x);
  return result;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const long double x = element(a, i);
    const long double y = element(b, i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x != y || std::signbit(x) != std::signbit(y)) return false;
  }
  return true;
}

std::string describe(const Tensor& x) {
  std::string text = to_string(x.type()) + " {";
  for (std::int64_t i = 0; i < std::min<std::int64_t>(x.numel(), 12); ++i) {
    char number[48];
    std::snprintf(number, sizeof number, " %.9Lg", element(x, i));
    text += number;
  }
  return text + (x.numel() > 12 ? " ..." : "") + " }";
}

Attrs attrs_of(const Op& op, const std::vector<NamedAttr>& attrs) {
  Attrs result(op);
  for (const NamedAttr& each : attrs) result.set(each.name, each.value);
  return result;
}

Tensors call(std::string_view name, const std::vector<Tensor>& inputs, const std::vector<NamedAttr>& attrs) {
  const Op& op = OpTable::get().at(name);
  return run_eager(op, inputs, attrs_of(op, attrs));
}

}  // namespace kiln::testing
