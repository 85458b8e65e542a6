#include "interpreter/check/program.h"

#include <algorithm>
#include <iterator>

#include "interpreter/check/machine.h"
#include "interpreter/check/supposed.h"
#include "interpreter/check/types_only.h"
#include "interpreter/shadow.h"
#include "interpreter/values/unknown.h"
#include "interpreter/vm/impl.h"
#include "lang/parse.h"
#include "tensor/autocast.h"
#include "tensor/autograd.h"

namespace kiln::interp::check {
namespace {

Options uncompiled() {
  Options options;
  options.hot_after = -1;
  return options;
}

// What the text alone shows; empty when it can be run.
std::vector<lang::Diagnostic> mistakes_of_text(Interpreter& interpreter, const std::string& name,
                                               const std::string& text, bool& can_run) {
  const lang::SourceFile& file = interpreter.sources().add(name, text);
  std::vector<lang::Diagnostic> found = lang::syntax_mistakes(file);
  can_run = found.empty();
  if (!can_run) return found;
  try {
    const auto ast = lang::parse(file);
    lang::resolve(*ast);
    const std::vector<std::string> names = interpreter.names();
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const auto is_known = [&](std::string_view each) {
      if (each == "function") return true;  // the type of a parameter, and of nothing else
      return std::binary_search(candidates.begin(), candidates.end(), each);
    };
    return lang::undefined_names(*ast, is_known, candidates);
  } catch (const lang::UserError& error) {
    can_run = false;
    return {error.diagnostic()};
  }
}

// What a parameter certainly is: a tensor where its signature says all sizes, else unknown.
Value argument_for(const CodeParameter& parameter) {
  const lang::Annotation* const annotation = parameter.annotation;
  if (annotation == nullptr || !annotation->has_dims) return unknown_value();
  const auto dtype = kiln::dtype_named(annotation->type_name);
  kiln::Dims sizes;
  for (const lang::DimAnnotation& dim : annotation->dims) {
    const bool is_number =
        dim.kind == lang::DimAnnotation::Kind::Expr && dim.expr->kind == lang::ExprKind::Int;
    if (!is_number || !dtype) return unknown_value();
    sizes.push_back(lang::as<lang::IntExpr>(*dim.expr).value);
  }
  return Value(kiln::Tensor::without_elements(sizes, *dtype, {}));
}

// The call is none that the program makes.
void call_supposed(Interpreter& interpreter, Machine& machine, const Value& function,
                   const std::vector<Value>& arguments) {
  machine.begin_supposed();
  try {
    interpreter.call(function, arguments);
  } catch (const lang::UserError&) {
    // A required keyword: the call was none that a program would make.
  }
}

void call_unknown(Interpreter& interpreter, Machine& machine, const Value& function) {
  const Code& code = *function.as<Function>().code;
  std::vector<Value> arguments;
  for (const CodeParameter& parameter : code.parameters) {
    if (parameter.kind != lang::Parameter::Kind::Normal) return;  // how many there are is unknown
    if (parameter.keyword_only || parameter.has_default) break;
    arguments.push_back(argument_for(parameter));
  }
  call_supposed(interpreter, machine, function, arguments);
}

bool stands_before(const lang::Diagnostic& a, const lang::Diagnostic& b) {
  const lang::Span x = a.user_place(), y = b.user_place();
  return std::pair(x.file->name(), x.begin) < std::pair(y.file->name(), y.begin);
}

// Those of the program itself, and methods of its structs.
std::vector<Value> functions_of(Module& module) {
  std::vector<Value> functions, own;
  for (const Value& slot : std::vector<Value>(module.slots)) {
    const Value each = called_by(slot);
    if (each.is(Tag::Function)) functions.push_back(each);
    if (!each.is(Tag::StructType)) continue;
    for (const auto& [name, method] : each.as<StructType>().methods) functions.push_back(method);
  }
  std::copy_if(functions.begin(), functions.end(), std::back_inserter(own), [](const Value& each) {
    return each.is(Tag::Function) && !each.as<Function>().code->file->is_library();
  });
  return own;
}

// Functions that the program's run did not come to.
void check_uncalled(Interpreter& interpreter, Machine& machine) {
  for (const Value& function : functions_of(interpreter.main())) {
    if (!machine.has_entered(*function.as<Function>().code)) call_unknown(interpreter, machine, function);
  }
}

void suppose_sizes(Interpreter& interpreter, Machine& machine, const Supposes& supposes) {
  for (const Value& function : functions_of(interpreter.main())) {
    const auto supposed = supposed_arguments(*function.as<Function>().code);
    if (!supposed) continue;
    supposes(&supposed->call);
    call_supposed(interpreter, machine, function, supposed->values);
    supposes(nullptr);
  }
}

void forget_unknown_variables(Module& module) {
  for (Value& slot : module.slots) {
    if (is_unknown(slot)) slot = Value::unset();
  }
}

}  // namespace

std::vector<lang::Diagnostic> check_within(Interpreter& interpreter, const std::string& name,
                                           const std::string& text, const std::string& path, const Seen& seen,
                                           const Supposes& supposes) {
  const shadow::Check here;
  bool can_run = false;
  std::vector<lang::Diagnostic> mistakes = mistakes_of_text(interpreter, name, text, can_run);
  const TypesOnly types(Elements::Known);
  const kiln::GradMode recorded(true);  // whatever an earlier check was cut in
  const kiln::autocast::Off full_precision;
  Machine machine(interpreter.impl().vm, seen);
  if (!can_run) {
    for (lang::Diagnostic& each : mistakes) machine.add(std::move(each));
  }
  interpreter.main().path = path;
  interpreter.main().set("args", unknown_value());
  if (can_run) {
    try {
      interpreter.run(name, text);
    } catch (const lang::UserError& error) {
      machine.add(error.diagnostic());  // of what could not be compiled
    }
    check_uncalled(interpreter, machine);
    // A text that the program runs may define further names.
    for (lang::Diagnostic& each : mistakes) {
      if (interpreter.main().find(each.place().text()) == nullptr) machine.add(std::move(each));
    }
  }
  std::vector<lang::Diagnostic> found = machine.found();
  if (can_run && supposes) suppose_sizes(interpreter, machine, supposes);
  forget_unknown_variables(interpreter.main());
  std::stable_sort(found.begin(), found.end(), stands_before);
  return found;
}

Checked check_program(const std::string& name, const std::string& text, const std::string& path) {
  Checked checked{{}, std::make_unique<Interpreter>(uncompiled())};
  checked.mistakes = check_within(*checked.owner, name, text, path);
  return checked;
}

}  // namespace kiln::interp::check
