#include "jit/runtime/bound_program.h"

#include <algorithm>
#include <cstring>

#include "jit/graph/evaluate.h"
#include "jit/runtime/ownership.h"
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

bool BoundProgram::fits(Inputs arguments, const Specialization& specialization) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& x = arguments[i];
    const TensorType& type = types_[i];
    if (x.impl()->wrapper || x.strides() != strides_[i] || x.sizes() != type.sizes ||
        x.dtype() != type.dtype || x.is_number() != type.is_number)
      return false;
  }
  for (const WrittenArgument& each : written_) check_target(arguments[each.argument], Effect::Kind::Write);
  const bool may_write = std::ranges::all_of(written_, [&arguments](const WrittenArgument& each) {
    return may_be_written_over(arguments[each.argument]);
  });
  return may_write && std::ranges::all_of(views_, [&specialization](ViewStep& each) {
           const Layout to = std::move(each.op->view(each.from, *specialization.attrs[each.attrs]).front());
           each.bytes = to.offset * each.item;
           return to.sizes == each.to.sizes && to.strides == each.to.strides;
         });
}

// ---- A call ----

std::span<Tensor> BoundProgram::begin(Inputs arguments, const Specialization& specialization) {
  arguments_ = arguments;
  for (const ArrivingOperand& each : arriving_) {
    const Tensor& x = each.source.table == Table::Prebuilt ? specialization.prebuilt[each.source.index]
                                                           : arguments[each.source.index];
    bases_[each.memory] = x ? const_cast<std::byte*>(x.raw()) : nullptr;
  }
  for (const std::uint32_t each : early_views_) take_view(views_[each]);
  return frame_;
}

void BoundProgram::end() {
  for (const std::uint32_t each : passing_) frame_[each] = Tensor();
  laid_out_.clear();
}

void BoundProgram::make(const NewResult& fresh) {
  const bool is_over = fresh.over && holds_alone({&frame_[*fresh.over], 1});
  Tensor& result = frame_[fresh.value];
  result =
      is_over ? frame_[*fresh.over] : Tensor::empty(fresh.type.sizes, fresh.type.dtype, fresh.type.device);
  bases_[fresh.memory] = result.raw_writable();
}

void BoundProgram::carry_out(std::size_t n) {
  const Step& step = steps_[n];
  if (step.kernel >= 0) {
    run(kernels_[static_cast<std::size_t>(step.kernel)]);
  } else if (step.product >= 0) {
    run(products_[static_cast<std::size_t>(step.product)]);
  } else if (step.copy >= 0) {
    const CopyStep& copy = copies_[static_cast<std::size_t>(step.copy)];
    std::memcpy(at(copy.to), at(copy.from), copy.bytes);
  } else if (step.view >= 0) {
    take_view(views_[static_cast<std::size_t>(step.view)]);
  }
}

void BoundProgram::find_results(std::size_t n) {
  for (std::uint32_t i = steps_[n].finds.begin; i < steps_[n].finds.end; ++i) {
    const FoundResult& each = found_results_[i];
    const Tensor* made = &frame_[each.value];
    if (!made->is_contiguous()) {
      laid_out_.push_back(cpu::contiguous_copy(*made, made->dtype()));
      made = &laid_out_.back();
    }
    bases_[each.memory] = const_cast<std::byte*>(made->raw());
  }
}

void BoundProgram::launch() {
  for (std::size_t n = launch_; n < steps_.size(); ++n) begin(n);
  for (std::size_t n = launch_; n < steps_.size(); ++n)
    place(kernels_[static_cast<std::size_t>(steps_[n].kernel)]);
  pieces_.run();
  for (const WrittenArgument& each : written_) {
    const Tensor& x = arguments_[each.argument];
    x.storage()->writable_data();  // a version more
    frame_[each.value] = x;
  }
}

// ---- Instructions at their addresses ----

void BoundProgram::take_view(const ViewStep& view) { bases_[*view.memory] = at(view.of) + view.bytes; }

void BoundProgram::place(KernelStep& step) const {
  ElementRun& run = step.kernel.run;
  for (std::size_t k = 0; k < step.loads.size(); ++k) run.place_load(k, at(step.loads[k]));
  for (std::size_t k = 0; k < step.stores.size(); ++k) run.place_output(k, at(step.stores[k]));
}

void BoundProgram::run(KernelStep& step) const {
  place(step);
  const ElementRun& run = step.kernel.run;
  const std::int64_t count = step.kernel.count;
  const std::int64_t unit = step.unit();
  const std::int64_t whole = count / unit * unit;  // all of it, where elements may be computed twice
  if (whole <= step.grain) {
    run.piece(0, whole);
  } else {
    parallel_for(whole / unit, step.grain / unit,
                 [&](std::int64_t begin, std::int64_t end) { run.piece(begin * unit, end * unit); });
  }
  if (whole < count) run.piece(whole, count);
}

void BoundProgram::run(const ProductStep& step) const {
  SmallVector<cpu::PlacedProduct::Places, 1> places;
  for (std::size_t k = 0; k < step.results.size(); ++k)
    places.push_back({at(step.left[k]), at(step.right), at(step.results[k])});
  step.product.run(places);
}

// ---- Finding one ----

BoundPrograms::Use BoundPrograms::find(const Graph& graph, const Program& program,
                                       const Specialization& specialization, Inputs arguments) {
  Use use;
  if (!is_possible_.load(std::memory_order_relaxed) || levels::top != nullptr) return use;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || tape::sees(arguments)) return use;
  if (!latest_ || !latest_->fits(arguments, specialization)) {
    const bool is_due = ++calls_ > (latest_ ? kMostMisfits : binds_after());
    if (!is_due || made_ == kMostMade) return use;
    ++made_;
    latest_ = BoundProgram::make(graph, program, specialization, arguments);
    if (!latest_ || !latest_->fits(arguments, specialization)) {
      is_possible_ = false;
      return use;
    }
  }
  calls_ = 0;
  count_.fetch_add(1, std::memory_order_relaxed);
  use.lock_ = std::move(lock);
  use.program_ = latest_.get();
  return use;
}

}  // namespace kiln::jit
