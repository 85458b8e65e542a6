// print, input, repr and format.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "interpreter/files/system_call.h"
#include "interpreter/shadow.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using namespace host;

// A tensor alone prints as a block; among other values it stays on the line.
Value print(Interpreter& interpreter, std::span<Value> arguments) {
  const auto& items = arguments[0].as<Tuple>().items;
  const std::string separator = arguments[1].is_none() ? " " : text_argument(arguments[1], "sep");
  const std::string end = arguments[2].is_none() ? "\n" : text_argument(arguments[2], "end");
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += separator;
    text += items.size() == 1 ? str_of(interpreter, items[i]) : line_of(interpreter, items[i]);
  }
  text += end;
  const Value& file = arguments[3];
  if (file.is_none()) {
    interpreter.write(text);
  } else if (file.is(Tag::Str) && text_of(file) == "stderr") {
    interpreter.write_error(text);
  } else {
    interpreter.call(interpreter.attribute(file, "write"), {Value(text)});
  }
  if (!arguments[4].is(Tag::Bool) || arguments[4].as_bool()) interpreter.flush();
  kiln::check_interrupt();  // a reader that waits can be waited for
  return {};
}

Value input(Interpreter& interpreter, std::span<Value> arguments) {
  shadow::leave();
  const std::string prompt = str_of(interpreter, arguments[0]);
  if (const auto& read_line = interpreter.options().frontend.read_line) return Value(read_line(prompt));
  interpreter.write(prompt);
  interpreter.flush();
  // Where the prompt is, it reads from the same stream.
  std::string line;
  for (int c = 0; (c = std::getc(stdin)) != '\n';) {
    if (c != EOF) {
      line += static_cast<char>(c);
      continue;
    }
    const int error = errno;
    if (std::ferror(stdin) == 0) {
      std::clearerr(stdin);  // a terminal goes on after Ctrl-D
      if (line.empty()) raise("IOError", "input: there is no more input");
      break;
    }
    std::clearerr(stdin);
    if (!was_cut(error)) raise("IOError", fmt::format("input: {}", std::generic_category().message(error)));
  }
  if (::isatty(STDIN_FILENO) == 1) interpreter.impl().live_lines.after_text("\n");  // which was typed
  return Value(line);
}

Value repr(Interpreter& interpreter, std::span<Value> arguments) {
  return Value(repr_of(interpreter, arguments[0]));
}

Value format(Interpreter& interpreter, std::span<Value> arguments) {
  return Value(format_value(interpreter, arguments[0], text_argument(arguments[1], "spec")));
}

// Sets what is named and tells all.
Value set_print_options(Interpreter&, std::span<Value> arguments) {
  PrintOptions& options = print_options();
  const auto field = [&](std::size_t i, std::string_view name, int& option, int least) {
    if (arguments[i].is_none()) return;
    const std::int64_t wanted = int_argument(arguments[i], name);
    if (wanted < least || wanted > 1'000'000) {
      raise("ValueError", "`" + std::string(name) + "` is out of range: " + std::to_string(wanted));
    }
    option = static_cast<int>(wanted);
  };
  field(0, "precision", options.precision, 0);
  field(1, "edge_items", options.edge_items, 1);
  field(2, "threshold", options.threshold, 0);
  field(3, "width", options.width, 20);
  auto* all = new Dict();
  Value result{static_cast<Object*>(all)};
  all->set("precision", options.precision);
  all->set("edge_items", options.edge_items);
  all->set("threshold", options.threshold);
  all->set("width", options.width);
  return result;
}

constexpr NativeDef kOutputNatives[] = {
    {"print(*xs, sep=\" \", end=\"\\n\", file=none, flush=false)",
     "Writes values as text. A tensor alone is shown as a block with its type, among others on one line. "
     "`file` is an "
     "open file, or \"stderr\".\n>>> print(1, 2.5, \"a\", sep=\", \")\n1, 2.5, a",
     print},
    {"input(prompt=\"\")", "Shows the prompt and reads one line.", input},
    {"repr(x)", "The text of a value as the prompt shows it.\n>>> repr(\"a\")\n\"'a'\"", repr},
    {"format(x, spec=\"\")",
     "The text of a value under a format specification.\n>>> format(3.14159, \".2f\")\n'3.14'", format},
    {"print_options(precision=none, edge_items=none, threshold=none, width=none)",
     "Sets how tensors print: decimals, items kept at each edge, elements above which the middle is elided, "
     "columns. "
     "Gives all of them.",
     set_print_options},
};

}  // namespace

std::span<const NativeDef> text_natives() { return kOutputNatives; }

}  // namespace kiln::interp
