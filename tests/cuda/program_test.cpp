// Programs for cards: where their code is kept, what is said of a text that is none, and launches of any
// size.
#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tensor/cuda/launch.h"
#include "tensor/cuda/program.h"
#include "tensor/interrupt.h"
#include "tests/cuda/cache_folder.h"
#include "tests/cuda/child.h"
#include "tests/tensor/tensors.h"

namespace kiln::program_test {

using namespace kiln::testing;

namespace {

// What a process computes that keeps its code in the folder; `can_compile`: NVRTC works in it.
std::string computed(const CacheFolder& folder, bool can_compile) {
  const Variables failing = {{"KILN_FAKE_FAIL", "nvrtcCompileProgram:1:6"}};
  return in_child(fakes(can_compile ? Variables{} : failing), [&]() -> std::string {
    folder.use();
    const Tensor x = ops::to(ops::to(ops::arange(0, 5), DType::F32), parse_device("cuda"));
    return describe(ops::to(ops::neg(x), Device{}));
  });
}

constexpr const char* kNumbering = R"(
extern "C" __global__ void number(long long* to, long long count) {
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < count;
       i += gridDim.x * static_cast<long long>(blockDim.x))
    to[i] = to[i] + i + 1;
}
)";

}  // namespace

TEST_CASE("code of cards is kept, and what is damaged is compiled anew", "[cuda]") {
  const CacheFolder folder;
  const std::string right = computed(folder, true);
  CHECK(right.find("-4") != std::string::npos);
  CHECK(!folder.files().empty());
  CHECK(computed(folder, false) == right);
  for (const double place : {0.0, 0.5, 0.999}) {
    folder.damage(place);
    CHECK(computed(folder, false) != right);
    CHECK(computed(folder, true) == right);
    CHECK(computed(folder, false) == right);
  }
  folder.cut(100);
  CHECK(computed(folder, true) == right);
  // The key of a file names all that decides the code, but not its text.
  for (const auto& file : folder.files()) CHECK(std::filesystem::file_size(file) < 100000);
}

TEST_CASE("a text that does not compile is told with the words of NVRTC", "[cuda]") {
  const std::string said = in_child(fakes(), []() -> std::string {
    try {
      cuda::function_of(cuda::Context::of(parse_device("cuda")), "no_such_word f();", "f");
    } catch (const InternalError& error) {
      return error.what();
    }
    return "it compiled";
  });
  INFO(said);
  CHECK(said.find("does not compile for sm_") != std::string::npos);
  CHECK(said.find("no_such_word") != std::string::npos);
}

TEST_CASE("Ctrl-C ends a compilation, which can begin again", "[cuda]") {
  // A text that no run before compiled, so that the fake has to.
  const std::string text = std::string(kNumbering) + "// " + std::to_string(std::random_device()()) + "\n";
  CHECK(in_child(fakes(), [&]() -> std::string {
          cuda::Context& context = cuda::Context::of(parse_device("cuda"));
          std::string said;
          std::thread asking([] {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            interrupt_requested = true;
          });
          try {
            cuda::function_of(context, text, "number");
          } catch (const OpError& error) {
            said = std::string(name(error.kind())) + ": " + error.message();
          }
          asking.join();
          interrupt_requested = false;
          return said + (cuda::function_of(context, text, "number") != nullptr ? ", then compiled" : "");
        }) == "Interrupted: stopped, then compiled");
}

TEST_CASE("a launch of any size does all of its work, once", "[cuda]") {
  CHECK(in_child(fakes(), []() -> std::string {
          const Device card = parse_device("cuda");
          cuda::Context& context = cuda::Context::of(card);
          for (const std::int64_t count : {0, 1, 255, 256, 257, (1 << 20) + 3}) {
            const Tensor x = ops::to(make(Dims{count}, DType::I64, [](std::int64_t) { return 0.0; }), card);
            std::byte* to = x.raw_writable();
            long long work = count;
            cuda::run(context,
                      {.function = cuda::function_of(context, kNumbering, "number"), .threads = count}, to,
                      work);
            if (!same_bits(ops::to(x, Device{}), ops::arange(1, count + 1))) return std::to_string(count);
          }
          return "";
        }) == "");
}

}  // namespace kiln::program_test
