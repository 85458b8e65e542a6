#include "jit/graph/graph.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/graph/custom.h"
#include "tensor/error.h"
#include "tensor/host_view.h"
#include "tensor/ops/pointwise_plan.h"

namespace kiln::jit {

// ---- Types and attributes ----

std::string to_string(const Type& type) {
  std::string text = std::string(name(type.dtype)) + text_of(type.sizes);
  if (type.device != Device{}) text += " " + kiln::to_string(type.device);
  if (type.is_number) text += " number";
  if (type.strides) text += " strides " + text_of(*type.strides);
  return text;
}

Type to_type(const TensorType& type) {
  return {type.dtype, type.device, type.sizes, type.is_number, std::nullopt};
}
TensorType evaluate(const Type& type, const SymbolValues& values) {
  return {type.dtype, type.device, evaluate(type.sizes, values), type.is_number};
}
Type absent_type() { return {DType::Bool, Device{}, {}, true, std::nullopt}; }

Attrs evaluate(const Op& op, const std::vector<Attr>& attrs, const SymbolValues& values) {
  Attrs result = to_attrs(op, attrs);
  for (Attr& attr : result.values()) {
    if (auto* size = std::get_if<Dim>(&attr)) *size = evaluate(*size, values);
    if (auto* sizes = std::get_if<Dims>(&attr)) *sizes = evaluate(*sizes, values);
  }
  return result;
}

Attrs to_attrs(const Op& op, const std::vector<Attr>& attrs) {
  Attrs result(op);
  result.values() = attrs;
  return result;
}

std::vector<Attr> attr_list(const Attrs& attrs) { return {attrs.values().begin(), attrs.values().end()}; }

// ---- Equality ----

namespace {

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Constants are contiguous.
bool same_constant(const Tensor& a, const Tensor& b) {
  if (!a || !b) return !a == !b;
  if (a.type() != b.type()) return false;
  const HostView of_a(a), of_b(b);
  return a.numel() == 0 || std::memcmp(of_a.bytes(), of_b.bytes(), of_a.byte_count()) == 0;
}

}  // namespace

bool operator==(const Type& a, const Type& b) {
  const bool same_strides = a.strides && b.strides ? same(*a.strides, *b.strides) : !a.strides == !b.strides;
  return a.dtype == b.dtype && a.device == b.device && a.is_number == b.is_number && same(a.sizes, b.sizes) &&
         same_strides;
}

namespace {

// Of what attributes and numbers are: doubles to the bit, sizes by expression.
struct Same {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    if constexpr (std::is_same_v<T, double>) {
      return same_bits(a, b);
    } else if constexpr (std::is_same_v<T, Dim> || std::is_same_v<T, Dims>) {
      return same(a, b);
    } else {
      return a == b;
    }
  }
  template <class A, class B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

}  // namespace

bool same_attr(const Attr& a, const Attr& b) { return std::visit(Same{}, a, b); }
bool same_attrs(std::span<const Attr> a, std::span<const Attr> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_attr);
}
bool same_number(const Number& a, const Number& b) { return std::visit(Same{}, a, b); }

bool operator==(const Node& a, const Node& b) {
  return same_op(a.op, b.op) && a.form == b.form && a.operands == b.operands && a.outputs == b.outputs &&
         same_attrs(a.attrs, b.attrs) && same_constant(a.constant, b.constant) && a.place == b.place &&
         a.origin == b.origin;
}

bool operator==(const Input& a, const Input& b) {
  return a.role == b.role && a.members == b.members && a.storage == b.storage && same(a.offset, b.offset);
}
bool operator==(const Effect& a, const Effect& b) {
  return a.kind == b.kind && a.input == b.input && a.member == b.member && a.value == b.value &&
         a.layout == b.layout && same_attrs(a.attrs, b.attrs);
}

bool operator==(const Graph& a, const Graph& b) {
  return a.stage == b.stage && a.name == b.name && a.fast_math == b.fast_math && a.hints == b.hints &&
         a.values == b.values && a.inputs == b.inputs && a.nodes == b.nodes && a.outputs == b.outputs &&
         a.saved_sizes == b.saved_sizes && a.saved == b.saved && a.effects == b.effects;
}

