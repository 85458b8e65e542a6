#include "interpreter/interpreter.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "interpreter/capture/hot.h"
#include "interpreter/files/system_call.h"
#include "interpreter/shadow.h"
#include "interpreter/values/collector.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/generator.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/kept_place.h"
#include "interpreter/vm/members.h"
#include "interpreter/vm/operators.h"
#include "jit/passes/faults.h"
#include "lang/names.h"
#include "stdlib/embedded.h"
#include "tensor/warning.h"

namespace kiln::interp {
namespace {

Value new_module(const char* name) {
  Value module = make<Module>();
  module.as<Module>().name = name;
  return module;
}

}  // namespace

Interpreter::Interpreter(Options options) : options_(std::move(options)) {
  if (!options_.out) options_.out = [](std::string_view text) { host::write_stream(stdout, text); };
  if (!options_.err) options_.err = [](std::string_view text) { host::write_stream(stderr, text); };
  activate();
  Value main = new_module("main");
  Value prelude = new_module("prelude");
  main_ = &main.as<Module>();
  prelude_ = &prelude.as<Module>();
  install_host_library(*prelude_);
  std::vector<Value> arguments(options_.arguments.begin(), options_.arguments.end());
  prelude_->set("args", make<List>(std::move(arguments)));
  impl_ = std::make_unique<Impl>(*this);
  impl_->main = std::move(main);
  impl_->prelude = std::move(prelude);
}

void Interpreter::activate() {
  kiln::set_warning_sink([this](const std::string& sentence) { write_error("warning: " + sentence + "\n"); });
  kiln::set_place_source([this, thread = std::this_thread::get_id()] {
    return std::this_thread::get_id() == thread ? keep_place(impl_->vm) : kiln::KeptPlace{};
  });
  kiln::timeline::set_line_source([this, thread = std::this_thread::get_id()] {
    return std::this_thread::get_id() == thread ? current_line(impl_->vm) : kiln::timeline::Line{};
  });
}

Interpreter::~Interpreter() {
  capture::forget_entries();
  kiln::set_warning_sink({});
  kiln::set_place_source({});
  kiln::timeline::set_line_source({});
  impl_->own_passes.clear();
  impl_->file_objects.clear();
  impl_->modules.clear();
  Generator::forget_left();
  for (Value& slot : main_->slots) slot.clear();
  for (Value& slot : prelude_->slots) slot.clear();
  Collector::collect();
  flush();
}

Interpreter::Outcome Interpreter::run(std::string name, std::string text) {
  struct Teller {
    Interpreter& interpreter;
    ~Teller() { interpreter.tell_faults(); }
  } const at_the_end{*this};
  Outcome outcome;
  outcome.value = impl_->modules.run(*main_, name, std::move(text), outcome.has_value);
  Generator::close_left(impl_->vm);
  settle();
  return outcome;
}

// What devices were given is done, or has failed.
void Interpreter::settle() {
  try {
    kiln::settle_devices();
  } catch (const kiln::DelayedError& error) {
    throw lang::UserError(delayed_failure(error).diagnostic);
  }
}

void Interpreter::run_file(const std::string& path) {
  std::string text = read_source(path);
  main_->path = std::filesystem::weakly_canonical(path).string();
  run(path, std::move(text));
}

Value Interpreter::call(const Value& callee, std::span<const Value> arguments,
                        std::span<const NamedArgument> named) {
  Arguments all;
  all.positional.assign(arguments.begin(), arguments.end());
  for (const NamedArgument& argument : named) all.named.emplace_back(argument.name, argument.value);
  return impl_->vm.call(callee, std::move(all));
}

Value Interpreter::call(const Value& callee, std::initializer_list<Value> arguments) {
  return call(callee, std::span<const Value>(arguments.begin(), arguments.size()));
}

Value Interpreter::binary(lang::BinaryOp op, const Value& a, const Value& b) {
  return binary_operator(*this, op, a, b);
}
Value Interpreter::compare(lang::CompareOp op, const Value& a, const Value& b) {
  return compare_operator(*this, op, a, b);
}
bool Interpreter::truth(const Value& v) { return truth_of(*this, v); }
Value Interpreter::attribute(const Value& object, std::string_view name) {
  return get_attribute(*this, object, name);
}
std::vector<std::string> Interpreter::attribute_names(const Value& object) { return member_names(object); }

void Interpreter::iterate(const Value& iterable, const std::function<bool(const Value&)>& f) {
  if (iterable.is(Tag::List) || iterable.is(Tag::Tuple)) {
    const Value keep = iterable;
    const auto& items = keep.is(Tag::List) ? keep.as<List>().items : keep.as<Tuple>().items;
    for (std::size_t i = 0; i < items.size(); ++i) {
      impl_->vm.check_interrupt();
      const Value item = items[i];
      if (!f(item)) return;
    }
    return;
  }
  const Value iterator = make_iterator(*this, iterable);
  Value item;
  while (advance(*this, iterator, item)) {
    impl_->vm.check_interrupt();
    if (!f(item)) return;
  }
}

std::vector<Value> Interpreter::to_vector(const Value& iterable) {
  if (iterable.is(Tag::List)) return iterable.as<List>().items;
  if (iterable.is(Tag::Tuple)) return iterable.as<Tuple>().items;
  std::vector<Value> items;
  iterate(iterable, [&items](const Value& item) {
    items.push_back(item);
    return true;
  });
  return items;
}

std::string Interpreter::str(const Value& v) { return str_of(*this, v); }
std::string Interpreter::repr(const Value& v) { return repr_of(*this, v); }

const Value* Interpreter::lookup(std::string_view spelling) {
  const std::string name = lang::normalized_name(spelling);
  if (const Value* found = main_->find(name)) return found;
  return impl_->modules.prelude_value(name);
}

std::vector<std::string> Interpreter::names() const {
  std::vector<std::string> names;
  for (const Module* module : {static_cast<const Module*>(main_), static_cast<const Module*>(prelude_)}) {
    for (std::size_t i = 0; i < module->names.size(); ++i) {
      if (!module->slots[i].is_unset()) names.push_back(module->names[i]);
    }
  }
  for (const std::string_view name : stdlib_part_names("prelude")) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Value Interpreter::import(std::string_view name_or_path, const std::string& from_folder) {
  return impl_->modules.import(name_or_path, from_folder);
}

void Interpreter::reset() {
  for (std::size_t i = 0; i < main_->slots.size(); ++i) {
    Value unset = Value::unset();
    main_->slots[i].take(unset);
    main_->origins[i] = {};
  }
  impl_->own_passes.clear();
  impl_->modules.forget_user_modules();
  Collector::collect();
}

void Interpreter::reload(const std::string& path) { impl_->modules.reload(path); }

void Interpreter::write(std::string_view text) {
  if (tap_ != nullptr) tap_->append(text);
  if (shadow::is_silent()) return;
  // What goes elsewhere than the lines that are drawn does not disturb them.
  static const bool same_terminal = ::isatty(STDOUT_FILENO) == 1;
  if (!same_terminal) return options_.out(text);
  impl_->live_lines.before_text();
  options_.out(text);
  impl_->live_lines.after_text(text);
}
void Interpreter::write_error(std::string_view text) {
  if (shadow::is_silent()) return;
  if (impl_ == nullptr) return options_.err(text);
  impl_->live_lines.before_text();
  options_.err(text);
  impl_->live_lines.after_text(text);
}
void Interpreter::tell_faults() {
  if (!jit::has_faults() || shadow::is_silent()) return;
  for (const jit::Fault& each : jit::take_faults()) {
    write_error(
        fmt::format("Kiln made a mistake here, the program did not: {}\nplease report it with this "
                    "program, which shows it:\n{}",
                    each.message, each.program));
  }
}
Interpreter::Tap::Tap(Interpreter& interpreter, std::string& text)
    : interpreter_(interpreter), before_(std::exchange(interpreter.tap_, &text)) {}
Interpreter::Tap::~Tap() {
  if (before_ != nullptr) before_->append(*interpreter_.tap_);
  interpreter_.tap_ = before_;
}

// What Ctrl-C cuts is lost with the program that wrote it, and is no failure of the stream.
void Interpreter::flush() {
  if (shadow::is_silent()) return;
  for (std::FILE* stream : {stdout, stderr}) {
    if (std::fflush(stream) != 0 && errno == EINTR) std::clearerr(stream);
  }
}

}  // namespace kiln::interp
