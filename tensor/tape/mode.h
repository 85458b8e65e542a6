// Owns this thread's switch between recording and not recording.
#pragma once

namespace kiln::tape {

// Read on every op, so it is a plain thread-local: `GradMode` and `set_grad_enabled` change it.
extern thread_local constinit bool recording;

}  // namespace kiln::tape
