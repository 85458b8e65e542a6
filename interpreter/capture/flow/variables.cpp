// Variables that are no registers: those of modules, and those that closures share.
#include "interpreter/capture/flow/reader.h"

namespace kiln::interp::capture {

SourceId FlowReader::function_source() {
  if (state_.in_call()) {
    const FlowItem& function = frame().function;
    if (function.source >= 0) return function.source;
    Source source;
    source.key = function.known;
    return inputs_.add_source(std::move(source));
  }
  Source source;
  source.kind = Source::Kind::FrameFunction;
  return inputs_.add_source(std::move(source));
}

bool FlowReader::look_up_variable() {
  const Instruction& i = at();
  const Function& function =
      state_.in_call() ? frame().function.known.as<Function>() : *entry_frame_.function;
  switch (opcode()) {
    case Opcode::GetGlobal:
    case Opcode::GetPrelude: {
      Module& module = function.module.as<Module>();
      const Value& value = module.slots[i.b];
      Source source;
      source.kind = Source::Kind::Slot;
      source.key = Value(static_cast<Object*>(&module));
      source.number = i.b;
      source.text = module.names[i.b];
      const SourceId id = inputs_.add_source(std::move(source));
      if (!value.is_unset()) {
        reg(i.a) = FlowItem::at(value, id);
        return true;
      }
      const Value* found = vm_.find_prelude(module.names[i.b]);
      if (found == nullptr) throw Unsupported{"`" + module.names[i.b] + "` has no value"};
      inputs_.expect_equal(value, id);
      reg(i.a) = FlowItem::constant(*found);
      return true;
    }
    case Opcode::GetCell: {
      const FlowItem cell = reg(i.b);
      if (!cell.known.is(Tag::Cell)) throw Unsupported{"a variable that a closure shares"};
      const Value& value = cell.known.as<Cell>().value;
      if (value.is_unset()) throw Unsupported{"a variable has no value"};
      reg(i.a) = FlowItem::at(value, inputs_.part(cell.source, Source::Kind::Cell, 0, ""));
      return true;
    }
    case Opcode::GetCapture: {
      const Value& value = function.captures[i.b].as<Cell>().value;
      const std::string text(frame().code->names[i.c]);
      if (value.is_unset()) throw Unsupported{"`" + text + "` has no value"};
      const SourceId cell = inputs_.part(function_source(), Source::Kind::Capture, i.b, text);
      reg(i.a) = FlowItem::at(value, inputs_.part(cell, Source::Kind::Cell, 0, ""));
      return true;
    }
    case Opcode::SetGlobal:
      throw Unsupported{"the variable `" + function.module.as<Module>().names[i.b] +
                        "` of the module is assigned"};
    case Opcode::SetCell:
    case Opcode::SetCapture:
      throw Unsupported{"a variable is assigned that a closure shares"};
    default:
      return false;
  }
}

}  // namespace kiln::interp::capture
