// Owns what the fake driver knows: cards, contexts, memory, streams and events; and the door of its entry
// points.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/cuda/api_types.h"
#include "tests/cuda/fake/modules.h"

namespace kiln::cuda {

// The types that handles lead to.
struct ContextData {
  int device = 0;
  int users = 0;  // that retain it
};
struct PoolData {
  int device = 0;
  std::map<int, std::uint64_t> attributes;
};
struct StreamData {
  ContextData* context = nullptr;
};
struct EventData {
  ContextData* context = nullptr;
  bool keeps_time = true;
  bool is_recorded = false;
  std::chrono::steady_clock::time_point time{};
};

}  // namespace kiln::cuda

namespace kiln::fake {

using namespace kiln::cuda;

struct Block {
  std::size_t bytes = 0;
  int device = 0;
  std::unique_ptr<std::byte[]> memory;  // with room to align in
};

struct FakeCard {
  std::size_t bytes = 0, used = 0, most_used = 0;
  ContextData context;
  PoolData pool;
};

struct State {
  std::recursive_mutex mutex;
  bool is_initialized = false;
  Result sticky = kSuccess;  // an error after which nothing works
  std::vector<std::unique_ptr<FakeCard>> cards;
  std::map<Address, Block> blocks;  // of the cards' memory
  std::map<void*, std::unique_ptr<std::byte[]>> host_blocks;
  std::set<StreamData*> streams;
  std::set<EventData*> events;
  std::map<ModuleHandle, std::unique_ptr<ModuleData>> modules;
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

FakeCard* card_of(int device);        // null for a number that no card has
bool is_stream(StreamHandle stream);  // null is the default one
bool is_event(EventHandle event);
bool is_function(FunctionHandle function);
bool is_context(ContextHandle context);
// Are all these bytes of one block of a card's memory?
bool is_device_memory(Address address, std::size_t bytes);

Result allocate(Address* address, std::size_t bytes);
Result release(Address address);

}  // namespace kiln::fake
