#include "interpreter/vm/kept_place.h"

#include "interpreter/vm/kept_frames.h"

namespace kiln::interp {
namespace {

struct Trace {
  std::vector<lang::Frame> calls;  // innermost first
};

}  // namespace

kiln::KeptPlace keep_place(Vm& vm) {
  auto trace = std::make_shared<Trace>();
  for (const Frame* frame = vm.frame(); frame >= vm.frames_begin(); --frame) {
    trace->calls.push_back({frame->code->span(frame->place()), frame->code->name});
  }
  return {std::move(trace), is_caught(vm)};
}

kiln::timeline::Line line_at(const Code& code, std::size_t place) {
  const lang::Span span = code.span(place);
  if (!span) return {};
  return kiln::timeline::line_of(span.file->name(), static_cast<int>(span.file->locate(span.begin).line));
}

kiln::timeline::Line current_line(Vm& vm) {
  const Frame* const frame = vm.frame();
  if (frame < vm.frames_begin()) return {};
  return line_at(*frame->code, frame->place());
}

const Frame* user_frame(Vm& vm) {
  for (const Frame* frame = vm.frame(); frame >= vm.frames_begin(); --frame) {
    const Module& module = frame->module();
    if (&module == &vm.interpreter().main() || !module.path.empty()) return frame;
  }
  return nullptr;
}

Failure delayed_failure(const kiln::DelayedError& error) {
  Failure failure;
  failure.diagnostic.kind = name(error.kind());
  failure.diagnostic.message = error.message();
  failure.diagnostic.help = error.help();
  if (error.place() == nullptr) return failure;
  const auto& calls = static_cast<const Trace*>(error.place().get())->calls;
  if (calls.empty()) return failure;
  failure.diagnostic.labels.push_back({calls.front().span, ""});
  failure.diagnostic.trace = calls;
  failure.diagnostic.trace_is_whole = true;
  return failure;
}

}  // namespace kiln::interp
