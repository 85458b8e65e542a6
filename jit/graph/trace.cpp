#include "jit/graph/trace.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "jit/fit.h"
#include "jit/graph/custom.h"
#include "jit/graph/evaluate.h"
#include "jit/shape_rules.h"
#include "tensor/backend.h"
#include "tensor/functions.h"
#include "tensor/levels/level.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

struct Unreadable {};  // the body does something that steps cannot express

// Notes the ops that go through `bind`. Its tensors stand for plain tensors without elements: views have the
// layouts they will have, other results have new memory.
class TraceLevel final : public levels::Level {
 public:
  // `solves`: numbers of several traces are compared.
  TraceLevel(bool (*expands)(const Op&), bool solves)
      : Level(LevelKind::Trace, levels::new_level(Transform::Trace)), expands_(expands), solves_(solves) {}

  // The operands as tensors of this level; numbers are themselves.
  std::vector<Tensor> enter(std::vector<Tensor> operands) {
    fragment.inputs = operands.size();
    for (Tensor& each : operands) {
      if (each && !each.is_number()) each = wrap(std::move(each));
      add_slot(each);
    }
    return operands;
  }

  Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) override {
    if (expands_(op)) return run_body(op, inputs, attrs);
    Fragment::Step step{&op, to_graph_attrs(attrs), {}, 0, {}};
    for (const Tensor& each : inputs) step.operands.push_back(operand_of(each));
    Tensors results = op.view != nullptr ? apply_view(op, levels::value_below(*this, inputs[0]), attrs)
                                         : fresh(op, inputs, attrs);
    step.results = results.size();
    step.takes_integers = solves_ && takes_integers(op, inputs, attrs);
    fragment.steps.push_back(std::move(step));
    for (Tensor& each : results) {
      each = wrap(std::move(each));
      add_slot(each);
    }
    return results;
  }
  Tensor write(const Op&, Inputs, const Attrs&, const TensorType&) override { throw Unreadable{}; }
  // A constant.
  Tensor adopt(Tensor made) override {
    const levels::Below below(*this);
    return levels::adopt(std::move(made));
  }

  Operand operand_of(const Tensor& x) {
    if (!x) return {};
    const auto found = slots_.find(x.impl());
    if (found != slots_.end()) return Operand::of(found->second);
    if (x.is_number() && !owns(x)) {
      if (x.dtype() == DType::Bool) return Operand::of_number(x.item_bool());
      if (is_float(x.dtype())) return Operand::of_number(x.item_float());
      return Operand::of_number(Size(x.item_int()));
    }
    if (!x.has_elements()) throw Unreadable{};  // a tensor below one of this level has no elements to read
    fragment.steps.push_back({nullptr, {}, {}, 1, cpu_copy(x)});
    return Operand::of(add_slot(x));
  }

  Fragment fragment;

 private:
  int add_slot(const Tensor& x) {
    const int slot = static_cast<int>(kept_.size());
    kept_.push_back(x);
    if (x) slots_.emplace(x.impl(), slot);
    return slot;
  }
  Tensor cpu_copy(const Tensor& x) {
    const levels::Below below(*this);
    return ops::clone(x);
  }
  static std::vector<TensorType> types_of(Inputs inputs) {
    std::vector<TensorType> types;
    for (const Tensor& each : inputs) types.push_back(each ? each.type() : evaluate(absent_type(), {}));
    return types;
  }
  // Elementwise, numbers are brought to the dtype that is computed in; which that is must not change.
  static bool takes_integers(const Op& op, Inputs inputs, const Attrs& attrs) {
    if (op.lowering != Lowering::Pointwise) return false;
    std::vector<TensorType> types = types_of(inputs);
    const std::vector<TensorType> results = op.infer(types, attrs);
    for (TensorType& each : types) {
      if (each.is_number && is_float(each.dtype)) each.dtype = DType::I64;
    }
    return op.infer(types, attrs) == results;
  }
  static Tensors fresh(const Op& op, Inputs inputs, const Attrs& attrs) {
    Tensors results;
    for (const TensorType& type : op.infer(types_of(inputs), attrs)) {
      if (std::find(type.sizes.begin(), type.sizes.end(), -1) != type.sizes.end()) throw Unreadable{};
      results.push_back(Tensor::without_elements(type.sizes, type.dtype, type.device));
      results.back().impl()->is_number = type.is_number;
    }
    return results;
  }

  bool (*expands_)(const Op&);
  bool solves_;
  std::unordered_map<const TensorImpl*, int> slots_;
  std::vector<Tensor> kept_;  // so that no two tensors are ever at one address
};

