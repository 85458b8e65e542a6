// Owns Python's format specification: its grammar, and the text of numbers and strings under one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/complex.h"

namespace kiln::interp {

// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
struct FormatSpec {
  std::string fill = " ";  // one code point
  char align = 0;          // < > ^ =, 0: the type's own
  char sign = '-';         // + - or space
  bool no_negative_zero = false;
  bool alternate = false;
  std::int64_t width = 0;
  char grouping = 0;            // , or _
  std::int64_t precision = -1;  // -1: not given
  char type = 0;

  // Raises ValueError that shows the spec and where it goes wrong.
  static FormatSpec parse(std::string_view text);
};

std::string format_text(std::string_view text, const FormatSpec& spec);
std::string format_int(std::int64_t value, const FormatSpec& spec);
std::string format_float(double value, const FormatSpec& spec);
std::string format_complex(kiln::Complex<double> z, const FormatSpec& spec);

}  // namespace kiln::interp
