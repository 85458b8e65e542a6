#include "interpreter/vm/kept_frames.h"

#include <algorithm>

#include "interpreter/compile/returning.h"
#include "interpreter/vm/impl.h"

namespace kiln::interp {
namespace {

// Variables that the resolver made itself have names that no program can write.
bool is_written(std::string_view name) {
  return !name.empty() && name.find_first_of(".<> ") == std::string_view::npos;
}

KeptFrame keep_frame(const Frame& frame) {
  KeptFrame kept{frame.code->name, frame.code->span(frame.place()), frame.function->module, {}};
  if (frame.code->function == nullptr) return kept;
  const auto names = frame.code->function->locals;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const Value& slot = frame.base[k];
    const Value& value = slot.is(Tag::Cell) ? slot.as<Cell>().value : slot;
    if (!value.is_unset() && is_written(names[k])) kept.locals.emplace_back(names[k], value);
  }
  return kept;
}

}  // namespace

std::vector<KeptFrame> keep_frames(Vm& vm) {
  std::vector<KeptFrame> frames;
  for (const Frame* frame = vm.frame(); frame >= vm.frames_begin(); --frame)
    frames.push_back(keep_frame(*frame));
  return frames;
}

bool is_caught(Vm& vm) {
  for (const Frame* frame = vm.frame(); frame >= vm.frames_begin(); --frame) {
    const auto place = static_cast<std::uint32_t>(frame->place());
    const auto catches = [place](const Handler& each) {
      return place >= each.begin && place < each.end && !each.cleanup;
    };
    if (std::ranges::any_of(frame->code->handlers, catches)) return true;
  }
  return false;
}

Value run_in(Interpreter& interpreter, const KeptFrame& frame, const std::string& name,
             std::string_view text) {
  std::string parameters;
  std::vector<Value> values;
  for (const auto& [local, value] : frame.locals) {
    parameters += (parameters.empty() ? "" : ", ") + local;
    values.push_back(value);
  }
  const std::string body = returning(interpreter.sources().add(name, std::string(text)));
  bool has_value = false;
  const Value function = interpreter.impl().modules.run(
      frame.module.as<Module>(), name, "fn (" + parameters + ") {\n" + body + "\n}", has_value);
  return interpreter.call(function, values);
}

}  // namespace kiln::interp
