#include "interpreter/host/graph_edits.h"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/values/graph_value.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/op_entry.h"
#include "jit/graph/edit.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

// ---- Values and nodes by name ----

// A field of what `nodes` and `inputs` give, when it is text; empty for other values.
std::string text_field(const Value& value, std::string_view field) {
  if (!value.is(Tag::Instance)) return "";
  const Value* const found = value.as<Instance>().find(field);
  return found != nullptr && found->is(Tag::Str) ? text_of(*found) : "";
}

// The name that a str, a node or an input stands for; empty for other values.
std::string name_in(const Value& value) {
  std::string name = value.is(Tag::Str) ? text_of(value) : text_field(value, "name");
  if (name.starts_with('%')) name.erase(0, 1);
  return name;
}

jit::ValueId value_named(const jit::Graph& graph, const std::string& name) {
  const std::vector<std::string> names = jit::value_names(graph);
  const auto found = std::find(names.begin(), names.end(), "%" + name);
  if (found != names.end()) return static_cast<jit::ValueId>(found - names.begin());
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = lang::nearest("%" + name, candidates);
  raise("ValueError", fmt::format("graph {} has no value %{}", graph.name, name),
        near.empty() ? "an edit names all values after their ops: read `nodes` of the graph that it gave"
                     : fmt::format("did you mean {}?", near));
}

std::size_t node_argument(const jit::Graph& graph, const Value& value, std::string_view parameter) {
  const std::string name = name_in(value);
  if (name.empty()) wrong_type(parameter, "a node of the graph or its name", value);
  const int node = graph.producers()[static_cast<std::size_t>(value_named(graph, name))];
  if (node < 0)
    raise("ValueError", fmt::format("%{} is an input of graph {}, and no node makes it", name, graph.name));
  return static_cast<std::size_t>(node);
}

// ---- What a new node computes ----

// A size of a graph that is a symbol, or a number.
std::optional<Dim> size_in(const Value& value) {
  if (value.is(Tag::Int)) return Dim(value.as_int());
  const std::string text = text_field(value, "text");
  return text.empty() || !name_in(value).empty() ? std::nullopt : Dim::parse(text);
}

void add_operands(const jit::Graph& graph, const Value& value, std::vector<jit::Operand>& to) {
  if (const std::vector<Value>* items = items_of(value)) {
    for (const Value& each : *items) add_operands(graph, each, to);
  } else if (value.is_none()) {
    to.emplace_back();
  } else if (value.is(Tag::Bool)) {
    to.push_back(jit::Operand::of_number(value.as_bool()));
  } else if (value.is(Tag::Float)) {
    to.push_back(jit::Operand::of_number(value.as_float()));
  } else if (const std::optional<Dim> size = size_in(value)) {
    to.push_back(jit::Operand::of_number(*size));
  } else if (const std::string name = name_in(value); !name.empty()) {
    to.push_back(jit::Operand::of(value_named(graph, name)));
  } else {
    wrong_type("an operand", "the name of a value, a node, a number or none", value);
  }
}

// Operands that may be left out are absent at the end.
void complete(const Op& op, std::vector<jit::Operand>& operands) {
  std::size_t place = 0;
  for (const Parameter& parameter : op.signature.parameters) {
    if (parameter.kind > ArgKind::OptionalTensor) continue;
    if (place++ < operands.size()) continue;
    if (parameter.kind == ArgKind::OptionalTensor) operands.emplace_back();
  }
  const auto least = static_cast<std::size_t>(op.signature.inputs);
  if (operands.size() == least || (op.signature.has_list && operands.size() > least)) return;
  raise("ValueError",
        fmt::format("{} takes {} operand{}, got {}", op.name(), op.signature.inputs,
                    op.signature.inputs == 1 ? "" : "s", operands.size()),
        "numbers such as dims are attributes: " + op.signature.text);
}

// Sizes that are symbols are text in the language.
std::optional<Attr> symbolic_attr(const Value& value) {
  if (const std::vector<Value>* items = items_of(value)) {
    Dims dims;
    for (const Value& each : *items) {
      const std::optional<Dim> size = size_in(each);
      if (!size) return std::nullopt;
      dims.push_back(*size);
    }
    return Attr(std::move(dims));
  }
  if (!value.is(Tag::Instance)) return std::nullopt;
  const std::optional<Dim> size = size_in(value);
  return size ? std::optional<Attr>(*size) : std::nullopt;
}

Attr attr_argument(const Op& op, const Parameter& parameter, const Value& value) {
  if (value.is_none() && parameter.optional) return std::monostate{};
  Attr attr;
  if (read_attr(op, parameter, value, attr)) return attr;
  const bool takes_sizes = parameter.kind == ArgKind::Int || parameter.kind == ArgKind::Number ||
                           parameter.kind == ArgKind::Ints || parameter.kind == ArgKind::Dims;
  if (takes_sizes) {
    if (std::optional<Attr> symbolic = symbolic_attr(value)) return *std::move(symbolic);
  }
  raise("TypeError",
        fmt::format("{}: the attribute `{}` cannot be {}", op.name(), parameter.name, describe(value)),
        op.signature.text);
}

