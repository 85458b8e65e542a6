// Loops as nodes: where capture comes to one that is read as a flow graph, all its iterations are one node.
#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/compiled.h"
#include "interpreter/capture/flow/node.h"
#include "interpreter/capture/hot.h"
#include "interpreter/capture/loop_results.h"
#include "interpreter/capture/stages.h"
#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"
#include "jit/autodiff/loop_step.h"
#include "jit/passes/run_recipe.h"
#include "tensor/autograd.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/recompute.h"
#include "tensor/view.h"

namespace kiln::interp::capture {
namespace {

using Input = LoopFlow::Input;

// ---- Inputs ----

// Is memory that the loop writes shown by two inputs?
bool shares_written(const std::vector<Tensor>& operands, const std::vector<std::size_t>& written) {
  return std::any_of(written.begin(), written.end(), [&](std::size_t w) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (i != w && !operands[i].is_number() && shares_storage(operands[i], operands[w])) return true;
    }
    return false;
  });
}

}  // namespace

// Where the machine stands at the first instruction of a loop that is to be a node: notes it, and moves the
// machine behind the loop.
bool Tracer::run_loop() {
  Frame& frame = *vm_.frame();
  const Loop* const loop = frame.code->loops().at(frame.place());
  if (loop == nullptr || is_apart_ || is_stopped()) return false;
  if (begins_within(frame, *loop) && is_read_at_once(frame, *loop)) {
    try {
      expect_node();
      const LoopResults made = results_of_loop(frame, *loop);
      return note_loop(frame, *loop, made);
    } catch (const NoNode& declined) {
      note_declined(frame, *loop, declined.reason);
      if (runs_in_gradient(frame, *loop)) {
        stop("a loop within `" + levels::top->transform() + "` runs as machine code");
        return false;
      }
      if (nested_ > 0) iterated_.emplace(frame.code, loop->top);
    }
  }
  fix_begun_range(frame, *loop);
  return false;
}

// Does the loop run as a flow within the gradient that is around it? That is one step of its tape, where an
// unrolled loop is many. Where the program asked to compile, loops over long ranges do as soon as they can.
bool Tracer::runs_in_gradient(const Frame& frame, const Loop& loop) {
  levels::Level* const level = levels::top;
  const CompileOptions& options = base_->code->compiled->options;
  const bool is_alone = nested_ > 0 && level != nullptr && level->kind() == LevelKind::Grad &&
                        level->below() == &recorder_ && !recorder_.in_application();
  if (!is_alone || checking() || options.backend == kAsCaptured || !allows_flows(options)) return false;
  const std::shared_ptr<FlowPlace> place = followed_at(*frame.code, loop.top);
  if (place != nullptr && place->in_gradient != nullptr) return place->in_gradient->ends_entries();
  if (!options.asked_for || !goes_over_long_range(frame, loop) || is_unreadable(frame, loop)) return false;
  const Watch unwatched(vm_, nullptr);
  if (!read_loop(vm_, loop, true, {}, level).flow) {
    unreadable_.emplace(frame.code, loop.top);
    ++base_->code->compiled->failed_readings[{frame.code, loop.top}];
    return false;
  }
  vm_.follow_loop(frame.function->owner, loop.top);
  return true;
}

void Tracer::note_declined(const Frame& frame, const Loop& loop, const std::string& reason) {
  const lang::Span span = frame.code->span(loop.end - 1);
  if (span.file == nullptr) return;
  std::pair declined{fmt::format("{}:{}", span.file->name(), span.file->locate(span.begin).line), reason};
  auto& known = base_->code->compiled->declined_loops;
  if (std::count(known.begin(), known.end(), declined) == 0) known.push_back(std::move(declined));
}

// Does the loop begin within the entry? An entry that begins at the body of a loop holds iterations of it.
bool Tracer::begins_within(const Frame& frame, const Loop& loop) const {
  const bool is_unrolled =
      !unrolled_.empty() && unrolled_.back().frame == &frame && unrolled_.back().loop.top == loop.top;
  if (is_unrolled || (&frame == base_ && !region_.contains(loop.top))) return false;
  if (nested_ > 0 && iterated_.contains({frame.code, loop.top})) return false;
  if (is_unreadable(frame, loop) || is_left_to_flow(frame, loop)) return false;
  return instructions_ > 0 && !is_own_top(frame, loop.top);
}

