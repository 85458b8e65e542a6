#include "repl/functions.h"

#include <fmt/format.h>

#include "interpreter/host/record.h"
#include "interpreter/vm/arguments.h"
#include "repl/definition.h"
#include "repl/documentation.h"
#include "repl/explain.h"
#include "repl/op_row.h"
#include "repl/variables.h"

namespace kiln::repl {
namespace {

using interp::Interpreter;
using interp::Tag;
using interp::Value;
using Args = std::span<Value>;

Value who(Interpreter& interpreter, Args) {
  static const Value* const type =
      new Value(interp::host::record_type("Variable",
                                          "A variable: `name`, `value`, `type` in words, `device` and "
                                          "`bytes` of a tensor, and what it `aliases`.",
                                          {"name", "value", "type", "device", "bytes", "aliases", "text"}));
  return interp::host::list_of(variables(interpreter), [](const Variable& each) {
    const std::string described = interp::describe(each.value);
    return interp::host::make_record(
        *type, {Value(each.name), each.value, Value(described),
                each.device.empty() ? Value() : Value(each.device), each.bytes ? Value(*each.bytes) : Value(),
                Value(each.aliases), Value(fmt::format("{}: {}", each.name, described))});
  });
}

// Of a name in a text, or of a function, struct or module itself.
Value doc(Interpreter& interpreter, Args a) {
  const std::string name = a[0].is(Tag::Str) ? interp::host::text_argument(a[0], "name")
                                             : interpreter.str(interpreter.attribute(a[0], "name"));
  const auto page = find_page(*Session::current(), name);
  if (!page) unknown_name(*Session::current(), name);
  return Value(render(*page, false));
}

Value source(Interpreter&, Args a) {
  Value of = a[0];
  if (of.is(Tag::Str)) {
    const std::string& name = interp::host::text_argument(of, "f");
    const auto found = find_documented(*Session::current(), name);
    if (!found && !find_page(*Session::current(), name)) unknown_name(*Session::current(), name);
    of = found ? *found : Value();
  }
  const auto definition = definition_of(of);
  if (!definition && !rows_of(of).empty()) return Value(rows_of(of));
  if (!definition)
    interp::raise("ValueError", "its source is part of kiln itself",
                  "functions and structs of programs have source");
  return Value(definition->text);
}

Value apropos(Interpreter&, Args a) {
  static const Value* const type = new Value(interp::host::record_type(
      "Mention",
      "A name that has a page: `name`, its `kind` (\"op\", \"function\", \"method\", \"command\" …) and a "
      "`summary` of one sentence.",
      {"name", "kind", "summary", "text"}));
  const auto [by_name, by_summary] =
      mentions_of(*Session::current(), interp::host::text_argument(a[0], "word"));
  std::vector<Entry> all = by_name;
  all.insert(all.end(), by_summary.begin(), by_summary.end());
  return interp::host::list_of(all, [](const Entry& each) {
    return interp::host::make_record(*type, {Value(each.name), Value(each.kind), Value(each.summary),
                                             Value(fmt::format("{}: {}", each.name, each.summary))});
  });
}

Value explain(Interpreter&, Args a) {
  return Value(explanation(interp::host::text_argument(a[0], "code"), false));
}

constexpr interp::NativeDef kNatives[] = {
    {"who()",
     "The variables of the main program: a list, each with `name value type device bytes aliases`. `:who` "
     "prints "
     "them.",
     who},
    {"doc(name)",
     "Signature, documentation and examples of what a name means, as text; `?name` prints it.\n"
     ">>> doc(\"relu\").split(\"\\n\")[0]\n'relu(x: tensor)'",
     doc},
    {"source(f)",
     "The text that defined a function or struct, given itself or by name; of an op its row in the op table. "
     "`??name` prints it.\n"
     ">>> fn double(x) = 2 * x\n>>> source(double)\n'fn double(x) = 2 * x'",
     source},
    {"apropos(word)",
     "Every name that has the word in it or in its first sentence, those that have it in the name first: a "
     "list, each with `name kind summary`. `:apropos` prints them.\n"
     ">>> [each.name for each in apropos(\"isfinite\")]\n['isfinite']",
     apropos},
    {"explain(code)",
     "What the code of an error means, with a wrong and a right example, as text; of a kind of error its "
     "codes. "
     "`:explain` prints it.\n"
     ">>> explain(\"K0501\").split(\"\\n\")[0]\n'a product whose inner sizes differ'",
     explain},
};

}  // namespace

std::span<const interp::NativeDef> asking_functions() { return kNatives; }

void install_functions(Session& session) {
  for (const auto part : {asking_functions(), call_functions()}) {
    for (const interp::NativeDef& each : part) {
      const Value function = interp::make_native(each);
      const_cast<interp::Module&>(session.interpreter().prelude())
          .set(function.as<interp::Native>().name, function);
    }
  }
}

}  // namespace kiln::repl
