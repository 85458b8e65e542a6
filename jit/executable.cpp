#include "jit/executable.h"

#include <algorithm>
#include <optional>

#include "jit/epilogue.h"
#include "jit/evaluate.h"
#include "jit/kernel_op.h"
#include "jit/launch.h"
#include "jit/ownership.h"
#include "jit/shape_rules.h"
#include "tensor/functions.h"
#include "tensor/interrupt.h"
#include "tensor/levels/level.h"
#include "tensor/tape/record.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

constexpr std::size_t kRemembered = 1024;  // tuples of symbol values, as many as a loop may have trips
constexpr std::size_t kInlineFrame = 32;

// The operands of a step side by side. They are held by the frame or by the caller meanwhile, so they are
// not counted: never destroyed here.
class Borrowed {
 public:
  explicit Borrowed(std::size_t count) : count_(count) {
    if (count > kInline) many_.resize(count);
  }
  ~Borrowed() {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  void set(std::size_t i, const Tensor& x) {
    if (count_ > kInline) {
      many_[i] = x;
    } else {
      std::construct_at(few_ + i, Ref<TensorImpl>::adopt(x.impl()));
    }
  }
  Inputs get() const { return {count_ > kInline ? many_.data() : few_, count_}; }

 private:
  static constexpr std::size_t kInline = 6;
  std::size_t count_;
  union {
    Tensor few_[kInline];
  };
  SmallVector<Tensor, 1> many_;
};

// Gives `x` the elements of `value`: where both fill their memory, by giving its storage that memory. Whoever
// else holds it gets a copy when he writes (tensor/storage.h).
void write(const Tensor& x, const Tensor& value) {
  const bool gives_memory = x.dtype() == value.dtype() && x.sizes() == value.sizes() &&
                            x.device() == value.device() && fills_memory(value) && is_plain_write(x, value);
  if (gives_memory) {
    x.storage()->replace(value.storage()->buffer());
  } else {
    ops::copy_(x, value);
  }
}

std::uint64_t hash_of(const SymbolValues& symbols) {
  std::uint64_t hash = 0;
  for (const auto& [symbol, value] : symbols)
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15U;
  return hash;
}

// One run.
class Call {
 public:
  Call(const Plan& plan, const Executable::Prepared& prepared, Inputs arguments, Progress& progress)
      : plan_(plan), prepared_(prepared), arguments_(arguments), progress_(progress) {
    frame_.resize(plan.frame_size);
    for (std::size_t i = 0; i < plan.taken.size(); ++i) frame_[plan.taken[i]] = arguments[i];
  }

  Tensors run() {
    const std::span<const Step> steps = plan_.steps;
    const std::span<const Step> last = steps.subspan(plan_.launch);
    one_by_one(steps.first(plan_.launch));
    const bool together = !last.empty() && is_plain(last);
    if (!together) one_by_one(last);
    std::optional<HeldInterrupts> whole;  // all that is written, or nothing
    if (!plan_.effects.empty()) whole.emplace();
    if (together) launch(last);
    progress_.node = nullptr;
    if (!plan_.effects.empty()) effects(together);
    Tensors outputs;
    outputs.reserve(plan_.outputs.size());
    for (const Output& each : plan_.outputs) {
      outputs.push_back(each.is_number ? number_like(at(each.source)) : at(each.source));
    }
    return outputs;
  }

 private:
  const Tensor& at(Source source) const {
    switch (source.table) {
      case Table::Frame:
        return frame_[source.index];
      case Table::Argument:
        return arguments_[source.index];
      case Table::Prebuilt:
        return prepared_.prebuilt[source.index];
      case Table::Became:
        break;
    }
    return became_[source.index];
  }
  Tensor& slot(std::uint32_t i) { return frame_[plan_.slots[i]]; }
  const Attrs& attrs(std::uint32_t index) const { return *prepared_.attrs[index]; }

  static Tensor number_like(const Tensor& x) {
    if (x.dtype() == DType::Bool) return Tensor::number(x.item_bool());
    if (x.dtype() == DType::F64) return Tensor::number(x.item_float());
    return Tensor::number(x.item_int());
  }

