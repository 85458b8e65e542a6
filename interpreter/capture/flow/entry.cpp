#include "interpreter/capture/flow/entry.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "interpreter/capture/flow/list_numbers.h"
#include "interpreter/capture/flow/list_rows.h"
#include "interpreter/values/iterators.h"
#include "interpreter/values/utf8.h"
#include "jit/pipeline/loop_level.h"
#include "tensor/autocast.h"
#include "tensor/autograd.h"
#include "tensor/timeline.h"

namespace kiln::interp::capture {
namespace {

using Input = LoopFlow::Input;
using Held = LoopFlow::Held;

// ---- Inputs ----

std::optional<jit::FlowValue> number_of_kind(const Value& v, DType kind) {
  jit::FlowValue given;
  if (v.is(Tag::Int) && kind == DType::I64) {
    given.number = v.as_int();
  } else if (v.is(Tag::Float) && kind == DType::F64) {
    given.number = v.as_float();
  } else if (v.is(Tag::Bool) && kind == DType::Bool) {
    given.number = v.as_bool();
  } else {
    return std::nullopt;
  }
  return given;
}

// The state of a range, which begins in the register of this source.
const Value* range_state(const Frame& frame, const Source& source) { return frame.base + source.number; }

bool has_one_loop(const LoopFlow& loop) {
  const std::vector<jit::FlowBlock>& blocks = loop.graph->blocks;
  return std::count_if(blocks.begin(), blocks.end(),
                       [](const jit::FlowBlock& each) { return each.begins_loop; }) == 1;
}

// Memory for the tensors that the run appends to a list.
std::optional<jit::FlowValue> rows_for(const LoopFlow& loop, const Input& input, DType dtype,
                                       const Frame& frame, Numbers& numbers) {
  Dims sizes{Dim(0)};
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  for (const ExprId each : input.row) {
    const Value& size = numbers[each];
    if (!size.is(Tag::Int)) return std::nullopt;
    sizes.push_back(Dim(size.as_int()));
    bytes *= size.as_int();
  }
  const std::int64_t most = LoopFlow::rows_of(bytes);
  sizes[0] =
      has_one_loop(loop) ? std::min(most, std::max(trips_left(loop, frame), SizeScope::kLowestSize)) : most;
  jit::FlowValue given;
  given.tensor = Tensor::empty(sizes, dtype, Device{});
  return given;
}

std::optional<jit::FlowValue> given_for(const LoopFlow& loop, std::size_t i, const Frame& frame,
                                        SourceValues& found, Numbers& numbers) {
  const Input& input = loop.inputs[i];
  const jit::Type& type = loop.graph->values[i].type;
  jit::FlowValue given;
  switch (input.kind) {
    case Input::Kind::Next:
      return number_of_kind(range_state(frame, loop.sources[input.source])[0], DType::I64);
    case Input::Kind::Left:
      return number_of_kind(range_state(frame, loop.sources[input.source])[1], DType::I64);
    default:
      break;
  }
  const Value* const v = found[input.source];
  if (v == nullptr) return std::nullopt;
  if (input.kind == Input::Kind::Number) return number_of_kind(*v, type.dtype);
  if (input.kind == Input::Kind::Letter) {
    if (!is_letter(*v)) return std::nullopt;
    return number_of_kind(Value(code_points_of(*v)->front()), DType::I64);
  }
  if (input.kind == Input::Kind::Rows)
    return v->is(Tag::List) ? rows_for(loop, input, type.dtype, frame, numbers) : std::nullopt;
  if (input.kind == Input::Kind::Numbers || input.kind == Input::Kind::Text) {
    const bool is_text = input.kind == Input::Kind::Text;
    const std::optional<Tensor> made = is_text ? text_as_tensor(*v) : numbers_of(*v, type.dtype, input.grows);
    if (!made) return std::nullopt;
    given.tensor = *made;
    return given;
  }
  if (!v->is(Tag::Tensor) || v->tensor().dtype() != type.dtype ||
      static_cast<std::size_t>(v->tensor().rank()) != type.sizes.size())
    return std::nullopt;
  given.tensor = v->tensor();
  return given;
}

// ---- Frames ----

Value to_value(const jit::FlowValue& v) {
  if (v.tensor) return Value(v.tensor);
  return std::visit([](auto number) { return Value(number); }, v.number);
}

using Registers = std::vector<std::pair<std::uint32_t, Value>>;

// What registers and variables hold at an exit, before any of them is changed.
class FrameValues {
 public:
  FrameValues(const LoopFlow& loop, const Frame* frame, const FlowInputs& inputs,
              std::span<const jit::FlowValue> values)
      : sources_(loop.sources), found_(loop.sources, frame), values_(values) {
    for (std::size_t i = 0; i < loop.inputs.size(); ++i) {
      if (loop.inputs[i].kind == Input::Kind::Rows)
        appended_.try_emplace(list(loop.inputs[i].source), *list(loop.inputs[i].source), inputs[i].tensor);
    }
  }

