#include "interpreter/capture/tracer.h"

#include <algorithm>
#include <utility>

#include "interpreter/capture/compiled.h"
#include "interpreter/capture/hot.h"
#include "interpreter/capture/observe.h"
#include "interpreter/capture/stages.h"
#include "interpreter/shadow.h"
#include "interpreter/vm/registers.h"
#include "jit/graph/reader.h"
#include "tensor/autograd.h"
#include "tensor/fast_math.h"

namespace kiln::interp::capture {
namespace {

// An entry ends where it becomes longer than this, since loops are unrolled, and may be long.
constexpr std::size_t kMostInstructions = 200'000;
constexpr std::size_t kMostNodes = 4'000;
constexpr std::size_t kMostHostInstructions = 20'000;  // without any op
constexpr std::size_t kFewHostInstructions = 600;      // the same, where captures mostly meet no op
constexpr std::size_t kMostUnrolled = 1'000;           // nodes of one loop
constexpr std::size_t kMostIndependent = 1'500;        // nodes of one loop whose iterations may run together

// An instruction takes a hundred times as long while it is noted. So a function whose captures come to
// nothing has that many of them in all, and then a few in each further capture.
std::size_t most_host_instructions(const Compiled* compiled) {
  if (compiled == nullptr) return kMostHostInstructions;
  const std::size_t left = kMostHostInstructions - std::min(compiled->in_vain, kMostHostInstructions);
  return std::max(left, kFewHostInstructions);
}

std::string graph_name(const Code& code) {
  std::string name = code.name.empty() ? "main" : code.name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace

std::string value_name(const std::string& text) {
  std::string name;
  for (std::size_t at = text.size(); at-- > 0;) {
    const char c = text[at];
    if (jit::is_word_byte(c)) {
      name.insert(name.begin(), text[at]);
    } else if (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0) {
      break;
    } else if (c == '.') {
      name.clear();
    }
  }
  while (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0) name.erase(0, 1);
  return name;
}

Tracer::Tracer(Vm& vm, const Region& region, const Varying& varying)
    : vm_(vm),
      region_(region),
      base_(region.base),
      innermost_(vm.frame()),
      lowest_(vm.frame()),
      first_slot_(base_->base - 1),
      varying_(varying),
      recorder_(graph_name(*vm.frame()->code), [this](const Tensor& x) { return find_input(x); }),
      most_host_instructions_(most_host_instructions(base_->code->compiled.get())),
      records_gradients_(grad_enabled()),
      tape_began_(tape::next_sequence()) {
  for (Frame* frame = innermost_; frame >= base_; --frame) {
    entry_frames_.emplace_back(frame->code, frame->place());
    entry_bases_.push_back(frame->base);
    owners_.push_back(frame->function->owner);
    Source source;
    source.kind = Source::Kind::FrameFunction;
    source.index = innermost_ - frame;
    source.text = frame->code->name;
    const Value function{static_cast<Object*>(const_cast<Function*>(frame->function))};
    known_.try_emplace(function.object(), OutsideValue{function, sources_.add(std::move(source))});
  }
  untouched_.assign(static_cast<std::size_t>(innermost_->base + innermost_->code->registers - first_slot_),
                    true);
  Guard modes;
  modes.kind = Guard::Kind::Modes;
  modes.value = Value(records_gradients_);
  modes.number = modes_number();
  guards_.push_back(std::move(modes));
}

Tracer::~Tracer() = default;

std::optional<jit::Recorder::InputInfo> Tracer::find_input(const Tensor& x) {
  const auto known = known_.find(x.impl());
  if (known == known_.end()) return std::nullopt;
  const Source& source = sources_[known->second.source];
  using Kind = Source::Kind;
  jit::Recorder::InputInfo found;
  const Source* whole = &source;  // the container that an item was found in
  while (whole->kind == Kind::Item || whole->kind == Kind::Key) whole = &sources_[whole->parent];
  found.role = whole->kind == Kind::Register                              ? jit::Role::Argument
               : source.kind == Kind::Field || source.kind == Kind::Extra ? jit::Role::Parameter
                                                                          : jit::Role::Captured;
  found.name = value_name(source.text);
  return found;
}

void Tracer::stop(std::string reason, End end) {
  if (!stop_.empty()) return;
  stop_ = std::move(reason);
  end_ = end;
  stop_span_ = vm_.frame()->code->span(vm_.frame()->place());
}

void Tracer::stop_at_layout() {
  asks_layout_ = true;
  stop("the layout of a tensor is asked for");
}

void Tracer::stop_reading(std::string reason) {
  if (!recorder_.in_application()) return stop(std::move(reason));
  recorder_.stop_noting(reason);
}

void Tracer::give_up(std::string reason) {
  given_up_ = true;
  recorder_.stop_noting(reason);
  stop(std::move(reason));
}

// Nodes are noted as of this place.
void Tracer::set_place(const lang::Span& span) {
  if (span.file == nullptr) return;
  const lang::LineColumn at = span.file->locate(span.begin);
  if (span.file != file_) file_text_ = span.file->name();
  file_ = span.file;
  recorder_.set_place({file_text_, static_cast<int>(at.line), static_cast<int>(at.column), false});
}

// Called before the machine runs its next instruction. False when capture ends here.
bool Tracer::before_instruction() {
  Frame& frame = *vm_.frame();
  if (!compiling()) stop("nothing is compiled within no_compile");
  gradients_to_change_.clear();
  undo_.clear();
  differentiates_now_ = false;
  const std::size_t nodes = recorder_.mark().nodes;
  if (++instructions_ > (nodes == 0 ? most_host_instructions_ : kMostInstructions) || nodes > kMostNodes ||
      &frame - base_ > kDeepestCall) {
    stop("the graph grew too long", End::TooLong);
    return false;
  }
  const std::size_t pc = frame.place();
  if (nested_ == 0 && !follow_loops(frame, pc)) return false;
  set_place(frame.code->span(pc));
  each_read(*frame.code, pc, [&](std::uint32_t r) { use_register(r); });
  Observer observer(*this, frame);
  observer.look();
  if (!is_stopped()) observer.follow_numbers();
  if (is_stopped()) return false;
  current_code_ = frame.code;
  current_pc_ = pc;
  current_base_ = frame.base;
  return true;
}

// Does the loop whose body begins here run as a flow graph?
bool Tracer::runs_as_flow(const Frame& frame, std::size_t pc) const {
  const std::shared_ptr<FlowPlace> place = followed_at(*frame.code, pc);
  return place != nullptr && place->ends_entries() && levels::top == &recorder_ &&
         allows_flows(base_->code->compiled->options) &&
         (!records_gradients_ || place->records() || !place->requires_gradients(frame));
}

// Follows the begins and iterations of loops. False when capture ends because of one.
bool Tracer::follow_loops(const Frame& frame, std::size_t pc) {
  const bool comes_around = instructions_ > 1 && is_own_top(frame, pc);
  if (comes_around && is_last_iteration()) {
    all_iterations_ = true;
    stop("a loop came around", End::CameAround);
    return false;
  }
  if (&frame == base_ && !region_.contains(pc)) {
    stop("the loop is left", End::LeftLoop);
    return false;
  }
  const auto is_done = [&](const Unrolled& each) {
    return each.frame > &frame || (each.frame == &frame && !each.loop.contains(pc));
  };
  while (!unrolled_.empty() && is_done(unrolled_.back())) unrolled_.pop_back();
  if (comes_around) {
    ++iteration_;
    return true;
  }
  const Loop* loop = frame.code->loops().at(pc);
  if (loop == nullptr || instructions_ == 1) return true;
  const std::size_t nodes = recorder_.mark().nodes;
  if (unrolled_.empty() || unrolled_.back().frame != &frame || unrolled_.back().loop.top != pc) {
    if (runs_as_flow(frame, pc)) {
      stop("a loop runs as machine code", End::LongLoop);
      return false;
    }
    unrolled_.push_back({&frame, *loop, {nodes}, instructions_, false, {}, finish(take_snapshot())});
    return true;
  }
  unrolled_.back().came_around = true;
  unrolled_.back().iterations.push_back(nodes);
  const auto is_too_long = [&](Unrolled& each) {
    if (!each.came_around) return false;
    const std::size_t unrolled = nodes - each.iterations[0];
    if (unrolled == 0) return instructions_ - each.instructions > most_host_instructions_ / 2;
    if (unrolled <= kMostUnrolled) return false;
    if (!each.follow) each.follow = recorder_.iterations_follow(each.iterations);
    return *each.follow || unrolled > kMostIndependent;
  };
  const auto found = std::find_if(unrolled_.begin(), unrolled_.end(), is_too_long);
  if (found == unrolled_.end()) return true;
  long_loop_ = static_cast<std::size_t>(found - unrolled_.begin());
  stop("a loop is too long to be unrolled", End::LongLoop);
  return false;
}

void Tracer::after_instruction() {
  Frame* now = vm_.frame();
  const Opcode op = current_code_->opcode_at(current_pc_);
  if (followed_at_) {
    if (SymbolicRun* run = SymbolicRun::current()) run->scope().forget_guards(*followed_at_);
    followed_at_.reset();
  }
  const auto touch = [&](const Value* from, const Value* to) {
    for (const Value* r = from; r < to; ++r) {
      const std::size_t slot = slot_of(r);
      if (slot < untouched_.size()) untouched_[slot] = false;
      if (!shadows_.empty()) shadows_.erase(r);
      if (!loop_numbers_.empty()) loop_numbers_.erase(r);
    }
  };
  if (!recorder_.expected.empty()) forget_expected();
  if (handed_ && !handed_->is_taken) fix_handed();
  handed_.reset();
  if (differentiates_now_ || !gradients_to_change_.empty()) note_gradients();
  const bool called = now->base > current_base_;
  if (op == Opcode::Return || op == Opcode::ReturnNone) {
    touch(current_base_ - 1,
          std::max<const Value*>(first_slot_ + untouched_.size(), current_base_ + current_code_->registers));
    set_pending();
    if (nested_ == 0) lowest_ = std::min(lowest_, now);
    return;
  }
  const Instruction& i = current_code_->instructions[current_pc_];
  if (op == Opcode::MakeFunction) {
    const Value& made = current_base_[i.a];
    made_functions_.emplace(static_cast<const void*>(made.object()), made);
  }
  const Value* const behind_arguments = current_base_ + i.a + 1 + i.b;
  each_write(*current_code_, current_pc_, [&](std::uint32_t r) {
    // The arguments of an entered call are registers of the callee; the callee's other registers are new.
    const Value* at = current_base_ + r;
    if (called && at >= now->base && at < behind_arguments) {
      if (const std::size_t slot = slot_of(at); slot < untouched_.size()) untouched_[slot] = false;
      return;
    }
    touch(at, at + 1);
  });
  set_pending();
  name_result();
}

void Tracer::set_pending() {
  for (const auto& [r, id] : pending_) {
    if (id >= 0) shadows_[r] = id;
  }
  pending_.clear();
  for (auto& [r, parts] : pending_parts_) {
    if (r->is(Tag::Tuple) || r->is(Tag::Slice)) part_shadows_[r->object()] = {*r, std::move(parts)};
    if (!r->is(Tag::List)) continue;
    for (std::size_t k = 0; k < parts.size(); ++k) keep_number(*r, static_cast<std::int64_t>(k), parts[k]);
  }
  pending_parts_.clear();
}

// Names the instruction's result after the variable it was assigned to.
void Tracer::name_result() {
  const std::string_view letters = operands(current_code_->opcode_at(current_pc_));
  if (letters.empty() || letters[0] != 'w') return;
  const std::uint32_t r = current_code_->instructions[current_pc_].a;
  const auto locals = current_code_->function->locals;
  const Value& v = current_base_[r];
  if (r < locals.size() && v.is(Tag::Tensor)) recorder_.set_name(v.tensor(), std::string(locals[r]));
}

// Can an instruction that capture may contain end it all the same, by an op that cannot be noted, or by
// reading a tensor's elements?
bool Tracer::may_stop() const {
  const Frame& frame = *vm_.frame();
  const Value* r = frame.base;
  const Instruction& i = *frame.pc;
  switch (frame.code->opcode_at(frame.place())) {
    case Opcode::LoadConstant:
    case Opcode::LoadInt:
    case Opcode::LoadNone:
    case Opcode::LoadBool:
    case Opcode::LoadEllipsis:
    case Opcode::Copy:
    case Opcode::Take:
    case Opcode::Drop:
    case Opcode::Jump:
    case Opcode::Loop:
    case Opcode::Return:
    case Opcode::ReturnNone:
    case Opcode::GetGlobal:
    case Opcode::GetPrelude:
      return false;
    case Opcode::Call:
      return !r[i.a].is(Tag::Function);
    default:
      break;
  }
  const std::string_view letters = operands(frame.code->opcode_at(frame.place()));
  if (letters != "wrr" && letters != "wri" && letters != "rrj" && letters != "rij") return true;
  bool any = false;
  each_read(*frame.code, frame.place(), [&](std::uint32_t k) { any = any || !r[k].is_number(); });
  return any;
}

Tracer::Outcome Tracer::run() {
  struct Settled {
    jit::Recorder& recorder;
    ~Settled() {
      recorder.settle();
      followed_numbers = nullptr;
    }
  };
  shadow::need_run();
  Outcome outcome;
  const Settled settled{recorder_};
  const Watch watch(vm_, this);
  if (varying_.iterations > 1) begin_iterations();
  for (;;) {
    outcome.code = vm_.frame()->code;
    outcome.place = vm_.frame()->place();
    guards_before_ = guards_.size();
    inlined_before_ = inlined_.size();
    called_back_since_ = false;
    before_.reset();
    if (run_loop()) continue;
    guards_before_ = guards_.size();  // a loop that is no node had its numbers fixed
    if (may_stop()) before_ = take_snapshot();
    if (!before_instruction()) break;
    outcome.returned = vm_.step(base_);
    if (given_up_) return outcome;
    if (is_stopped()) {
      outcome.overrun = true;
      break;
    }
    after_instruction();
    if (outcome.returned) return returned(std::move(outcome));
  }
  outcome.stop = stop_here();
  // The instruction that stopped the recording has run. If it changed no host data and freed no values of
  // histories, the state before it can still be described; otherwise the entry ends at the checkpoint.
  const bool leaves_nothing = !called_back_since_ && undo_.empty() && !differentiates_now_;
  undo_instruction();
  std::optional<Finished> finished;
  if (long_loop_) {
    Unrolled& loop = unrolled_[*long_loop_];
    outcome.overrun = true;
    outcome.code = loop.frame->code;
    outcome.place = loop.loop.top;
    finished = std::move(loop.start);
  } else if (!outcome.overrun || (before_ && leaves_nothing)) {
    finished = finish(outcome.overrun ? std::move(*before_) : take_snapshot());
  }
  outcome.whole = finished.has_value();
  outcome.all_iterations = outcome.whole && all_iterations_;
  if (!outcome.whole) finished = std::move(checkpoint_);
  if (finished) {
    make_entry(outcome, std::move(*finished), outcome.stop);
    outcome.entry->steps_over = outcome.whole && outcome.stop.steps_over();
  }
  return outcome;
}

Tracer::Outcome Tracer::returned(Outcome outcome) {
  Snapshot snapshot;
  snapshot.depth = static_cast<int>(innermost_ - base_) + 1;
  snapshot.returned = true;
  snapshot.result = base_->base[-1];
  snapshot.result_number = shadow(base_->base - 1);
  snapshot.mark = recorder_.mark();
  snapshot.guards = guards_.size();
  snapshot.inlined = inlined_.size();
  snapshot.differentiated = differentiated_;
  snapshot.hooked = hooked_;
  auto finished = finish(std::move(snapshot));
  if (!finished) {
    if (differentiated_ || hooked_) {
      const char* const why =
          differentiated_ ? "a result keeps the values of a history" : "a result has a hook";
      outcome.lost = {End::Break, why, differentiated_at_.file, differentiated_at_.line};
    }
    outcome.whole = false;
    finished = std::move(checkpoint_);
  }
  if (finished) make_entry(outcome, std::move(*finished), {});
  return outcome;
}

Stop Tracer::stop_here() const {
  Stop stop;
  stop.end = stop_.empty() ? End::Break : end_;
  stop.reason = reason();
  if (stop.end == End::Yield) stop.awaits = awaits_;
  if (!inlined_.empty()) stop.within = inlined_function();
  const lang::Span span = before_ ? before_->span : lang::Span{};
  const lang::Span here = stop_span_.file != nullptr ? stop_span_ : span;
  if (here.file != nullptr) {
    stop.file = here.file->name();
    stop.line = static_cast<int>(here.file->locate(here.begin).line);
  }
  return stop;
}

// The function under way, compiled by itself, whose ops are part of a hot one's graph.
std::weak_ptr<Compiled> Tracer::inlined_function() const {
  for (const Frame* frame = base_ + 1; frame <= vm_.frame(); ++frame) {
    if (frame->code->compiled && frame->code->compiled->options.asked_for) return frame->code->compiled;
  }
  return {};
}

std::optional<Value> Tracer::run_apart() {
  shadow::need_run();
  const Watch watch(vm_, this);
  is_apart_ = true;
  while (before_instruction()) {
    const bool returned = vm_.step(base_);
    if (is_stopped()) break;
    after_instruction();
    if (!returned) continue;
    Value result;
    result.take(base_->base[-1]);  // registers above those of the active frame are not cleared
    return result;
  }
  vm_.leave_frames(base_);
  return std::nullopt;
}

bool Tracer::observe(Frame* entry) {
  // Restores the state of the instruction that calls back.
  struct Within {
    Within(Tracer& in, const Frame* entry)
        : tracer(in),
          called_back(std::exchange(in.called_back_, entry)),
          code(in.current_code_),
          pc(in.current_pc_),
          base(in.current_base_),
          differentiates(in.differentiates_now_),
          gradients(in.gradients_to_change_),
          under_way(in.gradients_under_way_.size()),
          handed(std::exchange(in.handed_, std::nullopt)),
          place(in.recorder_.place()) {
      ++tracer.nested_;
      in.gradients_under_way_.insert(in.gradients_under_way_.end(), gradients.begin(), gradients.end());
    }
    ~Within() {
      --tracer.nested_;
      tracer.called_back_ = called_back;
      tracer.current_code_ = code;
      tracer.current_pc_ = pc;
      tracer.current_base_ = base;
      tracer.differentiates_now_ = differentiates;
      tracer.gradients_to_change_ = std::move(gradients);
      tracer.gradients_under_way_.resize(under_way);
      tracer.handed_ = std::move(handed);
      tracer.recorder_.set_place(std::move(place));
    }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;
    Tracer& tracer;
    const Frame* called_back;
    const Code* code;
    std::size_t pc;
    Value* base;
    bool differentiates;
    std::vector<Value> gradients;
    std::size_t under_way;
    std::optional<Handed> handed;
    jit::Place place;
  } within(*this, entry);
  called_back_since_ = true;
  if (!is_stopped()) know_called_back(*entry);
  if (!is_stopped()) take_handed(within.handed, *entry);
  for (;;) {
    if (!is_stopped() && run_loop()) continue;
    if (!is_stopped() && before_instruction()) {
      const bool returned = vm_.step(entry);
      if (!is_stopped()) after_instruction();
      if (returned) return true;
      continue;
    }
    if (is_apart_) raise("CaptureError", reason());
    const Watch unwatched(vm_, nullptr);
    return vm_.execute(entry);
  }
}

}  // namespace kiln::interp::capture
