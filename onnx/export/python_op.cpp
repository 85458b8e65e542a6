#include "onnx/export/python_op.h"

#include <algorithm>

#include "onnx/export/constant_text.h"
#include "onnx/export/tensors.h"

namespace kiln::onnx {
namespace {

using jit::CallPlace;
using jit::HostTuple;
using jit::HostValue;
using Ints = std::vector<std::int64_t>;

const jit::ProgramCall& call_of(const jit::CustomFunction& function) {
  if (function.program_call) return *function.program_call;
  throw OpError(ErrorKind::Capture, function.name +
                                        " was read from text, which does not tell the arguments of its "
                                        "function: export it with custom=\"function\"");
}

std::string described(const CallPlace& place, const jit::ProgramCall& call) {
  return "argument `" + place.name + "` of " + call.qualified_name;
}

// ---- Constants by kind ----

// Scalars of one kind, or the items of its tuples one after the other.
template <class T>
struct Constants {
  std::vector<T> values;
  Ints positions, begins;

  void add_scalar(std::size_t position, const T& value) {
    positions.push_back(static_cast<std::int64_t>(position));
    values.push_back(value);
  }
  template <class Item>
  void add_tuple(std::size_t position, const HostTuple& tuple) {
    positions.push_back(static_cast<std::int64_t>(position));
    begins.push_back(static_cast<std::int64_t>(values.size()));
    for (const HostValue& each : tuple.items) values.push_back(static_cast<T>(std::get<Item>(each)));
  }
};

template <class Item>
bool all_are(const HostTuple& tuple) {
  return !tuple.items.empty() &&
         std::all_of(tuple.items.begin(), tuple.items.end(),
                     [](const HostValue& each) { return std::holds_alternative<Item>(each); });
}

TensorProto doubles(const std::vector<double>& values) {
  TensorProto proto;
  proto.type = ElementType::Double;
  proto.dims = {static_cast<std::int64_t>(values.size())};
  proto.doubles = values;
  return proto;
}

std::vector<float> rounded(const std::vector<double>& values) { return {values.begin(), values.end()}; }

// Throws where something in the value can be in no file.
void check_constant(const HostValue& value, const CallPlace& place, const jit::CustomFunction& function) {
  const std::string what = described(place, *function.program_call);
  if (const auto* tuple = std::get_if<HostTuple>(&value)) {
    for (const HostValue& each : tuple->items) check_constant(each, place, function);
  }
  if (std::holds_alternative<jit::HostSize>(value) && !function.symbols().empty())
    throw OpError(ErrorKind::Value, what + " follows the sizes of the call, and an attribute is a constant",
                  {}, "export with fixed sizes, or with custom=\"function\"");
  const auto* object = std::get_if<jit::HostObject>(&value);
  if (object != nullptr && object->registered.empty())
    throw OpError(ErrorKind::Value, what + " is a " + object->type + ", which a model cannot hold", {},
                  "keep it under a name that the model can tell: onnx_register(\"name\", value)");
}

class Arguments {
 public:
  explicit Arguments(const jit::CustomFunction& function) {
    const std::vector<CallPlace>& places = function.program_call->arguments;
    for (std::size_t i = 0; i < places.size(); ++i) {
      convention += places[i].value ? 'c' : 'd';
      names.push_back(places[i].name);
      if (!places[i].value) continue;
      check_constant(*places[i].value, places[i], function);
      add(i, *places[i].value);
    }
  }

  void write(NodeProto& node) const {
    scalars(node, "bool", bools_.values, bools_.positions);
    scalars(node, "int", ints_.values, ints_.positions);
    scalars(node, "float", rounded(floats_.values), floats_.positions);
    tuples(node, "bool", bool_tuples_.values, bool_tuples_);
    tuples(node, "int", int_tuples_.values, int_tuples_);
    tuples(node, "float", rounded(float_tuples_.values), float_tuples_);
    scalars(node, "pointer", Ints(pointers_.values.size()), pointers_.positions);
    const auto own = [&node](const char* name, const auto& values, auto attribute) {
      if (!values.empty()) node.attributes.push_back(AttributeProto::of(name, std::move(attribute)));
    };
    own("__kiln_float_scalars", floats_.values, doubles(floats_.values));
    own("__kiln_float_tuples", float_tuples_.values, doubles(float_tuples_.values));
    own("__kiln_pointers", pointers_.values, pointers_.values);
    own("__kiln_arguments", names, names);
  }

  std::string convention;
  std::vector<std::string> names;

