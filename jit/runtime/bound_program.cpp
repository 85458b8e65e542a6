#include "jit/runtime/bound_program.h"

#include <algorithm>
#include <cstring>

#include "jit/graph/evaluate.h"
#include "jit/runtime/ownership.h"
#include "tensor/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/levels/level.h"
#include "tensor/parallel.h"
#include "tensor/tape/record.h"

namespace kiln::jit {
namespace {

std::atomic<int> calls_before = 3;

}  // namespace

int binds_after() { return calls_before; }
void set_binds_after(int calls) { calls_before = calls; }

bool BoundProgram::fits(Inputs arguments, Specialization specialization) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& x = arguments[i];
    const TensorType& type = types_[i];
    if (x.impl()->wrapper || x.strides() != strides_[i] || x.sizes() != type.sizes ||
        x.dtype() != type.dtype || x.is_number() != type.is_number)
      return false;
  }
  for (const std::uint32_t each : written_) check_target(arguments[each], Effect::Kind::Write);
  const bool may_write = std::all_of(written_.begin(), written_.end(), [&arguments](std::uint32_t each) {
    return may_be_written_over(arguments[each]);
  });
  return may_write &&
         std::all_of(symbolic_views_.begin(), symbolic_views_.end(), [&specialization](SymbolicView& each) {
           const Layout to = std::move(each.op->view(each.from, *specialization.attrs[each.attrs]).front());
           each.bytes = to.offset * each.item;
           return to.sizes == each.to.sizes && to.strides == each.to.strides;
         });
}

Tensors BoundProgram::run(Inputs arguments, Tensors* taken, Specialization specialization) {
  struct Ended {
    ~Ended() { bound.end(); }
    BoundProgram& bound;
  } const ended{*this};
  begin(arguments, specialization);
  if (taken != nullptr) taken->clear();
  // From the first kernel on that writes over an argument, nothing is cut.
  std::optional<HeldInterrupts> whole;
  for (std::size_t n = 0; n < together_; ++n) {
    const auto* const kernel = std::get_if<KernelOp>(&operations_[n].operation);
    if (kernel != nullptr && kernel->is_last_word && !whole) whole.emplace();
    begin(operations_[n], taken != nullptr);
    carry_out(operations_[n].operation, specialization);
    end(operations_[n]);
  }
  if (!written_.empty() && !whole) whole.emplace();
  if (together_ < operations_.size()) run_together(taken != nullptr);
  for (const std::uint32_t each : written_) arguments[each].storage()->writable_data();  // a version more
  return operands(outputs_);
}

void BoundProgram::begin(Inputs arguments, Specialization specialization) {
  for (const InputTensor& each : inputs_) {
    const Tensor& x = each.source.table == Table::Argument ? arguments[each.source.index]
                                                           : specialization.prebuilt[each.source.index];
    tensors_[each.tensor] = x;
    bases_[each.memory] = x ? const_cast<std::byte*>(x.raw()) : nullptr;
  }
}

void BoundProgram::begin(const Scheduled& each, bool takes) {
  for (std::uint32_t i = each.begins.begin; i < each.begins.end; ++i) make(new_results_[i], takes);
}

void BoundProgram::end(const Scheduled& each) {
  for (std::uint32_t i = each.releases.begin; i < each.releases.end; ++i) tensors_[released_[i]] = Tensor();
}

void BoundProgram::make(const NewResult& fresh, bool takes) {
  const bool is_over = takes && fresh.over && holds_alone({&tensors_[*fresh.over], 1});
  tensors_[fresh.tensor] =
      is_over ? tensors_[*fresh.over] : Tensor::empty(fresh.type.sizes, fresh.type.dtype, fresh.type.device);
  bases_[fresh.memory] = tensors_[fresh.tensor].raw_writable();
}

void BoundProgram::end() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!is_kept_[i]) tensors_[i] = Tensor();
  }
  laid_out_.clear();
}

Tensors BoundProgram::operands(std::span<const std::uint32_t> numbers) const {
  Tensors found;
  found.reserve(numbers.size());
  for (const std::uint32_t each : numbers) found.push_back(tensors_[each]);
  return found;
}

