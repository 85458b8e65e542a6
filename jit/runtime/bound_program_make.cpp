// How addresses are filled in: types and layouts go through the program, no elements do.
#include <algorithm>
#include <map>
#include <set>

#include "jit/runtime/bound_program.h"
#include "jit/runtime/bound_program_notes.h"
#include "tensor/core_ops.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

constexpr std::ptrdiff_t kMostBytes = 1 << 20;  // of all values that a call makes
constexpr std::ptrdiff_t kFewBytes = 1 << 14;   // that one thread copies as fast as several

std::uint32_t narrow(std::size_t n) { return static_cast<std::uint32_t>(n); }

}  // namespace

// What may lie where, and for how long, the program says: here it becomes addresses.
class Binder {
 public:
  Binder(const Graph& graph, const Program& program, const Specialization& specialization, Inputs arguments)
      : graph_(graph),
        program_(program),
        specialization_(specialization),
        arguments_(arguments),
        values_(program.frame_size + specialization.prebuilt.size()),
        is_early_(values_.size(), false),
        ends_(program.frame_size, 0) {
    for (std::size_t i = 0; i < arguments.size(); ++i) arrive(i, arguments[i]);
    for (std::size_t i = 0; i < specialization.prebuilt.size(); ++i)
      arrive(program.frame_size + i, specialization.prebuilt[i]);
    bound_->frame_.resize(program.frame_size);
    bound_->launch_ = program.launch;
  }

  std::unique_ptr<BoundProgram> run() {
    for (const Program::Instruction& each : program_.computing()) note(each);
    const auto last = std::span(notes_).subspan(program_.launch);
    const auto is_kernel = [](const Note& each) { return each.how == How::Kernel; };
    bound_->runs_together_ = !last.empty() && std::ranges::all_of(last, is_kernel);
    // A launch that writes to arguments must not be interrupted halfway. Only kernels, which run together,
    // promise that.
    const bool writes_all = written_ == program_.effects.size();
    if (bytes_ > kMostBytes || !writes_all || (written_ > 0 && !bound_->runs_together_)) return nullptr;
    choose();
    find_ends();
    share_matrices(notes_, values_, is_early_, program_.launch);
    for (std::size_t n = 0; n < notes_.size(); ++n) emit(n);
    finish();
    return std::move(bound_);
  }

 private:
  using Place = BoundProgram::Place;
  using Step = BoundProgram::Step;
  using Way = BoundProgram::Way;
  static constexpr std::size_t kNone = kNoBoundValue;
  using Home = StoredAt;
  using Value = BoundValue;
  using How = BoundKind;
  using Note = BoundNote;

  // ---- The values: of the frame by their numbers, then what is prebuilt ----

  void arrive(std::size_t id, const Tensor& x) {
    values_[id].tensor = x;
    values_[id].root = id;
    values_[id].home = Home::Arriving;
  }
  std::size_t value_of(Source source) const {
    return source.index + (source.table == Table::Prebuilt ? program_.frame_size : 0);
  }
  // The program says that the value is still in use after the call: its memory cannot be used again.
  bool leaves(std::size_t id) const { return program_.buffer(static_cast<ValueId>(id)).leaves; }
  std::size_t buffer_of(std::size_t id) const { return static_cast<std::size_t>(program_.buffer_of[id]); }

  void note(const Program::Instruction& instruction) {
    const bool is_view = instruction.kind == Program::Instruction::Kind::TakeView;
    const bool is_alias = is_view && !follows_symbols(program_, instruction);
    Note noted{&instruction, {}, {}};
    for (const Source each : program_.sources(instruction.operands)) noted.operands.push_back(value_of(each));
    const Tensors made = results_of(instruction, noted.operands);
    for (std::uint32_t k = 0; k < made.size(); ++k) {
      const std::size_t id = program_.of(instruction.results)[k];
      Value& value = values_[id];
      value.tensor = made[k];
      value.root = is_alias ? values_[noted.operands[0]].root : id;
      value.home = is_view ? Home::Within : Home::Kept;
      noted.results.push_back(id);
      if (!is_view) bytes_ += bytes_of(id);
    }
    if (is_view && !is_alias) find_early(noted);
    noted.how = is_alias ? How::Alias : is_view ? How::View : way_of(noted);
    for (std::uint32_t k = 0; k < noted.results.size(); ++k) take_over(noted, k);
    notes_.push_back(std::move(noted));
  }
  // A view of what arrives is known when the call begins.
  void find_early(const Note& view) {
    const std::size_t of = values_[view.operands[0]].root;
    is_early_[view.results[0]] = values_[of].home == Home::Arriving || is_early_[of];
  }

