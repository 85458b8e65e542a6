// Sizes in what is noted apart from the step that it belongs to: derivatives, and bodies of composite ops.
// They take sizes as numbers, which do not show where they come from. So each is traced once more, over the
// types that its step has in symbols, and what was noted takes the sizes of the trace. Where the two are not
// the same steps, an entry with derivatives is for the sizes of this call alone.
#include <algorithm>
#include <numeric>

#include "jit/graph/rule.h"
#include "jit/shape_rules.h"
#include "jit/trace/record.h"
#include "tensor/tape/op_node.h"

namespace kiln::jit {
std::optional<Dims> strides_like(const Layout& now, const Dims& sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&now](std::size_t a, std::size_t b) {
    return std::pair(now.strides[a], now.sizes[a]) < std::pair(now.strides[b], now.sizes[b]);
  });
  Dims strides(sizes.size(), Dim(0));
  Dim stride = 1;
  Dim expected = 1;
  for (const std::size_t d : order) {
    if (now.sizes[d] == 1) strides[d] = stride;
    if (now.sizes[d] == 1 || now.strides[d] == 0) continue;
    if (now.strides[d] != expected) return std::nullopt;
    strides[d] = stride;
    stride = stride * sizes[d];
    expected *= now.sizes[d];
  }
  return strides;
}

namespace {

constexpr int kUnknown = -3;  // no value has this id

bool is_id(const Operand& x) { return x.value != Operand::kAbsent && x.value != Operand::kNumber; }

bool is_symbolic(const Type& type) { return has_symbols(type.sizes); }

Attr at_hints(Attr attr, const SymbolValues& hints) {
  if (auto* size = std::get_if<Dim>(&attr)) *size = evaluate(*size, hints);
  if (auto* sizes = std::get_if<Dims>(&attr)) {
    for (Dim& each : *sizes) each = evaluate(each, hints);
  }
  return attr;
}

// A number that follows sizes may have been noted as a float.
bool same_at_hints(const Number& traced, const Number& noted, const SymbolValues& hints) {
  const auto* size = std::get_if<Dim>(&traced);
  if (size == nullptr) return same_number(traced, noted);
  const auto* real = std::get_if<double>(&noted);
  const std::int64_t value = evaluate(*size, hints);
  return real != nullptr ? static_cast<double>(value) == *real : same_number(Dim(value), noted);
}

// An operand of a trace that has this type, and lies in memory as `now` does in this call. Nothing where it
// is not known how it would lie at other sizes.
std::optional<TraceOperand> traced(const Type& type, const Layout& now) {
  if (type.is_number) return std::nullopt;
  auto strides = strides_like(now, type.sizes);
  const auto layout = [now, sizes = type.sizes, strides] {
    return strides ? Layout{sizes, *strides, 0} : Layout{now.sizes, now.strides, 0};
  };
  if (!strides && is_symbolic(type)) return std::nullopt;
  return TraceOperand{Operand::of(0), type.dtype, type.device, layout};
}

TraceOperand absent_or_number(const Operand& operand, const Type& type) {
  return {operand, type.dtype, type.device, {}};
}

}  // namespace

// As what is noted is given it.
std::optional<TraceOperand> Recorder::traced_operand(const Operand& operand) const {
  const Type type = symbolic_type(operand);
  if (!is_id(operand)) return absent_or_number(operand, type);
  const Tensor& x = tensor_of(operand.value);
  return x ? traced(type, x.layout()) : std::nullopt;
}

// Has the value these sizes? What the tape makes between two rules, zeros and sums, it makes for what takes
// it.
bool Recorder::has_sizes(int id, const Dims& sizes) {
  if (same(symbolic_type({id, false}).sizes, sizes)) return true;
  const auto made = std::find_if(nodes_.begin() + static_cast<std::ptrdiff_t>(backward_begin_), nodes_.end(),
                                 [id](const Node& node) { return node.outputs[0] == id; });
  const auto at = static_cast<std::size_t>(made - nodes_.begin());
  if (made == nodes_.end() || made->is_constant() || symbolic_attrs_.contains(at)) return false;
  const Attr now = evaluate(sizes, hints_);
  std::vector<Attr> attrs = made->attrs;
  const auto found = std::find(attrs.begin(), attrs.end(), now);
  if (found == attrs.end()) return false;
  *found = sizes;
  symbolic_attrs_[at] = std::move(attrs);
  infer_symbolic(*made, at);
  return same(symbolic_type({id, false}).sizes, sizes);
}

