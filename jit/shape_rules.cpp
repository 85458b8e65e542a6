#include "jit/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "jit/fit.h"
#include "jit/graph/text.h"

namespace kiln::jit {
namespace {

constexpr int kAssignments = 24;  // of each kind
// Rules with as many results as a size says, as of `split`, are not asked for more where the sizes are made
// up.
constexpr Dim kMostResults = 256;

std::vector<TensorType> run_rule(const Op& op, std::span<const Type> operands,
                                 const std::vector<GraphAttr>& attrs, const SymbolValues& symbols) {
  std::vector<TensorType> types;
  for (const Type& each : operands) types.push_back(evaluate(each, symbols));
  return op.infer(types, evaluate(op, attrs, symbols));
}

bool may_give_too_many(const Op& op, std::span<const Type> operands, const SymbolValues& symbols) {
  return op.outputs == kVariadic && std::any_of(operands.begin(), operands.end(), [&](const Type& each) {
           const Dims sizes = evaluate(each.sizes, symbols);
           return std::any_of(sizes.begin(), sizes.end(), [](Dim size) { return size > kMostResults; });
         });
}

void collect(const GraphAttr& attr, std::vector<Size>& into) {
  if (const auto* size = std::get_if<Size>(&attr)) into.push_back(*size);
  if (const auto* sizes = std::get_if<Sizes>(&attr)) into.insert(into.end(), sizes->begin(), sizes->end());
}

// The symbolic sizes that the rule is given.
std::vector<Size> symbolic_sizes(std::span<const Type> operands, const std::vector<GraphAttr>& attrs) {
  std::vector<Size> sizes;
  for (const Type& each : operands) sizes.insert(sizes.end(), each.sizes.begin(), each.sizes.end());
  for (const GraphAttr& attr : attrs) collect(attr, sizes);
  std::erase_if(sizes, [](const Size& size) { return size.is_constant(); });
  return sizes;
}

constexpr std::int64_t kMostScaled = std::int64_t{1} << 48;  // no size; multiples stay within 64 bits

// Values of the symbols around which a rule is asked: small ones, multiples of 12 and of 80, all equal,
// multiples of the hints. Rules that want sizes to divide or to agree hold at some of them.
std::vector<SymbolValues> drawn_assignments(const SymbolValues& hints) {
  std::mt19937 engine(1);
  const auto draw = [&engine](int low, int count) { return low + static_cast<int>(engine() % count); };
  std::vector<SymbolValues> result;
  for (int i = 0; i < kAssignments; ++i) {
    SymbolValues small, twelves, eighties, equal, scaled;
    const int one = draw(2, 60);
    for (const auto& [symbol, hint] : hints) {
      small[symbol] = draw(2, 40);
      twelves[symbol] = 12 * draw(1, 40);
      eighties[symbol] = 80 * draw(1, 40);
      equal[symbol] = one;
      const int times = draw(1, 12);
      scaled[symbol] = hint > -kMostScaled && hint < kMostScaled ? hint * times : hint;
    }
    for (SymbolValues* each : {&small, &twelves, &eighties, &equal, &scaled})
      result.push_back(std::move(*each));
  }
  return result;
}

struct Run {
  SymbolValues symbols;
  std::vector<TensorType> types;
};

bool same_kinds(const std::vector<TensorType>& a, const std::vector<TensorType>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TensorType& x, const TensorType& y) {
    return x.dtype == y.dtype && x.is_number == y.is_number && x.sizes.size() == y.sizes.size();
  });
}

void check_not_data_dependent(const Op& op, const std::vector<TensorType>& types) {
  for (const TensorType& type : types) {
    if (std::find(type.sizes.begin(), type.sizes.end(), -1) == type.sizes.end()) continue;
    throw OpError(ErrorKind::Capture, std::string(op.name()) + ": the shape of the result depends on data");
  }
}

}  // namespace

std::vector<SymbolValues> other_assignments(const SymbolValues& hints) {
  if (hints.empty()) return {};
  std::set<SymbolValues> tried{hints};
  std::vector<SymbolValues> result;
  for (SymbolValues& values : drawn_assignments(hints)) {
    if (tried.insert(values).second) result.push_back(std::move(values));
  }
  return result;
}

Inferred infer_types(const Op& op, std::span<const Type> operands, const std::vector<GraphAttr>& attrs,
                     const SymbolValues& hints) {
  const std::vector<TensorType> at_hints = run_rule(op, operands, attrs, hints);
  check_not_data_dependent(op, at_hints);
  Inferred result;
  for (const TensorType& type : at_hints) result.types.push_back(to_type(type));
  const std::vector<Size> given = hints.empty() ? std::vector<Size>() : symbolic_sizes(operands, attrs);
  if (given.empty()) return result;

  std::set<std::string> symbols;
  for (const Size& size : given) size.collect_symbols(symbols);
  SymbolValues here;
  for (const std::string& symbol : symbols) here[symbol] = hints.at(symbol);
  std::vector<Run> runs{{here, at_hints}};
  for (const SymbolValues& values : other_assignments(here)) {
    if (may_give_too_many(op, operands, values)) continue;
    try {
      std::vector<TensorType> types = run_rule(op, operands, attrs, values);
      if (same_kinds(types, at_hints)) runs.push_back({values, std::move(types)});
    } catch (const OpError&) {  // the rule does not hold there: nothing to learn
    }
  }
  for (std::size_t k = 0; k < at_hints.size(); ++k) {
    for (std::size_t d = 0; d < at_hints[k].sizes.size(); ++d) {
      std::vector<Observation> observations;
      for (const Run& run : runs) observations.push_back({run.symbols, run.types[k].sizes[d]});
      if (const auto size = fit(observations, given)) {
        result.types[k].sizes[d] = *size;
      } else {
        result.conditions.push_back(fmt::format("size {} of {} is {}", d, op.name(), at_hints[k].sizes[d]));
      }
    }
  }
  return result;
}