// Was the loop read in vain in this capture, or in several before? A reading takes as long as thousands of
// instructions, and a loop within another one begins many times.
bool Tracer::is_unreadable(const Frame& frame, const Loop& loop) const {
  const std::pair<const Code*, std::size_t> place{frame.code, loop.top};
  if (unreadable_.contains(place)) return true;
  const auto& failed = base_->code->compiled->failed_readings;
  const auto found = failed.find(place);
  return found != failed.end() && found->second >= kMostFailedReadings;
}

// Was it found before that the loop can be no node, and runs as a flow by itself? It need not be read again.
bool Tracer::is_left_to_flow(const Frame& frame, const Loop& loop) const {
  const std::shared_ptr<FlowPlace> place = followed_at(*frame.code, loop.top);
  return place != nullptr && place->is_asked_for && nested_ == 0 && runs_as_flow(frame, loop.top);
}

void Tracer::expect_node() const {
  if (recorder_.in_application()) throw NoNode{"it runs in a function with a derivative of its own"};
  for (const levels::Level* each = levels::top; each != &recorder_; each = each->below()) {
    if (each == nullptr) throw NoNode{"it runs below what is captured"};
    if (each->kind() != LevelKind::Batch) throw NoNode{"it runs under `" + each->transform() + "`"};
  }
  if (nested_ > 0 && levels::top == &recorder_) throw NoNode{"it runs in a function that the host calls"};
  const CompileOptions& options = base_->code->compiled->options;
  if (!options.own_backend.is_none() || !options.own_passes.empty())
    throw NoNode{"the program compiles by a backend or passes of its own"};
}

// The transforms that the loop runs under, each of which is a vmap, outermost first.
std::vector<VmapAround> Tracer::vmaps_around() const {
  std::vector<VmapAround> all;
  for (const levels::Level* each = levels::top; each != &recorder_; each = each->below()) {
    const auto& vmap = static_cast<const levels::BatchLevel&>(*each);
    all.push_back({vmap.id(), vmap.randomness(), recorder_.hint(vmap.size())});
    if (all.back().examples == 0) throw NoNode{"there are no examples"};
  }
  std::reverse(all.begin(), all.end());
  return all;
}

// May the loop be read? Where the program did not ask for compilation, only if it runs as a flow by itself.
bool Tracer::is_read_at_once(const Frame& frame, const Loop& loop) const {
  const std::shared_ptr<FlowPlace> place = followed_at(*frame.code, loop.top);
  const CompileOptions& options = base_->code->compiled->options;
  return (place != nullptr && place->ends_entries()) || options.asked_for || options.backend == kAsCaptured;
}

// The expression of how many iterations follow, where that varies from one call to the next.
std::optional<ExprId> Tracer::begun_trips(const Frame& frame, const Loop& loop) const {
  const std::size_t step = loop.end - 1;
  if (frame.code->opcode_at(step) != Opcode::NextFor) return std::nullopt;
  const ExprId left = shadow(frame.base + frame.code->instructions[step].a + 1);
  return left >= 0 && exprs_[left].kind != Expr::Kind::Constant ? std::optional(left) : std::nullopt;
}

// The loop goes round within the entry, which holds for the numbers of its range alone.
void Tracer::fix_begun_range(const Frame& frame, const Loop& loop) {
  const std::optional<ExprId> left = begun_trips(frame, loop);
  if (!left || !begun_range_ || begun_range_->left != *left) return;
  const Instruction& step = frame.code->instructions[loop.end - 1];
  for (const auto& [id, number] : begun_range_->numbers) fix(id, number);
  for (const int r : {int{step.a}, step.a + 1, int{step.b}}) shadows_.erase(frame.base + r);
  begun_range_.reset();
}

// Where the number of iterations does not follow from what the call is given, an entry holds for one. A loop
// that had another one when it was captured before is no node, so that its function is not compiled for each.
void Tracer::expect_as_often(const Frame& frame, const Loop& loop, std::int64_t left) {
  Compiled& compiled = *base_->code->compiled;
  if (compiled.options.backend == kAsCaptured || begun_trips(frame, loop)) return;
  const std::pair<const Code*, std::size_t> place{frame.code, loop.top};
  const std::int64_t before = compiled.node_iterations.try_emplace(place, left).first->second;
  if (before == left) return;
  throw NoNode{
      fmt::format("it went round {} times before, goes round {} times now, and nothing tells how often",
                  before + 1, left + 1)};
}