void BoundProgram::carry_out(Operation& operation, Specialization specialization) {
  if (auto* const kernel = std::get_if<KernelOp>(&operation)) {
    run(*kernel);
  } else if (const auto* const product = std::get_if<ProductOp>(&operation)) {
    run(*product);
  } else if (const auto* const copy = std::get_if<CopyOp>(&operation)) {
    std::memcpy(at(copy->to), at(copy->from), copy->bytes);
  } else if (const auto* const view = std::get_if<ViewOp>(&operation)) {
    bases_[view->memory] = at(view->of) + symbolic_views_[view->moving].bytes;
  } else if (const auto* const into = std::get_if<IntoOp>(&operation)) {
    const Tensor& result = tensors_[into->result];
    Backend& backend = backend_of(result.device());
    backend.kernels().of(*into->op).run(*into->op, *specialization.attrs[into->attrs],
                                        operands(into->operands), {&result, 1}, backend.stream());
  } else {
    run(std::get<BindOp>(operation), specialization);
  }
}

void BoundProgram::place(KernelOp& op) const {
  ElementRun& run = op.kernel.run;
  for (std::size_t k = 0; k < op.loads.size(); ++k) run.place_load(k, at(op.loads[k]));
  for (std::size_t k = 0; k < op.stores.size(); ++k) run.place_output(k, at(op.stores[k]));
}

void BoundProgram::run_together(bool takes) {
  const std::span<Scheduled> last = std::span(operations_).subspan(together_);
  for (const Scheduled& each : last) begin(each, takes);
  for (Scheduled& each : last) place(std::get<KernelOp>(each.operation));
  pieces_.run();
  for (const Scheduled& each : last) end(each);
}

void BoundProgram::run(KernelOp& op) const {
  place(op);
  const ElementRun& run = op.kernel.run;
  const std::int64_t count = op.kernel.count;
  const std::int64_t unit = op.unit();
  const std::int64_t whole = count / unit * unit;  // all of it, where elements may be computed twice
  if (whole <= op.grain || op.is_last_word) {
    run.piece(0, whole);
  } else {
    parallel_for(whole / unit, op.grain / unit,
                 [&](std::int64_t begin, std::int64_t end) { run.piece(begin * unit, end * unit); });
  }
  if (whole < count) run.piece(whole, count);
}

void BoundProgram::run(const ProductOp& op) const {
  SmallVector<cpu::PlacedProduct::Places, 1> places;
  for (std::size_t k = 0; k < op.results.size(); ++k)
    places.push_back({at(op.left[k]), at(op.right), at(op.results[k])});
  op.product.run(places);
}

void BoundProgram::run(const BindOp& op, Specialization specialization) {
  Tensors made = kiln::bind(*op.op, operands(op.operands), *specialization.attrs[op.attrs]);
  for (std::size_t k = 0; k < op.results.size(); ++k) {
    const BindOp::Result& result = op.results[k];
    if (result.memory && !made[k].is_contiguous()) {
      laid_out_.push_back(cpu::contiguous_copy(made[k], made[k].dtype()));
      bases_[*result.memory] = const_cast<std::byte*>(laid_out_.back().raw());
    } else if (result.memory) {
      bases_[*result.memory] = const_cast<std::byte*>(made[k].raw());
    }
    tensors_[result.tensor] = std::move(made[k]);
  }
}

std::optional<Tensors> BoundPrograms::run(const Graph& graph, const Program& program,
                                          Specialization specialization, Inputs arguments, Tensors* taken) {
  if (!is_possible_.load(std::memory_order_relaxed) || levels::top != nullptr) return std::nullopt;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || tape::sees(arguments)) return std::nullopt;
  if (!latest_ || !latest_->fits(arguments, specialization)) {
    const bool is_due = ++calls_ > (latest_ ? kMostMisfits : binds_after());
    if (!is_due || made_ == kMostMade) return std::nullopt;
    ++made_;
    latest_ = BoundProgram::make(graph, program, specialization, arguments);
    if (!latest_ || !latest_->fits(arguments, specialization)) {
      is_possible_ = false;
      return std::nullopt;
    }
  }
  calls_ = 0;
  count_.fetch_add(1, std::memory_order_relaxed);
  return latest_->run(arguments, taken, specialization);
}

}  // namespace kiln::jit