// ---- Nodes ----

const Attr& Node::attr(std::string_view name) const {
  return attrs[static_cast<std::size_t>(op->signature.attr_index(name))];
}
Attr& Node::attr(std::string_view name) {
  return attrs[static_cast<std::size_t>(op->signature.attr_index(name))];
}

std::string op_text(const Node& node) {
  if (node.is_constant()) return "constant";
  if (node.form == Form::Write) return inplace_name(*node.op);
  return std::string(node.op->name()) + (node.form == Form::Copy ? "_copy" : "");
}

// ---- Graphs ----

namespace {

constexpr std::string_view kStages[] = {"captured", "functional", "joint", "forward", "backward", "fused"};
constexpr std::string_view kRoles[] = {"argument", "captured", "parameter", "saved", "grad", "base"};

}  // namespace

std::string_view name(Stage stage) { return kStages[static_cast<std::size_t>(stage)]; }
std::optional<Stage> stage_named(std::string_view text) {
  const auto* found = std::find(std::begin(kStages), std::end(kStages), text);
  if (found == std::end(kStages)) return std::nullopt;
  return static_cast<Stage>(found - std::begin(kStages));
}
std::string_view name(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

std::vector<int> Graph::arguments() const {
  std::vector<int> taken;
  for (const Input& input : inputs) taken.insert(taken.end(), input.members.begin(), input.members.end());
  std::sort(taken.begin(), taken.end());
  std::vector<int> result;
  int next = 0;
  for (const Input& input : inputs) {
    if (input.role == Role::Base) {
      result.push_back(-1);
      continue;
    }
    while (std::binary_search(taken.begin(), taken.end(), next)) ++next;
    result.push_back(next++);
  }
  return result;
}

int Graph::argument_count() const {
  std::size_t count = 0;
  for (const Input& input : inputs) count += input.role == Role::Base ? input.members.size() : 1;
  return static_cast<int>(count);
}

std::vector<int> Graph::producers() const {
  std::vector<int> result(values.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const ValueId id : nodes[i].outputs) result[static_cast<std::size_t>(id)] = static_cast<int>(i);
  }
  return result;
}

namespace {

bool is_narrow_integer(DType dtype) { return is_integer(dtype) && dtype != DType::I64; }

// A number that is known only in the call may not fit the integers it is combined with.
bool takes_open_number(const Graph& graph, const Node& node) {
  return std::any_of(node.operands.begin(), node.operands.end(), [&graph](const Operand& each) {
    if (each.is_value()) return graph.values[static_cast<std::size_t>(each.value)].type.is_number;
    const Dim* size = each.is_number() ? std::get_if<Dim>(&each.number) : nullptr;
    return size != nullptr && !size->is_known();
  });
}

// Of floats most elementwise ops raise for nothing.
bool may_fail(const Graph& graph, const Node& node) {
  const DType dtype = graph.values[static_cast<std::size_t>(node.outputs[0])].type.dtype;
  if (!node.op->may_fail()) return is_narrow_integer(dtype) && takes_open_number(graph, node);
  const Pointwise* const row = node.op->pointwise;
  return row == nullptr || may_refuse(*row, dtype);
}

}  // namespace

std::uint32_t effects_of(const Graph& graph, const Node& node) {
  if (node.is_constant() || node.outputs.empty()) return kNoEffects;
  const std::uint32_t others = node.op->effects & ~std::uint32_t{kMayFail};
  return others | (may_fail(graph, node) ? kMayFail : kNoEffects);
}

bool must_run(const Graph& graph, const Node& node) { return effects_of(graph, node) != kNoEffects; }

void add_size_guards(std::vector<SizeGuard>& to, std::span<const SizeGuard> guards) {
  for (const SizeGuard& each : guards) add_guard(to, each);
}

std::vector<std::string> value_names(const Graph& graph) {
  std::vector<std::string> names;
  int unnamed = 0;
  for (const Value& value : graph.values) {
    names.push_back("%" + (value.name.empty() ? std::to_string(unnamed++) : value.name));
  }
  return names;
}

}  // namespace kiln::jit