  void one_by_one(std::span<const Step> steps) {
    for (const Step& step : steps) {
      if (step.product >= 0) {
        product_and(step);
      } else {
        progress_.node = step.node;
        carry_out(step);
      }
      let_go(step);
    }
  }
  void let_go(const Step& step) {
    for (std::uint32_t i = step.last_read.begin; i < step.last_read.end; ++i) slot(i) = Tensor();
  }

  // A kernel and the product that it reads: as one, where these are calls of kernels and nothing else.
  void product_and(const Step& step) {
    const Step& product = plan_.products[static_cast<std::size_t>(step.product)];
    progress_.node = product.node;
    if (!is_plain({&product, 1}) || !is_plain({&step, 1})) {
      carry_out(product);
      let_go(product);
      progress_.node = step.node;
      return carry_out(step);
    }
    Borrowed inputs(product.operands.end - product.operands.begin);
    for (std::uint32_t i = product.operands.begin; i < product.operands.end; ++i) {
      inputs.set(i - product.operands.begin, at(plan_.operands[i]));
    }
    SmallVector<Tensor, 6> operands;
    for (std::uint32_t i = step.operands.begin; i < step.operands.end; ++i) {
      operands.push_back(at(plan_.operands[i]));
    }
    Epilogue epilogue(*step.kernel, attrs(step.attrs).get<Dims>("symbols"),
                      {operands.data(), operands.size()}, step.made);
    product.op->lowering.as<lowering::Library>()->in_pieces(*product.op, inputs.get(), attrs(product.attrs),
                                                            epilogue);
    let_go(product);
    keep(step, epilogue.results());
  }

  void carry_out(const Step& step) {
    Borrowed operands(step.operands.end - step.operands.begin);
    for (std::uint32_t i = step.operands.begin; i < step.operands.end; ++i) {
      operands.set(i - step.operands.begin, at(plan_.operands[i]));
    }
    switch (step.kind) {
      case Step::Kind::Apply:
        if (step.may_overwrite && holds_alone(operands.get())) {
          slot(step.results.begin) = bind_inplace(*step.op, operands.get(), attrs(step.attrs));
          return;
        }
        if (step.over.begin != step.over.end && wrote_over(step, operands.get())) return;
        return keep(step, kiln::bind(*step.op, operands.get(), attrs(step.attrs)));
      case Step::Kind::Write:
        if (!since_write_) since_write_.emplace();
        slot(step.results.begin) = bind_inplace(*step.op, operands.get(), attrs(step.attrs));
        return;
      case Step::Kind::Copy: {
        Tensors views = kiln::bind(*step.op, operands.get(), attrs(step.attrs));
        for (Tensor& each : views) each = ops::clone(each);
        return keep(step, std::move(views));
      }
      case Step::Kind::Base:
        slot(step.results.begin) = flat_alias(operands.get()[0], prepared_.bases[step.attrs]);
        return;
      case Step::Kind::FreshConstant:
        slot(step.results.begin) = ops::clone(operands.get()[0]);
        return;
      case Step::Kind::FreshNumber:
        slot(step.results.begin) = number_like(operands.get()[0]);
    }
  }

  // A kernel whose results may lie where operands did that nobody reads any more. False: there are none.
  bool wrote_over(const Step& step, Inputs operands) {
    SmallVector<Tensor, 4> results(step.results.end - step.results.begin);
    bool any = false;
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::optional<Source>& over = plan_.over[step.over.begin + k];
      if (!over || over->table != Table::Frame || !holds_alone({&at(*over), 1})) continue;
      results[k] = at(*over);
      any = true;
    }
    if (!any || !is_plain({&step, 1})) return false;
    Launch alone(1);
    alone.add(*step.kernel, operands, attrs(step.attrs).get<Dims>("symbols"),
              {results.data(), results.size()});
    alone.run();
    for (std::uint32_t k = 0; k < results.size(); ++k) slot(step.results.begin + k) = std::move(results[k]);
    return true;
  }

  void keep(const Step& step, Tensors results) {
    if (results.size() != step.results.end - step.results.begin) {
      throw InternalError(std::string(step.op->name()) +
                          " gives another number of results than its graph says");
    }
    for (std::uint32_t k = 0; k < results.size(); ++k) slot(step.results.begin + k) = std::move(results[k]);
  }

