#include "onnx/export/python_op_arguments.h"

#include <algorithm>
#include <utility>

#include "onnx/export/constant_text.h"
#include "tensor/error.h"

namespace kiln::onnx {
namespace {

using jit::CallPlace;
using jit::HostTuple;
using jit::HostValue;
using Ints = std::vector<std::int64_t>;

template <class Item>
bool all_are(const HostTuple& tuple) {
  return !tuple.items.empty() &&
         std::all_of(tuple.items.begin(), tuple.items.end(),
                     [](const HostValue& each) { return std::holds_alternative<Item>(each); });
}

std::string described(const CallPlace& place, const jit::ProgramCall& call) {
  return "argument `" + place.name + "` of " + call.qualified_name;
}

TensorProto doubles(const std::vector<double>& values) {
  TensorProto proto;
  proto.type = ElementType::Double;
  proto.dims = {static_cast<std::int64_t>(values.size())};
  proto.doubles = values;
  return proto;
}

std::vector<float> as_floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

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

}  // namespace

template <class T>
void PythonOpArguments::Constants<T>::add_scalar(std::size_t position, const T& value) {
  positions.push_back(static_cast<std::int64_t>(position));
  values.push_back(value);
}

template <class T>
template <class Item>
void PythonOpArguments::Constants<T>::add_tuple(std::size_t position, const HostTuple& tuple) {
  positions.push_back(static_cast<std::int64_t>(position));
  begins.push_back(static_cast<std::int64_t>(values.size()));
  for (const HostValue& each : tuple.items) values.push_back(static_cast<T>(std::get<Item>(each)));
}

PythonOpArguments::PythonOpArguments(const jit::CustomFunction& function) {
  const std::vector<CallPlace>& places = function.program_call->arguments;
  for (std::size_t i = 0; i < places.size(); ++i) {
    convention_ += places[i].value ? 'c' : 'd';
    names_.push_back(places[i].name);
    if (!places[i].value) continue;
    check_constant(*places[i].value, places[i], function);
    add(i, *places[i].value);
  }
}

void PythonOpArguments::add(std::size_t i, const HostValue& value) {
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

template <class T, class Values>
void PythonOpArguments::write_scalars(NodeProto& node, const std::string& kind, const Constants<T>& all,
                                      const Values& values) {
  if (all.positions.empty()) return;
  node.attributes.push_back(AttributeProto::of("input_" + kind + "_scalars", values));
  node.attributes.push_back(AttributeProto::of("input_" + kind + "_scalar_positions", all.positions));
}

template <class T, class Values>
void PythonOpArguments::write_tuples(NodeProto& node, const std::string& kind, const Constants<T>& all,
                                     const Values& values) {
  if (all.positions.empty()) return;
  node.attributes.push_back(AttributeProto::of("input_" + kind + "_tuples", values));
  node.attributes.push_back(AttributeProto::of("input_" + kind + "_tuple_positions", all.positions));
  node.attributes.push_back(AttributeProto::of("input_" + kind + "_tuple_begins", all.begins));
}

void PythonOpArguments::write(NodeProto& node) const {
  write_scalars(node, "bool", bools_, bools_.values);
  write_scalars(node, "int", ints_, ints_.values);
  write_scalars(node, "float", floats_, as_floats(floats_.values));
  write_tuples(node, "bool", bool_tuples_, bool_tuples_.values);
  write_tuples(node, "int", int_tuples_, int_tuples_.values);
  write_tuples(node, "float", float_tuples_, as_floats(float_tuples_.values));
  write_scalars(node, "pointer", pointers_, Ints(pointers_.values.size()));
  const auto own = [&node](const char* name, const auto& values, auto attribute) {
    if (!values.empty()) node.attributes.push_back(AttributeProto::of(name, std::move(attribute)));
  };
  own("__kiln_float_scalars", floats_.values, doubles(floats_.values));
  own("__kiln_float_tuples", float_tuples_.values, doubles(float_tuples_.values));
  own("__kiln_pointers", pointers_.values, pointers_.values);
  own("__kiln_arguments", names_, names_);
}

}  // namespace kiln::onnx
