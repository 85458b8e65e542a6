// Owns captures: streams whose work becomes a graph, and what may not be called meanwhile.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "tests/cuda/fake/graph.h"

namespace kiln::cuda {

struct CaptureData {
  std::unique_ptr<GraphData> graph = std::make_unique<GraphData>();
  StreamHandle origin = nullptr;
  int mode = kCaptureGlobal;
  std::thread::id thread = std::this_thread::get_id();
  bool is_invalid = false;
};

}  // namespace kiln::cuda

namespace kiln::fake {

using namespace kiln::cuda;

// Which calls this thread may make while streams are captured: a mode of captures.
int& mode_of_thread();

// Of a call that waits for all work or may do so: what it gives while a stream is captured, which loses the
// capture; success where there is none that forbids it.
Result refuse_unsafe();
// Of a call that no captured stream can do.
Result refuse_captured(StreamData& stream);

// Gives work to a stream, or to the graph that it captures. `done` is when it is done; of a graph's it is
// null.
Result give(StreamData& stream, GraphNodeData node, MomentHandle* done = nullptr);

Result begin_capture(StreamData& stream, int mode);
// The graph is null where the capture was lost.
Result end_capture(StreamData& stream, GraphHandle* graph);
Result record_captured(StreamData& stream, EventData& event);
// Also of a stream that is not captured yet, which takes part from then on.
Result wait_captured(StreamData& stream, const EventData& event);

}  // namespace kiln::fake
