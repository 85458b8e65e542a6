// The runtime of cards: memory, copies, transfers, and what programs see of a card that fails. Programs go
// through the prompt, on the fake driver.
#include <catch2/catch.hpp>

#include <algorithm>

#include "tensor/cuda/memory.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tests/cuda/child.h"
#include "tests/cuda/talk.h"

namespace kiln::runtime_test {

using namespace kiln::testing;

namespace {

std::string talk(const Variables& variables, const std::vector<std::string>& entries) {
  return in_child(fakes(variables), [&] { return printed_for(entries); });
}

// A program of allocations, copies both ways, kernels, writes and a backward pass. It prints 54.
const std::vector<std::string> kProgram = {
    "x = arange(6.0).reshape(2, 3).cuda()",
    "w = ones(2, 3).cuda().requires_grad_()",
    "y = (x * w).t() + 1",
    "y[0, 1] = 7",
    "y.sum().backward()",
    "big = ones(1 << 20).cuda()",
    "print(w.grad.cpu().sum().item() + big.sum().item())",
};
const std::string kPrinted = "1048588.0\n";

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string bytes_of(const Tensor& x) {
  const HostView view(x, x.dtype());
  return {reinterpret_cast<const char*>(view.bytes()), view.byte_count()};
}

}  // namespace

TEST_CASE("elements of every dtype and layout come to a card and back", "[cuda]") {
  CHECK(in_child(fakes(), []() -> std::string {
          const Device card = parse_device("cuda");
          std::string wrong;
          for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) {
            const Tensor all = ops::to(ops::arange(0, 4 * 5 * 6), static_cast<DType>(dtype));
            const Tensor cube = ops::reshape(all, Dims{4, 5, 6});
            for (const Tensor& x :
                 {cube, ops::permute(cube, Dims{2, 0, 1}), ops::select(cube, 1, 3),
                  ops::slice(cube, 2, 1, 6, 2), ops::expand(ops::select(all, 0, 7), Dims{3, 2}),
                  ops::slice(all, 0, 0, 0), ops::select(all, 0, 5)}) {
              const Tensor there = ops::to(x, card);
              const Tensor back = ops::to(there, Device{});
              if (there.device() != card || back.device() != Device{} || bytes_of(there) != bytes_of(x) ||
                  bytes_of(back) != bytes_of(x))
                wrong += to_string(x.type()) + "\n";
            }
          }
          return wrong;
        }) == "");
}

TEST_CASE("copies of any length are whole", "[cuda]") {
  CHECK(in_child(fakes({{"KILN_FAKE_CARDS", "2"}}), []() -> std::string {
          const Device first = parse_device("cuda"), second = parse_device("cuda:1");
          constexpr std::int64_t kPiece = 1 << 20;
          for (const std::int64_t bytes :
               {std::int64_t{1}, kPiece - 1, kPiece, kPiece + 1, 4 * kPiece, 9 * kPiece + 5}) {
            const Tensor x =
                ops::to(ops::remainder(ops::arange(0, bytes), Tensor::number(Dim{251})), DType::U8);
            const Tensor moved = ops::to(ops::to(ops::to(x, first), second), Device{});
            if (bytes_of(moved) != bytes_of(x)) return std::to_string(bytes);
          }
          return "";
        }) == "");
}

TEST_CASE("free blocks are used again, and go back to the driver where it has none", "[cuda]") {
  CHECK(talk({{"KILN_FAKE_MEMORY", "16777216"}, {"KILN_CUDA_EXACT", "0"}},
             {"x = ones(2000000).cuda()", "x = none", "y = ones(1999000).cuda()", ":mem", "y = none",
              "z = ones(3000000).cuda()", "z.sum().item()"}) ==
        "cpu: 0 B in 0 buffers, at most 7.6 MiB so far\n"
        "cuda: 7.6 MiB in 1 buffers, at most 7.6 MiB so far\n"
        "  0 B more are kept for reuse; the card has 16.0 MiB, of which 8.0 MiB are free\n"
        "    7.6 MiB  y\n"
        "3000000.0\n");
  const std::string said =
      talk({{"KILN_FAKE_MEMORY", "16777216"}}, {"x = ones(3000000).cuda()", "y = x * 2", "x.sum().item()",
                                                "x = none", "y = ones(3000000).cuda(); y.sum().item()"});
  INFO(said);
  CHECK(holds(
      said,
      "OutOfMemory: mul: cannot allocate 11.4 MiB: 11.4 MiB in 1 tensors are in use, the limit is 16.0 MiB"));
  CHECK(said.ends_with("3000000.0\n3000000.0\n"));
}

