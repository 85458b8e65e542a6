#include "jit/passes/faults.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "jit/graph/fault_script.h"

namespace kiln::jit {
namespace {

std::mutex mutex;
std::vector<Fault> noted;
std::atomic<bool> is_noted{false};

}  // namespace

void note_fault(const Graph& graph, const std::vector<bool>& wanted, const std::exception& error,
                const std::string& instead) {
  Fault fault;
  fault.message = fmt::format("{}: {}, since {}", graph.name, instead, error.what());
  fault.program = script_of(graph, wanted, "compiling this graph goes wrong");
  const std::lock_guard lock(mutex);
  noted.push_back(std::move(fault));
  is_noted.store(true, std::memory_order_release);
}

std::vector<Fault> take_faults() {
  const std::lock_guard lock(mutex);
  is_noted.store(false);
  return std::exchange(noted, {});
}

bool has_faults() { return is_noted.load(std::memory_order_acquire); }

}  // namespace kiln::jit
