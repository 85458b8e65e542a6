// Owns what the fake driver knows: cards, contexts, streams, events and modules; and the door of its entry
// points.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/cuda/api_types.h"
#include "tests/cuda/fake/device_memory.h"
#include "tests/cuda/fake/modules.h"
#include "tests/cuda/fake/streams.h"

namespace kiln::cuda {

struct CaptureData;

// The types that handles lead to.
struct ContextData {
  int device = 0;
  int users = 0;                         // that retain it
  std::atomic<Result> sticky{kSuccess};  // an error after which nothing works
  StreamHandle default_stream = nullptr;
};
struct PoolData {
  int device = 0;
  std::map<int, std::uint64_t> attributes;
};
struct StreamData {
  ContextData* context = nullptr;
  bool follows_default = true;  // and the default stream follows it
  std::shared_ptr<fake::Queue> queue;
  std::shared_ptr<CaptureData> capture;     // that its work goes to
  std::vector<GraphNodeHandle> last_nodes;  // that its next one follows
};
struct EventData {
  ContextData* context = nullptr;
  bool keeps_time = true;
  bool is_recorded = false;
  fake::MomentHandle moment;
  std::shared_ptr<CaptureData> capture;  // that it was recorded in
  std::vector<GraphNodeHandle> last_nodes;
};

}  // namespace kiln::cuda

namespace kiln::fake {

using namespace kiln::cuda;

struct FakeCard {
  std::size_t bytes = 0, used = 0, most_used = 0;
  ContextData context;
  PoolData pool;
};

// Memory of the host that the driver gave, with red zones around it.
struct HostBlock {
  std::size_t bytes = 0;
  std::unique_ptr<std::byte[]> memory;
};

struct State {
  std::recursive_mutex mutex;
  bool is_initialized = false;
  std::vector<std::unique_ptr<FakeCard>> cards;
  DeviceMemory memory;
  std::map<Address, HostBlock> host_blocks;
  std::set<StreamData*> streams;  // without the default ones
  std::set<EventData*> events;
  std::map<ModuleHandle, std::shared_ptr<ModuleData>> modules;
};

State& state();
// The context of this thread, or null.
ContextData*& current_context();

// What must hold before an entry point does its work.
enum class Needs { Nothing, Initialized, Context };

// Is it an error after which the context is of no more use?
bool is_sticky(Result error);

// Counts the call; gives the error that it is set to give, or that of what it needs and lacks.
Result admit(std::string_view entry, Needs needs);

// The door of all entry points.
template <class Body>
Result enter(std::string_view entry, Needs needs, const Body& body) {
  const std::lock_guard lock(state().mutex);
  if (const Result refused = admit(entry, needs); refused != kSuccess) return refused;
  return body();
}

using Moments = std::vector<MomentHandle>;

// Tells a failure, after which the context is of no more use.
Result note(ContextData& context, const Failure& failure);
// What went wrong in the context so far; looks at the memory of cards first.
Result settle(ContextData& context);

// The door of those that wait: the body says for what, and others may call meanwhile.
template <class Body>
Result enter_and_wait(std::string_view entry, const Body& body) {
  Moments moments;
  const Result begun = enter(entry, Needs::Context, [&] { return body(moments); });
  if (begun != kSuccess) return begun;
  wait_for(moments);
  const std::lock_guard lock(state().mutex);
  return settle(*current_context());
}

FakeCard* card_of(int device);  // null for a number that no card has
StreamHandle make_stream(ContextData& context, bool follows_default);
// Null for a handle that leads to no stream; a null handle leads to the context's default one.
StreamData* stream_of(StreamHandle handle);
bool is_event(EventHandle event);
// The module of a function; null for a handle that leads to none.
std::shared_ptr<ModuleData> module_of(FunctionHandle function);
bool is_context(ContextHandle context);

// Gives work to a stream that is not captured. The default stream follows all others that do not refuse it,
// and they follow it.
MomentHandle give_now(StreamData& stream, Work work);
// An entry point that gives work.
template <class Body>
Result enter_stream(std::string_view entry, StreamHandle handle, const Body& body) {
  return enter(entry, Needs::Context, [&] {
    StreamData* const stream = stream_of(handle);
    return stream == nullptr ? kInvalidHandle : body(*stream);
  });
}

// When all that the streams of a context were given is done.
Moments ends_of(const ContextData& context);

}  // namespace kiln::fake
