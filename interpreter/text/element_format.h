// Owns the text of single elements of a tensor: one format for all that are shown.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "interpreter/values/natives.h"
#include "tensor/host_view.h"

namespace kiln::interp {

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, kiln::Half> || std::is_same_v<T, kiln::BFloat16>) {
    return kiln::to_float(value);
  } else {
    return static_cast<double>(value);
  }
}

// Elements by their places, which count from the first element of the tensor in the steps of its strides.
class Elements {
 public:
  explicit Elements(const kiln::Tensor& x) : dtype_(x.dtype()), view_(x) {}

  // Of complex numbers, the real part.
  double real(std::int64_t place) const {
    if (kiln::is_complex(dtype_)) return complex(place).real;
    return kiln::visit_dtype(dtype_, [&]<class T>() { return to_double(at<T>(place)); });
  }
  kiln::Complex<double> complex(std::int64_t place) const {
    if (dtype_ == kiln::DType::C128) return at<kiln::Complex<double>>(place);
    const auto z = at<kiln::Complex<float>>(place);
    return {z.real, z.imaginary};
  }
  std::int64_t whole(std::int64_t place) const {
    return kiln::visit_dtype(dtype_, [&]<class T>() -> std::int64_t {
      if constexpr (std::is_integral_v<T>) {
        return static_cast<std::int64_t>(at<T>(place));
      } else {
        return static_cast<std::int64_t>(to_double(at<T>(place)));
      }
    });
  }

 private:
  template <class T>
  T at(std::int64_t place) const {
    T value;
    std::memcpy(&value, view_.as<T>() + place, sizeof(T));
    return value;
  }
  kiln::DType dtype_;
  kiln::HostView view_;
};

// One format for all real numbers of a tensor, chosen from those that are shown: whole numbers as `1.`, else
// a fixed number of decimals, or scientific when the magnitudes differ too much.
class RealFormat {
 public:
  void see(double v);  // learns from one number that will be shown
  void decide();
  std::string text(double v, int precision) const;

 private:
  bool whole_ = true;
  bool scientific_ = false;
  double smallest_ = HUGE_VAL;
  double largest_ = 0;
};

// One format for all elements of a tensor. Complex numbers have one for their real parts and one for their
// imaginary parts, as in PyTorch and NumPy.
class ElementFormat {
 public:
  ElementFormat(const kiln::Tensor& x, const PrintOptions& options)
      : dtype_(x.dtype()), elements_(x), precision_(options.precision) {}

  void see(std::int64_t place);  // learns from one element that will be shown
  void decide();
  std::string text(std::int64_t place) const;

 private:
  std::string complex_text(kiln::Complex<double> z) const;

  kiln::DType dtype_;
  Elements elements_;
  int precision_;
  RealFormat real_;
  RealFormat imaginary_;
};

}  // namespace kiln::interp
