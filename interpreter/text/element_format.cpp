#include "interpreter/text/element_format.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln::interp {

void RealFormat::see(double v) {
  if (!std::isfinite(v)) return;
  if (v != std::floor(v)) whole_ = false;
  if (v == 0) return;
  smallest_ = std::min(smallest_, std::fabs(v));
  largest_ = std::max(largest_, std::fabs(v));
}

void RealFormat::decide() {
  scientific_ =
      largest_ > 0 && (largest_ / smallest_ > 1000 || largest_ > 1e8 || (!whole_ && smallest_ < 1e-4));
  if (whole_ && largest_ < 1e6 && largest_ / smallest_ > 1000) scientific_ = false;
}

std::string RealFormat::text(double v, int precision) const {
  if (!std::isfinite(v)) return repr_of(v);
  if (scientific_) return fmt::format("{:.{}e}", v, precision);
  if (whole_) return fmt::format("{:.0f}.", v);
  return fmt::format("{:.{}f}", v, precision);
}

void ElementFormat::see(std::int64_t place) {
  if (!kiln::is_float(dtype_) && !kiln::is_complex(dtype_)) return;
  real_.see(elements_.real(place));
  if (kiln::is_complex(dtype_)) imaginary_.see(elements_.complex(place).imaginary);
}

void ElementFormat::decide() {
  real_.decide();
  imaginary_.decide();
}

std::string ElementFormat::text(std::int64_t place) const {
  if (dtype_ == kiln::DType::Bool) return elements_.whole(place) ? "true" : "false";
  if (kiln::is_complex(dtype_)) return complex_text(elements_.complex(place));
  if (!kiln::is_float(dtype_)) return std::to_string(elements_.whole(place));
  return real_.text(elements_.real(place), precision_);
}

std::string ElementFormat::complex_text(kiln::Complex<double> z) const {
  const std::string imaginary = imaginary_.text(z.imaginary, precision_);
  return real_.text(z.real, precision_) + (imaginary.front() == '-' ? "" : "+") + imaginary + "j";
}

}  // namespace kiln::interp