// The operands of the node in the call at hand, without levels.
std::vector<Tensor> Tracer::operands_now(const LoopFlow& flow, const Frame& frame, const Loop& loop) {
  std::vector<Tensor> operands;
  SourceValues found(flow.sources, &frame);
  for (const Input& each : flow.inputs) {
    if (each.kind == Input::Kind::Rows)
      throw NoNode{"`" + flow.sources[each.source].text + "` is a list that gets tensors"};
    if (each.kind == Input::Kind::Numbers)
      throw NoNode{"`" + flow.sources[each.source].text + "` is a list of numbers"};
    if (each.kind == Input::Kind::Text || each.kind == Input::Kind::Letter)
      throw NoNode{"`" + flow.sources[each.source].text + "` is text"};
    const Value& v = *value_of_input(flow, each, frame, found);
    if (each.kind == Input::Kind::Left) expect_as_often(frame, loop, v.as_int());
    operands.push_back(v.is(Tag::Tensor) ? levels::innermost(v.tensor()) : number_as_operand(v));
  }
  return operands;
}

// Runs the loop apart from the memory of the program. Throws NoNode where it is no node, and nothing has
// changed.
Tracer::LoopResults Tracer::results_of_loop(const Frame& frame, const Loop& loop) {
  const Watch unwatched(vm_, nullptr);
  std::vector<VmapAround> vmaps = vmaps_around();
  const jit::NoLevels apart;
  const std::shared_ptr<FlowPlace> place = followed_at(*frame.code, loop.top);
  LoopReading reading = read_loop(vm_, loop, false, std::move(vmaps));
  if (!reading.flow) {
    unreadable_.emplace(frame.code, loop.top);
    ++base_->code->compiled->failed_readings[{frame.code, loop.top}];
    throw NoNode{reading.line == 0 ? reading.reason
                                   : fmt::format("{} (line {})", reading.reason, reading.line)};
  }
  const bool is_worth = expect_worth_a_node(frame, loop, *reading.flow->graph, place.get(),
                                            begun_trips(frame, loop).has_value(),
                                            base_->code->compiled->options.backend == kAsCaptured);
  if (const std::string fault = jit::find_fault(*reading.flow->graph); !fault.empty()) {
    if (jit::verifies_passes()) throw InternalError("the flow graph of a node is wrong: " + fault);
    throw NoNode{"its flow graph is wrong: " + fault};
  }
  // A flow in which gradients are recorded can be no node, so that graphs need not end in front of it.
  if (place != nullptr) place->is_asked_for = false;
  expect_no_gradients(*reading.flow, frame);
  try {
    return results_of_flow(frame, loop, std::move(reading.flow), is_worth);
  } catch (const NoNode&) {
    if (is_worth && nested_ == 0) leave_to_flow(frame, loop);
    throw;
  }
}

// The program asked to compile the loop, which is worth it and can be no node: the entry ends in front of it,
// and it runs as a flow by itself. In check mode no flow runs beside a call that is checked, and each
// iteration would be an entry: there such loops are unrolled.
void Tracer::leave_to_flow(const Frame& frame, const Loop& loop) {
  const CompileOptions& options = base_->code->compiled->options;
  if (checking() || !options.asked_for || options.backend == kAsCaptured || !allows_flows(options)) return;
  vm_.follow_loop(frame.function->owner, loop.top);
  if (const std::shared_ptr<FlowPlace> place = followed_at(*frame.code, loop.top)) place->is_asked_for = true;
}

Tracer::LoopResults Tracer::results_of_flow(const Frame& frame, const Loop& loop,
                                            std::unique_ptr<LoopFlow> read, bool is_worth) {
  LoopResults made;
  made.flow = std::move(read);
  const LoopFlow& flow = *made.flow;
  const std::shared_ptr<FlowPlace> place = followed_at(*frame.code, loop.top);
  const std::vector<Tensor> tensors = operands_now(flow, frame, loop);
  std::vector<Tensor> operands;
  for (const Tensor& each : tensors) operands.push_back(at_hints(each));
  std::string reason = "it has no end";
  for (std::vector<jit::ExitId>& done : ways_out(flow, loop)) {
    try {
      const jit::ExitId exit = done.front();
      expect_followed(flow, exit);
      make_op(made, std::move(done), operands, place.get());
      jit::LoopRun run = jit::run_once(*made.op, operands);
      if (!is_worth) expect_long(flow, exit, run.iterations);
      made.results = std::move(run.results);
      expect_recorded(made, tensors);
      return made;
    } catch (const NoNode& declined) {
      reason = declined.reason;
    } catch (const OpError& error) {  // it goes another way
      if (error.kind() == ErrorKind::Interrupted) throw;
      reason = error.message();
    }
  }
  throw NoNode{reason};
}