  // ---- The launch ----

  // Are these calls of kernels and nothing else?
  bool is_plain(std::span<const Step> steps) const {
    if (levels::top != nullptr) return false;
    for (std::uint32_t i = steps.front().operands.begin; i < steps.back().operands.end; ++i) {
      const Tensor& x = at(plan_.operands[i]);
      if (x && (x.impl()->wrapper || tape::sees({&x, 1}))) return false;
    }
    return true;
  }

  // Kernels that may write over arguments: nothing can fail any more when they do.
  void launch(std::span<const Step> steps) {
    check_targets();
    Launch together(steps.size());
    for (const Step& step : steps) {
      progress_.node = step.node;
      Borrowed operands(step.operands.end - step.operands.begin);
      for (std::uint32_t i = step.operands.begin; i < step.operands.end; ++i) {
        operands.set(i - step.operands.begin, at(plan_.operands[i]));
      }
      SmallVector<Tensor, 4> results(step.results.end - step.results.begin);
      for (std::size_t k = 0; k < results.size(); ++k) {
        const std::optional<Source>& over = plan_.over[step.over.begin + k];
        if (over && may_go_over(*over)) results[k] = at(*over);
      }
      together.add(*step.kernel, operands.get(), attrs(step.attrs).get<Dims>("symbols"),
                   {results.data(), results.size()});
      for (std::size_t k = 0; k < results.size(); ++k)
        slot(step.results.begin + static_cast<std::uint32_t>(k)) = std::move(results[k]);
    }
    together.run();
  }
  // Of what the caller has, too, nobody else holds the memory, as what is saved for backward does.
  bool may_go_over(Source source) const {
    const Tensor& x = at(source);
    return source.table == Table::Frame ? holds_alone({&x, 1}) : may_be_written_over(x);
  }

  // ---- Effects: as in evaluate.cpp ----

  // All or none: what may not be written is found before anything is.
  void check_targets() const {
    for (const EffectStep& each : plan_.effects) check_target(at(each.target), each.kind);
  }
  // Is it a write, and one that the launch did not do?
  bool is_open(const EffectStep& effect) const {
    const bool is_done = effect.may_be_over && at(effect.value).is_same(at(effect.target));
    return effect.kind == Effect::Kind::Write && !is_done;
  }

  void effects(bool are_checked) {
    became_.resize(plan_.became_size);
    Tensors written = written_values();
    if (!are_checked) check_targets();
    std::size_t next = 0;
    for (const EffectStep& each : plan_.effects) {
      const Tensor x = at(each.target);
      take_views(each.views);
      if (is_open(each)) write(x, written[next++]);
      if (each.kind == Effect::Kind::Layout) {
        leave_behind(x);
        bind_inplace(*each.layout, {&x, 1}, attrs(each.attrs));
      }
      if (each.kind == Effect::Kind::Set) {
        const Tensor inputs[] = {x, at(each.value)};
        leave_behind(x);
        bind_inplace(set_op(), inputs, Attrs(set_op()));
      }
      became_[each.became] = x;
      ++progress_.effects;
    }
    take_views({plan_.effects.back().views.end, static_cast<std::uint32_t>(plan_.views.size())});
  }

  void take_views(Range range) {
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const ViewStep& step = plan_.views[i];
      Tensors views = kiln::bind(*step.op, {&became_[step.source], 1}, attrs(step.attrs));
      for (std::size_t k = 0; k < views.size(); ++k) {
        if (step.results[k] >= 0) became_[static_cast<std::size_t>(step.results[k])] = std::move(views[k]);
      }
    }
  }

  // All values are read before any tensor is written: copies of those that lie where something is written.
  Tensors written_values() const {
    SmallVector<const Storage*, 16> targets;
    for (const EffectStep& each : plan_.effects) {
      if (is_open(each)) targets.push_back(at(each.target).storage().get());
    }
    std::sort(targets.begin(), targets.end());
    Tensors written;
    for (const EffectStep& each : plan_.effects) {
      if (!is_open(each)) continue;
      const Tensor& value = at(each.value);
      const bool exposed = std::binary_search(targets.begin(), targets.end(), value.storage().get());
      written.push_back(exposed ? ops::clone(value) : value);
    }
    return written;
  }

  // What the tensor was until now is a view of it in its old layout.
  void leave_behind(const Tensor& x) {
    const Tensor before = ops::view(x, x.sizes());
    for (Tensor& each : became_) {
      if (each && each.is_same(x)) each = before;
    }
  }

  const Plan& plan_;
  const Executable::Prepared& prepared_;
  Inputs arguments_;
  Progress& progress_;
  SmallVector<Tensor, kInlineFrame> frame_;
  SmallVector<Tensor, 4> became_;
  std::optional<HeldInterrupts>
      since_write_;  // a graph that writes as it goes is not cut after its first write
};

}  // namespace

