// The sentences for what no fake can bring about on every machine: a library that is nowhere, or found
// without a variable.
#include <catch2/catch.hpp>

#include "tensor/cuda/refusal.h"
#include "tensor/error.h"

namespace kiln::sentences_test {

using namespace kiln::cuda;

namespace {

Finding missing(Library library, Version driver = {}) {
  Finding found;
  found.library = library;
  found.driver = driver;
  return found;
}

std::string text_of(const Finding& found) {
  const std::optional<Refusal> refusal = refusal_of(found);
  return refusal ? refusal->sentence + "\nhelp: " + refusal->way_out : "usable";
}

std::string installed(const std::string& package, const std::string& variable, const std::string& file) {
  return "help: `python3 -m venv ~/cuda && ~/cuda/bin/pip install " + package + "`, then `export " +
         variable + "=$(find ~/cuda -name " + file + ")`";
}

}  // namespace

TEST_CASE("a library that is nowhere", "[cuda]") {
  CHECK(
      text_of(missing(Library::Driver)) ==
      "NVIDIA's driver is not found (libcuda.so.1)\nhelp: install NVIDIA's driver, 525 or newer, or name its "
      "libcuda.so.1 by KILN_CUDA_DRIVER; a container is run with `--gpus all`");
  const std::string nvrtc13 = "NVRTC, the compiler of CUDA, is not found (libnvrtc.so.13)\n" +
                              installed("'nvidia-cuda-nvrtc==13.*'", "KILN_NVRTC", "libnvrtc.so.13");
  CHECK(text_of(missing(Library::Nvrtc, {13, 1})) == nvrtc13);
  CHECK(text_of(missing(Library::Nvrtc, {14, 0})) == nvrtc13);
  CHECK(text_of(missing(Library::Nvrtc)) == nvrtc13);
  CHECK(text_of(missing(Library::Nvrtc, {12, 4})) ==
        "NVRTC, the compiler of CUDA, is not found (libnvrtc.so.12)\n" +
            installed("nvidia-cuda-nvrtc-cu12", "KILN_NVRTC", "libnvrtc.so.12"));
  CHECK(text_of(missing(Library::CublasLt, {13, 0})) ==
        "cublasLt is not found, so products of matrices run by a kernel of Kiln's own\n" +
            installed("'nvidia-cublas==13.*'", "KILN_CUBLASLT", "libcublasLt.so.13"));
  CHECK(text_of(missing(Library::CublasLt, {12, 0})) ==
        "cublasLt is not found, so products of matrices run by a kernel of Kiln's own\n" +
            installed("nvidia-cublas-cu12", "KILN_CUBLASLT", "libcublasLt.so.12"));
  CHECK(text_of(missing(Library::Nccl, {12, 0})) ==
        "NCCL is not found (libnccl.so.2), so ranks exchange what is on cards through the host's memory\n" +
            installed("nvidia-nccl-cu12", "KILN_NCCL", "libnccl.so.2"));
}

TEST_CASE("a library that was found without a variable is installed anew", "[cuda]") {
  Finding found = missing(Library::Nvrtc, {13, 0});
  found.state = State::Unloadable;
  found.path = "libnvrtc.so.13";
  found.found_by = "the system";
  found.detail = "/usr/lib/libnvrtc.so.13: file too short";
  CHECK(text_of(found) ==
        "NVRTC, the compiler of CUDA, cannot be loaded: /usr/lib/libnvrtc.so.13: file too short\n"
        "help: install it anew, or name another file by KILN_NVRTC");
}

TEST_CASE("each state that a library can be in has words", "[cuda]") {
  for (const Library library : {Library::Driver, Library::Nvrtc, Library::CublasLt, Library::Nccl}) {
    for (const State state :
         {State::Missing, State::Unloadable, State::Incomplete, State::TooOld, State::Failed}) {
      Finding found = missing(library, {13, 0});
      found.state = state;
      CHECK_FALSE(text_of(found).empty());
    }
    Finding found = missing(library);
    found.state = State::Usable;
    CHECK_FALSE(refusal_of(found));
  }
  Finding never = missing(Library::Driver);
  never.state = State::OldCard;
  CHECK_THROWS_AS(refusal_of(never), InternalError);
}

}  // namespace kiln::sentences_test
