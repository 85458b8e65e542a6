#include "interpreter/host/backend_choice.h"

#include <fmt/format.h>

#include "interpreter/capture/backend.h"
#include "interpreter/capture/stages.h"
#include "interpreter/host/record.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/impl.h"

namespace kiln::interp::host {
namespace {

constexpr std::string_view kInterpreter = "interpreter";

}  // namespace

std::vector<BackendChoice> backend_choices(Interpreter& interpreter) {
  std::vector<BackendChoice> all;
  for (const capture::BackendRow& each : capture::backends())
    all.push_back({each.name, each.meaning, compiling() && interpreter.impl().backend == each.name});
  all.push_back({kInterpreter, "nothing is compiled", !compiling()});
  return all;
}

void choose_backend(Interpreter& interpreter, std::string_view name) {
  if (name != kInterpreter && !capture::is_backend(name)) {
    raise("ValueError", fmt::format("there is no backend \"{}\"", name),
          fmt::format("{}, and \"{}\" compiles nothing", capture::known_backends(), kInterpreter));
  }
  set_compiling(name != kInterpreter);
  if (name != kInterpreter) interpreter.impl().backend = name;
  reset_compiled(interpreter, {});
}

Value backends(Interpreter& interpreter, std::span<Value>) {
  static const Value* const type = new Value(record_type(
      "Backend", "How compiled functions may run: `name`, its `meaning`, and whether it is `chosen`.",
      {"name", "meaning", "chosen", "text"}));
  std::vector<Value> all;
  for (const BackendChoice& each : backend_choices(interpreter)) {
    all.push_back(make_record(*type, {Value(each.name), Value(each.meaning), Value(each.is_chosen),
                                      Value(fmt::format("{}: {}", each.name, each.meaning))}));
  }
  return list_value(std::move(all));
}

Value set_backend(Interpreter& interpreter, std::span<Value> a) {
  choose_backend(interpreter, text_argument(a[0], "name"));
  return {};
}

}  // namespace kiln::interp::host
