#include "interpreter/check/operands.h"

#include <algorithm>

#include "interpreter/values/unknown.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::check {
namespace {

using capture::each_operand;

bool is_container(const Value& v) { return v.is(Tag::List) || is_dict_or_set(v); }

// Of a call, the callee or the receiver, and what is spread over the arguments.
bool call_looks_at_unknown(const Frame& frame, const UnknownContents& contents) {
  const Instruction& i = *frame.pc;
  const Opcode op = frame.code->opcode_at(frame.place());
  const bool is_method = op == Opcode::CallMethod || op == Opcode::CallMethodSpread;
  if (is_unknown(frame.base[i.a + (is_method ? 1 : 0)])) return true;
  if (op == Opcode::Call || op == Opcode::CallMethod) return false;
  const CallShape& shape = frame.code->shapes[i.c];
  const Value* argument = &frame.base[i.a + (is_method ? 2 : 1)];
  for (const CallShape::Item& item : shape.items) {
    const bool is_spread =
        item.kind == lang::Argument::Kind::Star || item.kind == lang::Argument::Kind::DoubleStar;
    if (is_spread && (is_unknown(*argument) || contents.contains(*argument))) return true;
    ++argument;
  }
  return false;
}

}  // namespace

bool is_call(Opcode op) {
  return op == Opcode::Call || op == Opcode::CallMethod || op == Opcode::CallSpread ||
         op == Opcode::CallMethodSpread;
}

namespace {

constexpr int kDeepest = 4;

bool has_unknown(const Value& v, const UnknownContents& contents, int depth) {
  if (is_unknown(v) || contents.contains(v)) return true;
  if (depth == 0) return false;
  const auto any = [&](const std::vector<Value>& values) {
    return std::any_of(values.begin(), values.end(),
                       [&](const Value& each) { return has_unknown(each, contents, depth - 1); });
  };
  if (v.is(Tag::List)) return any(v.as<List>().items);
  if (v.is(Tag::Tuple)) return any(v.as<Tuple>().items);
  if (v.is(Tag::Instance)) return any(v.as<Instance>().fields);
  if (v.is(Tag::Slice)) return any({v.as<Slice>().start, v.as<Slice>().stop, v.as<Slice>().step});
  if (!is_dict_or_set(v)) return false;
  const auto& entries = v.as<Dict>().entries();
  return std::any_of(entries.begin(), entries.end(), [&](const Dict::Entry& each) {
    return each.live && has_unknown(each.value, contents, depth - 1);
  });
}

void forget(Value& variable, UnknownContents& contents, int depth);

void forget_effects(const Function& function, UnknownContents& contents, int depth) {
  const Code& code = *function.code;
  std::vector<Value>& slots = function.module.as<Module>().slots;
  for (std::size_t pc = 0; pc < code.instructions.size(); ++pc) {
    const Opcode op = code.opcode_at(pc);
    const std::uint16_t b = code.instructions[pc].b;
    if (op == Opcode::GetGlobal) forget(slots[b], contents, depth);
    if (op == Opcode::SetGlobal) slots[b] = unknown_value();
    if (op == Opcode::SetCapture) function.captures[b].as<Cell>().value = unknown_value();
  }
  for (const Value& each : function.captures) forget(each.as<Cell>().value, contents, depth);
}

// What a function that reads the variable may do to its value.
void forget(Value& variable, UnknownContents& contents, int depth) {
  if (is_container(variable)) contents.add(variable);
  if (variable.is(Tag::Function) && depth > 0 && !variable.as<Function>().code->file->is_library())
    forget_effects(variable.as<Function>(), contents, depth - 1);
}

}  // namespace

bool reads_unknown_items(const Frame& frame, const UnknownContents& contents) {
  bool found = false;
  capture::each_read(*frame.code, frame.place(), [&](std::uint32_t r) {
    found = found || has_unknown(frame.base[r], contents, kDeepest);
  });
  return found;
}

bool reads_none(const Frame& frame) {
  bool found = false;
  capture::each_read(*frame.code, frame.place(),
                     [&](std::uint32_t r) { found = found || frame.base[r].is_none(); });
  return found;
}

void forget_what_arguments_may_do(const Frame& frame, UnknownContents& contents) {
  const Instruction& i = *frame.pc;
  for (std::uint32_t k = 1; k <= i.b; ++k) {
    Value argument = frame.base[i.a + k];
    if (argument.is(Tag::Function)) forget(argument, contents, kDeepest);
  }
}

