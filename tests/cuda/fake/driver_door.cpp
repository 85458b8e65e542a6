#include "tests/cuda/fake/driver_door.h"

#include <memory>
#include <utility>

#include "tests/cuda/fake/capture.h"
#include "tests/cuda/fake/state.h"

namespace kiln::fake {

extern "C" {

__attribute__((visibility("default"))) Result kiln_fake_give(StreamHandle handle, ForeignWork work) {
  const std::shared_ptr<void> data(work.data, work.release);
  return enter_stream("kiln_fake_give", handle, [&](StreamData& stream) {
    GraphNodeData node;
    node.run = [data, run = work.run]() -> Failure {
      const char* const problem = run(data.get());
      if (problem == nullptr) return {};
      return {kIllegalAddress, problem};
    };
    return give(stream, std::move(node));
  });
}

__attribute__((visibility("default"))) bool kiln_fake_is_on_card(Address address, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  return state().memory.may_be_used(address, bytes);
}

__attribute__((visibility("default"))) int kiln_fake_card_of_stream(StreamHandle handle) {
  const std::lock_guard lock(state().mutex);
  const bool is_known = state().streams.contains(handle);
  return is_known ? handle->context->device : -1;
}

__attribute__((visibility("default"))) int kiln_fake_current_card() {
  const std::lock_guard lock(state().mutex);
  return current_context() == nullptr ? -1 : current_context()->device;
}

}  // extern "C"
}  // namespace kiln::fake
