// Loops as nodes: how one that has run is noted, and what the machine holds behind it.
#include <map>

#include "interpreter/capture/flow/node.h"
#include "interpreter/capture/loop_results.h"
#include "interpreter/values/natives.h"
#include "jit/autodiff/loop_step.h"
#include "jit/flow/number_value.h"
#include "tensor/functions.h"

namespace kiln::interp::capture {

using Held = LoopFlow::Held;
using Input = LoopFlow::Input;

const Value* value_of_input(const LoopFlow& loop, const Input& input, const Frame& frame,
                            SourceValues& found) {
  const bool is_state = input.kind == Input::Kind::Next || input.kind == Input::Kind::Left;
  if (!is_state) return found[input.source];
  return frame.base + loop.sources[input.source].number + (input.kind == Input::Kind::Left ? 1 : 0);
}

// False where capture stops in front of the loop.
bool Tracer::note_loop(Frame& frame, const Loop& loop, const LoopResults& made) {
  const LoopFlow& flow = *made.flow;
  const jit::LoopFunction& function = *jit::loop_function(*made.op);
  Observer observer(*this, frame);
  std::vector<Tensor> operands;
  for (const Input& each : flow.inputs) {
    Observer::Found found = observer.read_source(flow.sources, each.source);
    if (is_stopped()) return false;
    if (each.kind == Input::Kind::Left) found = {found.value + 1, shadow(found.value + 1)};
    if (found.value->is(Tag::Tensor)) {
      operands.push_back(levels::innermost(found.value->tensor()));
    } else {
      const bool varies = found.number >= 0 && exprs_[found.number].kind != Expr::Kind::Constant;
      operands.push_back(varies ? input_of(found.number, *found.value) : number_as_operand(*found.value));
    }
  }
  for (const Guard& each : flow.guards) observer.expect(flow.sources, flow.exprs, each);
  const auto& exit = flow.exits[static_cast<std::size_t>(function.done.front())];
  for (const auto& [r, held] : exit.registers) {
    if (held.kind == Held::Kind::Source)
      observer.read_source(flow.sources, static_cast<SourceId>(held.number));
  }
  if (is_stopped()) return false;
  set_place(frame.code->span(loop.end - 1));
  const levels::AtLevelOf plain{Inputs(operands)};
  try {
    if (flow.is_differentiated()) jit::LoopStep::record(made.op, operands, made.results);
    recorder_.note_own(made.op, operands, made.results);
    for (std::size_t k = 0; k < function.written.size(); ++k)
      ops::copy_(operands[function.written[k]], made.results[k]);
  } catch (const OpError& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    stop(error.message());
  }
  if (is_stopped()) return false;
  put_behind_loop(frame, made);
  return true;
}

void Tracer::put_behind_loop(Frame& frame, const LoopResults& made) {
  const LoopFlow& flow = *made.flow;
  const auto done = static_cast<std::size_t>(jit::loop_function(*made.op)->done.front());
  const LoopFlow::Exit& exit = flow.exits[done];
  SourceValues found(flow.sources, &frame);
  std::map<std::size_t, Tensor> results;  // as the program has them: one tensor for each
  const std::function<Value(const Held&)> value = [&](const Held& held) -> Value {
    if (held.kind == Held::Kind::Constant) return held.value;
    if (held.kind == Held::Kind::Source) return *found[static_cast<SourceId>(held.number)];
    if (held.kind == Held::Kind::Tuple) {
      std::vector<Value> parts;
      for (const Held& each : held.parts) parts.push_back(value(each));
      return make<Tuple>(std::move(parts));
    }
    const jit::FlowAsOp::Place& place = made.places[static_cast<std::size_t>(held.number)];
    if (place.is_input) return *value_of_input(flow, flow.inputs[place.number], frame, found);
    const auto [result, is_new] = results.try_emplace(place.number);
    if (is_new) result->second = batched(made.results[place.number], held.vmaps);
    return Value(result->second);
  };
  struct Put {
    std::uint32_t r;
    Value value;
    ExprId number = -1;
    Tensor item{};
  };
  std::vector<Put> all;
  for (const auto& [r, held] : exit.registers) {
    Put put{r, value(held)};
    if (held.kind == Held::Kind::Source)
      put.number =
          Observer(*this, frame).read_source(flow.sources, static_cast<SourceId>(held.number)).number;
    const bool is_given = held.kind == Held::Kind::Value;
    if (is_given &&
        flow.graph->type(flow.graph->exits[done].values[static_cast<std::size_t>(held.number)].value)
            .is_number) {
      const jit::NoLevels apart;  // the graph reads no element
      put.item = put.value.tensor();
      put.value = std::visit([](auto number) { return Value(number); }, jit::to_number(put.item));
    } else if (is_given && r < frame.code->function->locals.size()) {
      recorder_.set_name(levels::innermost(put.value.tensor()), std::string(frame.code->function->locals[r]));
    }
    all.push_back(std::move(put));
  }
  const auto forget = [this](const Value* r) {
    if (const std::size_t slot = slot_of(r); slot < untouched_.size()) untouched_[slot] = false;
    shadows_.erase(r);
    loop_numbers_.erase(r);
  };
  for (const std::uint32_t r : exit.dropped) {
    frame.base[r].clear();
    forget(frame.base + r);
  }
  for (Put& each : all) {
    Value* const r = frame.base + each.r;
    r->take(each.value);
    forget(r);
    if (each.number >= 0) shadows_[r] = each.number;
    if (each.item) loop_numbers_[r] = each.item;
  }
  frame.pc = frame.code->instructions.data() + exit.place;
}

}  // namespace kiln::interp::capture