std::vector<Attr> attrs_argument(const Op& op, const Value& given) {
  std::vector<Attr> attrs = jit::attr_list(Attrs(op));
  if (given.is_none()) return attrs;
  if (!given.is(Tag::Dict)) wrong_type("attrs", "a dict", given);
  for (const Dict::Entry& entry : given.as<Dict>().entries()) {
    if (!entry.live) continue;
    const std::string& name = text_argument(entry.key, "a name of an attribute");
    std::size_t place = 0;
    const Parameter* found = nullptr;
    for (const Parameter& parameter : op.signature.parameters) {
      if (parameter.kind <= ArgKind::OptionalTensorList) continue;
      if (parameter.name == name) {
        found = &parameter;
        break;
      }
      ++place;
    }
    if (found == nullptr)
      raise("ValueError", fmt::format("{} has no attribute `{}`", op.name(), name), op.signature.text);
    attrs[place] = attr_argument(op, *found, entry.value);
  }
  return attrs;
}

const Op& op_argument(const std::string& name) {
  const OpTable& table = OpTable::get();
  if (const Op* op = table.find(name)) return *op;
  if (table.find_inplace(name) != nullptr)
    raise("ValueError", fmt::format("{} writes, and values of a graph stay as they are", name),
          fmt::format("use `{}`, which gives a new value", name.substr(0, name.size() - 1)));
  std::vector<std::string_view> names;
  for (const Op* each : table.ops()) names.push_back(each->name());
  const std::string_view near = lang::nearest(name, names);
  raise("ValueError", fmt::format("there is no op \"{}\"", name),
        near.empty() ? "a graph names its ops as `g.ops()` does" : fmt::format("did you mean \"{}\"?", near));
}

jit::NewNode constant_argument(const Value& operands, const Value& attrs) {
  const Value* const value = attrs.is(Tag::Dict) ? attrs.as<Dict>().find(Value("value")) : nullptr;
  if (value == nullptr || !items_of(operands) || !items_of(operands)->empty())
    raise("ValueError", "a constant has no operands and one attribute, `value`",
          "`g.replace(n, \"constant\", [], {\"value\": tensor(…)})`");
  jit::NewNode node;
  node.constant = tensor_argument(*value, "value");
  return node;
}

jit::NewNode node_of(const jit::Graph& graph, const Value& name, const Value& operands, const Value& attrs) {
  const std::string& text = text_argument(name, "op");
  if (text == "constant") return constant_argument(operands, attrs);
  const Op& op = op_argument(text);
  if (!items_of(operands)) wrong_type("operands", "a list", operands);
  jit::NewNode node;
  node.op = &op;
  add_operands(graph, operands, node.operands);
  complete(op, node.operands);
  node.attrs = attrs_argument(op, attrs);
  return node;
}

// Errors of edits speak of values of the graph, and of no operand of the call.
template <class F>
auto edited(const F& edit) {
  try {
    return edit();
  } catch (const OpError& error) {
    throw OpError(error.kind(), error.message(), {}, error.help());
  }
}

}  // namespace

Value replace_node(Interpreter&, Args a) {
  const jit::Graph& graph = graph_of(a[0]);
  return edited([&] {
    const std::size_t node = node_argument(graph, a[1], "node");
    return make_graph(jit::replace_node(graph, node, node_of(graph, a[2], a[3], a[4])));
  });
}

Value insert_node(Interpreter&, Args a) {
  const jit::Graph& graph = graph_of(a[0]);
  return edited([&] {
    const std::size_t before = a[1].is_none() ? graph.nodes.size() : node_argument(graph, a[1], "before");
    const jit::NewNode node = node_of(graph, a[2], a[3], a[4]);
    jit::Graph made = jit::insert_node(graph, before, node, text_argument(a[5], "name"));
    Value record = node_record(made, before);
    return tuple_value({make_graph(std::move(made)), std::move(record)});
  });
}

Value erase_node(Interpreter&, Args a) {
  const jit::Graph& graph = graph_of(a[0]);
  return edited([&] {
    const std::size_t node = node_argument(graph, a[1], "node");
    std::optional<jit::ValueId> by;
    if (!a[2].is_none()) {
      const std::string name = name_in(a[2]);
      if (name.empty()) wrong_type("by", "the name of a value, or a node", a[2]);
      by = value_named(graph, name);
    }
    return make_graph(jit::erase_node(graph, node, by));
  });
}

}  // namespace kiln::interp