// Do the nodes of the range do what the steps do? Then they have the sizes of these.
bool Recorder::take_sizes(const Fragment& fragment, std::span<const TraceOperand> operands,
                          std::span<const Type> types, std::size_t begin, std::size_t end) {
  std::vector<int> slots(fragment.inputs, kUnknown);
  std::unordered_map<int, int> uncut;  // what was cut off its history is what it was
  const auto known = [&uncut](int id) {
    const auto found = uncut.find(id);
    return found == uncut.end() ? id : found->second;
  };
  const auto agrees = [&](const Operand& step, const Operand& noted) {
    if (step.is_number()) return noted.is_number() && same_at_hints(step.number, noted.number, hints_);
    if (!step.is_value()) return noted == step;  // absent
    const auto k = static_cast<std::size_t>(step.value);
    if (k < operands.size() && operands[k].operand.is_number()) return noted == operands[k].operand;
    if (!is_id(noted)) return false;
    if (slots[k] == kUnknown && has_sizes(noted.value, types[k].sizes)) slots[k] = known(noted.value);
    return slots[k] == known(noted.value);
  };
  add_size_guards(size_guards_, fragment.guards);
  std::size_t at = begin;
  const auto pass_cuts = [&] {
    for (; at < end && std::binary_search(cuts_.begin(), cuts_.end(), at); ++at) {
      uncut[nodes_[at].outputs[0]] = known(nodes_[at].operands[0].value);
      infer_symbolic(nodes_[at], at);
    }
  };
  for (const Fragment::Step& step : fragment.steps) {
    pass_cuts();
    if (at == end) return false;
    const Node& node = nodes_[at];
    const bool same = node.op == step.op && node.form == Form::Plain && node.outputs.size() == step.results &&
                      std::equal(step.attrs.begin(), step.attrs.end(), node.attrs.begin(), node.attrs.end(),
                                 [this](const Attr& a, const Attr& b) { return at_hints(a, hints_) == b; }) &&
                      std::equal(step.operands.begin(), step.operands.end(), node.operands.begin(),
                                 node.operands.end(), agrees);
    if (!same) return false;
    symbolic_attrs_[at] = step.attrs;
    symbolic_numbers_[at] = step.operands;
    infer_symbolic(node, at);
    slots.insert(slots.end(), node.outputs.begin(), node.outputs.end());
    ++at;
  }
  pass_cuts();
  return at == end;
}

std::vector<Attr> Recorder::attrs_of(std::size_t at) const {
  const auto found = symbolic_attrs_.find(at);
  return found == symbolic_attrs_.end() ? nodes_[at].attrs : found->second;
}

// ---- Bodies of composite ops ----

void Recorder::follow_bodies() {
  for (; followed_bodies_ < bodies_.size() && size_trouble_.empty(); ++followed_bodies_) {
    const Body& body = bodies_[followed_bodies_];
    const Node& whole = nodes_[body.whole];
    std::vector<TraceOperand> operands;
    std::vector<Type> types;
    bool known = true, any = symbolic_attrs_.contains(body.whole);
    for (const Operand& each : whole.operands) {
      types.push_back(symbolic_type(each));
      any = any || is_symbolic(types.back());
      auto operand = traced_operand(each);
      known = known && operand;
      if (operand) operands.push_back(std::move(*operand));
    }
    if (!any) continue;
    const jit::Body run = [&op = *whole.op, attrs = attrs_of(body.whole)](Inputs inputs) {
      return run_body(op, inputs, to_attrs(op, attrs));
    };
    const auto fragment = known ? trace(run, operands, hints_, differentiates_by_body) : std::nullopt;
    if (!fragment || !take_sizes(*fragment, operands, types, body.begin, body.whole))
      size_trouble_ = "the body of " + std::string(whole.op->name());
  }
}

