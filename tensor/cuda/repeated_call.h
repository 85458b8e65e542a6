// Owns how the work of a call that is made again and again becomes one launch.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tensor/backend.h"
#include "tensor/cuda/work_graph.h"

namespace kiln::cuda {

// The work of a call is kept back until the call is done. When it is like that of the call before, it becomes
// a CUDA graph, which later calls launch with their arguments.
class RepeatedCall final : public kiln::RepeatedCall {
 public:
  explicit RepeatedCall(Device device) : device_(device) {}

  void run(const std::function<void()>& call) override;
  std::int64_t launches() const override { return launches_; }

 private:
  void give(Context& context, std::vector<Work> work);
  bool launch(std::span<const Work> work);
  void make_graph(Context& context, const std::vector<Work>& work);

  Device device_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<WorkGraph>> graphs_;  // the latest last
  std::vector<Work> last_;                          // of the call before, while there is no graph that fits
  int in_vain_ = 0;                                 // attempts since a graph was last launched
  std::int64_t launches_ = 0;
};

}  // namespace kiln::cuda
