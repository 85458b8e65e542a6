#include "jit/cpu/elementwise_kernel.h"

#include <algorithm>
#include <atomic>

#include "jit/cpu/streaming_stores.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/parallel.h"

namespace kiln::jit {

ElementwiseKernel::ElementwiseKernel(KernelParts parts)
    : CpuKernel(std::move(parts)), grain_(grain_of(nest())) {}

const ElementwiseKernel* elementwise_kernel_of(const Op& op) {
  const KernelOp* const kernel = as_kernel(op);
  return kernel == nullptr ? nullptr : dynamic_cast<const ElementwiseKernel*>(kernel->kernel.get());
}

Tensors ElementwiseKernel::run(Inputs inputs, const Dims& symbols) const {
  const auto plan = this->plan(inputs, symbols);
  const std::vector<Generator> draws = next_draws();
  Tensors outputs;
  for (std::size_t k = 0; k < nest().stores.size(); ++k) outputs.push_back(output(*plan, k, inputs));
  using Writes = ElementRun::Writes;
  const Writes writes =
      uses_streaming_stores(lowered(), schedule(), outputs) ? Writes::Streaming : Writes::Plainly;
  const ElementRun run(scheduled(0), *plan, functions_[0], called_[0].data(), inputs, draws, outputs, writes);
  const std::int64_t count = count_elements(plan->sizes);
  if (count == 0) return outputs;
  std::atomic<std::uint64_t> failed{0};
  const std::int64_t unit = run.unit(grain_);
  parallel_for(count / unit, grain_ / unit, [&](std::int64_t begin, std::int64_t end) {
    const std::uint64_t found = run.piece(begin * unit, end * unit);
    if (found != 0) failed.fetch_or(found, std::memory_order_relaxed);
  });
  if (const std::uint64_t found = failed.load()) fail(nest(), found);
  return outputs;
}

bool ElementwiseKernel::is_plain() const {
  const bool reads = std::all_of(nest().loads.begin(), nest().loads.end(), [](const Load& each) {
    return each.drawn == nullptr && each.gather == nullptr;
  });
  return reads && std::none_of(nest().body.begin(), nest().body.end(),
                               [](const Instruction& each) { return each.failure >= 0; });
}

ElementwiseKernel::Ready ElementwiseKernel::prepare(Inputs inputs, const Dims& symbols,
                                                    std::span<Tensor> outputs) const {
  auto plan = this->plan(inputs, symbols);
  bool overwrites = false;
  for (std::size_t k = 0; k < nest().stores.size(); ++k) {
    if (outputs[k] && may_become(*plan, k, inputs, outputs[k])) {
      overwrites = true;
    } else {
      outputs[k] = output(*plan, k, inputs);
    }
  }
  const KernelPlan& known = *plan;
  return {std::move(plan),
          ElementRun(scheduled(0), known, functions_[0], called_[0].data(), inputs, {}, outputs,
                     overwrites ? ElementRun::Writes::Once : ElementRun::Writes::Plainly),
          count_elements(known.sizes)};
}

std::optional<ElementwiseKernel::Unplaced> ElementwiseKernel::unplaced(Inputs inputs,
                                                                       const Dims& symbols) const {
  auto plan = this->plan(inputs, symbols);
  const bool copies = std::any_of(plan->loads.begin(), plan->loads.end(),
                                  [](const auto& load) { return load.copied || !load.laid_out.empty(); }) ||
                      std::any_of(plan->stores.begin(), plan->stores.end(),
                                  [](const auto& store) { return !store.around.empty(); });
  if (copies) return std::nullopt;
  const KernelPlan& known = *plan;
  return Unplaced{std::move(plan), ElementRun(scheduled(0), known, functions_[0], called_[0].data()),
                  count_elements(known.sizes)};
}

bool ElementwiseKernel::may_write_over(const Unplaced& call, std::size_t output, std::size_t input) const {
  using Access = KernelPlan::LoadPlan::Access;
  const KernelPlan& plan = *call.plan;
  if (!plan.stores[output].is_direct || !call.run.computes_once()) return false;
  for (std::size_t k = 0; k < nest().loads.size(); ++k) {
    if (nest().loads[k].input != static_cast<int>(input)) continue;
    if (plan.loads[k].access != Access::Direct || plan.loads[k].offset != plan.inputs[input].offset)
      return false;
  }
  return true;
}

bool ElementwiseKernel::computes_all() const {
  return std::all_of(nest().stores.begin(), nest().stores.end(),
                     [](const Store& each) { return each.around.empty(); });
}

bool ElementwiseKernel::reads_in_order(Inputs inputs, const Dims& symbols, std::size_t input) const {
  const auto plan = this->plan(inputs, symbols);
  for (std::size_t k = 0; k < nest().loads.size(); ++k) {
    const KernelPlan::LoadPlan& load = plan->loads[k];
    const bool reads_it = nest().loads[k].input == static_cast<int>(input);
    const bool in_order = load.access == KernelPlan::LoadPlan::Access::Direct && load.laid_out.empty() &&
                          !load.copied && load.offset == inputs[input].offset();
    if (reads_it && !in_order) return false;
  }
  return std::all_of(plan->stores.begin(), plan->stores.end(),
                     [](const KernelPlan::StorePlan& each) { return each.is_direct; });
}

std::shared_ptr<const KernelPlan> ElementwiseKernel::plan(Inputs inputs, const Dims& symbols) const {
  return plans_.get(inputs, symbols,
                    [&] { return make_plan(scheduled(0), layouts_of(inputs), symbols, named(symbols)); });
}

// By load, in the order of the ops; none when there are no random numbers.
std::vector<Generator> ElementwiseKernel::next_draws() const {
  std::vector<Generator> draws;
  const std::vector<Load>& loads = nest().loads;
  for (std::size_t k = 0; k < loads.size(); ++k) {
    if (loads[k].drawn == nullptr) continue;
    draws.resize(loads.size());
    draws[k] = next_draw();
  }
  return draws;
}

// With the elements that the kernel does not compute.
Tensor ElementwiseKernel::output(const KernelPlan& plan, std::size_t k, Inputs inputs) const {
  Tensor made = Tensor::empty(plan.stores[k].sizes, nest().stores[k].dtype, Device{});
  for (const StorePlaces::Copy& each : plan.stores[k].around) {
    const Tensor& input = inputs[static_cast<std::size_t>(each.input)];
    input.check_readable();
    cpu::copy(Tensor::alias(made, each.to), Tensor::alias(input, each.from));
  }
  return made;
}

// Is each element of that tensor read where it is written, if at all, and in time?
bool ElementwiseKernel::may_become(const KernelPlan& plan, std::size_t k, Inputs inputs,
                                   const Tensor& output) const {
  using Access = KernelPlan::LoadPlan::Access;
  const KernelPlan::StorePlan& store = plan.stores[k];
  const bool fits = output.sizes() == store.sizes && output.dtype() == nest().stores[k].dtype;
  if (!fits || !store.around.empty() || !store.is_direct) return false;
  return std::all_of(nest().loads.begin(), nest().loads.end(), [&](const Load& each) {
    const Tensor& input = inputs[static_cast<std::size_t>(each.input)];
    const KernelPlan::LoadPlan& load = plan.loads[static_cast<std::size_t>(&each - nest().loads.data())];
    if (!shares_storage(input, output)) return true;
    return input.is_same(output) && load.access == Access::Direct && load.laid_out.empty() &&
           load.offset == output.offset();
  });
}

}  // namespace kiln::jit