  void add(std::uint32_t r, const Held& held) { made_.emplace_back(r, made(held)); }
  Registers& all() { return made_; }
  void add_variable(SourceId source, const Held& held) {
    if (sources_[source].kind == Source::Kind::Length) {
      lengths_.emplace_back(list(sources_[source].parent), made(held).as_int());
    } else {
      variables_.emplace_back(found_.place(source), made(held));
    }
  }
  // Puts the items of lists that the flow wrote, which are of the lengths that there are then.
  void put_lists(const LoopFlow& loop, const FlowInputs& inputs) {
    std::vector<std::pair<List*, const Tensor*>> written;
    for (std::size_t i = 0; i < loop.inputs.size(); ++i) {
      if (loop.inputs[i].is_written) written.emplace_back(list(loop.inputs[i].source), &inputs[i].tensor);
    }
    for (const auto& [list, length] : lengths_) {
      const auto appended = appended_.find(list);
      appended == appended_.end() ? list->items.resize(static_cast<std::size_t>(length))
                                  : appended->second.append_until(length);
    }
    for (const auto& [list, numbers] : written) put_numbers(*numbers, *list);
  }
  std::vector<std::pair<Value*, Value>>& variables() { return variables_; }

 private:
  Value value(std::int64_t number) {
    const jit::FlowValue& given = values_[static_cast<std::size_t>(number)];
    for (auto& [list, rows] : appended_) {
      if (!given.tensor) break;
      if (const std::optional<Tensor> shown = rows.shown(given.tensor)) return Value(*shown);
    }
    return to_value(given);
  }
  Value made(const Held& held) {
    switch (held.kind) {
      case Held::Kind::Source:
        return *found_[static_cast<SourceId>(held.number)];
      case Held::Kind::Constant:
        return held.value;
      case Held::Kind::Letter:
        return once(held, [&] { return letter_of(held); });
      case Held::Kind::Tuple:
        return make<Tuple>(parts(held));
      case Held::Kind::Range: {
        const std::vector<Value> all = parts(held);
        return make<Range>(all[0].as_int(), all[1].as_int(), all[2].as_int());
      }
      case Held::Kind::Slice: {
        std::vector<Value> all = parts(held);
        return make<Slice>(std::move(all[0]), std::move(all[1]), std::move(all[2]));
      }
      case Held::Kind::Iterator:
        return iterator_of(static_cast<IteratorForm>(held.number), parts(held));
      case Held::Kind::Struct:
        return once(held, [&] { return struct_of(held); });
      default:
        return value(held.number);
    }
  }
  // What is one value in the flow is one value behind it.
  template <class F>
  Value once(const Held& held, const F& make) {
    const auto known = once_.find(held.serial);
    if (known != once_.end()) return known->second;
    return once_.emplace(held.serial, make()).first->second;
  }
  Value letter_of(const Held& held) {
    std::string text;
    append_code_point(text, static_cast<char32_t>(value(held.number).as_int()));
    return Value(text);
  }
  // No part holds the struct itself.
  Value struct_of(const Held& held) {
    std::vector<Value> fields = parts(held);
    const std::size_t declared = fields.size() - held.names.size();
    Value made = make<Instance>(held.value);
    auto& instance = made.as<Instance>();
    for (std::size_t k = 0; k < held.names.size(); ++k)
      instance.extra.emplace_back(held.names[k], std::move(fields[declared + k]));
    fields.resize(declared);
    instance.fields = std::move(fields);
    return made;
  }
  std::vector<Value> parts(const Held& held) {
    std::vector<Value> parts;
    for (const Held& each : held.parts) parts.push_back(made(each));
    return parts;
  }

  List* list(SourceId source) { return &found_[source]->as<List>(); }

