// Fills the prelude: functions, types, dtypes, constants, and every op of the table.
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "interpreter/interpreter.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/op_entry.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using PositionalArguments = std::span<const Value>;
using NamedArguments = std::span<const std::pair<std::string_view, Value>>;

Value call_table_op(Interpreter& interpreter, const Native& self, PositionalArguments arguments,
                    NamedArguments named) {
  return call_op(interpreter, *static_cast<const OpEntry*>(self.data), arguments, named);
}

Value op_value(const OpEntry& entry) {
  auto* native = new Native();
  Value value{static_cast<Object*>(native)};
  native->name = entry.name;
  for (const OpForm& form : entry.forms) {
    if (!native->signature.empty()) native->signature += '\n';
    native->signature += form.op->signature.text;
  }
  const kiln::Op& op = *entry.forms.front().op;
  native->documentation = op.documentation;
  if (entry.inplace) native->documentation += " In place: writes into its first argument and returns it.";
  if (!op.example.empty() && !entry.inplace) native->documentation += "\n" + std::string(op.example);
  native->unbound = call_table_op;
  native->data = &entry;
  return value;
}

// A name that host values and tensors share: an op when a tensor is among the arguments.
struct Shared {
  Value host;
  const OpEntry* op;
};

bool has_tensor(PositionalArguments arguments, NamedArguments named) {
  for (const Value& v : arguments) {
    if (v.is(Tag::Tensor)) return true;
  }
  for (const auto& [name, v] : named) {
    if (v.is(Tag::Tensor)) return true;
  }
  return false;
}

Value call_shared(Interpreter& interpreter, const Native& self, PositionalArguments arguments,
                  NamedArguments named) {
  const auto& shared = *static_cast<const Shared*>(self.data);
  if (shared.op && has_tensor(arguments, named)) return call_op(interpreter, *shared.op, arguments, named);
  if (named.empty()) return interpreter.call(shared.host, arguments);
  std::vector<NamedArgument> by_name;
  for (const auto& [name, value] : named) by_name.push_back({name, value});
  return interpreter.call(shared.host, arguments, by_name);
}

// One for each definition, made once: they live as long as the process, as the op table does.
const std::vector<Shared>& shared_functions() {
  static const auto* const all = [] {
    auto* made = new std::vector<Shared>();
    for (const NativeDef& def : shared_natives()) {
      Value host = make_native(def);
      const OpEntry* op = find_op(host.as<Native>().name);
      made->push_back({std::move(host), op});
    }
    return made;
  }();
  return *all;
}

Value shared_value(const Shared& shared) {
  const auto& host = shared.host.as<Native>();
  auto* native = new Native();
  Value value{static_cast<Object*>(native)};
  native->name = host.name;
  native->signature = host.signature;
  native->documentation = host.documentation;
  if (shared.op) {
    for (const OpForm& form : shared.op->forms) native->signature += "\n" + form.op->signature.text;
  }
  native->unbound = call_shared;
  native->data = &shared;
  return value;
}

}  // namespace

void install_host_library(Module& prelude) {
  for (const std::string_view name : op_names()) prelude.set(name, op_value(*find_op(name)));
  for (const Shared& shared : shared_functions()) {
    const Value value = shared_value(shared);
    prelude.set(value.as<Native>().name, value);
  }
  for (const auto& table :
       {core_natives(),         text_natives(),       iteration_natives(),    math_natives(),
        system_natives(),       file_natives(),       plot_natives(),         autograd_natives(),
        memory_natives(),       compile_natives(),    compare_natives(),      dtype_natives(),
        reverse_mode_natives(), jacobian_natives(),   vmap_natives(),         module_state_natives(),
        graph_natives(),        graph_call_natives(), onnx_export_natives(),  onnx_import_natives(),
        onnx_program_natives(), json_natives(),       regex_natives(),        process_natives(),
        calendar_natives(),     profiling_natives(),  report_natives(),       shape_natives(),
        rank_natives(),         library_natives(),    library_type_natives(), sparse_gradient_natives()}) {
    for (const NativeDef& def : table) {
      const Value value = make_native(def);
      prelude.set(value.as<Native>().name, value);
    }
  }
  for (const Tag tag :
       {Tag::Int, Tag::Float, Tag::Bool, Tag::Str, Tag::List, Tag::Tuple, Tag::Dict, Tag::Set, Tag::Range,
        Tag::Slice, Tag::Tensor, Tag::DType, Tag::Device, Tag::Complex, Tag::Graph}) {
    const Value type = host::type_value(tag);
    prelude.set(type.as<Type>().name, type);
  }
  for (const Value& kind : error_types()) prelude.set(kind.as<Type>().name, kind);
  for (int d = 1; d < kiln::kDTypeCount; ++d) {  // `bool` is the type
    const auto dtype = static_cast<kiln::DType>(d);
    prelude.set(kiln::name(dtype), Value(dtype));
  }
  prelude.set("from_list", host::type_value(Tag::Tensor).as<Type>().constructor);
  prelude.set("cpu", Value(kiln::Device{}));
  prelude.set("is_main", true);
  prelude.set("pi", std::numbers::pi);
  prelude.set("e", std::numbers::e);
  prelude.set("inf", std::numeric_limits<double>::infinity());
  prelude.set("nan", std::numeric_limits<double>::quiet_NaN());
}

std::span<const NativeDef> methods_of(Tag tag) {
  switch (tag) {
    case Tag::List:
      return list_methods();
    case Tag::Tuple:
      return tuple_methods();
    case Tag::Str:
      return str_methods();
    case Tag::Dict:
      return dict_methods();
    case Tag::Set:
      return set_methods();
    case Tag::Tensor:
      return tensor_methods();
    case Tag::File:
      return file_methods();
    case Tag::Iterator:
      return generator_methods();
    case Tag::Graph:
      return graph_methods();
    case Tag::Instance:
      return instance_methods();
    default:
      return plain_methods(tag);
  }
}

}  // namespace kiln::interp
