#include "tensor/cuda/repeated_call.h"

#include <algorithm>
#include <utility>

namespace kiln::cuda {
namespace {

// A launch of one kernel is what a graph of it would be.
constexpr std::size_t kLeastWork = 2;
// Results that the program keeps lie elsewhere in the next call, and products cannot be told so: a loop that
// keeps the last result has two graphs by turns.
constexpr std::size_t kMostGraphs = 4;
// Then the work is given as it comes: it waits for the card, or is another each time.
constexpr int kMostInVain = 16;

}  // namespace

void RepeatedCall::run(const std::function<void()>& call) {
  Context& context = Context::of(device_);
  if (keeps_back(device_)) return call();  // it is part of a call that repeats
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || in_vain_ >= kMostInVain) return call();
  KeptBack kept(context);
  call();
  if (!kept.is_keeping()) {
    ++in_vain_;
    return;
  }
  give(context, kept.take());
}

void RepeatedCall::give(Context& context, std::vector<Work> work) {
  if (launch(work)) {
    in_vain_ = 0;
    ++launches_;
    return;
  }
  ++in_vain_;
  if (work.size() >= kLeastWork && are_alike(work, last_)) make_graph(context, work);
  for (const Work& each : work) cuda::give(context, each);
  last_ = std::move(work);
}

bool RepeatedCall::launch(std::span<const Work> work) {
  const auto found =
      std::find_if(graphs_.begin(), graphs_.end(), [&](const auto& each) { return each->fits(work); });
  return found != graphs_.end() && (*found)->launch(work);
}

void RepeatedCall::make_graph(Context& context, const std::vector<Work>& work) {
  std::unique_ptr<WorkGraph> made = WorkGraph::make(context, work);
  if (made == nullptr) return;
  if (graphs_.size() == kMostGraphs) graphs_.erase(graphs_.begin());
  graphs_.push_back(std::move(made));
}

}  // namespace kiln::cuda