bool is_branch(Opcode op) {
  return op != Opcode::NextFor && operands(op).find_first_of("jJ") != std::string_view::npos &&
         op != Opcode::Jump && op != Opcode::Loop;
}

bool looks_at_unknown(const Frame& frame, const UnknownContents& contents) {
  const std::size_t pc = frame.place();
  const Instruction& i = *frame.pc;
  const auto is_opaque = [&](std::uint32_t r) {
    return is_unknown(frame.base[r]) || contents.contains(frame.base[r]);
  };
  switch (frame.code->opcode_at(pc)) {
    case Opcode::Copy:
    case Opcode::Take:
    case Opcode::Drop:
    case Opcode::CheckLocal:
    case Opcode::SetGlobal:
    case Opcode::GetCell:
    case Opcode::SetCell:
    case Opcode::SetCapture:
    case Opcode::MakeCell:
    case Opcode::EndFor:
    case Opcode::Return:
    case Opcode::Yield:
    case Opcode::MakeGenerator:
    case Opcode::CheckArguments:
    case Opcode::EndInit:
    case Opcode::BuildList:
    case Opcode::BuildTuple:
    case Opcode::BuildDict:
    case Opcode::BuildSlice:
    case Opcode::MakeFunction:
    case Opcode::MakeStruct:
    case Opcode::MakeAutograd:
      return false;
    case Opcode::Call:
    case Opcode::CallMethod:
    case Opcode::CallSpread:
    case Opcode::CallMethodSpread:
      return call_looks_at_unknown(frame, contents);
    case Opcode::SetIndex:
    case Opcode::SetIndexBack:
    case Opcode::DictSet:
      return is_opaque(i.a) || is_opaque(i.b);
    case Opcode::ListAppend:
      return is_opaque(i.a);
    case Opcode::SetAttribute:
      return is_unknown(frame.base[i.a]);
    default: {
      bool found = false;
      capture::each_read(*frame.code, pc, [&](std::uint32_t r) { found = found || is_opaque(r); });
      return found;
    }
  }
}

namespace {

// Releases the temporaries that the instruction consumes.
void consume_operands(const Frame& frame) {
  const auto release = [&](std::uint32_t r) {
    if (frame.is_temporary(r)) frame.base[r].clear();
  };
  switch (frame.code->opcode_at(frame.place())) {
    case Opcode::BuildList:
    case Opcode::BuildTuple:
    case Opcode::BuildDict:
    case Opcode::BuildSlice:
    case Opcode::FormatValue:
    case Opcode::JoinText:  // these consume all that they read, of which the operands name the first
      return capture::each_read(*frame.code, frame.place(), release);
    default:
      return each_operand(*frame.code, frame.place(), "r", release);
  }
}

}  // namespace

void give_unknown(const Frame& frame, UnknownContents& contents) {
  const Instruction& i = *frame.pc;
  const std::size_t pc = frame.place();
  Value* const r = frame.base;
  const auto forget_items = [&](const Value& container) {
    if (is_container(container)) contents.add(container);
  };
  switch (const Opcode op = frame.code->opcode_at(pc)) {
    case Opcode::CallMethod:
    case Opcode::CallMethodSpread:
      forget_items(r[i.a + 1]);
      [[fallthrough]];
    case Opcode::Call:
    case Opcode::CallSpread:
      for (std::uint32_t k = 1; k <= i.b; ++k) r[i.a + k].clear();
      r[i.a] = unknown_value();
      return;
    case Opcode::SetIndex:
    case Opcode::SetIndexBack:
    case Opcode::DeleteIndex:
      forget_items(r[i.a]);
      return consume_operands(frame);
    default: {
      // What is changed in place, as by `xs += ys`, stays the same object.
      const bool is_in_place = name(op).starts_with("Aug") && is_container(r[i.a]);
      if (is_in_place) forget_items(r[i.a]);
      consume_operands(frame);
      if (is_in_place) return;
      capture::each_write(*frame.code, pc, [&](std::uint32_t target) {
        const bool is_shared = op == Opcode::CheckArguments && r[target].is(Tag::Cell);
        (is_shared ? r[target].as<Cell>().value : r[target]) = unknown_value();
      });
    }
  }
}

}  // namespace kiln::interp::check
