// The ways through a loop: blocks, what registers hold where ways meet, and jumps between blocks.
#include "interpreter/capture/flow/reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

using jit::BlockId;
using jit::FlowEnd;

FlowReader::FlowReader(Vm& vm, const Loop& loop, LoopFlow& flow, FlowSources& inputs,
                       FlowKnowledge& knowledge)
    : vm_(vm),
      loop_(loop),
      flow_(flow),
      inputs_(inputs),
      knowledge_(knowledge),
      notes_("loop"),
      entry_frame_(*vm.frame()) {}

bool FlowReader::read() {
  const Code& code = *entry_frame_.code;
  const auto line = code.span(loop_.top).file == nullptr
                        ? 0
                        : code.span(loop_.top).file->locate(code.span(loop_.top).begin).line;
  notes_.graph().name = fmt::format("{}:{}", code.name.empty() ? "loop" : code.name, line);
  LevelsAround vmaps;
  inputs_.begin(notes_, vmaps);
  flow_.exits.clear();
  FlowFrame frame;
  frame.code = &code;
  frame.pc = loop_.top;
  for (std::uint32_t r = 0; r < code.registers; ++r) {
    Source source;
    source.kind = Source::Kind::Register;
    source.number = r;
    source.text = text_of_register_in(code, r);
    const bool is_live = code.liveness().is_live(loop_.top, r);
    frame.registers.push_back(is_live ? begun(r, entry_frame_.base[r], inputs_.add_source(std::move(source)))
                                      : FlowItem::dead());
  }
  entry_ = frame.registers;
  if (code.opcode_at(loop_.end - 1) == Opcode::NextFor) {
    const std::uint32_t state = code.instructions[loop_.end - 1].a;
    const FlowItem& next = entry_[state];
    const FlowItem& left = entry_[state + 1];
    if (next.known.is(Tag::Int) && left.known.is(Tag::Int)) inputs_.set_own_range(next.source, left.source);
  }
  notes_.set_exit([this](const std::string& reason) { return exit_now(reason); });
  notes_.begin_block();
  FlowState state;
  state.frames.push_back(std::move(frame));
  for (const FlowVariable& each : knowledge_.assigned)
    state.variables.push_back(FlowItem::at(each.now, each.source));
  entry_variables_ = state.variables;
  connect(0, false, std::move(state));
  for (;;) {
    Place* next = nullptr;
    for (Place& each : places_) {
      if (each.block < 0 && (next == nullptr || each.rank < next->rank)) next = &each;
    }
    if (next == nullptr) break;
    emit(*next);
  }
  agrees_ = agrees_ && !inputs_.found_new();
  if (agrees_) finish();
  return agrees_ && !inputs_.found_new();
}

void FlowReader::emit(Place& place) {
  place.block = notes_.begin_block();
  place_ = &place;
  merge(place);
  state_ = place.entry;
  replay_.reset();
  ended_ = false;
  instructions();
}

// ---- Ends of blocks ----

void FlowReader::end_block(FlowEnd end) {
  end.place = notes_.place();
  notes_.at(notes_.block()).end = std::move(end);
  ended_ = true;
}

void FlowReader::go_to(std::size_t pc) {
  end_block({FlowEnd::Kind::Jump, {}, {}, {}, 0, {}});
  FlowState next = state_;
  next.top().pc = pc;
  connect(notes_.block(), false, std::move(next));
}

void FlowReader::branch(const FlowItem& condition, std::size_t then, std::size_t other) {
  if (condition.is_literal()) return go_to(condition.literal().as_bool() ? then : other);
  FlowEnd end;
  end.kind = FlowEnd::Kind::Branch;
  end.condition = notes_.operand_of(condition);
  end_block(std::move(end));
  FlowState next = state_;
  next.top().pc = then;
  const BlockId from = notes_.block();
  connect(from, false, next);
  next.top().pc = other;
  connect(from, true, std::move(next));
}

void FlowReader::leave(const std::string& reason, bool names_line) {
  if (first_reason_.empty()) first_reason_ = reason, first_line_ = names_line ? 0 : line();
  FlowEnd end;
  end.kind = FlowEnd::Kind::Leave;
  end.exit = exit_of(state_, reason);
  end_block(std::move(end));
}

void FlowReader::leave_by_edge(BlockId from, bool is_other, const FlowState& state,
                               const std::string& reason) {
  if (first_reason_.empty() && reason != kLoopIsDone) first_reason_ = reason, first_line_ = line();
  const jit::ExitId exit = exit_of(state, reason);
  const BlockId block = notes_.add_leaving(exit);
  FlowEnd& end = notes_.at(from).end;
  if (end.kind == FlowEnd::Kind::Leave) end.kind = FlowEnd::Kind::Jump;
  (is_other ? end.other : end.then).block = block;
}

// ---- The whole ----

// Is the loop the innermost one around the instruction? Where what comes again is no inner loop's, the loop
// goes round: at the first instruction of its body, or behind one where registers hold the same in all
// iterations, as at the step to the next item where the first iteration makes a tensor of a number.
bool FlowReader::is_around(std::size_t pc) const {
  const std::vector<Loop> around = entry_frame_.code->loops().around(pc);
  return !around.empty() && around.front().top == loop_.top;
}

void FlowReader::finish_arguments(Place& place) {
  for (Edge& each : place.edges) {
    FlowEnd& end = notes_.at(each.from).end;
    if (end.kind == FlowEnd::Kind::Leave) end.kind = FlowEnd::Kind::Jump;
    FlowEnd::Target& target = each.is_other ? end.other : end.then;
    target.block = place.block;
    const std::vector<FlowItem*> leaves = leaves_of(each.state);
    for (const std::size_t leaf : place.parameters)
      target.arguments.push_back(notes_.operand_of(forced(*leaves[leaf])));
    if (each.from < place.block) continue;
    jit::FlowBlock& block = notes_.at(place.block);
    block.begins_loop = true;
    goes_round_ = goes_round_ || (!place.entry.in_call() && is_around(place.entry.top().pc));
    block.interrupted = exit_of(place.entry, "interrupted");
  }
}

void FlowReader::finish() {
  if (inputs_.appends_tensors() && flow_.is_differentiated())
    throw Unsupported{"tensors are appended to a list while gradients are recorded"};
  for (Place& each : places_) finish_arguments(each);
  if (!knowledge_.assigned.empty() || inputs_.writes_lists()) inputs_.expect_owners_apart();
  flow_.graph = std::make_shared<const jit::FlowGraph>(std::move(notes_.graph()));
}

}  // namespace kiln::interp::capture
