#include "jit/cuda/kernel.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "jit/cuda/columns.h"
#include "jit/cuda/fold_blocks.h"
#include "jit/cuda/gather.h"
#include "jit/cuda/nest_words.h"
#include "jit/cuda/plan.h"
#include "jit/cuda/refusals.h"
#include "jit/loops/recent_plans.h"
#include "jit/passes/target.h"
#include "jit/shape_rules.h"
#include "tensor/core_ops.h"
#include "tensor/cuda/context.h"
#include "tensor/cuda/faults.h"
#include "tensor/cuda/gathers.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/program.h"
#include "tensor/error.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/integers.h"
#include "tensor/random.h"

namespace kiln::jit {
namespace {

// The elements of a source in a layout of the target, which is contiguous memory.
void copy_into(const Tensor& made, const StorePlaces::Copy& each, Inputs inputs) {
  const Tensor operands[] = {Tensor::alias(made, each.to),
                             Tensor::alias(inputs[static_cast<std::size_t>(each.input)], each.from)};
  static const Attrs copy(core_ops().copy);
  run_eager_inplace(*copy.op(), operands, copy);
}

class CudaKernel final : public Kernel {
 public:
  explicit CudaKernel(KernelParts parts) : Kernel(std::move(parts)) {
    for (const LoopNest& each : lowered().passes) refusals_.push_back(refusals_of(each));
  }

  Tensors run(Inputs inputs, const Dims& symbols) const override {
    const auto plan = plans_.get(inputs, symbols,
                                 [&] { return plan_for_cuda(lowered(), inputs, symbols, named(symbols)); });
    Call call{*this, *plan, inputs, cuda::Context::of(parts().device)};
    return call.run(types(symbols));
  }

 private:
  // One run of all passes.
  class Call {
    using PassAndLoad = std::pair<std::size_t, std::size_t>;

   public:
    Call(const CudaKernel& kernel, const CudaPlan& plan, Inputs inputs, cuda::Context& context)
        : kernel_(kernel), lowered_(kernel.lowered()), plan_(plan), inputs_(inputs), context_(context) {}

    Tensors run(const std::vector<TensorType>& types) {
      for (const TensorType& each : types) outputs_.push_back(empty(each.sizes, each.dtype));
      for (const DType each : lowered_.buffers)
        buffers_.push_back(empty(Dims{plan_.rows, plan_.length}, each));
      slots_.resize(lowered_.slots.size());
      columns_.resize(lowered_.columns.size());
      take_draws();
      for (std::size_t begin = 0; begin < plan_.passes.size();) {
        std::size_t end = begin + 1;
        while (end < plan_.passes.size() && kernel_.schedule().nests[end].joins) ++end;
        if (goes_down(lowered_.passes[begin]))
          columns(begin, end);
        else
          end == begin + 1 ? pass(begin) : joined_passes(begin, end);
        begin = end;
      }
      return std::move(outputs_);
    }

   private:
    Tensor empty(const Dims& sizes, DType dtype) const {
      return Tensor::empty(sizes, dtype, context_.device());
    }

    // In the order of the ops, which need not be that of the passes.
    void take_draws() {
      std::map<int, std::vector<PassAndLoad>> in_order;  // by node
      for (std::size_t p = 0; p < lowered_.passes.size(); ++p) {
        for (const Instruction& each : lowered_.passes[p].body) {
          const auto load = static_cast<std::size_t>(each.index);
          if (each.kind == Instruction::Kind::Read && lowered_.passes[p].loads[load].drawn != nullptr)
            in_order[each.node].emplace_back(p, load);
        }
      }
      for (const auto& [node, places] : in_order) {
        const Generator draw = next_draw();
        for (const PassAndLoad& each : places) draws_.emplace(each, draw);
      }
    }
    static cuda::DrawJob job_of(const CudaLoad& planned, const Generator& draw) {
      cuda::DrawJob job = planned.draw;
      job.seed = draw.seed;
      job.offset = draw.offset;
      return job;
    }

    void pass(std::size_t p) {
      const LoopNest& nest = lowered_.passes[p];
      ArgumentWords words = arguments(p);
      const Tensors parts = put_results(words, nest.reductions, operands_of(nest), plan_.rows * plan_.blocks);
      const cuda::Argument all[] = {bytes_of(words)};
      const CudaPlan::Pass& planned = plan_.passes[p];
      if (nest.row_rank > 0)
        launch(p, plan_.rows * plan_.blocks * kLanes, all);
      else if (planned.tiles.tiles > 0)
        launch_by_tiles(p, planned.tiles, all[0]);
      else if (takes_vectors(planned.vectors, words))
        launch_by_vectors(p, ceil_divide(planned.length, std::int64_t{planned.vectors.width}), all);
      else
        launch(p, planned.length, all);
      for (std::size_t k = 0; k < nest.reductions.size(); ++k)
        slot_of(nest.reductions[k]) =
            fold_blocks(context_, nest.reductions[k], parts[k], plan_.rows, plan_.blocks);
    }

