#include "tests/cuda/fake/state.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tests/cuda/fake/settings.h"

namespace kiln::fake {

State& state() {
  static auto* const all = new State;  // never destroyed: handles may be released late
  return *all;
}

ContextData*& current_context() {
  thread_local ContextData* current = nullptr;
  return current;
}

bool is_sticky(Result error) {
  constexpr Result kSticky[] = {kUncorrectableMemory, kIllegalAddress,     kLaunchTimeout,     kAssert,
                                kHardwareStack,       kIllegalInstruction, kMisalignedAddress, kIllegalSpace,
                                kIllegalCounter,      kLaunchFailed};
  return std::find(std::begin(kSticky), std::end(kSticky), error) != std::end(kSticky);
}

Result admit(std::string_view entry, Needs needs) {
  const Result set = count_call(entry);
  if (needs == Needs::Nothing) return set;
  if (!state().is_initialized && entry != "cuInit") return kNotInitialized;
  ContextData* const context = current_context();
  const bool has_context = is_context(context);
  if (needs == Needs::Context && has_context && context->sticky != kSuccess) return context->sticky;
  if (has_context && is_sticky(set)) context->sticky = set;
  if (set != kSuccess) return set;
  return needs == Needs::Context && !has_context ? kInvalidContext : kSuccess;
}

Result note(ContextData& context, const Failure& failure) {
  if (failure.error == kSuccess) return kSuccess;
  std::fprintf(stderr, "fake CUDA: %s\n", failure.text.c_str());
  context.sticky = failure.error;
  return failure.error;
}

Result settle(ContextData& context) {
  if (context.sticky != kSuccess) return context.sticky;
  std::string problem = state().memory.check();
  return problem.empty() ? kSuccess : note(context, {kLaunchFailed, std::move(problem)});
}

FakeCard* card_of(int device) {
  State& all = state();
  if (device < 0 || static_cast<std::size_t>(device) >= all.cards.size()) return nullptr;
  return all.cards[static_cast<std::size_t>(device)].get();
}

StreamHandle make_stream(ContextData& context, bool follows_default) {
  auto* const stream = new StreamData;
  stream->context = &context;
  stream->follows_default = follows_default;
  stream->queue = Queue::make(context);
  return stream;
}

StreamData* stream_of(StreamHandle handle) {
  if (handle != nullptr) return state().streams.contains(handle) ? handle : nullptr;
  ContextData& context = *current_context();
  if (context.default_stream == nullptr) context.default_stream = make_stream(context, true);
  return context.default_stream;
}

bool is_event(EventHandle event) { return state().events.contains(event); }

std::shared_ptr<ModuleData> module_of(FunctionHandle function) {
  for (const auto& [handle, module] : state().modules) {
    for (const auto& each : module->functions) {
      if (each.get() == function) return module;
    }
  }
  return nullptr;
}

bool is_context(ContextHandle context) {
  if (context == nullptr) return false;
  const FakeCard* const card = card_of(context->device);
  return card != nullptr && &card->context == context && context->users > 0;
}

MomentHandle give_now(StreamData& stream, Work work) {
  ContextData& context = *stream.context;
  if (&stream == context.default_stream) {
    for (StreamData* const other : state().streams) {
      if (other->context == &context && other->follows_default) stream.queue->hold_until(other->queue->end());
    }
  } else if (stream.follows_default && context.default_stream != nullptr) {
    stream.queue->hold_until(context.default_stream->queue->end());
  }
  return stream.queue->give(std::move(work));
}

Moments ends_of(const ContextData& context) {
  Moments moments;
  if (context.default_stream != nullptr) moments.push_back(context.default_stream->queue->end());
  for (StreamData* const stream : state().streams) {
    if (stream->context == &context) moments.push_back(stream->queue->end());
  }
  return moments;
}

}  // namespace kiln::fake
