// The fake driver: captures and graphs, which it does not do yet.
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/settings.h"
#include "tests/cuda/fake/state.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

Result refuse(std::string_view entry) {
  return enter(entry, Needs::Context, [&] {
    tell_missing(entry);
    return kNotSupported;
  });
}

}  // namespace

extern "C" {

Result cuThreadExchangeStreamCaptureMode(int*) { return refuse("cuThreadExchangeStreamCaptureMode"); }
Result cuStreamBeginCapture_v2(StreamHandle, int) { return refuse("cuStreamBeginCapture_v2"); }
Result cuStreamEndCapture(StreamHandle, GraphHandle*) { return refuse("cuStreamEndCapture"); }
Result cuGraphGetNodes(GraphHandle, GraphNodeHandle*, std::size_t*) { return refuse("cuGraphGetNodes"); }
Result cuGraphNodeGetType(GraphNodeHandle, int*) { return refuse("cuGraphNodeGetType"); }
Result cuGraphKernelNodeGetParams_v2(GraphNodeHandle, KernelNode*) {
  return refuse("cuGraphKernelNodeGetParams_v2");
}
Result cuGraphInstantiateWithFlags(GraphExecHandle*, GraphHandle, unsigned long long) {
  return refuse("cuGraphInstantiateWithFlags");
}
Result cuGraphExecKernelNodeSetParams_v2(GraphExecHandle, GraphNodeHandle, const KernelNode*) {
  return refuse("cuGraphExecKernelNodeSetParams_v2");
}
Result cuGraphUpload(GraphExecHandle, StreamHandle) { return refuse("cuGraphUpload"); }
Result cuGraphLaunch(GraphExecHandle, StreamHandle) { return refuse("cuGraphLaunch"); }
Result cuGraphExecDestroy(GraphExecHandle) { return refuse("cuGraphExecDestroy"); }
Result cuGraphDestroy(GraphHandle) { return refuse("cuGraphDestroy"); }

}  // extern "C"
}  // namespace kiln::cuda