 private:
  void add(std::size_t i, const HostValue& value) {
    if (const auto* truth = std::get_if<bool>(&value)) return bools_.add_scalar(i, *truth);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return ints_.add_scalar(i, *whole);
    if (const auto* size = std::get_if<jit::HostSize>(&value)) return ints_.add_scalar(i, size->was);
    if (const auto* real = std::get_if<double>(&value)) return floats_.add_scalar(i, *real);
    if (const auto* tuple = std::get_if<HostTuple>(&value)) {
      if (all_are<bool>(*tuple)) return bool_tuples_.add_tuple<bool>(i, *tuple);
      if (all_are<std::int64_t>(*tuple)) return int_tuples_.add_tuple<std::int64_t>(i, *tuple);
      if (all_are<double>(*tuple)) return float_tuples_.add_tuple<double>(i, *tuple);
    }
    pointers_.add_scalar(i, constant_text(value));
  }

  template <class Values>
  static void scalars(NodeProto& node, const std::string& kind, const Values& values, const Ints& positions) {
    if (positions.empty()) return;
    node.attributes.push_back(AttributeProto::of("input_" + kind + "_scalars", values));
    node.attributes.push_back(AttributeProto::of("input_" + kind + "_scalar_positions", positions));
  }
  template <class Values, class T>
  static void tuples(NodeProto& node, const std::string& kind, const Values& values,
                     const Constants<T>& all) {
    if (all.positions.empty()) return;
    node.attributes.push_back(AttributeProto::of("input_" + kind + "_tuples", values));
    node.attributes.push_back(AttributeProto::of("input_" + kind + "_tuple_positions", all.positions));
    node.attributes.push_back(AttributeProto::of("input_" + kind + "_tuple_begins", all.begins));
  }

