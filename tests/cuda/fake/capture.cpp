#include "tests/cuda/fake/capture.h"

#include <algorithm>
#include <utility>

#include "tests/cuda/fake/state.h"

namespace kiln::fake {
namespace {

// The capture is of no more use.
Result lose(CaptureData& capture, Result why) {
  capture.is_invalid = true;
  return why;
}

bool is_forbidden(const CaptureData& capture) {
  const int mode = mode_of_thread();
  if (mode == kCaptureRelaxed || capture.mode == kCaptureRelaxed) return false;
  if (capture.thread == std::this_thread::get_id()) return true;
  return mode == kCaptureGlobal && capture.mode == kCaptureGlobal;
}

// The default stream would wait for captured work.
Result refuse_implicit(const StreamData& stream) {
  if (&stream != stream.context->default_stream) return kSuccess;
  for (const StreamData* const other : state().streams) {
    if (other->context == stream.context && other->follows_default && other->capture != nullptr)
      return lose(*other->capture, kCaptureImplicit);
  }
  return kSuccess;
}

void leave(const std::shared_ptr<CaptureData>& capture) {
  for (StreamData* const stream : state().streams) {
    if (stream->capture != capture) continue;
    stream->capture = nullptr;
    stream->last_nodes.clear();
  }
}

bool has_joined(const CaptureData& capture) {
  for (const StreamData* const stream : state().streams) {
    if (stream->capture.get() == &capture && !are_followed_by(stream->last_nodes, capture.origin->last_nodes))
      return false;
  }
  return true;
}

}  // namespace

int& mode_of_thread() {
  thread_local int mode = kCaptureGlobal;
  return mode;
}

Result refuse_unsafe() {
  for (const StreamData* const stream : state().streams) {
    if (stream->capture != nullptr && is_forbidden(*stream->capture))
      return lose(*stream->capture, kCaptureUnsupported);
  }
  return kSuccess;
}

Result refuse_captured(StreamData& stream) {
  if (stream.capture != nullptr) return lose(*stream.capture, kCaptureUnsupported);
  return refuse_implicit(stream);
}

Result give(StreamData& stream, GraphNodeData node, MomentHandle* done) {
  if (stream.capture == nullptr) {
    if (const Result refused = refuse_implicit(stream); refused != kSuccess) return refused;
    const MomentHandle moment = give_now(stream, std::move(node.run));
    if (done != nullptr) *done = moment;
    return kSuccess;
  }
  if (stream.capture->is_invalid) return kCaptureInvalidated;
  node.after = stream.last_nodes;
  auto& nodes = stream.capture->graph->nodes;
  nodes.push_back(std::make_unique<GraphNodeData>(std::move(node)));
  stream.last_nodes = {nodes.back().get()};
  return kSuccess;
}

Result begin_capture(StreamData& stream, int mode) {
  if (mode < kCaptureGlobal || mode > kCaptureRelaxed) return kInvalidValue;
  if (&stream == stream.context->default_stream) return kCaptureUnsupported;
  if (stream.capture != nullptr) return kIllegalState;
  stream.capture = std::make_shared<CaptureData>();
  stream.capture->origin = &stream;
  stream.capture->mode = mode;
  return kSuccess;
}

Result end_capture(StreamData& stream, GraphHandle* graph) {
  if (graph == nullptr) return kInvalidValue;
  *graph = nullptr;
  const std::shared_ptr<CaptureData> capture = stream.capture;
  if (capture == nullptr) return kIllegalState;
  if (capture->origin != &stream) return lose(*capture, kCaptureUnmatched);
  if (capture->mode != kCaptureRelaxed && capture->thread != std::this_thread::get_id())
    return kCaptureWrongThread;
  const bool is_joined = has_joined(*capture);
  leave(capture);
  if (capture->is_invalid) return kCaptureInvalidated;
  if (!is_joined) return lose(*capture, kCaptureUnjoined);
  *graph = capture->graph.release();
  return kSuccess;
}

Result record_captured(StreamData& stream, EventData& event) {
  if (stream.capture->is_invalid) return kCaptureInvalidated;
  event.capture = stream.capture;
  event.last_nodes = stream.last_nodes;
  return kSuccess;
}

Result wait_captured(StreamData& stream, const EventData& event) {
  if (event.capture == nullptr) return lose(*stream.capture, kCaptureIsolation);
  if (event.capture->is_invalid) return kCaptureInvalidated;
  if (stream.capture != nullptr && stream.capture != event.capture) {
    lose(*event.capture, kCaptureMerge);
    return lose(*stream.capture, kCaptureMerge);
  }
  stream.capture = event.capture;
  for (const GraphNodeHandle node : event.last_nodes) {
    if (std::find(stream.last_nodes.begin(), stream.last_nodes.end(), node) == stream.last_nodes.end())
      stream.last_nodes.push_back(node);
  }
  return kSuccess;
}

}  // namespace kiln::fake
