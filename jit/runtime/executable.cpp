#include "jit/runtime/executable.h"

#include <algorithm>
#include <optional>

#include "jit/cpu/epilogue.h"
#include "jit/cpu/launch.h"
#include "jit/graph/evaluate.h"
#include "jit/loops/kernel_op.h"
#include "jit/runtime/ownership.h"
#include "jit/shape_rules.h"
#include "tensor/cpu/backend.h"
#include "tensor/functions.h"
#include "tensor/interrupt.h"
#include "tensor/levels/level.h"
#include "tensor/tape/record.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

constexpr std::size_t kRemembered = 1024;  // tuples of symbol values, as many as a loop may have trips
constexpr std::size_t kInlineFrame = 32;

// The operands of a instruction side by side. They are held by the frame or by the caller meanwhile, so they
// are not counted: never destroyed here.
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
  Call(const Program& program, const Executable::Prepared& prepared, Inputs arguments, Progress& progress)
      : program_(program), prepared_(prepared), arguments_(arguments), progress_(progress) {
    frame_.resize(program.frame_size);
    for (std::size_t i = 0; i < program.taken.size(); ++i) frame_[program.taken[i]] = arguments[i];
  }

  Tensors run() {
    const std::span<const Program::Instruction> instructions = program_.instructions;
    const std::span<const Program::Instruction> last = instructions.subspan(program_.launch);
    one_by_one(instructions.first(program_.launch));
    const bool together = !last.empty() && is_plain(last);
    if (!together) one_by_one(last);
    std::optional<HeldInterrupts> whole;  // all that is written, or nothing
    if (!program_.effects.empty()) whole.emplace();
    if (together) launch(last);
    progress_.node = nullptr;
    if (!program_.effects.empty()) effects(together);
    Tensors outputs;
    outputs.reserve(program_.outputs.size());
    for (const Program::Output& each : program_.outputs) {
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
  Tensor& slot(std::uint32_t i) { return frame_[program_.slots[i]]; }
  const Attrs& attrs(std::uint32_t index) const { return *prepared_.attrs[index]; }

  static Tensor number_like(const Tensor& x) {
    if (x.dtype() == DType::Bool) return Tensor::number(x.item_bool());
    if (x.dtype() == DType::F64) return Tensor::number(x.item_float());
    return Tensor::number(x.item_int());
  }

  void one_by_one(std::span<const Program::Instruction> instructions) {
    for (const Program::Instruction& instruction : instructions) {
      if (instruction.product >= 0) {
        product_and(instruction);
      } else {
        progress_.node = instruction.node;
        carry_out(instruction);
      }
      release(instruction);
    }
  }
  void release(const Program::Instruction& instruction) {
    for (std::uint32_t i = instruction.last_read.begin; i < instruction.last_read.end; ++i)
      slot(i) = Tensor();
  }

  // A kernel and the product that it reads: as one, where these are calls of kernels and nothing else.
  void product_and(const Program::Instruction& instruction) {
    const Program::Instruction& product = program_.products[static_cast<std::size_t>(instruction.product)];
    progress_.node = product.node;
    if (!is_plain({&product, 1}) || !is_plain({&instruction, 1})) {
      carry_out(product);
      release(product);
      progress_.node = instruction.node;
      return carry_out(instruction);
    }
    Borrowed inputs(product.operands.end - product.operands.begin);
    for (std::uint32_t i = product.operands.begin; i < product.operands.end; ++i) {
      inputs.set(i - product.operands.begin, at(program_.operands[i]));
    }
    SmallVector<Tensor, 6> operands;
    for (std::uint32_t i = instruction.operands.begin; i < instruction.operands.end; ++i) {
      operands.push_back(at(program_.operands[i]));
    }
    Epilogue epilogue(*instruction.kernel, attrs(instruction.attrs).get<Dims>("symbols"),
                      {operands.data(), operands.size()}, instruction.made);
    cpu::column().pieces_of (*product.op)(*product.op, inputs.get(), attrs(product.attrs), epilogue);
    release(product);
    keep(instruction, epilogue.results());
  }

  void carry_out(const Program::Instruction& instruction) {
    Borrowed operands(instruction.operands.end - instruction.operands.begin);
    for (std::uint32_t i = instruction.operands.begin; i < instruction.operands.end; ++i) {
      operands.set(i - instruction.operands.begin, at(program_.operands[i]));
    }
    switch (instruction.kind) {
      case Program::Instruction::Kind::Apply:
        if (instruction.may_overwrite && holds_alone(operands.get())) {
          slot(instruction.results.begin) =
              bind_inplace(*instruction.op, operands.get(), attrs(instruction.attrs));
          return;
        }
        if (instruction.over.begin != instruction.over.end && wrote_over(instruction, operands.get())) return;
        return keep(instruction, kiln::bind(*instruction.op, operands.get(), attrs(instruction.attrs)));
      case Program::Instruction::Kind::Write:
        if (!since_write_) since_write_.emplace();
        slot(instruction.results.begin) =
            bind_inplace(*instruction.op, operands.get(), attrs(instruction.attrs));
        return;
      case Program::Instruction::Kind::Copy: {
        Tensors views = kiln::bind(*instruction.op, operands.get(), attrs(instruction.attrs));
        for (Tensor& each : views) each = ops::clone(each);
        return keep(instruction, std::move(views));
      }
      case Program::Instruction::Kind::Base:
        slot(instruction.results.begin) = flat_alias(operands.get()[0], prepared_.bases[instruction.attrs]);
        return;
      case Program::Instruction::Kind::FreshConstant:
        slot(instruction.results.begin) = ops::clone(operands.get()[0]);
        return;
      case Program::Instruction::Kind::FreshNumber:
        slot(instruction.results.begin) = number_like(operands.get()[0]);
    }
  }

  // A kernel whose results may lie where operands did that nobody reads any more. False: there are none.
  bool wrote_over(const Program::Instruction& instruction, Inputs operands) {
    SmallVector<Tensor, 4> results(instruction.results.end - instruction.results.begin);
    bool any = false;
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::optional<Source>& over = program_.over[instruction.over.begin + k];
      if (!over || over->table != Table::Frame || !holds_alone({&at(*over), 1})) continue;
      results[k] = at(*over);
      any = true;
    }
    if (!any || !is_plain({&instruction, 1})) return false;
    Launch alone(1);
    alone.add(*instruction.kernel, operands, attrs(instruction.attrs).get<Dims>("symbols"),
              {results.data(), results.size()});
    alone.run();
    for (std::uint32_t k = 0; k < results.size(); ++k)
      slot(instruction.results.begin + k) = std::move(results[k]);
    return true;
  }

  void keep(const Program::Instruction& instruction, Tensors results) {
    if (results.size() != instruction.results.end - instruction.results.begin) {
      throw InternalError(std::string(instruction.op->name()) +
                          " gives another number of results than its graph says");
    }
    for (std::uint32_t k = 0; k < results.size(); ++k)
      slot(instruction.results.begin + k) = std::move(results[k]);
  }

  // ---- The launch ----

  // Are these calls of kernels and nothing else?
  bool is_plain(std::span<const Program::Instruction> instructions) const {
    if (levels::top != nullptr) return false;
    for (std::uint32_t i = instructions.front().operands.begin; i < instructions.back().operands.end; ++i) {
      const Tensor& x = at(program_.operands[i]);
      if (x && (x.impl()->wrapper || tape::sees({&x, 1}))) return false;
    }
    return true;
  }

  // Kernels that may write over arguments: nothing can fail any more when they do.
  void launch(std::span<const Program::Instruction> instructions) {
    check_targets();
    Launch together(instructions.size());
    for (const Program::Instruction& instruction : instructions) {
      progress_.node = instruction.node;
      Borrowed operands(instruction.operands.end - instruction.operands.begin);
      for (std::uint32_t i = instruction.operands.begin; i < instruction.operands.end; ++i) {
        operands.set(i - instruction.operands.begin, at(program_.operands[i]));
      }
      SmallVector<Tensor, 4> results(instruction.results.end - instruction.results.begin);
      for (std::size_t k = 0; k < results.size(); ++k) {
        const std::optional<Source>& over = program_.over[instruction.over.begin + k];
        if (over && may_go_over(*over)) results[k] = at(*over);
      }
      together.add(*instruction.kernel, operands.get(), attrs(instruction.attrs).get<Dims>("symbols"),
                   {results.data(), results.size()});
      for (std::size_t k = 0; k < results.size(); ++k)
        slot(instruction.results.begin + static_cast<std::uint32_t>(k)) = std::move(results[k]);
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
    for (const Program::EffectInstruction& each : program_.effects) check_target(at(each.target), each.kind);
  }
  // Is it a write, and one that the launch did not do?
  bool is_open(const Program::EffectInstruction& effect) const {
    const bool is_done = effect.may_be_over && at(effect.value).is_same(at(effect.target));
    return effect.kind == Effect::Kind::Write && !is_done;
  }

  void effects(bool are_checked) {
    became_.resize(program_.became_size);
    Tensors written = written_values();
    if (!are_checked) check_targets();
    std::size_t next = 0;
    for (const Program::EffectInstruction& each : program_.effects) {
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
    take_views({program_.effects.back().views.end, static_cast<std::uint32_t>(program_.views.size())});
  }

  void take_views(Range range) {
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const Program::ViewInstruction& instruction = program_.views[i];
      Tensors views =
          kiln::bind(*instruction.op, {&became_[instruction.source], 1}, attrs(instruction.attrs));
      for (std::size_t k = 0; k < views.size(); ++k) {
        if (instruction.results[k] >= 0)
          became_[static_cast<std::size_t>(instruction.results[k])] = std::move(views[k]);
      }
    }
  }

  // All values are read before any tensor is written: copies of those that lie where something is written.
  Tensors written_values() const {
    SmallVector<const Storage*, 16> targets;
    for (const Program::EffectInstruction& each : program_.effects) {
      if (is_open(each)) targets.push_back(at(each.target).storage().get());
    }
    std::sort(targets.begin(), targets.end());
    Tensors written;
    for (const Program::EffectInstruction& each : program_.effects) {
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

  const Program& program_;
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
    : graph_(std::move(graph)), program_(make_program(graph_, takes_arguments)), bound_(graph_, program_) {
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
  for (std::size_t k = 0; k < program_.applications.size(); ++k) {
    const Program::Application& each = program_.applications[k];
    if (shares && !has_symbols(each.attrs)) {
      made.attrs.push_back(at_hints_->attrs[k]);
    } else {
      made.own.push_back(std::make_unique<const Attrs>(evaluate(*each.op, each.attrs, symbols)));
      made.attrs.push_back(made.own.back().get());
    }
  }
  for (const Type& type : program_.bases) made.bases.push_back(evaluate(type.sizes, symbols));
  for (const Program::Prebuilt& each : program_.prebuilt) {
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
  if (!program_.bases.empty()) check_bases(arguments);
  if (progress != nullptr) return Call(program_, *known, arguments, *progress).run();
  if (auto outputs = bound_.run(graph_, program_, {known->attrs, known->prebuilt}, arguments, nullptr))
    return std::move(*outputs);
  Progress ignored;
  return Call(program_, *known, arguments, ignored).run();
}

Tensors Executable::run_taking(Tensors arguments, const SymbolValues& symbols) const {
  const Shared known = prepared(symbols);
  if (!known->misfit.empty()) throw OpError(ErrorKind::Capture, known->misfit);
  if (auto outputs = bound_.run(graph_, program_, {known->attrs, known->prebuilt}, arguments, &arguments))
    return std::move(*outputs);
  Progress ignored;
  Call call(program_, *known, arguments, ignored);
  arguments.clear();  // the call has them
  return call.run();
}

}  // namespace kiln::jit