  const Sources& sources_;
  SourceValues found_;
  std::span<const jit::FlowValue> values_;
  std::vector<std::pair<List*, std::int64_t>> lengths_;
  std::map<List*, AppendedRows> appended_;
  std::map<std::int64_t, Value> once_;  // by serial
  Registers made_;
  std::vector<std::pair<Value*, Value>> variables_;  // by their places
};

void put_frame(Vm& vm, const LoopFlow& loop, const FlowInputs& inputs, const jit::FlowResult& result) {
  Frame& frame = *vm.frame();
  const LoopFlow::Exit& exit = loop.exits[static_cast<std::size_t>(result.exit)];
  FrameValues values(loop, &frame, inputs, result.values);
  for (const auto& [r, held] : exit.registers) values.add(r, held);
  for (const auto& [source, held] : exit.variables) values.add_variable(source, held);
  values.put_lists(loop, inputs);
  // Before registers change, since one of them may be all that holds the object.
  for (auto& [place, value] : values.variables()) place->swap(value);
  for (const std::uint32_t r : exit.dropped) frame.base[r].clear();
  for (auto& [r, value] : values.all()) frame.base[r].take(value);
  frame.pc = frame.code->instructions.data() + exit.place;
}

// How many numbers the range of the loop had left; nothing where the loop goes over none.
std::optional<std::int64_t> left_in(const LoopFlow& loop, const Frame& frame) {
  for (const Input& each : loop.inputs) {
    if (each.kind == Input::Kind::Left) return range_state(frame, loop.sources[each.source])[1].as_int();
  }
  return std::nullopt;
}

// How often the loop itself came around, where that is known: those within it are counted with it.
std::optional<std::int64_t> outer_trips(const LoopFlow& loop, const jit::FlowResult& result,
                                        std::optional<std::int64_t> left_before, const Frame& frame) {
  if (has_one_loop(loop)) return result.iterations;
  if (!left_before) return std::nullopt;
  if (loop.exits[static_cast<std::size_t>(result.exit)].leaves_loop) return *left_before + 1;
  return *left_before - *left_in(loop, frame) + 1;
}

}  // namespace

std::int64_t trips_left(const LoopFlow& loop, const Frame& frame) {
  const std::optional<std::int64_t> left = left_in(loop, frame);
  return left ? *left + 1 : std::numeric_limits<std::int64_t>::max();
}

std::optional<FlowInputs> inputs_of(Vm& vm, const LoopFlow& loop) {
  if (autocast::is_on) return std::nullopt;  // the ops of a flow convert nothing
  if (loop.in_gradient != (levels::top != nullptr)) return std::nullopt;
  if (loop.records && *loop.records != grad_enabled()) return std::nullopt;
  const Frame& frame = *vm.frame();
  SourceValues found(loop.sources, &frame);
  Numbers numbers(vm.interpreter(), loop.exprs, found);
  for (const Guard& each : loop.guards) {
    if (!each.holds(found, numbers)) return std::nullopt;
  }
  FlowInputs inputs;
  for (std::size_t i = 0; i < loop.inputs.size(); ++i) {
    std::optional<jit::FlowValue> given = given_for(loop, i, frame, found, numbers);
    if (!given) return std::nullopt;
    inputs.push_back(*std::move(given));
  }
  return inputs;
}

namespace {

// Without gradients, within a transform that differentiates.
std::optional<jit::FlowResult> run_below(const levels::Level& level, FlowEntry& entry,
                                         const FlowInputs& inputs) {
  const std::optional<FlowInputs> plain = jit::values_below(level, inputs);
  if (!plain) {
    entry.refusal = "the tape outside of the transform records its tensors";
    return std::nullopt;
  }
  jit::FlowResult result;
  {
    const levels::Below below(level);
    result = entry.run->run(*plain);
  }
  jit::lift_results(level, result, inputs, *plain);
  return result;
}

std::optional<jit::FlowResult> result_of(FlowEntry& entry, const FlowInputs& inputs) {
  const timeline::Span span(timeline::Kind::Kernel, entry.loop.graph->name);
  const levels::Level* const level = entry.loop.in_gradient ? jit::gradient_around() : nullptr;
  if (entry.run && level != nullptr) return run_below(*level, entry, inputs);
  if (entry.run) return entry.run->run(inputs);
  jit::RecordedLoop recorded(entry.differentiated, inputs, level);
  entry.refusal = recorded.why_not();
  if (!entry.refusal.empty()) return std::nullopt;
  std::optional<jit::FlowResult> result = recorded.run();
  if (!result) entry.refusal = "an instruction failed in the loop, or it was interrupted";
  entry.kept_bytes += static_cast<std::int64_t>(recorded.kept_bytes());
  return result;
}

}  // namespace

std::optional<FlowRun> run_flow(Vm& vm, FlowEntry& entry, const FlowInputs& inputs) {
  const LoopFlow& loop = entry.loop;
  const std::optional<std::int64_t> before = left_in(loop, *vm.frame());
  const std::optional<jit::FlowResult> result = result_of(entry, inputs);
  if (!result) {
    ++entry.refused;
    return std::nullopt;
  }
  put_frame(vm, loop, inputs, *result);
  const FlowRun run{result->exit, result->iterations, outer_trips(loop, *result, before, *vm.frame())};
  ++entry.runs;
  entry.trips += result->iterations;
  entry.exits.resize(loop.exits.size());
  ++entry.exits[static_cast<std::size_t>(result->exit)];
  return run;
}

}  // namespace kiln::interp::capture
