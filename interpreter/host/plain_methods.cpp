// Fields and methods of the small values: numbers, ranges, slices, functions, types, modules, errors, dtypes.
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/host/device_scope.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

Value bit_length(Interpreter&, Args a) {
  const std::int64_t x = a[0].as_int();
  const std::uint64_t magnitude = x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  return static_cast<std::int64_t>(std::bit_width(magnitude));
}
constexpr NativeDef kInt[] = {
    {"bit_length(self)", "Bits needed for the magnitude.\n>>> (5).bit_length()\n3", bit_length}};

Value is_integer(Interpreter&, Args a) {
  const double x = a[0].as_float();
  return std::isfinite(x) && x == std::floor(x);
}
constexpr NativeDef kFloat[] = {{"is_integer(self)", "Whether it is a whole number.", is_integer}};

Value conjugate(Interpreter&, Args a) {
  const kiln::Complex<double> z = complex_of(a[0]);
  return complex_value(z.real, -z.imaginary);
}
constexpr NativeDef kComplex[] = {
    {"real", "The real part.\n>>> (1+2j).real\n1.0",
     [](Interpreter&, Args a) { return Value(complex_of(a[0]).real); }},
    {"imag", "The imaginary part.\n>>> (1+2j).imag\n2.0",
     [](Interpreter&, Args a) { return Value(complex_of(a[0]).imaginary); }},
    {"conj(self)", "The number with the opposite imaginary part.\n>>> (1+2j).conj()\n(1-2j)", conjugate},
};

const Range& range(Args a) { return a[0].as<Range>(); }

// Place of an int in a range, if it is there.
std::optional<std::uint64_t> place_in(const Range& r, const Value& x) {
  if (!x.is(Tag::Int)) return {};
  const std::int64_t v = x.as_int();
  const bool inside = r.step > 0 ? v >= r.start && v < r.stop : v <= r.start && v > r.stop;
  if (!inside) return {};
  __extension__ using Wide = __int128;
  const Wide distance = static_cast<Wide>(v) - r.start;
  if (distance % r.step != 0) return {};
  return static_cast<std::uint64_t>(distance / r.step);
}
Value range_index(Interpreter& interpreter, Args a) {
  const auto at = place_in(range(a), a[1]);
  if (!at) raise("ValueError", fmt::format("index: {} is not in the range", repr_of(interpreter, a[1])));
  if (*at > INT64_MAX)
    raise("OverflowError", fmt::format("index: the place {} does not fit in a 64-bit int", *at));
  return static_cast<std::int64_t>(*at);
}
constexpr NativeDef kRange[] = {
    {"start", "The first int.", [](Interpreter&, Args a) { return Value(range(a).start); }},
    {"stop", "The int before which it ends.", [](Interpreter&, Args a) { return Value(range(a).stop); }},
    {"step", "The distance of neighbours.", [](Interpreter&, Args a) { return Value(range(a).step); }},
    {"index(self, x)", "The place of an int; a ValueError when it is absent.", range_index},
    {"count(self, x)", "1 if x is in the range, else 0.",
     [](Interpreter&, Args a) { return Value(place_in(range(a), a[1]) ? 1 : 0); }},
};

constexpr NativeDef kSlice[] = {
    {"start", "Where it starts, or none.", [](Interpreter&, Args a) { return a[0].as<Slice>().start; }},
    {"stop", "Where it ends, or none.", [](Interpreter&, Args a) { return a[0].as<Slice>().stop; }},
    {"step", "The distance of neighbours, or none.",
     [](Interpreter&, Args a) { return a[0].as<Slice>().step; }},
};

constexpr NativeDef kFunction[] = {
    {"name", "The name it was defined by.",
     [](Interpreter&, Args a) { return Value(function_name(a[0].as<Function>())); }},
    {"doc", "Its documentation.",
     [](Interpreter&, Args a) { return Value(function_documentation(a[0].as<Function>())); }},
    {"signature", "Its name and parameters.",
     [](Interpreter&, Args a) { return Value(function_text(a[0].as<Function>())); }},
};
constexpr NativeDef kNative[] = {
    {"name", "Its name.", [](Interpreter&, Args a) { return Value(a[0].as<Native>().name); }},
    {"doc", "Its documentation.",
     [](Interpreter&, Args a) { return Value(a[0].as<Native>().documentation); }},
    {"signature", "Its name and parameters.",
     [](Interpreter&, Args a) { return Value(a[0].as<Native>().signature); }},
};
constexpr NativeDef kMethod[] = {
    {"function", "The function, without its receiver.",
     [](Interpreter&, Args a) { return a[0].as<Method>().function; }},
    {"receiver", "What it is called on.", [](Interpreter&, Args a) { return a[0].as<Method>().receiver; }},
};
constexpr NativeDef kType[] = {
    {"name", "Its name.", [](Interpreter&, Args a) { return Value(a[0].as<Type>().name); }},
};
Value field_names(Interpreter&, Args a) {
  const auto& fields = a[0].as<StructType>().fields;
  return list_value(std::vector<Value>(fields.begin(), fields.end()));
}
constexpr NativeDef kStructType[] = {
    {"name", "Its name.", [](Interpreter&, Args a) { return Value(a[0].as<StructType>().name); }},
    {"doc", "Its documentation.",
     [](Interpreter&, Args a) { return Value(a[0].as<StructType>().documentation); }},
    {"fields", "The names of its declared fields.", field_names},
};

