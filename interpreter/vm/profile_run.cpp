#include "interpreter/vm/profile_run.h"

#include <chrono>

#include "interpreter/vm/line_clock.h"
#include "tensor/backend.h"

namespace kiln::interp {

Profile profile_run(Interpreter& interpreter, const std::function<void()>& f) {
  kiln::timeline::Recording recording(kiln::timeline::Detail::Ops);
  const LineClock clock(interpreter);
  const auto start = std::chrono::steady_clock::now();
  {
    const kiln::timeline::Span span(kiln::timeline::Kind::Run, "profile");
    f();
  }
  kiln::synchronize_devices();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return profile_of(recording.stop(), took.count());
}

}  // namespace kiln::interp