Executable::Executable(Graph graph, bool takes_arguments)
    : graph_(std::move(graph)), plan_(make_plan(graph_, takes_arguments)), replays_(graph_, plan_) {
  refuse_without_code(graph_);
  at_hints_ = std::make_shared<const Prepared>(prepare(graph_.hints));
  latest_ = at_hints_;
}

std::shared_ptr<const Executable> Executable::make(Graph graph) {
  return std::shared_ptr<const Executable>(new Executable(std::move(graph), false));
}
std::shared_ptr<const Executable> Executable::make_taking(Graph graph) {
  return std::shared_ptr<const Executable>(new Executable(std::move(graph), true));
}

Executable::Prepared Executable::prepare(const SymbolValues& symbols) const {
  Prepared made;
  made.symbols = symbols;
  made.misfit = check_shapes(graph_, symbols);
  if (!made.misfit.empty()) return made;
  const bool shares = at_hints_ && at_hints_->misfit.empty();
  for (std::size_t k = 0; k < plan_.applications.size(); ++k) {
    const Application& each = plan_.applications[k];
    if (shares && !has_symbols(each.attrs)) {
      made.attrs.push_back(at_hints_->attrs[k]);
    } else {
      made.own.push_back(std::make_unique<const Attrs>(evaluate(*each.op, each.attrs, symbols)));
      made.attrs.push_back(made.own.back().get());
    }
  }
  for (const Type& type : plan_.bases) made.bases.push_back(evaluate(type.sizes, symbols));
  for (const Plan::Prebuilt& each : plan_.prebuilt) {
    made.prebuilt.push_back(each.operand.is_number() ? number_tensor(each.operand.number, symbols)
                                                     : each.constant);
  }
  return made;
}

Executable::Shared Executable::prepared(const SymbolValues& symbols) const {
  if (graph_.hints.empty()) return at_hints_;
  const std::lock_guard lock(mutex_);
  if (latest_->symbols == symbols) return latest_;
  Shared& found = known_[hash_of(symbols)];
  if (!found || found->symbols != symbols) found = std::make_shared<const Prepared>(prepare(symbols));
  latest_ = found;
  if (known_.size() > kRemembered) known_.clear();
  return latest_;
}

std::string Executable::misfit(const SymbolValues& symbols) const { return prepared(symbols)->misfit; }

Tensors Executable::run(Inputs arguments, const SymbolValues& symbols, Progress* progress) const {
  const Shared known = prepared(symbols);
  if (!known->misfit.empty()) throw OpError(ErrorKind::Capture, known->misfit);
  if (!plan_.bases.empty()) check_bases(arguments);
  if (progress != nullptr) return Call(plan_, *known, arguments, *progress).run();
  if (auto outputs = replays_.run(graph_, plan_, {known->attrs, known->prebuilt}, arguments, nullptr))
    return std::move(*outputs);
  Progress ignored;
  return Call(plan_, *known, arguments, ignored).run();
}

Tensors Executable::run_taking(Tensors arguments, const SymbolValues& symbols) const {
  const Shared known = prepared(symbols);
  if (!known->misfit.empty()) throw OpError(ErrorKind::Capture, known->misfit);
  if (auto outputs = replays_.run(graph_, plan_, {known->attrs, known->prebuilt}, arguments, &arguments))
    return std::move(*outputs);
  Progress ignored;
  Call call(plan_, *known, arguments, ignored);
  arguments.clear();  // the call has them
  return call.run();
}

}  // namespace kiln::jit