TEST_CASE("whichever allocation fails, the program gets memory or an error, and goes on", "[cuda]") {
  CHECK(talk({}, kProgram) == kPrinted);
  for (int k = 1; k <= 40; ++k) {
    std::vector<std::string> program = kProgram;
    program.push_back("print(ones(3).cuda().sum().item())");
    const std::string said =
        talk({{"KILN_FAKE_FAIL", "cuMemAllocAsync:" + std::to_string(k) + ":2"}}, program);
    INFO(k << "\n" << said);
    CHECK((said == kPrinted + "3.0\n" || holds(said, "OutOfMemory: ") || holds(said, "the error of before")));
    CHECK(holds(said, "3.0\n"));
  }
}

TEST_CASE("whichever call fails, it is an error, and the session lives on", "[cuda]") {
  for (const std::string entry :
       {"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate", "cuMemAllocAsync", "cuMemHostAlloc",
        "cuEventCreate", "cuEventRecord", "cuEventQuery", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2"}) {
    for (const std::string error : {"1", "999"}) {
      for (const std::string k : {"1", "2", "5"}) {
        std::vector<std::string> program = kProgram;
        program.push_back("print(ones(3).cuda().sum().item() + ones(2).sum().item())");
        const std::string said = talk({{"KILN_FAKE_FAIL", entry + ":" + k + ":" + error}}, program);
        INFO(entry << " " << k << " " << error << "\n" << said);
        CHECK((said == kPrinted + "5.0\n" || holds(said, "DeviceError: ")));
        CHECK(said.ends_with("5.0\n"));
      }
    }
  }
}

TEST_CASE("a card that is lost is told once and for all, and the CPU goes on", "[cuda]") {
  const std::string said = talk({{"KILN_FAKE_FAIL", "cuMemcpyDtoHAsync_v2:1:700"}},
                                {"x = ones(3).cuda()", "x.sum().item()", "x + 1", "ones(2).cuda()",
                                 "y = ones(2) * 3; y.sum().item()", ":mem", "x = none", ":devices"});
  INFO(said);
  CHECK(holds(said, "DeviceError: cuda is lost, with the tensors on it: "));
  CHECK(holds(said, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  CHECK(holds(said, "help: what is on the CPU is still there"));
  CHECK(holds(said, "6.0\n"));
}

TEST_CASE("gradients cross devices, and operands that do not are refused", "[cuda]") {
  CHECK(
      talk({{"KILN_FAKE_CARDS", "2"}},
           {"x = ones(2, 3).requires_grad_()", "(x.cuda() * 2).to(\"cuda:1\").exp().sum().cpu().backward()",
            "x.grad.device, x.grad.sum().item()", "a = ones(2).cuda(); b = ones(2).to(\"cuda:1\")",
            "try { a + b } catch e { print(e.message) }", "try { a + ones(2) } catch e { print(e.message) }",
            "a + tensor(1.0)", "ones(2).cuda().to(\"cuda:1\").device"}) ==
      "(device('cpu'), 88.66867065429688)\n"
      "add: operands are on different devices: `x` on cuda, `other` on cuda:1\n"
      "add: operands are on different devices: `x` on cuda, `other` on cpu\n"
      "f32[2] cuda 8 B\n[2., 2.]\n"
      "device('cuda:1')\n");
}

TEST_CASE(":why tells which ops the host computes for a card", "[cuda]") {
  const std::string told =
      talk({}, {"@jit fn f(x) = cholesky(x) * 2", "f(eye(3, device=\"cuda\"));", ":why f"});
  CHECK(holds(told, "operands of cholesky go from cuda to the host, and results come back"));
  CHECK_FALSE(holds(told, "operands of mul"));
}

}  // namespace kiln::runtime_test
