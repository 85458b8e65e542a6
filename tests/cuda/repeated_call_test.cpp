// Calls that are made again and again: their work becomes one launch, and gives what it would give one by
// one.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "tensor/backend.h"
#include "tensor/functions.h"
#include "tests/cuda/child.h"
#include "tests/cuda/talk.h"
#include "tests/tensor/tensors.h"

namespace kiln::repeated_call_test {

using namespace kiln::testing;

namespace {

const Tensor& grid() {
  static const Tensor made = ops::reshape(ops::arange(0, 12), Dims{3, 4});
  return made;
}

Tensor transposed(const Tensor& x) { return ops::permute(x, Dims{1, 0}); }

// Kernels, a copy, a fill, and memory that is used again while the work is kept back.
Tensor several(const Tensor& x, double added) {
  const Tensor zero = ops::mul(x, Tensor::number(0.0));
  const Tensor sum = ops::sum(ops::add(transposed(x), Tensor::number(added)), Dims{1}, true);
  const Tensor copied = ops::clone(ops::mul(sum, Tensor::number(2.0)));
  const Tensor filled = ops::full(Dims{4, 3}, Tensor::number(7.0), DType::F32, x.device());
  return ops::add(transposed(ops::add(copied, filled)), zero);
}

// `calls` of it with other numbers each time; "" where each gives what the CPU gives.
std::string disagreement(RepeatedCall& repeated, Device card, int calls, bool keeps_results) {
  Tensors kept;
  for (int i = 0; i < calls; ++i) {
    const Tensor x = ops::to(ops::add(grid(), Tensor::number(static_cast<double>(i))), DType::F32);
    const Tensor there = ops::to(x, card);
    Tensor y;
    repeated.run([&] { y = several(there, i); });
    if (!same_bits(ops::to(y, Device{}), several(x, i))) return fmt::format("call {}", i);
    if (keeps_results) kept.push_back(y);
  }
  return "";
}

}  // namespace

TEST_CASE("calls that repeat become one launch", "[cuda]") {
  for (const char* const sync : {"0", "1"}) {
    for (const bool keeps_results : {false, true}) {
      INFO(sync << keeps_results);
      CHECK(in_child(fakes({{"KILN_FAKE_SYNC", sync}}), [&]() -> std::string {
              const Device card = parse_device("cuda");
              const auto repeated = backend_of(card).repeated_call();
              const std::string wrong = disagreement(*repeated, card, 12, keeps_results);
              return wrong + fmt::format("{}", repeated->launches() > 0);
            }) == "true");
    }
  }
}

TEST_CASE("what waits within a call ends its being kept back", "[cuda]") {
  CHECK(in_child(fakes(), []() -> std::string {
          const Device card = parse_device("cuda");
          const auto repeated = backend_of(card).repeated_call();
          for (int i = 0; i < 20; ++i) {
            const Tensor x = ops::to(ops::to(grid(), DType::F32), card);
            Tensor read, y;
            repeated->run([&] {
              y = several(x, i);
              read = ops::to(y, Device{});
              y = several(y, i);
            });
            const Tensor expected = several(ops::to(grid(), DType::F32), i);
            if (!same_bits(read, expected)) return fmt::format("read {}", i);
            if (!same_bits(ops::to(y, Device{}), several(expected, i))) return fmt::format("result {}", i);
          }
          return fmt::format("{}", repeated->launches());
        }) == "0");
}

TEST_CASE("a call that throws has done what came before", "[cuda]") {
  CHECK(in_child(fakes(), []() -> std::string {
          const Device card = parse_device("cuda");
          const auto repeated = backend_of(card).repeated_call();
          const Tensor x = ops::to(ops::to(grid(), DType::F32), card);
          for (int i = 0; i < 6; ++i) {
            Tensor y;
            try {
              repeated->run([&] {
                y = several(x, i);
                if (i % 3 == 2) throw OpError(ErrorKind::Value, "stopped");
              });
            } catch (const OpError& error) {
              if (error.message() != "stopped") return error.message();
            }
            if (!same_bits(ops::to(y, Device{}), several(ops::to(grid(), DType::F32), i)))
              return fmt::format("call {}", i);
          }
          return "";
        }) == "");
}

TEST_CASE("graphs that the driver does not make leave calls as they were", "[cuda]") {
  for (const char* const failing :
       {"cuStreamBeginCapture_v2:1:900", "cuGraphInstantiateWithFlags:1:2", "cuGraphGetNodes:1:1",
        "cuGraphKernelNodeGetParams_v2:1:1", "cuGraphExecKernelNodeSetParams_v2:1:1"}) {
    INFO(failing);
    CHECK(in_child(fakes({{"KILN_FAKE_FAIL", failing}}), []() -> std::string {
            const Device card = parse_device("cuda");
            return disagreement(*backend_of(card).repeated_call(), card, 12, true);
          }) == "");
  }
}

TEST_CASE("compiled functions are launched as one, with every argument of each call", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          return printed_for(
              {"@jit\nfn f(x, w) {\n  y = (x * w).sum(1).sin()\n  z = (y / y.sum()).cumsum(0) + y.max()\n  "
               "return z, w + z.mean()\n}",
               "x = rand(8, 5); w = rand(5); u = x.cuda(); v = w.cuda()", "same = true",
               "for i in range(12) { a, w = f(x, w); b, v = f(u, v); same = same and equal(a, b.cpu()) and "
               "equal(w, v.cpu()) }",
               "print(same)"});
        }) == "true\n");
}

}  // namespace kiln::repeated_call_test
