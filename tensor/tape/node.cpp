#include "tensor/tape/node.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace kiln {
namespace tape {
namespace {

// Nodes made less nodes ended by one thread: plain loads and stores, as only that thread writes. Below zero
// where nodes end in another thread than they began in.
struct Tally {
  std::atomic<std::int64_t> count{0};
  void add(std::int64_t by) {
    count.store(count.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
};
struct Tallies {
  std::mutex mutex;
  std::vector<Tally*> all;  // one per thread that ever recorded, never freed
};
Tallies& tallies() {
  static auto* const shared = new Tallies;
  return *shared;
}
thread_local constinit Tally* this_tally = nullptr;

Tally& tally() {
  if (this_tally == nullptr) [[unlikely]] {
    this_tally = new Tally;
    const std::lock_guard lock(tallies().mutex);
    tallies().all.push_back(this_tally);
  }
  return *this_tally;
}

// Nodes of this thread whose last reference went while another one was being ended. Trivial on purpose:
// tensors in static variables end after thread-local objects do.
struct Graveyard {
  Node* first = nullptr;
  bool busy = false;
};
thread_local constinit Graveyard graveyard;

}  // namespace

// Ending a node releases its inputs' nodes. They are queued, so that a chain of any length needs no stack.
void destroy(Node* node) {
  Graveyard& mine = graveyard;
  node->next_dead = mine.first;
  mine.first = node;
  if (mine.busy) return;
  mine.busy = true;
  while (mine.first != nullptr) {
    Node* dead = mine.first;
    mine.first = dead->next_dead;
    delete dead;
  }
  mine.busy = false;
}

void Node::enter_run() {
  in_run_ = true;
  SymbolicRun::current()->add(this, [this](const SymbolValues& values) {
    in_run_ = false;
    settle(values);
  });
}

void Node::settle(const SymbolValues& values) {
  for (TensorType& each : output_types) each.sizes = evaluate(each.sizes, values);
}

std::uint64_t next_sequence() {
  thread_local constinit std::uint64_t next = 0;
  return ++next;
}

LiveCount::LiveCount() { tally().add(1); }
LiveCount::~LiveCount() { tally().add(-1); }

}  // namespace tape

std::size_t live_tape_nodes() {
  const std::lock_guard lock(tape::tallies().mutex);
  std::int64_t total = 0;
  for (const tape::Tally* each : tape::tallies().all) total += each->count.load(std::memory_order_relaxed);
  return static_cast<std::size_t>(total);
}

}  // namespace kiln
