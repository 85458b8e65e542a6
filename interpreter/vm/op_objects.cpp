// The instructions that make functions, structs and modules, set fields, and raise errors.
#include <filesystem>

#include "interpreter/values/collector.h"
#include "interpreter/vm/call.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/members.h"
#include "interpreter/vm/operators.h"
#include "interpreter/vm/parameters.h"
#include "interpreter/vm/vm_slow.h"

namespace kiln::interp {

void op_MakeCell(Vm&, Value* r, const Instruction& i) {
  Value cell = make<Cell>();
  cell.as<Cell>().value.take(r[i.a]);
  r[i.a].take(cell);
}

void op_UnsetLocals(Vm&, Value* r, const Instruction& i) {
  for (std::uint32_t k = 0; k < i.b; ++k) r[i.a + k].assign(Value::unset());
}

void op_MakeFunction(Vm& vm, Value* r, const Instruction& i) {
  const std::shared_ptr<Code>& code = vm.code().functions[i.c];
  auto* function = new Function(code.get(), code);
  Value value{static_cast<Object*>(function)};
  function->module = Value(static_cast<Object*>(&vm.module()));
  std::uint32_t next = i.b;
  for (const CodeParameter& p : code->parameters) {
    if (!p.has_default) continue;
    function->defaults.emplace_back();
    function->defaults.back().take(r[next++]);
  }
  for (const lang::CaptureSource& source : code->function->captures) {
    const bool own = source.from_parent_cell;
    function->captures.push_back(own ? r[source.slot] : vm.frame()->function->captures[source.slot]);
  }
  if (vm.interpreter().options().hot_after == 0) vm.compile_when_called(code);
  r[i.a].take(value);
  Collector::collect_if_due();
}

void op_MakeStruct(Vm& vm, Value* r, const Instruction& i) {
  const StructCode& code = vm.code().structs[i.c];
  auto* type = new StructType();
  Value value{static_cast<Object*>(type)};
  type->name = code.statement->name;
  type->documentation = code.statement->documentation;
  type->span = code.statement->span;
  std::uint32_t next = i.b;
  for (std::size_t k = 0; k < code.statement->fields.size(); ++k) {
    type->fields.emplace_back(code.statement->fields[k].name);
    type->defaults.emplace_back();
    if (code.has_default[k]) {
      type->defaults.back().emplace();
      type->defaults.back()->take(r[next++]);
    }
  }
  type->init_fields.assign(code.init_fields.begin(), code.init_fields.end());
  for (const std::string_view name : code.methods) {
    type->methods.emplace_back(std::string(name), Value());
    type->methods.back().second.take(r[next++]);
  }
  r[i.a].take(value);
}

void op_MakeAutograd(Vm& vm, Value* r, const Instruction& i) {
  const lang::AutogradStmt& statement = *vm.code().autograds[i.c].statement;
  auto* type = new StructType();
  Value value{static_cast<Object*>(type)};
  type->is_autograd = true;
  type->name = statement.name;
  type->documentation = statement.documentation;
  type->span = statement.span;
  std::uint32_t next = i.b;
  for (const lang::FunctionStmt* method : statement.methods) {
    type->methods.emplace_back(std::string(method->function->name), Value());
    type->methods.back().second.take(r[next++]);
  }
  r[i.a].take(value);
}

void op_SetAttribute(Vm& vm, Value* r, const Instruction& i) {
  set_attribute(vm.interpreter(), r[i.a], vm.code().sites[i.c].name, r[i.b]);
  if (vm.frame()->is_temporary(i.a)) r[i.a].clear();
  if (vm.frame()->is_temporary(i.b)) r[i.b].clear();
}

void op_EndInit(Vm&, Value* r, const Instruction& i) {
  if (r[i.a].is(Tag::Instance)) mark_parameters(r[i.a].as<Instance>());
}

// Before anything is entered: what cannot be left must not be.
void op_CheckContext(Vm&, Value* r, const Instruction& i) {
  for (const std::string_view name : {"enter", "exit"}) {
    if (has_member(r[i.a], name)) continue;
    raise("TypeError",
          describe(r[i.a]) + " cannot be used by `with`: it has no method `" + std::string(name) + "`");
  }
}

void op_Import(Vm& vm, Value* r, const Instruction& i) {
  const lang::ImportStmt& statement = *vm.code().imports[static_cast<std::size_t>(i.wide())];
  const std::string& path = vm.module().path;
  const std::string folder = path.empty() ? "" : std::filesystem::path(path).parent_path().string();
  Value module = vm.interpreter().import(statement.module, folder);
  r[i.a].take(module);
}

void op_ImportName(Vm& vm, Value* r, const Instruction& i) {
  const std::string_view name = vm.code().names[i.c];
  const Value* found = vm.interpreter().impl().modules.value_in(r[i.b].as<Module>(), name);
  if (!found) no_member(r[i.b], name);
  r[i.a].assign(*found);
}

void op_Throw(Vm& vm, Value* r, const Instruction& i) {
  Value thrown;
  if (vm.frame()->is_temporary(i.a)) {
    thrown.take(r[i.a]);
  } else {
    thrown = r[i.a];
  }
  throw_value(vm, std::move(thrown));
}

void throw_value(Vm& vm, Value thrown) {
  const bool is_kind = thrown.is(Tag::Type) && thrown.as<Type>().instances == Tag::Error;
  if (is_kind) thrown = vm.interpreter().call(thrown.as<Type>().constructor, {});
  if (thrown.is(Tag::Error)) {
    // One that was caught keeps the place where it was thrown first.
    if (thrown.as<Error>().diagnostic.place()) vm.keep_trace();
    throw ThrownError(thrown.as<Error>().diagnostic, thrown.as<Error>().payload);
  }
  if (thrown.is(Tag::Str)) raise("Error", thrown.as<Str>().text);
  lang::Diagnostic diagnostic;
  // An error of the program's own: its struct is the kind, and a field `message`, if it is text, the
  // sentence.
  const bool is_own = thrown.is(Tag::Instance);
  diagnostic.kind = is_own ? type_name(thrown) : "Error";
  const Value* const message = is_own ? thrown.as<Instance>().find("message") : nullptr;
  diagnostic.message =
      message != nullptr && message->is(Tag::Str) ? message->as<Str>().text : vm.interpreter().repr(thrown);
  throw ThrownError(std::move(diagnostic), std::move(thrown));
}

void op_AssertFailed(Vm& vm, Value* r, const Instruction& i) {
  const lang::Span span = vm.code().span(vm.frame()->place());
  if (r[i.a].is_none()) raise("AssertionError", "`" + std::string(span.text()) + "` does not hold");
  raise("AssertionError", vm.interpreter().str(r[i.a]));
}

namespace {

std::string one_line(Vm& vm, const Value& v) {
  std::string text = vm.interpreter().repr(v);
  constexpr std::size_t kLongest = 200;
  if (v.is(Tag::Tensor) || text.size() > kLongest || text.find('\n') != std::string::npos) return describe(v);
  return text;
}

}  // namespace

void op_AssertCompareFailed(Vm& vm, Value* r, const Instruction& i) {
  const lang::Span span = vm.code().span(vm.frame()->place());
  const auto op = static_cast<lang::CompareOp>(i.c);
  raise("AssertionError", "`" + std::string(span.text()) + "` does not hold: " + one_line(vm, r[i.a]) + " " +
                              std::string(spelling(op)) + " " + one_line(vm, r[i.b]));
}

namespace {

// Arguments of a call with names and stars, out of their registers.
Arguments spread(Vm& vm, Value* first, std::span<const CallShape::Item> items) {
  Arguments arguments;
  for (std::size_t k = 0; k < items.size(); ++k) {
    Value& value = first[k];
    switch (items[k].kind) {
      case lang::Argument::Kind::Positional:
        arguments.positional.push_back(value);
        break;
      case lang::Argument::Kind::Named:
        arguments.named.emplace_back(items[k].name, value);
        break;
      case lang::Argument::Kind::Star: {
        if (value.is_number() || value.is_none())
          raise("TypeError", "`*` takes an iterable, not " + describe(value));
        for (Value& item : vm.interpreter().to_vector(value)) arguments.positional.push_back(std::move(item));
        break;
      }
      case lang::Argument::Kind::DoubleStar: {
        if (!value.is(Tag::Dict)) raise("TypeError", "`**` takes a dict, not " + describe(value));
        arguments.held.push_back(value);
        for (const Dict::Entry& entry : value.as<Dict>().entries()) {
          if (!entry.live) continue;
          if (!entry.key.is(Tag::Str))
            raise("TypeError", "the keys of `**` must be names, not " + describe(entry.key));
          arguments.held.push_back(entry.key);
          arguments.named.emplace_back(entry.key.as<Str>().text, entry.value);
        }
      }
    }
  }
  return arguments;
}

void clear(Value* first, std::uint32_t count) {
  for (std::uint32_t k = 0; k < count; ++k) first[k].clear();
}

}  // namespace

// The registers are released before the call, so that tensors do not outlive their use; an error's labels
// find none then, as a call's carets stand under the call.
bool begin_spread_call(Vm& vm, Value* r, const Instruction& i) {
  const CallShape& shape = vm.code().shapes[i.c];
  Arguments arguments = spread(vm, r + i.a + 1, shape.items);
  const Value callee = called_by(r[i.a]);
  if (callee.is(Tag::Native)) {  // an error's labels want them in place
    Value result = call_native_with(vm.interpreter(), callee.as<Native>(), arguments);
    clear(r + i.a + 1, i.b);
    r[i.a].take(result);
    return false;
  }
  clear(r + i.a + 1, i.b);
  return vm.begin_call(r + i.a, callee, arguments);
}

bool begin_spread_method_call(Vm& vm, Value* r, const Instruction& i) {
  const CallShape& shape = vm.code().shapes[i.c];
  Arguments arguments = spread(vm, r + i.a + 2, shape.items);
  Site& site = vm.code().sites[shape.site];
  Value member;
  if (vm.find_method(r[i.a + 1], site, member)) {
    arguments.positional.insert(arguments.positional.begin(), r[i.a + 1]);
  }
  const Value callee = called_by(member);
  if (callee.is(Tag::Native)) {
    Value result = call_native_with(vm.interpreter(), callee.as<Native>(), arguments);
    clear(r + i.a + 1, i.b);
    r[i.a].take(result);
    return false;
  }
  clear(r + i.a + 1, i.b);
  return vm.begin_call(r + i.a, callee, arguments);
}

}  // namespace kiln::interp