  // What the program would write it over. What becomes the elements of an argument is made there.
  void take_over(const Note& noted, std::uint32_t k) {
    const Range over = noted.instruction->over;
    if (over.empty() || !program_.over[over.begin + k]) return;
    const Source source = *program_.over[over.begin + k];
    Value& result = values_[noted.results[k]];
    result.over = value_of(source);
    if (source.table != Table::Argument) return;
    if (noted.how != How::Kernel || !may_lie_at(noted, k, result.over)) return;
    bytes_ -= bytes_of(noted.results[k]);
    result.root = result.over;
    result.home = Home::Within;
    bound_->written_.push_back({source.index, narrow(noted.results[k])});
    ++written_;
  }

  // May the kernel's result be written where that value lies, which nothing else is read of?
  bool may_lie_at(const Note& noted, std::size_t k, std::size_t id) const {
    const Value& over = values_[id];
    if (over.tensor.type() != values_[noted.results[k]].tensor.type() || !over.tensor.is_contiguous())
      return false;
    const auto operand = std::ranges::find(noted.operands, id) - noted.operands.begin();
    const bool is_operand = operand < static_cast<std::ptrdiff_t>(noted.operands.size());
    const std::size_t none = noted.operands.size();
    return reads_of(noted, id) == (is_operand ? 1 : 0) &&
           noted.instruction->kernel->may_write_over(*unplaced(noted), k,
                                                     is_operand ? static_cast<std::size_t>(operand) : none);
  }
  std::ptrdiff_t reads_of(const Note& noted, std::size_t root) const {
    return std::ranges::count_if(noted.operands,
                                 [&](std::size_t each) { return values_[each].root == root; });
  }
  Tensors results_of(const Program::Instruction& instruction,
                     const std::vector<std::size_t>& operands) const {
    if (instruction.kind == Program::Instruction::Kind::TakeView)
      return kiln::bind(*instruction.op, {&values_[operands[0]].tensor, 1},
                        *specialization_.attrs[instruction.attrs]);
    Tensors made;
    for (const ValueId id : instruction.node->outputs) {
      const TensorType type = evaluate(graph_.values[static_cast<std::size_t>(id)].type, {});
      made.push_back(Tensor::without_elements(type.sizes, type.dtype, type.device));
    }
    return made;
  }

