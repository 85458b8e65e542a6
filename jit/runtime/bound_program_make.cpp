// How it is worked out what a bound does: types and layouts go through the program, no elements do.
#include <algorithm>
#include <map>
#include <set>

#include "jit/cpu/elementwise_kernel.h"
#include "jit/cpu/launch.h"
#include "jit/graph/evaluate.h"
#include "jit/runtime/bound_program.h"
#include "jit/runtime/bound_program_notes.h"
#include "jit/shape_rules.h"
#include "tensor/core_ops.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

constexpr std::ptrdiff_t kMostBytes = 1 << 20;  // of all values that a call makes
constexpr std::ptrdiff_t kFewBytes = 1 << 14;   // that one thread copies as fast as several

}  // namespace

class Binder {
 public:
  Binder(const Graph& graph, const Program& program, Specialization specialization, Inputs arguments)
      : graph_(graph),
        program_(program),
        specialization_(specialization),
        arguments_(arguments),
        frame_(program.frame_size, kNone) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::size_t id = value_of({Table::Argument, static_cast<std::uint32_t>(i)});
      if (i < program.taken.size()) frame_[program.taken[i]] = id;
    }
  }

  std::unique_ptr<BoundProgram> run() {
    for (const Program::Instruction& instruction : program_.instructions) {
      if (instruction.product >= 0) note(program_.products[static_cast<std::size_t>(instruction.product)]);
      note(instruction);
    }
    for (const Program::Output& each : program_.outputs) results_.push_back(value_of(each.source));
    std::size_t together = first_together();
    if (bytes_ > kMostBytes || !writes_all(together)) return nullptr;
    if (written_.empty()) together -= share_matrices(notes_, values_, together);
    choose();
    for (std::size_t n = 0; n < notes_.size(); ++n) {
      if (n == together) bound_->together_ = bound_->operations_.size();
      emit(n, n >= together);
    }
    return finish(together < notes_.size());
  }

 private:
  using Place = BoundProgram::Place;
  static constexpr std::size_t kNone = kNoBoundValue;
  using Home = StoredAt;
  using Value = BoundValue;
  using How = BoundKind;
  using Note = BoundNote;
  struct Write {
    const Program::Instruction* instruction;
    double work;  // in pieces that are worth a thread
    std::int64_t elements;
  };

  // ---- The values ----

  std::size_t value_of(Source source) {
    if (source.table == Table::Frame) return frame_[source.index];
    if (source.table == Table::Became) {
      const auto effect =
          std::find_if(program_.effects.begin(), program_.effects.end(),
                       [&](const Program::EffectInstruction& each) { return each.became == source.index; });
      return value_of(effect->target);
    }
    const std::pair key{source.table, source.index};
    const auto [found, is_new] = inputs_.try_emplace(key, values_.size());
    if (is_new) {
      Value value;
      value.tensor =
          source.table == Table::Argument ? arguments_[source.index] : specialization_.prebuilt[source.index];
      value.root = values_.size();
      value.home = Home::InputTensor;
      value.source = source;
      values_.push_back(std::move(value));
    }
    return found->second;
  }

  void note(const Program::Instruction& instruction) {
    Note noted{&instruction, {}, {}};
    for (std::uint32_t i = instruction.operands.begin; i < instruction.operands.end; ++i)
      noted.operands.push_back(value_of(program_.operands[i]));
    const Tensors made = results_of(instruction, noted.operands);
    const bool is_alias = is_view(instruction) && !follows_symbols(program_, instruction);
    const std::vector<std::size_t> over = overs_of(instruction, noted.operands);
    for (std::uint32_t k = 0; k < made.size(); ++k) {
      Value value;
      value.tensor = made[k];
      value.root = is_alias ? values_[noted.operands[0]].root : values_.size();
      if (is_view(instruction)) value.home = Home::Bound;
      if (k < over.size()) value.over = over[k];
      noted.results.push_back(values_.size());
      frame_[program_.slots[instruction.results.begin + k]] = values_.size();
      values_.push_back(std::move(value));
      if (!is_view(instruction)) bytes_ += bytes_of(noted.results.back());
    }
    noted.how = is_alias ? How::Alias : is_view(instruction) ? How::View : way_of(noted);
    for (const std::size_t id : noted.results) write_over(noted, id);
    notes_.push_back(std::move(noted));
  }

  // What becomes the elements of an argument is made there.
  void write_over(const Note& noted, std::size_t id) {
    Value& result = values_[id];
    if (result.over == kNone || values_[result.over].home != Home::InputTensor || !is_target(result.over))
      return;
    const auto k = static_cast<std::size_t>(std::find(noted.results.begin(), noted.results.end(), id) -
                                            noted.results.begin());
    if (noted.how != How::Kernel || !may_lie_at(noted, k, result.over)) return;
    const ElementwiseKernel& kernel = *elementwise_kernel_of(*noted.instruction->op);
    const std::int64_t count = unplaced(kernel, noted)->count;
    if (writes_.empty() || writes_.back().instruction != noted.instruction)
      writes_.push_back(
          {noted.instruction, static_cast<double>(count) / static_cast<double>(kernel.grain()), count});
    bytes_ -= bytes_of(id);
    result.root = result.over;
    result.home = Home::Bound;
    written_.push_back(values_[result.over].source.index);
  }
  bool is_target(std::size_t argument) const {
    return std::any_of(program_.effects.begin(), program_.effects.end(),
                       [&](const Program::EffectInstruction& each) {
                         const auto found = inputs_.find({each.target.table, each.target.index});
                         return found != inputs_.end() && found->second == argument;
                       });
  }
  // The first of the kernels that run together; none: as many as there are.
  std::size_t first_together() const {
    const bool are_kernels =
        std::all_of(notes_.begin() + static_cast<std::ptrdiff_t>(program_.launch), notes_.end(),
                    [](const Note& each) { return each.how == How::Kernel; });
    return are_kernels ? program_.launch : notes_.size();
  }
  // All effects are writes of kernels: of those that run together, or few enough for one thread, since others
  // would have to be told when to stop.
  bool writes_all(std::size_t together) const {
    double work = 0;
    std::int64_t elements = 0;
    for (const Write& each : writes_) {
      if (each.instruction >= program_.instructions.data() + together) continue;
      work += each.work;
      elements += each.elements;
    }
    return written_.size() == program_.effects.size() && work < kLittleWork && elements < kFewElements;
  }

  // May the kernel's result be written where that value lies, which nothing else is read of?
  bool may_lie_at(const Note& noted, std::size_t k, std::size_t id) const {
    const Value& over = values_[id];
    if (over.tensor.type() != values_[noted.results[k]].tensor.type() || !over.tensor.is_contiguous())
      return false;
    const auto lies_there = [&](std::size_t each) { return values_[each].root == id; };
    const auto reads = std::count_if(noted.operands.begin(), noted.operands.end(), lies_there);
    const auto operand = std::find(noted.operands.begin(), noted.operands.end(), id) - noted.operands.begin();
    const bool is_operand = operand < static_cast<std::ptrdiff_t>(noted.operands.size());
    const ElementwiseKernel& kernel = *elementwise_kernel_of(*noted.instruction->op);
    const std::size_t none = noted.operands.size();
    return reads == (is_operand ? 1 : 0) &&
           kernel.may_write_over(*unplaced(kernel, noted), k,
                                 is_operand ? static_cast<std::size_t>(operand) : none);
  }
  // By result: what the program would write it over.
  std::vector<std::size_t> overs_of(const Program::Instruction& instruction,
                                    const std::vector<std::size_t>& operands) {
    std::vector<std::size_t> values;
    if (instruction.may_overwrite) values.push_back(operands[0]);
    for (std::uint32_t i = instruction.over.begin; i < instruction.over.end; ++i) {
      if (!program_.over[i]) {
        values.push_back(kNone);
      } else {
        values.push_back(program_.over[i]->table == Table::Frame ? frame_[program_.over[i]->index]
                                                                 : value_of(*program_.over[i]));
      }
    }
    return values;
  }
  Tensors results_of(const Program::Instruction& instruction,
                     const std::vector<std::size_t>& operands) const {
    if (is_view(instruction))
      return kiln::bind(*instruction.op, {&values_[operands[0]].tensor, 1},
                        *specialization_.attrs[instruction.attrs]);
    Tensors made;
    for (const ValueId id : instruction.node->outputs) {
      const TensorType type = evaluate(graph_.values[static_cast<std::size_t>(id)].type, {});
      made.push_back(Tensor::without_elements(type.sizes, type.dtype, type.device));
    }
    return made;
  }

  How way_of(const Note& noted) {
    const Op& op = *noted.instruction->op;
    const auto tensor = [this](std::size_t id) -> const Tensor& { return values_[id].tensor; };
    const auto is_empty = [&](std::size_t id) { return tensor(id).numel() == 0; };
    if (std::any_of(noted.results.begin(), noted.results.end(), is_empty)) return How::Bind;
    if (const ElementwiseKernel* const kernel = elementwise_kernel_of(op))
      return kernel->is_plain() && unplaced(*kernel, noted) ? How::Kernel : How::Bind;
    if (&op == &core_ops().matmul &&
        cpu::PlacedProduct::of(tensor(noted.operands[0]), tensor(noted.operands[1])))
      return How::Product;
    if (&op == &core_ops().cat && may_join(noted)) return How::Join;
    if (&op == &core_ops().clone && tensor(noted.operands[0]).is_contiguous() &&
        bytes_of(noted.results[0]) <= kFewBytes)
      return How::Copy;
    return op.pointwise != nullptr && noted.results.size() == 1 ? How::Into : How::Bind;
  }

  // Is one operand after the other a block of the result, so that each could be made there?
  bool may_join(const Note& noted) const {
    const Tensor& whole = values_[noted.results[0]].tensor;
    const auto dim = static_cast<std::size_t>(
        wrap_dim(specialization_.attrs[noted.instruction->attrs]->get<std::int64_t>("dim"), whole.rank(),
                 core_ops().cat.name()));
    const auto around = std::span(whole.sizes()).first(dim);
    bool fits = std::all_of(around.begin(), around.end(), [](Dim d) { return d == 1; });
    std::ptrdiff_t bytes = 0;
    for (auto id = noted.operands.begin(); id != noted.operands.end(); ++id) {
      fits = fits && values_[*id].tensor.dtype() == whole.dtype() && values_[*id].tensor.is_contiguous() &&
             std::find(noted.operands.begin(), id, *id) == id;
      bytes += bytes_of(*id);
    }
    return fits && bytes == bytes_of(noted.results[0]);
  }

  std::optional<ElementwiseKernel::Unplaced> unplaced(const ElementwiseKernel& kernel,
                                                      const Note& noted) const {
    std::vector<Tensor> inputs;
    for (const std::size_t id : noted.operands) inputs.push_back(values_[id].tensor);
    return kernel.unplaced(inputs, specialization_.attrs[noted.instruction->attrs]->get<Dims>("symbols"));
  }

  // ---- Where values lie ----

  // What leaves the call is made anew each time, and what ops and the caller are specialization are tensors.
  void choose() {
    for (const std::size_t id : results_) {
      Value& shown = values_[shown_by(id)];
      if (shown.home == Home::Kept) shown.home = Home::NewResult;
      values_[id].as_tensor = true;
    }
    do {
      find_tensors();
    } while (!join_all());
    for (std::size_t n = 0; n < notes_.size(); ++n) {
      for (const std::size_t id : notes_[n].operands) values_[home_of(id)].last_use = n;
      for (const std::size_t id : notes_[n].results) values_[home_of(id)].last_use = n;
    }
    // What lies elsewhere in each call lies in the memory of its operand all the same.
    for (auto each = notes_.rbegin(); each != notes_.rend(); ++each) {
      if (!is_view(*each->instruction)) continue;
      std::size_t& last = values_[home_of(each->operands[0])].last_use;
      for (const std::size_t id : each->results) last = std::max(last, values_[home_of(id)].last_use);
    }
    choose_overs();
  }

  // Whose elements a value shows, wherever in each call.
  std::size_t shown_by(std::size_t id) const {
    std::size_t root = values_[id].root;
    for (auto each = notes_.rbegin(); each != notes_.rend(); ++each) {
      const bool is_made = std::find(each->results.begin(), each->results.end(), root) != each->results.end();
      if (is_made && is_view(*each->instruction)) root = values_[each->operands[0]].root;
    }
    return root;
  }
  // The last first: a view that is a tensor is of a tensor.
  void find_tensors() {
    for (auto each = notes_.rbegin(); each != notes_.rend(); ++each) {
      const bool as_tensors = std::any_of(each->results.begin(), each->results.end(),
                                          [this](std::size_t id) { return values_[id].as_tensor; });
      if (as_tensors && (each->how == How::Alias || each->how == How::View)) each->how = How::Bind;
      if (each->how == How::Bind && !is_view(*each->instruction)) {
        for (const std::size_t id : each->results) values_[id].home = Home::Bound;
      }
      if (each->how != How::Into && each->how != How::Bind) continue;
      for (const std::size_t id : each->operands) values_[id].as_tensor = true;
      for (const std::size_t id : each->results) values_[id].as_tensor = true;
    }
  }

  // An argument that nobody reads later, and of which nothing else is read where it is written.
  void choose_overs() {
    for (std::size_t n = 0; n < notes_.size(); ++n) {
      const Note& noted = notes_[n];
      for (std::size_t k = 0; k < noted.results.size(); ++k) {
        Value& result = values_[noted.results[k]];
        if (result.over == kNone || result.root == result.over) continue;
        if (!may_go_over(noted, n, k)) result.over = kNone;
      }
    }
  }
  bool may_go_over(const Note& noted, std::size_t n, std::size_t k) const {
    const Value& result = values_[noted.results[k]];
    const Value& over = values_[result.over];
    if (over.home != Home::InputTensor || over.root != result.over || over.last_use != n ||
        result.home != Home::NewResult || result.joined != kNone ||
        over.tensor.type() != result.tensor.type() || !over.tensor.is_contiguous())
      return false;
    const bool is_operand =
        std::find(noted.operands.begin(), noted.operands.end(), result.over) != noted.operands.end();
    if (noted.how == How::Into) {
      const auto lies_there = [&](std::size_t id) { return values_[id].root == result.over; };
      return is_operand && std::count_if(noted.operands.begin(), noted.operands.end(), lies_there) == 1;
    }
    return noted.how == How::Kernel && is_operand && may_lie_at(noted, k, result.over);
  }

  // False: some operands are tensors of their own, leave the call, or are in another block: these are joined
  // as ever.
  bool join_all() {
    bool all = true;
    std::set<std::size_t> parts;
    for (Note& each : notes_) {
      if (each.how != How::Join) continue;
      const bool fits = std::all_of(each.operands.begin(), each.operands.end(), [&](std::size_t id) {
        const Value& part = values_[id];
        return part.root == id && part.home == Home::Kept && !part.as_tensor && parts.insert(id).second;
      });
      if (fits) continue;
      each.how = How::Bind;
      all = false;
    }
    if (!all) return false;
    for (const Note& each : notes_) {
      if (each.how == How::Join) join(each);
    }
    return true;
  }
  void join(const Note& noted) {
    std::ptrdiff_t shift = 0;
    for (const std::size_t id : noted.operands) {
      values_[id].joined = noted.results[0];
      values_[id].shift = shift;
      shift += bytes_of(id);
    }
  }
  std::ptrdiff_t bytes_of(std::size_t id) const {
    const Tensor& x = values_[id].tensor;
    return x.numel() * static_cast<std::ptrdiff_t>(size_of(x.dtype()));
  }
  // Whose memory a value lies in, in the end.
  std::size_t home_of(std::size_t id) const {
    std::size_t home = values_[id].root;
    while (values_[home].joined != kNone) home = values_[home].joined;
    return home;
  }

  std::uint32_t number(std::size_t id) {
    Value& value = values_[id];
    if (value.number == kNone) {
      value.number = bound_->tensors_.size();
      bound_->tensors_.emplace_back();
      bound_->is_kept_.push_back(false);
    }
    return static_cast<std::uint32_t>(value.number);
  }
  std::uint32_t memory(std::size_t root) {
    Value& value = values_[root];
    if (value.memory == kNone) {
      value.memory = bound_->bases_.size();
      bound_->bases_.push_back(nullptr);
      if (value.home == Home::InputTensor)
        bound_->inputs_.push_back({value.source, number(root), narrow(value.memory)});
      if (value.home == Home::NewResult) {
        const std::size_t over = value.over;
        bound_->new_results_.push_back({value.tensor.type(), number(root), narrow(value.memory)});
        if (over != kNone) bound_->new_results_.back().over = number(over);
      }
    }
    return narrow(value.memory);
  }
  static std::uint32_t narrow(std::size_t n) { return static_cast<std::uint32_t>(n); }

  // Where a tensor's first element lies, or what is so many bytes from where its memory begins.
  Place place_of(std::size_t id) { return place_at(id, first_byte(id)); }
  Place place_at(std::size_t id, std::ptrdiff_t bytes) {
    std::size_t home = values_[id].root;
    bytes -= first_byte(home);
    for (; values_[home].joined != kNone; home = values_[home].joined) bytes += values_[home].shift;
    return {memory(home), bytes};
  }
  std::ptrdiff_t first_byte(std::size_t id) const {
    const Tensor& x = values_[id].tensor;
    return x.offset() * static_cast<std::ptrdiff_t>(size_of(x.dtype()));
  }

  // Memory of the bound's own: what earlier values had, of which all is read, where it is as much.
  void keep(std::size_t id) {
    Value& value = values_[id];
    if (value.home != Home::Kept || value.number != kNone) return;
    std::vector<Tensor>& free = free_[bytes_of(id)];
    const TensorType type = value.tensor.type();
    Tensor kept;
    if (free.empty()) {
      kept = Tensor::empty(type.sizes, type.dtype, type.device);
    } else {
      kept = Tensor::from_storage(free.back().storage(), value.tensor.layout(), type.dtype);
      free.pop_back();
    }
    bound_->bases_[memory(id)] = kept.storage()->data();
    const std::uint32_t at = number(id);
    bound_->tensors_[at] = std::move(kept);
    bound_->is_kept_[at] = true;
  }
  // What all has been read of: its memory is free for others, or whoever has it may be let go of.
  void release(std::size_t n, bool is_together) {
    const auto give = [&](std::size_t id) {
      const std::size_t home = home_of(id);
      if (values_[home].last_use != n) return;
      const bool leaves = std::any_of(results_.begin(), results_.end(),
                                      [&](std::size_t each) { return home_of(each) == home; });
      if (leaves) return;
      for (const std::size_t each : {id, home}) {
        const std::size_t at = values_[each].number;
        if (at != kNone && !bound_->is_kept_[at]) bound_->released_.push_back(narrow(at));
      }
      Value& value = values_[home];
      if (value.home != Home::Kept || value.number == kNone || value.is_given_back || is_together) return;
      free_[bytes_of(home)].push_back(bound_->tensors_[value.number]);
      value.is_given_back = true;
    };
    for (const std::size_t id : notes_[n].operands) give(id);
    for (const std::size_t id : notes_[n].results) give(id);
  }

  // ---- What the bound does ----

  void emit(std::size_t n, bool is_together) {
    const Note& noted = notes_[n];
    const std::size_t fresh = bound_->new_results_.size(), gone = bound_->released_.size();
    for (const std::size_t id : noted.results) keep(home_of(id));
    std::optional<BoundProgram::Operation> operation = operation_of(noted);
    release(n, is_together);
    // What comes to an end where there is nothing to do does so with the operation before.
    if (!operation && !bound_->operations_.empty())
      bound_->operations_.back().releases.end = narrow(bound_->released_.size());
    if (operation) {
      bound_->operations_.push_back({std::move(*operation),
                                     {narrow(fresh), narrow(bound_->new_results_.size())},
                                     {narrow(gone), narrow(bound_->released_.size())}});
    }
  }

  std::optional<BoundProgram::Operation> operation_of(const Note& noted) {
    switch (noted.how) {
      case How::Alias:
      case How::Join:
        return std::nullopt;
      case How::Kernel:
        return kernel(noted);
      case How::Product:
        return product(noted);
      case How::Copy:
        return BoundProgram::CopyOp{place_of(noted.operands[0]), place_of(noted.results[0]),
                                    static_cast<std::size_t>(bytes_of(noted.results[0]))};
      case How::Into:
        return into(noted);
      case How::View:
        return view(noted);
      case How::Bind:
        break;
    }
    return bound(noted);
  }

  BoundProgram::KernelOp kernel(const Note& noted) {
    const ElementwiseKernel& kernel = *elementwise_kernel_of(*noted.instruction->op);
    BoundProgram::KernelOp op{*unplaced(kernel, noted), kernel.grain(), {}, {}};
    for (const std::size_t id : noted.results) {
      op.writes_over = op.writes_over || values_[id].over != kNone;
      op.is_last_word =
          op.is_last_word || (values_[id].over != kNone && values_[id].root == values_[id].over);
    }
    const ElementRun& run = op.kernel.run;
    const std::vector<Load>& loads = kernel.lowered().passes[0].loads;
    for (std::size_t k = 0; k < loads.size(); ++k)
      op.loads.push_back(
          place_at(noted.operands[static_cast<std::size_t>(loads[k].input)], run.load_bytes(k)));
    for (std::size_t k = 0; k < noted.results.size(); ++k)
      op.stores.push_back(place_at(noted.results[k], run.output_bytes(k)));
    return op;
  }
  BoundProgram::ProductOp product(const Note& noted) {
    const std::size_t a = noted.operands[0], b = noted.operands[1];
    BoundProgram::ProductOp op{
        *cpu::PlacedProduct::of(values_[a].tensor, values_[b].tensor), {place_of(a)}, place_of(b), {}};
    for (auto each = noted.operands.begin() + 2; each != noted.operands.end(); ++each)
      op.left.push_back(place_of(*each));
    for (const std::size_t id : noted.results) op.results.push_back(place_of(id));
    return op;
  }
  BoundProgram::IntoOp into(const Note& noted) {
    BoundProgram::IntoOp op{noted.instruction->op, noted.instruction->attrs, {}, 0};
    for (const std::size_t id : noted.operands) op.operands.push_back(tensor_of(id));
    memory(noted.results[0]);
    op.result = number(noted.results[0]);
    return op;
  }
  BoundProgram::ViewOp view(const Note& noted) {
    return {moving(noted), place_of(noted.operands[0]), memory(noted.results[0])};
  }
  BoundProgram::BindOp bound(const Note& noted) {
    BoundProgram::BindOp op{noted.instruction->op, noted.instruction->attrs, {}, {}};
    for (const std::size_t id : noted.operands) op.operands.push_back(tensor_of(id));
    for (const std::size_t id : noted.results) {
      op.results.push_back({number(id)});
      if (values_[id].root == id) op.results.back().memory = memory(id);
    }
    if (is_view(*noted.instruction) && follows_symbols(program_, *noted.instruction)) moving(noted);
    return op;
  }
  // That it lies as it does now is seen to before each call.
  std::uint32_t moving(const Note& noted) {
    const Tensor& from = values_[noted.operands[0]].tensor;
    const Tensor& to = values_[noted.results[0]].tensor;
    BoundProgram::SymbolicView made{noted.instruction->op, noted.instruction->attrs, from.layout(),
                                    to.layout(), static_cast<std::ptrdiff_t>(size_of(to.dtype()))};
    made.from.offset = 0;
    bound_->symbolic_views_.push_back(std::move(made));
    return narrow(bound_->symbolic_views_.size() - 1);
  }
  // The tensor of an operand: of what arrives, too.
  std::uint32_t tensor_of(std::size_t id) {
    if (values_[id].root == id) memory(id);
    return number(id);
  }
  // What could fail comes before the first write over an argument.
  void make_before_writes() {
    auto& operations = bound_->operations_;
    const auto first =
        std::find_if(operations.begin(), operations.end(), [](const BoundProgram::Scheduled& each) {
          const auto* const kernel = std::get_if<BoundProgram::KernelOp>(&each.operation);
          return kernel != nullptr && kernel->is_last_word;
        });
    if (first == operations.end()) return;
    first->begins.end = operations.back().begins.end;
    for (auto each = first + 1; each != operations.end(); ++each) each->begins = {};
  }

  void share_out_together() {
    for (std::size_t n = bound_->together_; n < bound_->operations_.size(); ++n) {
      const auto& op = std::get<BoundProgram::KernelOp>(bound_->operations_[n].operation);
      bound_->pieces_.add(op.kernel.run, op.kernel.count, op.unit(), op.grain, op.writes_over);
    }
  }

  std::unique_ptr<BoundProgram> finish(bool some_together) {
    if (!some_together) bound_->together_ = bound_->operations_.size();
    share_out_together();
    for (const std::size_t id : results_) bound_->outputs_.push_back(tensor_of(id));
    bound_->written_ = written_;
    make_before_writes();
    for (const Tensor& each : arguments_) {
      bound_->types_.push_back(each.type());
      bound_->strides_.push_back(each.strides());
    }
    return std::move(bound_);
  }

  const Graph& graph_;
  const Program& program_;
  const Specialization specialization_;
  const Inputs arguments_;
  std::vector<std::size_t> frame_;  // values, by slot
  std::map<std::pair<Table, std::uint32_t>, std::size_t> inputs_;
  std::vector<Value> values_;
  std::vector<Note> notes_;
  std::vector<std::size_t> results_;
  std::ptrdiff_t bytes_ = 0;
  std::vector<std::uint32_t> written_;                  // arguments
  std::vector<Write> writes_;                           // over some of these
  std::map<std::ptrdiff_t, std::vector<Tensor>> free_;  // by bytes
  std::unique_ptr<BoundProgram> bound_ = std::make_unique<BoundProgram>();
};

std::unique_ptr<BoundProgram> BoundProgram::make(const Graph& graph, const Program& program,
                                                 Specialization specialization, Inputs arguments) {
  return Binder(graph, program, specialization, arguments).run();
}

}  // namespace kiln::jit