Tensor operand_tensor(const TraceOperand& operand, const SymbolValues& symbols) {
  if (operand.operand.is_value()) {
    const Layout layout = operand.layout(symbols);
    const auto [begin, end] = extent(layout);
    const Tensor memory =
        Tensor::without_elements(Dims{std::max<Dim>(end, 1)}, operand.dtype, operand.device);
    return Tensor::alias(memory, layout);
  }
  if (!operand.operand.is_number()) return {};
  return number_tensor(operand.operand.number, symbols);
}

Fragment trace_at(const Body& body, std::span<const TraceOperand> operands, const SymbolValues& symbols,
                  bool (*expands)(const Op&)) {
  std::vector<Tensor> tensors;
  for (const TraceOperand& each : operands) tensors.push_back(operand_tensor(each, symbols));
  TraceLevel level(expands, !symbols.empty());
  const Tensors results = body(level.enter(std::move(tensors)), symbols);
  for (const Tensor& each : results) level.fragment.outputs.push_back(level.operand_of(each));
  return std::move(level.fragment);
}

// ---- Attributes as expressions ----

struct At {
  SymbolValues symbols;
  Fragment fragment;
};

bool same_steps(const Fragment& a, const Fragment& b) {
  const auto same_operands = [](const std::vector<Operand>& x, const std::vector<Operand>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Operand& p, const Operand& q) {
      return p.value == q.value && p.number.index() == q.number.index();
    });
  };
  const auto same_attrs = [](const std::vector<GraphAttr>& x, const std::vector<GraphAttr>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const GraphAttr& p, const GraphAttr& q) {
      const auto* sizes = std::get_if<Sizes>(&p);
      if (p.index() != q.index()) return false;
      return sizes == nullptr || sizes->size() == std::get<Sizes>(q).size();
    });
  };
  return same_operands(a.outputs, b.outputs) &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(),
                    [&](const Fragment::Step& x, const Fragment::Step& y) {
                      return x.op == y.op && x.results == y.results &&
                             same_operands(x.operands, y.operands) && same_attrs(x.attrs, y.attrs);
                    });
}

class Generalizer {
 public:
  Generalizer(const std::vector<At>& runs, std::vector<Size> candidates)
      : runs_(runs), candidates_(std::move(candidates)) {}

  Fragment run() {
    Fragment result = runs_[0].fragment;
    for (std::size_t s = 0; s < result.steps.size(); ++s) {
      Fragment::Step& step = result.steps[s];
      if (step.op == nullptr) throw Unreadable{};  // elements that may follow the sizes
      for (std::size_t i = 0; i < step.attrs.size(); ++i) {
        generalize(step.attrs[i],
                   [&](const Fragment& each) -> const GraphAttr& { return each.steps[s].attrs[i]; });
      }
      for (std::size_t i = 0; i < step.operands.size(); ++i) {
        generalize(step.operands[i], step.takes_integers,
                   [&](const Fragment& each) -> const Operand& { return each.steps[s].operands[i]; });
      }
    }
    return result;
  }

 private:
  template <class F>
  Size solved(const F& value_in) const {
    std::vector<Observation> observations;
    for (const At& each : runs_) observations.push_back({each.symbols, value_in(each.fragment).constant()});
    const auto found = fit(observations, candidates_);
    if (!found) throw Unreadable{};
    return *found;
  }
  template <class F>
  void generalize(GraphAttr& attr, const F& in) const {
    if (auto* size = std::get_if<Size>(&attr)) {
      *size = solved([&](const Fragment& each) { return std::get<Size>(in(each)); });
    } else if (auto* sizes = std::get_if<Sizes>(&attr)) {
      for (std::size_t k = 0; k < sizes->size(); ++k) {
        (*sizes)[k] = solved([&](const Fragment& each) { return std::get<Sizes>(in(each))[k]; });
      }
    } else {
      for (const At& each : runs_) {
        if (!(in(each.fragment) == attr)) throw Unreadable{};
      }
    }
  }
  template <class F>
  void generalize(Operand& operand, bool takes_integers, const F& in) const {
    if (!operand.is_number()) return;
    if (auto* size = std::get_if<Size>(&operand.number)) {
      *size = solved([&](const Fragment& each) { return std::get<Size>(in(each).number); });
      return;
    }
    const auto same = [&](const At& each) { return same_number(in(each.fragment).number, operand.number); };
    if (std::all_of(runs_.begin(), runs_.end(), same)) return;
    const auto* real = std::get_if<double>(&operand.number);
    if (real == nullptr || !takes_integers) throw Unreadable{};
    // A count of elements, as a mean divides by.
    operand.number = solved([&](const Fragment& each) { return whole(std::get<double>(in(each).number)); });
  }
  static Size whole(double real) {
    if (std::trunc(real) != real || std::abs(real) > 0x1p53) throw Unreadable{};
    return static_cast<std::int64_t>(real);
  }