  Constants<std::int64_t> bools_, ints_, bool_tuples_, int_tuples_;
  Constants<double> floats_, float_tuples_;
  Constants<std::string> pointers_;
};

// ---- Tensors ----

struct Types {
  Ints codes, ranks;
  void add(const jit::Type& type) {
    codes.push_back(static_cast<std::int64_t>(element_type(type.dtype)));
    ranks.push_back(static_cast<std::int64_t>(type.sizes.size()));
  }
};

Types argument_types(const jit::CustomFunction& function) {
  Types types;
  for (std::size_t i = 0; i < function.argument_count(); ++i) types.add(function.forward.values[i].type);
  return types;
}

std::size_t result_count(const jit::ProgramCall& call) {
  return static_cast<std::size_t>(std::count_if(call.results.begin(), call.results.end(),
                                                [](const CallPlace& each) { return !each.value; }));
}

Types result_types(const jit::CustomFunction& function) {
  Types types;
  for (std::size_t k = 0; k < result_count(*function.program_call); ++k) {
    const auto id = static_cast<std::size_t>(function.forward.outputs[k].value);
    types.add(function.forward.values[id].type);
  }
  return types;
}

// ---- Memory that results take over ----

struct ReuseMaps {
  Ints forward, backward;  // by output of the node, in inputs of the node
};

std::int64_t in_range(std::int64_t alias, std::size_t count, const std::string& hook,
                      const std::string& what) {
  if (alias >= -1 && alias < static_cast<std::int64_t>(count)) return alias;
  throw OpError(ErrorKind::Value, hook + " gives " + std::to_string(alias) + ", and there are " +
                                      std::to_string(count) + " " + what + ", counted from 0 (-1: none)");
}

void check_length(const Ints& map, std::size_t wanted, const std::string& hook, const std::string& what) {
  if (map.size() == wanted) return;
  throw OpError(ErrorKind::Value, hook + " gives a map of " + std::to_string(map.size()) +
                                      ", and there are " + std::to_string(wanted) + " " + what);
}

// The hook counts arguments and results of the function; nodes count tensors, after the context.
ReuseMaps reuse_maps(const jit::ProgramCall& call, const std::string& convention) {
  const std::size_t results = result_count(call);
  const auto tensors = static_cast<std::size_t>(std::count(convention.begin(), convention.end(), 'd'));
  ReuseMaps maps{Ints(results + 1, -1), Ints(tensors, -1)};
  if (!call.alias_input) return maps;
  const std::string hook = call.qualified_name + ".alias_input";
  const jit::AliasMaps told = call.alias_input({call.qualified_name, call.arguments});
  check_length(told.forward, results, hook, "results");
  check_length(told.backward, convention.size(), hook, "arguments");
  const auto tensor_at = [&](std::int64_t place) {
    if (convention[static_cast<std::size_t>(place)] != 'd')
      throw OpError(ErrorKind::Value,
                    hook + " names argument " + std::to_string(place) + ", which is no tensor");
    return static_cast<std::int64_t>(std::count(convention.begin(), convention.begin() + place, 'd'));
  };
  for (std::size_t k = 0; k < results; ++k) {
    const std::int64_t place = in_range(told.forward[k], convention.size(), hook, "arguments");
    if (place >= 0) maps.forward[k + 1] = tensor_at(place);
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < convention.size(); ++i) {
    if (convention[i] != 'd') continue;
    const std::int64_t grad = in_range(told.backward[i], results, hook, "results");
    maps.backward[next++] = grad < 0 ? -1 : grad + 1;
  }
  return maps;
}

// ---- The hook of shapes ----

std::string shape_text(const jit::HookType& type) {
  jit::Type shown;
  shown.dtype = type.dtype;
  shown.sizes = type.sizes;
  return to_string(shown);
}

// Throws where the program's rule of shapes contradicts what the function gave.
void check_shapes(const jit::CustomFunction& function) {
  const jit::ProgramCall& call = *function.program_call;
  if (!call.infer_shape) return;
  std::vector<jit::HookType> given;
  const auto type_of = [&function](std::size_t id) {
    const jit::Type& type = function.forward.values[id].type;
    return jit::HookType{type.sizes, type.dtype};
  };
  for (std::size_t i = 0; i < function.argument_count(); ++i) given.push_back(type_of(i));
  const std::vector<jit::HookType> told = call.infer_shape({call.qualified_name, call.arguments}, given);
  const std::size_t results = result_count(call);
  for (std::size_t k = 0; k < results; ++k) {
    const auto made = type_of(static_cast<std::size_t>(function.forward.outputs[k].value));
    if (k < told.size() && told.size() == results && told[k].dtype == made.dtype &&
        told[k].sizes == made.sizes)
      continue;
    throw OpError(ErrorKind::Shape, call.qualified_name + ".infer_shape says " +
                                        (k < told.size() ? shape_text(told[k]) : "nothing") + " for result " +
                                        std::to_string(k) + ", and forward gives " + shape_text(made));
  }
}

Ints as_ints(const std::vector<bool>& flags) { return {flags.begin(), flags.end()}; }

NodeProto node_of(const char* type) {
  NodeProto node;
  node.op_type = type;
  node.domain = kPythonOpDomain;
  return node;
}

template <class... Pairs>
void set(NodeProto& node, const char* name, Pairs&&... value) {
  node.attributes.push_back(AttributeProto::of(name, std::forward<Pairs>(value)...));
}

}  // namespace

NodeProto python_op(const jit::CustomFunction& function, const PythonOpUse& use) {
  const jit::ProgramCall& call = call_of(function);
  if (function.argument_count() == 0)
    throw OpError(ErrorKind::Value,
                  call.qualified_name + " is given no tensor, and a PythonOp has at least one", {},
                  "export with custom=\"function\"");
  check_shapes(function);
  const Arguments arguments(function);
  Ints requires_grads;
  std::size_t next = 0;
  for (const char each : arguments.convention)
    requires_grads.push_back(each == 'd' && use.is_training && use.needs.at(next++) ? 1 : 0);
  const Types given = argument_types(function), made = result_types(function);
  const ReuseMaps reuse = reuse_maps(call, arguments.convention);
  NodeProto node = node_of("PythonOp");
  set(node, "func_name", call.qualified_name);
  set(node, "input_convention", arguments.convention);
  set(node, "input_requires_grads", requires_grads);
  set(node, "input_tensor_types", given.codes);
  set(node, "input_tensor_ranks", given.ranks);
  set(node, "output_tensor_types", made.codes);
  set(node, "output_tensor_ranks", made.ranks);
  set(node, "training_mode", std::int64_t{use.is_training});
  set(node, "safe_run_mode", std::int64_t{1});
  set(node, "tensor_reuse_map", reuse.forward);
  set(node, "bw_tensor_reuse_map", reuse.backward);
  set(node, "comment", use.comment);
  arguments.write(node);
  return node;
}

NodeProto python_op_grad(const jit::CustomFunction& function, const PythonOpUse& use) {
  const jit::ProgramCall& call = call_of(function);
  const Arguments arguments(function);
  const Types given = result_types(function), made = argument_types(function);
  NodeProto node = node_of("PythonOpGrad");
  set(node, "func_name", call.qualified_name);
  set(node, "output_convention", arguments.convention);
  set(node, "input_tensor_types", given.codes);
  set(node, "input_tensor_ranks", given.ranks);
  set(node, "output_tensor_types", made.codes);
  set(node, "output_tensor_ranks", made.ranks);
  set(node, "output_tensor_requires_grads", as_ints(use.needs));
  set(node, "safe_run_mode", std::int64_t{1});
  set(node, "tensor_reuse_map", reuse_maps(call, arguments.convention).backward);
  set(node, "comment", use.comment);
  return node;
}

}  // namespace kiln::onnx