    // A warp for each row.
    void joined_passes(std::size_t begin, std::size_t end) {
      std::vector<ArgumentWords> words;
      for (std::size_t p = begin; p < end; ++p) {
        words.push_back(arguments(p));
        if (!kernel_.schedule().nests[p].keeps_results) continue;
        const std::vector<Reduction>& reductions = lowered_.passes[p].reductions;
        const Tensors kept =
            put_results(words.back(), reductions, operands_of(lowered_.passes[p]), plan_.rows);
        for (std::size_t k = 0; k < reductions.size(); ++k) slot_of(reductions[k]) = kept[k];
      }
      std::vector<cuda::Argument> all;
      for (const ArgumentWords& each : words) all.push_back(bytes_of(each));
      launch(begin, plan_.rows * kLanes, all);
    }

    // A team of threads for each tile of a block of rows. The nest that joins, if any, has what comes of one
    // block at hand.
    void columns(std::size_t p, std::size_t end) {
      const LoopNest& nest = lowered_.passes[p];
      const bool is_joined = end > p + 1;
      const std::int64_t outputs = plan_.sequences * plan_.length;
      const cuda::ColumnJob job =
          column_job(plan_.sequences, plan_.sequence, plan_.length, context_.multiprocessors());
      const bool at_once = is_joined && job.blocks == 1;
      ArgumentWords words = arguments(p);
      Tensors parts;
      if (!at_once) parts = put_results(words, nest.columns, operands_of(nest), outputs * job.blocks);
      std::vector<cuda::Argument> all = {bytes_of(words), {&job, sizeof job}};
      const ArgumentWords after = at_once ? arguments(p + 1) : plan_.passes[end - 1].words;
      if (is_joined) all.push_back(bytes_of(after));
      launch(p, job.units * job.across * job.down, all);
      if (at_once) return;
      for (std::size_t k = 0; k < nest.columns.size(); ++k)
        columns_[static_cast<std::size_t>(nest.columns[k].slot)] =
            fold_blocks(context_, nest.columns[k], parts[k], outputs, job.blocks);
      if (is_joined) pass(p + 1);
    }

    Tensor& slot_of(const Reduction& reduction) { return slots_[static_cast<std::size_t>(reduction.slot)]; }
    // Memory for what the reductions of a nest come to, so many each.
    Tensors put_results(ArgumentWords& words, std::span<const Reduction> reductions, std::size_t operand,
                        std::int64_t count) const {
      Tensors made;
      for (const Reduction& each : reductions) {
        made.push_back(empty(Dims{count}, each.accumulator));
        words.put_data(operand++, made.back().raw());
      }
      return made;
    }

    // With the operands of a pass.
    ArgumentWords arguments(std::size_t p) {
      const LoopNest& nest = lowered_.passes[p];
      const CudaPlan::Pass& planned = plan_.passes[p];
      ArgumentWords words = planned.words;
      std::map<std::size_t, Tensors> gathers;  // by load: the op's operands
      for (std::size_t k = 0; k < nest.loads.size(); ++k) {
        const Load& load = nest.loads[k];
        if (load.drawn != nullptr)
          words.put_draw(first_word_of(nest, k), job_of(planned.loads[k], draws_.at({p, k})));
        else if (load.gather != nullptr)
          put_gather(words, nest, k, gathers[k] = gather_operands(load, planned.loads[k].gather, inputs_));
        else if (load.is_number)
          words.put_number(k, HostView(inputs_[static_cast<std::size_t>(load.input)]));
        else
          words.put_data(k, place_of(load, planned.loads[k]));
      }
      for (std::size_t k = 0; k < nest.stores.size(); ++k)
        words.put_data(nest.loads.size() + k, place_of(nest.stores[k], planned.stores[k]));
      for (std::size_t k = 0; k < slots_of(nest); ++k)
        words.put_data(first_slot_of(nest) + k, slots_[k] ? slots_[k].raw() : nullptr);
      expect_refusals(words, p, std::move(gathers));
      return words;
    }

    void put_gather(ArgumentWords& words, const LoopNest& nest, std::size_t k, const Tensors& operands) {
      const Load& load = nest.loads[k];
      words.put_data(k, operands[static_cast<std::size_t>(cuda::source_of(*load.gather))].raw());
      std::size_t operand = first_index_of(nest, k);
      for (const std::size_t each : indices_of(load)) words.put_data(operand++, operands[each].raw());
      for (const Tensor& each : operands) kept_.push_back(each);
    }