  const std::vector<At>& runs_;
  std::vector<Size> candidates_;
};

}  // namespace

int Fragment::view_root(std::size_t output) const {
  std::vector<int> maker;  // the step that makes a slot, -1 for inputs
  maker.assign(inputs, -1);
  for (std::size_t s = 0; s < steps.size(); ++s)
    maker.insert(maker.end(), steps[s].results, static_cast<int>(s));
  int slot = outputs[output].value;
  while (slot >= 0 && maker[static_cast<std::size_t>(slot)] >= 0) {
    const Step& step = steps[static_cast<std::size_t>(maker[static_cast<std::size_t>(slot)])];
    if (step.op == nullptr || step.op->view == nullptr) break;
    slot = step.operands[0].value;
  }
  return slot;
}

bool is_composite(const Op& op) { return op.lowering == Lowering::Composite && op.view == nullptr; }
bool differentiates_by_body(const Op& op) { return op.vjp.missing == kComposite && !custom_function(op); }
bool expands_nothing(const Op&) { return false; }
bool has_no_kernel(const Op& op) { return differentiates_by_body(op) && !has_kernel(op); }

namespace {

bool any_follows(std::span<const TraceOperand> operands) {
  return std::any_of(operands.begin(), operands.end(), [](const TraceOperand& each) {
    if (each.operand.is_value()) return each.follows;
    const Size* const size = each.operand.is_number() ? std::get_if<Size>(&each.operand.number) : nullptr;
    return size != nullptr && !size->is_constant();
  });
}
bool counts_places(const Fragment& fragment) {
  return std::any_of(fragment.steps.begin(), fragment.steps.end(), [](const Fragment::Step& each) {
    return each.op != nullptr && each.op->has(kCountsPlaces);
  });
}

}  // namespace

std::optional<Fragment> trace(const Body& body, std::span<const TraceOperand> operands,
                              const SymbolValues& hints, bool (*expands)(const Op&), bool follows) {
  try {
    std::vector<At> runs{{hints, trace_at(body, operands, hints, expands)}};
    const bool is_same_for_all = !follows && !any_follows(operands) && !counts_places(runs[0].fragment);
    if (hints.empty() || is_same_for_all) return std::move(runs[0].fragment);
    for (const SymbolValues& symbols : other_assignments(hints)) {
      try {
        Fragment fragment = trace_at(body, operands, symbols, expands);
        if (!same_steps(fragment, runs[0].fragment)) return std::nullopt;  // it does other things there
        runs.push_back({symbols, std::move(fragment)});
      } catch (const OpError&) {  // the rule does not hold there: nothing to learn
      }
    }
    std::vector<Size> candidates;
    for (const auto& [symbol, hint] : hints) candidates.push_back(Size::symbol(symbol));
    return Generalizer(runs, std::move(candidates)).run();
  } catch (const Unreadable&) {
    return std::nullopt;
  } catch (const OpError& error) {  // it asks for elements
    if (error.kind() != ErrorKind::Capture) throw;
    return std::nullopt;
  }
}

namespace {
Operand in_slots(const std::vector<Operand>& slots, const Operand& operand) {
  return operand.is_value() ? slots[static_cast<std::size_t>(operand.value)] : operand;
}
}  // namespace

std::vector<Operand> inline_steps(Builder& builder, const Fragment& fragment, std::vector<Operand> operands,
                                  const Node& like, std::string name) {
  std::vector<Operand> slots = std::move(operands);
  for (std::size_t s = 0; s < fragment.steps.size(); ++s) {
    const Fragment::Step& step = fragment.steps[s];
    const bool last = s + 1 == fragment.steps.size();
    if (step.op == nullptr) {
      slots.push_back(Operand::of(builder.constant(step.constant)));
      continue;
    }
    std::vector<Operand> given;
    for (const Operand& each : step.operands) given.push_back(in_slots(slots, each));
    for (const ValueId id : builder.apply(*step.op, std::move(given), step.attrs, like, last ? name : "")) {
      slots.push_back(Operand::of(id));
    }
  }
  return slots;
}

std::vector<Operand> inline_fragment(Builder& builder, const Fragment& fragment,
                                     std::vector<Operand> operands, const Node& like, std::string name) {
  const std::vector<Operand> slots =
      inline_steps(builder, fragment, std::move(operands), like, std::move(name));
  std::vector<Operand> outputs;
  for (const Operand& each : fragment.outputs) outputs.push_back(in_slots(slots, each));
  return outputs;
}

}  // namespace kiln::jit