// Throws NoNode where an input requires gradients that the flow does not record.
void Tracer::expect_no_gradients(const LoopFlow& flow, const Frame& frame) {
  if (flow.is_differentiated()) return;
  SourceValues found(flow.sources, &frame);
  for (const Input& each : flow.inputs) {
    if (each.kind != Input::Kind::Tensor) continue;
    const Value* const v = found[each.source];
    if (v != nullptr && v->is(Tag::Tensor) && requires_grad(levels::innermost(v->tensor())))
      throw NoNode{"`" + flow.sources[each.source].text + "` requires gradients, which are not recorded"};
  }
}

// Throws NoNode, or OpError (Capture), where gradients are recorded and the step that the node leaves on the
// tape would not do what the steps of the loop do.
void Tracer::expect_recorded(const LoopResults& made, const std::vector<Tensor>& operands) const {
  if (!made.flow->is_differentiated()) return;
  const jit::LoopFunction& function = *jit::loop_function(*made.op);
  const auto name = [&](std::size_t i) {
    return "`" + made.flow->sources[made.flow->inputs[i].source].text + "`";
  };
  std::vector<tape::Edge> histories;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Tensor& x = operands[i];
    const bool is_written =
        std::find(function.written.begin(), function.written.end(), i) != function.written.end();
    if (is_written && is_view(x))
      throw NoNode{name(i) + ", which it writes, is a view, and gradients are recorded"};
    if (!requires_grad(x)) continue;
    if (tape::Recompute::current() != nullptr) throw NoNode{"it is within `checkpoint`"};
    if (is_written) tape::check_write("", x);
    const tape::Edge edge = tape::history(x);
    const auto is_it = [&edge](const tape::Edge& each) {
      return each.node == edge.node && each.output == edge.output;
    };
    if (std::any_of(histories.begin(), histories.end(), is_it))
      throw NoNode{"two of its tensors have one history"};
    histories.push_back(edge);
  }
  static_cast<void>(jit::differentiated_results(*made.op, made.flow->wanted));
}

// The op of the loop where it is left by these exits.
void Tracer::make_op(LoopResults& made, std::vector<jit::ExitId> done, const std::vector<Tensor>& operands,
                     const FlowPlace* place) {
  const std::shared_ptr<const jit::FlowGraph>& flow = made.flow->graph;
  jit::FlowAsOp as = jit::as_op(flow, std::move(done));
  if (!as.function) throw NoNode{as.reason};
  if (shares_written(operands, as.function->written))
    throw NoNode{"a tensor that it writes shares memory with another one"};
  as.function->run = code_of(flow, place);
  if (as.function->run == nullptr) throw NoNode{"it cannot be made to machine code"};
  as.function->as_code = !vm_.interpreter().options().evaluates_flows;
  as.function->name = recorder_.own_name("loop");
  made.op = jit::make_loop_op(*std::move(as.function));
  made.places = std::move(as.places);
}

// Code is made once for equal flows. Null where none can be made.
std::shared_ptr<jit::RunnableFlow> Tracer::code_of(const std::shared_ptr<const jit::FlowGraph>& flow,
                                                   const FlowPlace* place) {
  Compiled& compiled = *base_->code->compiled;
  for (const auto& [known, run] : compiled.loop_code)
    if (jit::is_same_flow(*known, *flow)) return run;
  std::shared_ptr<jit::RunnableFlow> run;
  for (std::size_t k = 0; place != nullptr && k < place->entries.size(); ++k)
    if (jit::is_same_flow(*place->entries[k]->loop.graph, *flow)) run = place->entries[k]->run;
  if (run == nullptr) {
    const bool by_steps = vm_.interpreter().options().evaluates_flows;
    run = by_steps ? jit::evaluated(flow) : jit::compile_flow(flow).run;
  }
  if (run != nullptr) compiled.loop_code.emplace_back(flow, run);
  return run;
}

}  // namespace kiln::interp::capture
