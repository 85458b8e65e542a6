#include "interpreter/capture/hot.h"

#include "interpreter/impl.h"

namespace kiln::interp::capture {
namespace {

// The same function over code of its own, whose first instruction looks for what was compiled.
Value with_code(const Value& f, const std::function<void(Code&)>& change) {
  const Function& from = f.as<Function>();
  auto code = std::make_shared<Code>(*from.code);
  if (code->compiled) code->instructions[0].op = static_cast<std::uint16_t>(code->first);
  code->compiled = nullptr;
  code->never_compiled = false;
  change(*code);
  auto* made = new Function(code.get(), code);
  Value result{static_cast<Object*>(made)};
  made->module = from.module;
  made->captures = from.captures;
  made->defaults = from.defaults;
  return result;
}

// A function of the program around anything else that can be called.
Value as_function(Interpreter& interpreter, const Value& f) {
  if (f.is(Tag::Function)) return f;
  const Value* forward = interpreter.impl().modules.prelude_value("forwarding_function");
  return interpreter.call(*forward, {f});
}

}  // namespace

namespace {

// Of all code that was ever compiled and still is.
std::vector<std::weak_ptr<Compiled>>& compiled_code() {
  static auto* const all = new std::vector<std::weak_ptr<Compiled>>();
  return *all;
}

}  // namespace

void forget_entries() {
  for (const std::weak_ptr<Compiled>& each : compiled_code()) {
    const std::shared_ptr<Compiled> alive = each.lock();
    if (!alive) continue;
    alive->in_order.clear();
    const auto places = std::move(alive->places);  // whose end may end the code itself
    alive->places.clear();
    alive->options.own_backend = Value();
  }
  compiled_code().clear();
}

void compile_from_now_on(const Code& code, CompileOptions options) {
  if (code.compiled || code.never_compiled || code.instructions.empty()) return;
  code.compiled = std::make_shared<Compiled>();
  code.compiled->options = std::move(options);
  compiled_code().push_back(code.compiled);
  code.first = code.instructions[0].opcode();
  code.instructions[0].op = static_cast<std::uint16_t>(Opcode::Capture);
}

Value recompiled(Interpreter& interpreter, const Value& function, const CompileOptions& options) {
  return with_code(as_function(interpreter, function),
                   [&](Code& code) { compile_from_now_on(code, options); });
}

Value never_compiled(Interpreter& interpreter, const Value& function) {
  return with_code(as_function(interpreter, function), [](Code& code) { code.never_compiled = true; });
}

}  // namespace kiln::interp::capture
