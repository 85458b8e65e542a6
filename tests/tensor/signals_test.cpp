// Signals that arrive while a library of kernels runs leave its results and the memory around them alone.
#include <sys/time.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "tensor/functions.h"
#include "tensor/tensor.h"
#include "tests/tensor/tensors.h"

namespace kiln::signals_test {

namespace {

volatile std::sig_atomic_t handled = 0;

// A signal every 300 microseconds while this lives.
class Ticking {
 public:
  Ticking() {
    handled = 0;
    struct sigaction action{};
    action.sa_handler = [](int) { handled = handled + 1; };
    sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Ticking() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Ticking(const Ticking&) = delete;
  Ticking& operator=(const Ticking&) = delete;

 private:
  struct sigaction before_{};
};

}  // namespace

TEST_CASE("convolutions under a rain of signals are right, and so is the heap", "[conv]") {
  const Tensor x = ops::ones(Dims{1, 16, 30, 30}), weight = ops::ones(Dims{16, 16, 3, 3});
  const Ticking ticking;
  while (handled < 300) {
    const Tensor y = testing::call("conv2d", {x, weight, {}})[0];
    const auto* data = y.data<float>();
    REQUIRE(std::all_of(data, data + y.numel(), [](float v) { return v == 144.0F; }));
  }
}

}  // namespace kiln::signals_test