void collect_symbols(const Sizes& sizes, std::set<std::string>& into) {
  for (const Size& each : sizes) each.collect_symbols(into);
}

void collect_symbols(const std::vector<GraphAttr>& attrs, std::set<std::string>& into) {
  for (const GraphAttr& each : attrs) {
    if (const auto* size = std::get_if<Size>(&each)) size->collect_symbols(into);
    if (const auto* sizes = std::get_if<Sizes>(&each)) collect_symbols(*sizes, into);
  }
}

bool has_symbols(const Sizes& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const Size& each) { return !each.is_constant(); });
}

bool has_symbols(const std::vector<GraphAttr>& attrs) {
  return std::any_of(attrs.begin(), attrs.end(), [](const GraphAttr& each) {
    if (const auto* size = std::get_if<Size>(&each)) return !size->is_constant();
    const auto* sizes = std::get_if<Sizes>(&each);
    return sizes != nullptr && has_symbols(*sizes);
  });
}

std::set<std::string> symbols_of(const Graph& graph, const Node& node) {
  std::set<std::string> found;
  for (const ValueId id : node.outputs)
    collect_symbols(graph.values[static_cast<std::size_t>(id)].type.sizes, found);
  collect_symbols(node.attrs, found);
  for (const Operand& each : node.operands) {
    const auto* size = each.is_number() ? std::get_if<Size>(&each.number) : nullptr;
    if (size != nullptr) size->collect_symbols(found);
  }
  return found;
}

std::set<std::string> symbols_of(const Graph& graph) {
  std::set<std::string> found;
  for (const Value& each : graph.values) collect_symbols(each.type.sizes, found);
  for (const Input& each : graph.inputs) each.offset.collect_symbols(found);
  for (const Node& each : graph.nodes) found.merge(symbols_of(graph, each));
  for (const Effect& each : graph.effects) collect_symbols(each.attrs, found);
  return found;
}

Type operand_type(const Graph& graph, const Operand& operand) {
  if (operand.is_value()) return graph.values[static_cast<std::size_t>(operand.value)].type;
  Type type = absent_type();
  if (!operand.is_number()) return type;
  if (std::holds_alternative<Size>(operand.number)) type.dtype = DType::I64;
  if (std::holds_alternative<double>(operand.number)) type.dtype = DType::F64;
  return type;
}

Inferred infer_types(const Graph& graph, const Node& node) {
  std::vector<Type> operands;
  for (const Operand& each : node.operands) operands.push_back(operand_type(graph, each));
  Inferred result;
  if (node.is_constant()) {
    result.types = {to_type(node.constant.type())};
  } else if (node.writes() && !node.writes_metadata()) {
    result.types = {operands[0]};
  } else {
    result = infer_types(*node.op, operands, node.attrs, graph.hints);
  }
  return result;
}

namespace {

// Does what the rule is given or gives follow symbols?
bool has_symbols(const Graph& graph, const Node& node) {
  const auto of_value = [&graph](ValueId id) {
    return has_symbols(graph.values[static_cast<std::size_t>(id)].type.sizes);
  };
  return has_symbols(node.attrs) || std::any_of(node.outputs.begin(), node.outputs.end(), of_value) ||
         std::any_of(node.operands.begin(), node.operands.end(), [&](const Operand& each) {
           if (each.is_value()) return of_value(each.value);
           const auto* size = each.is_number() ? std::get_if<Size>(&each.number) : nullptr;
           return size != nullptr && !size->is_constant();
         });
}

// Of one node; empty where it holds.
std::string check_shapes(const Graph& graph, const Node& node, const SymbolValues& values) {
  const auto told = [&] { return print_node(graph, node, value_names(graph)); };
  std::vector<Type> operands;
  for (const Operand& each : node.operands) operands.push_back(operand_type(graph, each));
  try {
    const std::vector<TensorType> types = run_rule(*node.op, operands, node.attrs, values);
    if (node.writes() && !node.writes_metadata()) {
      if (types[0].sizes == evaluate(operands[0].sizes, values)) return {};
      return told() + ": the result has sizes " + to_string(types[0].sizes);
    }
    if (types.size() != node.outputs.size()) return told() + ": " + std::to_string(types.size()) + " results";
    for (std::size_t k = 0; k < types.size(); ++k) {
      const auto id = static_cast<std::size_t>(node.outputs[k]);
      const TensorType stated = evaluate(graph.values[id].type, values);
      if (types[k] == stated) continue;
      return fmt::format("{}: {} is {}, not {}", told(), value_names(graph)[id], to_string(types[k]),
                         to_string(stated));
    }
  } catch (const OpError& error) {
    return told() + ": " + error.message();
  }
  return {};
}

}  // namespace

std::string check_shapes(const Graph& graph, const SymbolValues& values) {
  for (const Node& node : graph.nodes) {
    if (node.is_constant() || !has_symbols(graph, node)) continue;
    if (std::string misfit = check_shapes(graph, node, values); !misfit.empty()) return misfit;
  }
  return {};
}

}  // namespace kiln::jit