    // The kernel may be gone when the error is told.
    void expect_refusals(ArgumentWords& words, std::size_t p, std::map<std::size_t, Tensors> gathers) {
      if (kernel_.refusals_[p]->empty()) return;
      const auto error = [refusals = kernel_.refusals_[p],
                          gathers = std::move(gathers)](std::int64_t number) {
        return refused(refusals->at(static_cast<std::size_t>(number)), gathers);
      };
      const cuda::FaultTicket ticket = cuda::expect_fault(context_, error);
      words.put_launch(ticket.word, ticket.launch);
    }

    const std::byte* place_of(const Load& load, const CudaLoad& planned) {
      if (load.buffer >= 0) return buffers_[static_cast<std::size_t>(load.buffer)].raw();
      if (load.column >= 0) {
        const Tensor& column = columns_[static_cast<std::size_t>(load.column)];
        return column ? column.raw() : nullptr;  // none where it is at hand
      }
      Tensor from = inputs_[static_cast<std::size_t>(load.input)];
      from.check_readable();
      for (const Layout& each : planned.laid_out) from = ops::clone(Tensor::alias(from, each));
      if (!planned.broadcast.empty())
        from = ops::clone(ops::expand(Tensor::alias(from, planned.layout), planned.broadcast));
      const std::int64_t first = planned.broadcast.empty() ? planned.layout.offset.fixed() : 0;
      kept_.push_back(from);
      return from.storage()->data() + static_cast<std::size_t>(first) * size_of(from.dtype());
    }

    std::byte* place_of(const Store& store, const StorePlaces& planned) const {
      if (store.buffer >= 0) return buffers_[static_cast<std::size_t>(store.buffer)].raw_writable();
      const Tensor& made = outputs_[static_cast<std::size_t>(store.output)];
      for (const StorePlaces::Copy& each : planned.around) copy_into(made, each, inputs_);
      return made.raw_writable() + static_cast<std::size_t>(planned.offset) * size_of(made.dtype());
    }

    void launch(std::size_t p, std::int64_t threads, std::span<const cuda::Argument> arguments) {
      launch(function(p), function(p).name, threads, arguments);
    }
    void launch_by_vectors(std::size_t p, std::int64_t threads, std::span<const cuda::Argument> arguments) {
      launch(function(p), by_vectors(function(p).name), threads, arguments);
    }
    void launch_by_tiles(std::size_t p, const cuda::TileJob& job, const cuda::Argument& words) {
      const cuda::Argument all[] = {words, {&job, sizeof job}};
      launch(function(p), by_tiles(function(p).name), job.tiles * cuda::kThreadsOfBlock, all);
    }
    const CudaCode::Function& function(std::size_t p) const {
      return *static_cast<const CudaCode::Function*>(kernel_.parts().functions[p]);
    }
    void launch(const CudaCode::Function& function, const std::string& name, std::int64_t threads,
                std::span<const cuda::Argument> arguments) {
      if (threads == 0) return;
      const cuda::Launch launch{.function = cuda::function_of(context_, function.code->text(), name),
                                .threads = threads};
      cuda::run(context_, launch, arguments);
    }

    static cuda::Argument bytes_of(const ArgumentWords& words) {
      return {words.words().data(), words.words().size_bytes()};
    }

    const CudaKernel& kernel_;
    const Lowered& lowered_;
    const CudaPlan& plan_;
    Inputs inputs_;
    cuda::Context& context_;
    Tensors outputs_, buffers_, slots_, columns_;
    std::map<PassAndLoad, Generator> draws_;
    Tensors kept_;  // copies that are read
  };

  std::vector<std::shared_ptr<const Refusals>> refusals_;  // by pass
  RecentPlans<CudaPlan> plans_;
};

}  // namespace

CudaCode::CudaCode(std::string text) : text_(std::move(text)) {
  for (std::size_t nest = 0; text_.find(" " + kernel_symbol(nest) + "(") != std::string::npos; ++nest)
    functions_.push_back(std::make_unique<Function>(this, kernel_symbol(nest)));
  cuda::compile_for_cards_in_use(text_);
}

void* CudaCode::function(std::size_t nest) const {
  if (nest >= functions_.size()) throw InternalError("a program for cards has no function of a nest");
  return functions_[nest].get();
}

std::unique_ptr<const Kernel> make_cuda_kernel(KernelParts parts) {
  return std::make_unique<const CudaKernel>(std::move(parts));
}

}  // namespace kiln::jit
