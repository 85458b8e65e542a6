// What the tape keeps, how long, and what long chains cost.
#include <catch2/catch.hpp>

#include "gradcheck.h"
#include "ops_by_name.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"

namespace kiln::test_tape_memory_test {

using namespace kiln::gradients;

namespace {

std::size_t live_bytes() { return memory_use(Device{}).live_bytes; }

}  // namespace

TEST_CASE("memory and nodes return to what they were", "[tape][memory]") {
  const Tensor x = variable(std::vector<double>(100, 0.5));
  const Tensor w = variable(std::vector<double>(100, 2.0));
  backward(ops::sum(x * w));
  const std::size_t bytes = live_bytes();
  const std::size_t nodes = live_tape_nodes();
  CHECK(nodes == 0);
  for (int round = 0; round < 3; ++round) {
    Tensor y = ops::clone(x);
    const Tensor part = ops::slice(y, 0, 10, 20);
    for (int i = 0; i < 10; ++i) y = ops::exp(y * w) * 0.1;
    write("mul", {part, part});
    const Tensor loss = ops::sum(y * y) + ops::sum(part);
    CHECK(live_tape_nodes() > 20);
    backward(loss);
  }
  CHECK(live_bytes() == bytes);
  CHECK(live_tape_nodes() == nodes);
}

TEST_CASE("backward frees what was saved while the result is still held", "[tape][memory]") {
  const Tensor x = variable(std::vector<double>(1000, 0.5));
  backward(ops::sum(x * x));
  const std::size_t before = live_bytes();
  const Tensor loss = ops::sum(ops::exp(ops::exp(x)));
  CHECK(live_bytes() - before > 16'000);
  backward(loss);
  CHECK(live_bytes() - before == 8);
}

TEST_CASE("gradients with a history of their own do not keep themselves alive", "[tape][memory]") {
  const std::size_t before = live_bytes();
  {
    const Tensor x = variable({1, 2});
    backward(ops::sum(x * x * x), Tensor(), false, true);
    CHECK(requires_grad(grad_of(x)));
    const Tensor y = x * x;
    retain_grad(y);
    const Tensor view = ops::select(y, 0, 0);
    write("mul", {view, view});
    backward(ops::sum(y));
  }
  CHECK(live_bytes() == before);
  CHECK(live_tape_nodes() == 0);
}

TEST_CASE("a leaf that is gone does not stop a backward", "[tape][memory]") {
  const Tensor w = variable({3});
  Tensor x = variable({2});
  const Tensor y = ops::sum(x * w);
  x = Tensor();
  backward(y);
  CHECK(values(grad_of(w)) == std::vector<double>{2});
}

TEST_CASE("only what the wanted gradients read is kept", "[tape][memory]") {
  const Tensor x = scattered(Dims{1000});
  const Tensor w = variable(std::vector<double>(1000, 2.0));
  const Tensor y = x * w;  // keeps x alone
  const std::size_t before = live_bytes();
  {
    const GradMode off(false);
    write("mul", {w, Tensor::number(2.0)});
  }
  CHECK(live_bytes() == before);
  backward(ops::sum(y));
  CHECK(values(grad_of(w)) == values(x));
}

TEST_CASE("a step of descent copies no parameter", "[tape][memory]") {
  const Tensor w = variable(std::vector<double>(1000, 0.5));
  const Tensor loss = ops::sum(w * w);
  backward(loss);
  const std::size_t before = live_bytes();
  const void* memory = w.raw();
  {
    const GradMode off(false);
    ops::add_(w, grad_of(w) * -0.1);
  }
  CHECK(w.raw() == memory);
  CHECK(live_bytes() == before);
}

TEST_CASE("writing rows of a large tensor copies rows, not the tensor", "[tape][memory]") {
  const Tensor w = variable({2});
  const Tensor x = scattered(Dims{1000, 10});
  reset_peak(Device{});
  const std::size_t before = live_bytes();
  for (int i = 0; i < 50; ++i) write("mul", {ops::select(x, 0, i), w});
  CHECK(memory_use(Device{}).peak_bytes - before < 50 * 200 + 80'000);
  backward(ops::sum(x));
  CHECK(grad_of(w).item_float() != 0);
}

TEST_CASE("a chain of a million ops goes back and ends without a deep stack", "[tape][memory]") {
  const Tensor x = variable({1});
  {
    Tensor y = x;
    for (int i = 0; i < 1'000'000; ++i) y = -y;
    CHECK(live_tape_nodes() == 1'000'000);
    backward(y);
  }
  CHECK(live_tape_nodes() == 0);
  CHECK(values(grad_of(x)) == std::vector<double>{1});
}

TEST_CASE("a long chain of writes ends without a deep stack", "[tape][memory]") {
  const Tensor x = variable({1, 2});
  {
    const Tensor y = ops::clone(x);
    for (int i = 0; i < 200'000; ++i) write("neg", {i % 2 == 0 ? y : ops::slice(y, 0, 0, 1)});
    CHECK(live_tape_nodes() >= 200'000);
  }
  CHECK(live_tape_nodes() == 0);
}

}  // namespace kiln::test_tape_memory_test