// The place is none for errors that have none.
Value error_place(Args a, bool want_line) {
  const lang::Span place = a[0].as<Error>().diagnostic.user_place();
  if (!place) return {};
  const lang::LineColumn at = place.file->locate(place.begin);
  return static_cast<std::int64_t>(want_line ? at.line : at.column);
}
Value error_file(Interpreter&, Args a) {
  const lang::Span place = a[0].as<Error>().diagnostic.user_place();
  return place ? Value(place.file->name()) : Value();
}
Value error_trace(Interpreter&, Args a) {
  std::vector<Value> frames;
  for (const lang::Frame& frame : a[0].as<Error>().diagnostic.trace) {
    const std::string place = frame.span ? fmt::format("{}:{}", frame.span.file->name(),
                                                       frame.span.file->locate(frame.span.begin).line)
                                         : "";
    frames.push_back(Value(frame.function.empty() ? place : fmt::format("{} in {}", place, frame.function)));
  }
  return list_value(std::move(frames));
}
constexpr NativeDef kError[] = {
    {"kind", "The kind, such as \"ShapeError\".",
     [](Interpreter&, Args a) { return Value(a[0].as<Error>().diagnostic.kind); }},
    {"code",
     "The stable code of the mistake, such as \"K0501\"; `explain(code)` tells more.\n"
     ">>> try { ones(2) @ ones(3) } catch err { print(err.code) }\nK0501",
     [](Interpreter&, Args a) { return Value(a[0].as<Error>().diagnostic.code()); }},
    {"message", "What went wrong.",
     [](Interpreter&, Args a) { return Value(a[0].as<Error>().diagnostic.message); }},
    {"help", "The suggestion, \"\" if there is none.",
     [](Interpreter&, Args a) { return Value(a[0].as<Error>().diagnostic.help); }},
    {"value", "What was thrown, when it was not text.",
     [](Interpreter&, Args a) { return a[0].as<Error>().payload; }},
    {"file", "The file of its place, or none.", error_file},
    {"line", "The line of its place, or none.", [](Interpreter&, Args a) { return error_place(a, true); }},
    {"column", "The column of its place, or none.",
     [](Interpreter&, Args a) { return error_place(a, false); }},
    {"trace", "The calls that led there, innermost first.", error_trace},
};

constexpr NativeDef kDType[] = {
    {"name", "Its name.", [](Interpreter&, Args a) { return Value(kiln::name(a[0].as_dtype())); }},
    {"size", "Bytes of one element.",
     [](Interpreter&, Args a) { return Value(static_cast<std::int64_t>(kiln::size_of(a[0].as_dtype()))); }},
    {"is_float", "Whether it is a float.",
     [](Interpreter&, Args a) { return Value(kiln::is_float(a[0].as_dtype())); }},
    {"is_complex", "Whether it is of complex numbers.",
     [](Interpreter&, Args a) { return Value(kiln::is_complex(a[0].as_dtype())); }},
};

constexpr NativeDef kDevice[] = {
    {"type", "Its kind, such as \"cpu\".",
     [](Interpreter&, Args a) { return Value(kiln::name(a[0].as_device().kind)); }},
    {"index", "Which of its kind.",
     [](Interpreter&, Args a) { return Value(std::int64_t{a[0].as_device().index}); }},
    {"enter(self)", "Makes it the default device.", enter_device},
    {"exit(self, *error)", "Restores the default device of before.", exit_device},
};

}  // namespace

std::span<const NativeDef> plain_methods(Tag tag) {
  switch (tag) {
    case Tag::Int:
      return kInt;
    case Tag::Float:
      return kFloat;
    case Tag::Complex:
      return kComplex;
    case Tag::Range:
      return kRange;
    case Tag::Slice:
      return kSlice;
    case Tag::Function:
      return kFunction;
    case Tag::Native:
      return kNative;
    case Tag::Method:
      return kMethod;
    case Tag::Type:
      return kType;
    case Tag::StructType:
      return kStructType;
    case Tag::Error:
      return kError;
    case Tag::DType:
      return kDType;
    case Tag::Device:
      return kDevice;
    default:
      return {};
  }
}

}  // namespace kiln::interp