// ---- Derivatives ----

void Recorder::follow_rule(const tape::Node& node, int value, std::size_t begin) {
  if (!size_trouble_.empty() || begin == nodes_.size()) return;
  const auto made = std::find_if(nodes_.begin(), nodes_.end(), [value](const Node& each) {
    return std::find(each.outputs.begin(), each.outputs.end(), value) != each.outputs.end();
  });
  if (value == kNoOrigin || made == nodes_.end() || dynamic_cast<const tape::OpNode*>(&node) == nullptr ||
      tape::name_of_backward(*made->op) != node.name() || made->operands.size() != node.edges.size()) {
    size_trouble_ = "the derivative of what no step of the graph is";
    return;
  }
  if (!take_rule(node, static_cast<std::size_t>(made - nodes_.begin()), begin))
    size_trouble_ = "the derivative of " + std::string(made->op->name());
}

// The layout of the gradient that the rule of a step with one result reads: row by row, if it reads none.
Layout Recorder::layout_of_gradient(const Node& step, std::size_t begin) const {
  const Dims sizes = evaluate(symbolic_type({step.outputs[0], false}).sizes, hints_);
  std::vector<int> others = step.outputs;
  for (const Operand& each : step.operands) others.push_back(each.value);
  for (std::size_t n = begin; n < nodes_.size(); ++n) {
    for (const Operand& each : nodes_[n].operands) {
      const bool is_other =
          !is_id(each) || std::find(others.begin(), others.end(), each.value) != others.end();
      if (!is_other && tensor_of(each.value) && tensor_of(each.value).sizes() == sizes)
        return tensor_of(each.value).layout();
    }
    others.insert(others.end(), nodes_[n].outputs.begin(), nodes_[n].outputs.end());
  }
  return {sizes, contiguous_strides(sizes), 0};
}

bool Recorder::take_rule(const tape::Node& node, std::size_t made, std::size_t begin) {
  const Node step = nodes_[made];
  RuleCall call{step.op, attrs_of(made), {}, {}, {}, {}};
  for (const tape::Edge& each : node.edges) call.needs.push_back(static_cast<bool>(each));
  for (const Operand& each : step.operands) call.input_types.push_back(symbolic_type(each));
  for (const int id : step.outputs) call.output_types.push_back(symbolic_type({id, false}));
  const bool constant = !symbolic_attrs_.contains(made) &&
                        std::none_of(call.input_types.begin(), call.input_types.end(), is_symbolic) &&
                        std::none_of(call.output_types.begin(), call.output_types.end(), is_symbolic);
  if (constant) return true;
  const std::size_t inputs = call.input_types.size();
  const Saves saves = saves_of(*step.op, call.needs);
  std::vector<TraceOperand> operands;
  std::vector<Type> types;
  bool known = true;
  const auto give = [&](std::optional<TraceOperand> operand, const Type& type, std::size_t place) {
    known = known && operand;
    if (!operand) return;
    operands.push_back(std::move(*operand));
    types.push_back(type);
    call.places.push_back(place);
  };
  for (std::size_t i = 0; i < inputs; ++i) {
    if (has_bit(saves.inputs, i) && step.operands[i].value != Operand::kAbsent)
      give(traced_operand(step.operands[i]), call.input_types[i], i);
  }
  for (std::size_t k = 0; k < step.outputs.size(); ++k) {
    const Type& type = call.output_types[k];
    if (has_bit(saves.outputs, k)) give(traced_operand({step.outputs[k], false}), type, inputs + k);
    if (!is_float(type.dtype)) continue;
    const Dims sizes = evaluate(type.sizes, hints_);
    const Layout layout = step.outputs.size() == 1 ? layout_of_gradient(step, begin)
                                                   : Layout{sizes, contiguous_strides(sizes), 0};
    give(traced(type, layout), type, inputs + step.outputs.size() + k);
  }
  if (!known) return false;
  const auto fragment = trace(rule_of(std::move(call)), operands, hints_, expands_nothing);
  return fragment && take_sizes(*fragment, operands, types, begin, nodes_.size());
}

}  // namespace kiln::jit
