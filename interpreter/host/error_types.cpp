// The kinds of errors as types: `throw ValueError("…")`, `isinstance(err, ValueError)`.
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/error.h"

namespace kiln::interp {
namespace {

using namespace host;

// What a program may throw by name: every kind up to Interrupted. Those after it are text that was thrown,
// and mistakes of the interpreter itself.
constexpr auto kKinds = static_cast<std::size_t>(kiln::ErrorKind::Interrupted) + 1;

std::string_view kind_name(std::size_t kind) { return kiln::name(static_cast<kiln::ErrorKind>(kind)); }

// An error that has no place yet; the statement that throws it gives it one.
template <std::size_t kind>
Value make_error(Interpreter& interpreter, std::span<Value> arguments) {
  lang::Diagnostic diagnostic;
  diagnostic.kind = kind_name(kind);
  diagnostic.message = str_of(interpreter, arguments[0]);
  diagnostic.help = text_argument(arguments[1], "help");
  return make<Error>(std::move(diagnostic));
}

template <std::size_t kind>
Value kind_type() {
  const std::string signature = fmt::format("{}(message=\"\", help=\"\")", kind_name(kind));
  const std::string documentation = fmt::format(
      "An error of this kind, for `throw`. `help` is a way out, which is printed below the message.\n"
      ">>> try {{ throw {0}(\"no\") }} catch err {{ print(err.kind, isinstance(err, {0})) }}\n{0} true",
      kind_name(kind));
  // An interrupt ends the program, whoever throws it: it cannot be caught.
  const bool has_example = kind_name(kind) != "Interrupted";
  const std::string text = has_example ? documentation : documentation.substr(0, documentation.find('\n'));
  Value type = make<Type>(std::string(kind_name(kind)), Tag::Error);
  type.as<Type>().constructor = make_native({signature.c_str(), text.c_str(), make_error<kind>});
  return type;
}

template <std::size_t... kinds>
std::array<Value, kKinds> all_kinds(std::index_sequence<kinds...>) {
  return {kind_type<kinds>()...};
}

}  // namespace

// One object per kind, for the life of the process.
std::span<const Value> error_types() {
  static const auto* const all = new std::array<Value, kKinds>(all_kinds(std::make_index_sequence<kKinds>()));
  return *all;
}

const Value* error_type(std::string_view kind) {
  for (const Value& type : error_types()) {
    if (type.as<Type>().name == kind) return &type;
  }
  return nullptr;
}

}  // namespace kiln::interp
