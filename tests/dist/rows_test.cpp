// The rows of collectives, over ranks with a controller each: the same bits as where a thread adds them up,
// in values and derivatives, whether ranks are interpreted or compiled.
#include <catch2/catch.hpp>

#include <functional>

#include "tests/dist/controllers.h"
#include "tests/tensor/collective_calls.h"
#include "tests/tensor/thread_ranks.h"

namespace kiln::rows_test {

using namespace kiln::testing;

namespace {

thread_local Collectives* own = nullptr;

// Each thread's controller.
class OwnControllers final : public Collectives {
 public:
  OwnControllers() { set_collectives(this); }
  ~OwnControllers() override { set_collectives(nullptr); }
  std::uint64_t start(std::vector<Collective> started) override { return own->start(std::move(started)); }
  bool is_done(std::uint64_t ticket) override { return own->is_done(ticket); }
  Tensors wait(std::uint64_t ticket) override { return own->wait(ticket); }
  int rank(int process_set) override { return own->rank(process_set); }
  int size(int process_set) override { return own->size(process_set); }
};

std::vector<Tensor> over_controllers(int count, const std::function<Tensor(int rank)>& body) {
  std::vector<Tensor> found(static_cast<std::size_t>(count));
  const OwnControllers controllers;
  on_controllers(count, [&](dist::Controller& controller, int rank) {
    own = &controller;
    found[static_cast<std::size_t>(rank)] = body(rank);
  });
  return found;
}

std::vector<Tensor> over_threads(int count, const std::function<Tensor(int rank)>& body) {
  std::vector<Tensor> found(static_cast<std::size_t>(count));
  ThreadRanks ranks(count);
  ranks.run([&](int rank) { found[static_cast<std::size_t>(rank)] = body(rank); });
  return found;
}

void check_same(int count, const std::function<Tensor(int rank)>& body) {
  const std::vector<Tensor> found = over_controllers(count, body), expected = over_threads(count, body);
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    INFO("rank " << rank);
    CHECK(same_bits(found[rank], expected[rank]));
  }
}

}  // namespace

TEST_CASE("rows over controllers have the values and gradients that they have over threads", "[dist][rows]") {
  for (const int count : {2, 3}) {
    for (const CollectiveCall& call : collective_calls(count)) {
      INFO(call.op << " on " << count << " ranks");
      check_same(count, [&](int rank) { return call.run(rank); });
      check_same(count, [&](int rank) { return call.gradient(rank); });
    }
  }
}

}  // namespace kiln::rows_test