  How way_of(const Note& noted) const {
    const Op& op = *noted.instruction->op;
    const auto tensor = [this](std::size_t id) -> const Tensor& { return values_[id].tensor; };
    const auto is_empty = [&](std::size_t id) { return tensor(id).numel() == 0; };
    if (std::ranges::any_of(noted.results, is_empty)) return How::ByTensors;
    if (noted.instruction->kind == Program::Instruction::Kind::RunKernel)
      return noted.instruction->kernel != nullptr && unplaced(noted) ? How::Kernel : How::ByTensors;
    if (&op == &core_ops().matmul &&
        cpu::PlacedProduct::of(tensor(noted.operands[0]), tensor(noted.operands[1])))
      return How::Product;
    if (&op == &core_ops().cat && may_join(noted)) return How::Join;
    if (&op == &core_ops().clone && tensor(noted.operands[0]).is_contiguous() &&
        bytes_of(noted.results[0]) <= kFewBytes)
      return How::Copy;
    const bool is_into = op.pointwise != nullptr && noted.results.size() == 1;
    return is_into ? How::Into : How::ByTensors;
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

  std::optional<ElementwiseKernel::Unplaced> unplaced(const Note& noted) const {
    std::vector<Tensor> inputs;
    for (const std::size_t id : noted.operands) inputs.push_back(values_[id].tensor);
    return noted.instruction->kernel->unplaced(
        inputs, specialization_.attrs[noted.instruction->attrs]->get<Dims>("symbols"));
  }

  // ---- Which values are tensors, and which lie in others ----

  void choose() {
    for (const Program::Output& each : program_.outputs) {
      if (each.source.table != Table::Frame) continue;
      const std::size_t id = each.source.index;
      Value& shown = values_[buffer_of(id)];
      if (shown.home == Home::Kept) shown.home = Home::NewResult;
      values_[id].as_tensor = true;
    }
    do {
      find_tensors();
    } while (!join_all());
    for (const Note& each : notes_) {
      for (std::size_t k = 0; k < each.results.size(); ++k) {
        Value& result = values_[each.results[k]];
        if (result.over != kNone && result.root != result.over && !may_go_over(each, k)) result.over = kNone;
      }
    }
  }

  // The last first: a view that is a tensor is of a tensor.
  void find_tensors() {
    for (auto each = notes_.rbegin(); each != notes_.rend(); ++each) {
      const bool is_view = each->instruction->kind == Program::Instruction::Kind::TakeView;
      const bool as_tensors =
          std::ranges::any_of(each->results, [this](std::size_t id) { return values_[id].as_tensor; });
      if (as_tensors && is_view) each->how = How::ByTensors;
      if (each->how == How::ByTensors && !is_view) {
        for (const std::size_t id : each->results) values_[id].home = Home::Made;
      }
      if (each->how != How::Into && each->how != How::ByTensors) continue;
      for (const std::size_t id : each->operands) values_[id].as_tensor = true;
      for (const std::size_t id : each->results) values_[id].as_tensor = true;
    }
  }

  // The program says that no later instruction reads the argument. This asks whether the instruction that
  // writes over it reads each element only where it is written.
  bool may_go_over(const Note& noted, std::size_t k) const {
    const Value& result = values_[noted.results[k]];
    const Value& over = values_[result.over];
    if (over.home != Home::Arriving || over.root != result.over || result.home != Home::NewResult ||
        result.joined != kNone || over.tensor.type() != result.tensor.type() || !over.tensor.is_contiguous())
      return false;
    const bool is_operand = std::ranges::find(noted.operands, result.over) != noted.operands.end();
    if (!is_operand) return false;
    return noted.how == How::Into ? reads_of(noted, result.over) == 1
                                  : noted.how == How::Kernel && may_lie_at(noted, k, result.over);
  }

  // False: some operands are tensors of their own, leave the call, or are in another block: these are joined
  // as ever.
  bool join_all() {
    bool all = true;
    std::set<std::size_t> parts;
    for (Note& each : notes_) {
      if (each.how != How::Join) continue;
      const bool fits = std::ranges::all_of(each.operands, [&](std::size_t id) {
        const Value& part = values_[id];
        return part.root == id && part.home == Home::Kept && !part.as_tensor && parts.insert(id).second;
      });
      if (fits) continue;
      each.how = How::ByTensors;
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

  // ---- Where values lie ----

  // Whose memory a value lies in, in the end.
  std::size_t home_of(std::size_t id) const {
    std::size_t home = values_[id].root;
    while (values_[home].joined != kNone) home = values_[home].joined;
    return home;
  }
  std::uint32_t memory(std::size_t root) {
    Value& value = values_[root];
    if (value.memory == kNone) {
      value.memory = bound_->bases_.size();
      bound_->bases_.push_back(nullptr);
      if (value.home == Home::Arriving) bound_->arriving_.push_back({source_of(root), narrow(value.memory)});
    }
    return narrow(value.memory);
  }
  Source source_of(std::size_t arriving) const {
    const std::size_t frame = program_.frame_size;
    return arriving < frame ? Source{Table::Argument, narrow(arriving)}
                            : Source{Table::Prebuilt, narrow(arriving - frame)};
  }

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

  // Memory for a value before it, or the first part of it, is made: in each call for what leaves, else of the
  // bound program's own, which earlier values had that are dead by now.
  void provide(std::size_t id) {
    Value& value = values_[id];
    if (value.is_placed || (value.home != Home::Kept && value.home != Home::NewResult)) return;
    value.is_placed = true;
    if (value.home == Home::Kept) return keep(id);
    bound_->new_results_.push_back({value.tensor.type(), narrow(id), memory(id)});
    if (value.over != kNone) bound_->new_results_.back().over = narrow(value.over);
  }
  void keep(std::size_t id) {
    std::vector<Tensor>& free = free_[bytes_of(id)];
    const Tensor& like = values_[id].tensor;
    Tensor& kept = bound_->frame_[id];
    if (free.empty()) {
      kept = Tensor::empty(like.sizes(), like.dtype(), like.device());
    } else {
      kept = Tensor::from_storage(free.back().storage(), like.layout(), like.dtype());
      free.pop_back();
    }
    bound_->bases_[memory(id)] = kept.storage()->data();
  }
  // Parts are there as long as the whole.
  void find_ends() {
    for (std::size_t id = 0; id < program_.frame_size; ++id) {
      std::size_t& end = ends_[values_[id].joined == kNone ? id : home_of(id)];
      end = std::max<std::size_t>(end, program_.buffer(static_cast<ValueId>(id)).dies);
    }
  }
  // Of what dies with the instruction, the memory is free for others.
  void reclaim(std::size_t n) {
    if (bound_->runs_together_ && n >= program_.launch) return;
    const auto give = [&](std::size_t id) {
      if (values_[buffer_of(id)].root == kNone) return;  // a constant that is prebuilt
      const std::size_t home = home_of(buffer_of(id));
      Value& value = values_[home];
      if (value.home != Home::Kept || !value.is_placed || value.is_free || ends_[home] != n) return;
      free_[bytes_of(home)].push_back(bound_->frame_[home]);
      value.is_free = true;
    };
    for (const std::size_t id : notes_[n].operands) {
      if (id < program_.frame_size) give(id);
    }
    for (const std::size_t id : notes_[n].results) give(id);
  }

  // ---- The steps ----

  void emit(std::size_t n) {
    const Note& noted = notes_[n];
    Step step;
    const std::size_t made = bound_->new_results_.size(), found = bound_->found_results_.size();
    if (!noted.is_shared) {
      for (const std::size_t id : noted.results) provide(home_of(id));
      fill(step, noted);
    }
    reclaim(n);
    step.makes = {narrow(made), narrow(bound_->new_results_.size())};
    step.finds = {narrow(found), narrow(bound_->found_results_.size())};
    bound_->steps_.push_back(step);
  }

  void fill(Step& step, const Note& noted) {
    switch (noted.how) {
      case How::Alias:
      case How::Join:
        return;
      case How::Kernel:
        step.kernel = add(bound_->kernels_, kernel(noted));
        return;
      case How::Product:
        step.product = add(bound_->products_, product(noted));
        return;
      case How::Copy:
        step.copy = add(bound_->copies_, {place_of(noted.operands[0]), place_of(noted.results[0]),
                                          static_cast<std::size_t>(bytes_of(noted.results[0]))});
        return;
      case How::View:
        step.view = view(noted, true);
        if (is_early_[noted.results[0]]) step.view = -1;
        return;
      case How::Into:
        step.way = Way::IntoGiven;
        return;
      case How::ByTensors:
        step.way = Way::ByTensors;
        by_tensors(noted);
    }
  }
  template <class T>
  static std::int32_t add(std::vector<T>& steps, T step) {
    steps.push_back(std::move(step));
    return static_cast<std::int32_t>(steps.size()) - 1;
  }

  BoundProgram::KernelStep kernel(const Note& noted) {
    const ElementwiseKernel& kernel = *noted.instruction->kernel;
    BoundProgram::KernelStep step{*unplaced(noted), kernel.grain(), {}, {}};
    for (const std::size_t id : noted.results)
      step.writes_over = step.writes_over || values_[id].over != kNone;
    const ElementRun& run = step.kernel.run;
    const std::vector<Load>& loads = kernel.lowered().passes[0].loads;
    for (std::size_t k = 0; k < loads.size(); ++k)
      step.loads.push_back(
          place_at(noted.operands[static_cast<std::size_t>(loads[k].input)], run.load_bytes(k)));
    for (std::size_t k = 0; k < noted.results.size(); ++k)
      step.stores.push_back(place_at(noted.results[k], run.output_bytes(k)));
    return step;
  }
  BoundProgram::ProductStep product(const Note& noted) {
    const std::size_t a = noted.operands[0], b = noted.operands[1];
    BoundProgram::ProductStep step{
        *cpu::PlacedProduct::of(values_[a].tensor, values_[b].tensor), {place_of(a)}, place_of(b), {}};
    for (auto each = noted.operands.begin() + 2; each != noted.operands.end(); ++each)
      step.left.push_back(place_of(*each));
    for (const std::size_t id : noted.results) step.results.push_back(place_of(id));
    return step;
  }
  // That it lies as it does now is seen to before each call. `has_place`: elements are read there.
  std::int32_t view(const Note& noted, bool has_place) {
    const Tensor& from = values_[noted.operands[0]].tensor;
    const Tensor& to = values_[noted.results[0]].tensor;
    BoundProgram::ViewStep step{noted.instruction->op, noted.instruction->attrs, from.layout(), to.layout(),
                                static_cast<std::ptrdiff_t>(size_of(to.dtype()))};
    step.from.offset = 0;
    if (has_place) {
      step.of = place_of(noted.operands[0]);
      step.memory = memory(noted.results[0]);
    }
    const std::int32_t at = add(bound_->views_, std::move(step));
    if (has_place && is_early_[noted.results[0]])
      bound_->early_views_.push_back(static_cast<std::uint32_t>(at));
    return at;
  }
  void by_tensors(const Note& noted) {
    const bool is_view = noted.instruction->kind == Program::Instruction::Kind::TakeView;
    const bool is_early = is_view && is_early_[noted.results[0]];
    if (is_view && follows_symbols(program_, *noted.instruction)) view(noted, is_early);
    if (is_early) return;
    for (const std::size_t id : noted.results) {
      if (values_[id].root == id) bound_->found_results_.push_back({narrow(id), memory(id)});
    }
  }

  // ---- The end ----

  void finish() {
    release();
    for (std::size_t n = program_.launch; n < notes_.size() && bound_->runs_together_; ++n) {
      const auto& step = bound_->kernels_[static_cast<std::size_t>(bound_->steps_[n].kernel)];
      bound_->pieces_.add(step.kernel.run, step.kernel.count, step.unit(), step.grain, step.writes_over);
    }
    for (const Tensor& each : arguments_) {
      bound_->types_.push_back(each.type());
      bound_->strides_.push_back(each.strides());
    }
  }

  // What is put into the frame by a call is released when it dies, and by the end at the latest.
  void release() {
    std::vector<std::vector<std::uint32_t>> dying(notes_.size());
    for (std::size_t id = 0; id < program_.frame_size; ++id) {
      const Value& value = values_[id];
      const bool is_taken = value.home == Home::Arriving && program_.takes_arguments;
      const bool is_put = is_taken || value.home == Home::NewResult ||
                          (value.as_tensor && (value.home == Home::Made || value.home == Home::Within));
      const bool is_written = value.home == Home::Within && value.over != kNone && value.root == value.over;
      if (!is_put && !is_written) continue;
      bound_->passing_.push_back(narrow(id));
      const Program::Buffer& buffer = program_.buffer(static_cast<ValueId>(id));
      if (!is_written && !buffer.leaves) dying[buffer.dies].push_back(narrow(id));
    }
    for (std::size_t n = 0; n < notes_.size(); ++n) {
      Range& range = bound_->steps_[n].releases;
      range.begin = narrow(bound_->released_.size());
      bound_->released_.insert(bound_->released_.end(), dying[n].begin(), dying[n].end());
      range.end = narrow(bound_->released_.size());
    }
  }

  const Graph& graph_;
  const Program& program_;
  const Specialization& specialization_;
  const Inputs arguments_;
  std::vector<Value> values_;
  std::vector<bool> is_early_;     // by value: a view of what arrives, that follows symbols
  std::vector<std::size_t> ends_;  // by value: the instruction with which its memory dies
  std::vector<Note> notes_;
  std::ptrdiff_t bytes_ = 0;
  std::size_t written_ = 0;                             // arguments
  std::map<std::ptrdiff_t, std::vector<Tensor>> free_;  // by bytes
  std::unique_ptr<BoundProgram> bound_ = std::make_unique<BoundProgram>();
};

std::unique_ptr<BoundProgram> BoundProgram::make(const Graph& graph, const Program& program,
                                                 const Specialization& specialization, Inputs arguments) {
  return Binder(graph, program, specialization, arguments).run();
}

}  // namespace kiln::jit
