// Owns calls of libraries that cannot be stopped: they run on a thread of their own, which Ctrl-C leaves
// behind.
#pragma once

#include <functional>

namespace kiln {

// Runs `call` on another thread and waits for its end; what it throws is rethrown. Throws OpError
// (Interrupted) when that was requested and is due: the call then goes on where nothing waits for it, at the
// lowest priority. So `call` owns all memory that it touches; it is destroyed when it has ended. The thread
// costs some 20 µs.
void run_detached(std::function<void()> call);

// Does a call go on that nothing waits for? A process that ends then must not take its libraries down first.
bool detached_calls_go_on();

}  // namespace kiln
