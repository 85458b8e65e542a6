// Loading the libraries of CUDA: each way in which it can fail, driven through fakes, and what users see of
// it.
#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "repl/session.h"
#include "tensor/cuda/refusal.h"
#include "tests/cuda/child.h"

namespace kiln::loading_test {

using namespace kiln::testing;

namespace {

constexpr std::string_view kAbsent = "DeviceError: there is no device \"cuda\" here: ";
const std::string kFound = "it is here";

std::string absent(const std::string& sentence, const std::string& way_out) {
  return std::string(kAbsent) + sentence + "\nhelp: " + way_out;
}

std::string with_fault(const std::string& fault) {
  return refusal_of_cuda(fakes({{"KILN_FAKE_FAIL", fault}}));
}

std::string text_of(const std::optional<cuda::Refusal>& refusal) {
  return refusal ? refusal->sentence + "\nhelp: " + refusal->way_out : "usable";
}

std::string cublaslt_with(const Variables& more) {
  return in_child(fakes(more), [] { return text_of(cuda::refusal_of(cuda::cublaslt())); });
}

// What the prompt prints for entries.
std::string printed_by(const std::vector<std::string>& entries) {
  std::string printed;
  repl::Session::Options options;
  options.out = options.err = [&](std::string_view part) { printed += part; };
  repl::Session session(std::move(options));
  for (const std::string& entry : entries) session.eval(entry);
  return printed;
}

std::string talk(const Variables& variables, const std::vector<std::string>& entries) {
  return in_child(variables, [&] { return printed_by(entries); });
}

// A file that is no library, for the time of a test.
struct BrokenFile {
  std::string path = "/tmp/kiln_broken_" + std::to_string(std::rand()) + ".so";
  BrokenFile() { std::ofstream(path) << "this is no library, and long enough to be looked at by the loader"; }
  ~BrokenFile() { std::remove(path.c_str()); }
  BrokenFile(const BrokenFile&) = delete;
  BrokenFile& operator=(const BrokenFile&) = delete;
};

const std::string kGetNvrtc13 =
    "`python3 -m venv ~/cuda && ~/cuda/bin/pip install 'nvidia-cuda-nvrtc==13.*'`, then `export "
    "KILN_NVRTC=$(find "
    "~/cuda -name libnvrtc.so.13)`";
const std::string kGetNvrtc12 =
    "`python3 -m venv ~/cuda && ~/cuda/bin/pip install nvidia-cuda-nvrtc-cu12`, then `export "
    "KILN_NVRTC=$(find "
    "~/cuda -name libnvrtc.so.12)`";

}  // namespace

TEST_CASE("where all is there the card is found", "[cuda]") {
  CHECK(refusal_of_cuda(fakes()) == kFound);
  CHECK(refusal_of_cuda(
            fakes({{"KILN_FAKE_DRIVER_VERSION", "12000"}, {"KILN_FAKE_NVRTC_VERSION", "12.9"}})) == kFound);
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_DRIVER_VERSION", "14000"}})) == kFound);
  CHECK(in_child(fakes({{"KILN_FAKE_CARDS", "2"}, {"KILN_FAKE_MEMORY", "12345678"}}), [] {
          const cuda::DriverFinding& found = cuda::driver();
          std::string text = to_string(found.version) + " by " + found.found_by;
          for (const cuda::Card& card : found.cards)
            text += ", " + card.name + " " + std::to_string(card.bytes) + " sm_" +
                    std::to_string(card.capability) + " uuid " + std::to_string(int{card.uuid.bytes[0]});
          return text;
        }) == "13.0 by KILN_CUDA_DRIVER, Fake card 12345678 sm_90 uuid 1, Fake card 12345678 sm_90 uuid 2");
}

TEST_CASE("the driver's faults are told with the way out", "[cuda]") {
  CHECK(refusal_of_cuda(fakes({{"KILN_CUDA_DRIVER", "/no/such/libcuda.so.1"}})) ==
        absent("NVIDIA's driver cannot be loaded: /no/such/libcuda.so.1: cannot open shared object file: No "
               "such file "
               "or directory",
               "name another file by KILN_CUDA_DRIVER, or unset it"));
  CHECK(refusal_of_cuda(fakes({{"KILN_CUDA_DRIVER", "libkiln_none.so.1"}})) ==
        absent("NVIDIA's driver cannot be loaded: libkiln_none.so.1: no file of this name is found",
               "name another file by KILN_CUDA_DRIVER, or unset it"));
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_DRIVER_VERSION", "11040"}})) ==
        absent("NVIDIA's driver supports CUDA 11.4, and Kiln needs 12.0 or newer",
               "install NVIDIA's driver 525 or newer"));
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_CARDS", "0"}})) ==
        absent("NVIDIA's driver for CUDA 13.0 sees no card",
               "`nvidia-smi -L` shows the cards of the machine; a container is run with `--gpus all`"));
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_CARDS", "0"}, {"CUDA_VISIBLE_DEVICES", ""}})) ==
        absent("NVIDIA's driver for CUDA 13.0 sees no card, and CUDA_VISIBLE_DEVICES is \"\"",
               "unset CUDA_VISIBLE_DEVICES, or list in it numbers that `nvidia-smi -L` shows"));
  CHECK(with_fault("cuInit:1:100") == refusal_of_cuda(fakes({{"KILN_FAKE_CARDS", "0"}})));
  CHECK(with_fault("cuInit:1:803") ==
        absent("NVIDIA's driver (" KILN_FAKE_CUDA
               ") and its module in the kernel are of different versions (error 803)",
               "restart the machine: the driver was updated while its old module is in use"));
  CHECK(with_fault("cuDriverGetVersion:1:34") ==
        absent("NVIDIA's driver (" KILN_FAKE_CUDA ") is the toolkit's stub, which programs are linked with",
               "name another file by KILN_CUDA_DRIVER, or unset it"));
  CHECK(
      with_fault("cuInit:1:999") ==
      absent("NVIDIA's driver does not start: cuInit gave CUDA_ERROR_UNKNOWN (999): unknown error",
             "`nvidia-smi` shows whether the driver works at all; where it fails too, restart the machine"));
  CHECK(
      with_fault("cuInit:1:12345,cuGetErrorString:1:1") ==
      absent("NVIDIA's driver does not start: cuInit gave the error (12345)",
             "`nvidia-smi` shows whether the driver works at all; where it fails too, restart the machine"));
  CHECK(refusal_of_cuda(fakes({{"KILN_CUDA_DRIVER", KILN_FAKE_INCOMPLETE}})) ==
        absent("driver (" KILN_FAKE_INCOMPLETE ") lacks the entry point cuInit",
               "name another file by KILN_CUDA_DRIVER, or unset it"));
  const BrokenFile broken;
  CHECK(refusal_of_cuda(fakes({{"KILN_CUDA_DRIVER", broken.path}})) ==
        absent("NVIDIA's driver cannot be loaded: " + broken.path + ": invalid ELF header",
               "name another file by KILN_CUDA_DRIVER, or unset it"));
}

TEST_CASE("a card of a number that there is none of", "[cuda]") {
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_CARDS", "2"}}), "cuda:1") == kFound);
  CHECK(refusal_of_cuda(fakes(), "cuda:1") ==
        "DeviceError: there is no device \"cuda:1\" here: NVIDIA's driver sees 1 card\n"
        "help: cards are numbered from 0: \"cuda\" is the first, \"cuda:1\" the second");
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_CARDS", "2"}}), "cuda:100").find("sees 2 cards") !=
        std::string::npos);
}

TEST_CASE("NVRTC's faults are told with the way out", "[cuda]") {
  CHECK(refusal_of_cuda(fakes({{"KILN_NVRTC", "/no/such/libnvrtc.so.13"}})) ==
        absent("NVRTC, the compiler of CUDA, cannot be loaded: /no/such/libnvrtc.so.13: cannot open shared "
               "object file: "
               "No such file or directory",
               "name another file by KILN_NVRTC, or unset it"));
  CHECK(refusal_of_cuda(fakes({{"KILN_NVRTC", KILN_FAKE_INCOMPLETE}})) ==
        absent("NVRTC (" KILN_FAKE_INCOMPLETE ") lacks the entry point nvrtcGetNumSupportedArchs",
               "name another file by KILN_NVRTC, or unset it"));
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_NVRTC_VERSION", "14.1"}})) ==
        absent("NVRTC is of CUDA 14.1 (" KILN_FAKE_NVRTC "), which is newer than the driver's CUDA 13.0",
               kGetNvrtc13));
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_DRIVER_VERSION", "12040"}})) ==
        absent("NVRTC is of CUDA 13.0 (" KILN_FAKE_NVRTC "), which is newer than the driver's CUDA 12.4",
               kGetNvrtc12));
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_NVRTC_VERSION", "11.8"}})) ==
        absent("NVRTC is of CUDA 11.8 (" KILN_FAKE_NVRTC "), and Kiln needs 12.0 or newer", kGetNvrtc13));
  CHECK(with_fault("nvrtcVersion:1:11") ==
        absent("NVRTC (" KILN_FAKE_NVRTC
               ") does not start: nvrtcVersion gave NVRTC_ERROR_INTERNAL_ERROR (11)",
               "name another file by KILN_NVRTC, or unset it"));
}

TEST_CASE("a card that NVRTC does not compile for", "[cuda]") {
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_CAPABILITY", "61"}})) ==
        absent("NVRTC 13.0 no longer compiles for Fake card (sm_61)", kGetNvrtc12));
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_CAPABILITY", "35"},
                               {"KILN_FAKE_NVRTC_VERSION", "12.9"},
                               {"KILN_FAKE_ARCHITECTURES", "50,90"}})) ==
        absent("NVRTC 12.9 no longer compiles for Fake card (sm_35)",
               "a newer card is needed: compute on the CPU"));
  CHECK(refusal_of_cuda(fakes({{"KILN_FAKE_CAPABILITY", "140"}})) ==
        absent("NVRTC 13.0 does not yet compile for Fake card (sm_140)", kGetNvrtc13));
}

TEST_CASE("cublasLt is not needed", "[cuda]") {
  CHECK(refusal_of_cuda(fakes({{"KILN_CUBLASLT", "/no/such/file"}})) == kFound);
  CHECK(cublaslt_with({}) == "usable");
  CHECK(cublaslt_with({{"KILN_FAKE_CUBLASLT_VERSION", "120602"}}) == "usable");
  CHECK(cublaslt_with({{"KILN_FAKE_CUBLASLT_VERSION", "11601"}}).starts_with("cublasLt is of CUDA 11.6 ("));
  CHECK(cublaslt_with({{"KILN_FAKE_CUBLASLT_VERSION", "140000"}}).starts_with("cublasLt is of CUDA 14.0 ("));
  CHECK(cublaslt_with({{"KILN_FAKE_FAIL", "cublasLtGetVersion:1:1"}}) ==
        "cublasLt (" KILN_FAKE_CUBLASLT
        ") does not start: cublasLtGetVersion gave 0\nhelp: name another file by KILN_CUBLASLT, or unset it");
  CHECK(cublaslt_with({{"KILN_CUBLASLT", KILN_FAKE_INCOMPLETE}}) ==
        "cublasLt (" KILN_FAKE_INCOMPLETE
        ") lacks the entry point cublasLtGetStatusString\nhelp: name another file by KILN_CUBLASLT, or unset "
        "it");
}

TEST_CASE("whichever entry point fails at its first call, it is an error and no crash", "[cuda]") {
  std::vector<std::string> entries;
#define KILN_ENTRY(result, name, parameters) entries.push_back(#name);
#include "tensor/cuda/driver_api.def"
#define KILN_ENTRY(result, name, parameters) entries.push_back(#name);
#include "tensor/cuda/nvrtc_api.def"
#define KILN_ENTRY(result, name, parameters) entries.push_back(#name);
#include "tensor/cuda/cublaslt_api.def"
#define KILN_ENTRY(result, name, parameters) entries.push_back(#name);
#include "tensor/cuda/nccl_api.def"
  CHECK(entries.size() == 63 + 14 + 17 + 12);
  for (const std::string error : {"999", "700", "2"}) {
    std::vector<std::string> refused;
    for (const std::string& entry : entries) {
      const std::string said = with_fault(entry + ":1:" + error);
      if (said == kFound) continue;
      INFO(entry);
      CHECK(said.starts_with(kAbsent));
      CHECK(said.find(entry + " gave ") != std::string::npos);
      refused.push_back(entry);
    }
    CHECK(refused == std::vector<std::string>{"cuInit", "cuDriverGetVersion", "cuDeviceGetCount",
                                              "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid_v2",
                                              "cuDeviceGetAttribute", "cuDeviceTotalMem_v2", "nvrtcVersion",
                                              "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"});
  }
}

TEST_CASE("a program sees the same error by each of its ways to a device", "[cuda]") {
  const Variables none = {{"KILN_CUDA_DRIVER", "/no/such/driver"}};
  for (const std::string way :
       {"device(\"cuda\")", "ones(2).to(\"cuda\")", "ones(2).cuda()", "ones(2).cuda(\"cuda\")",
        "zeros(2, device=\"cuda\")", "tensor([1], device=\"cuda\")", ":set device cuda", "memory(\"cuda\")",
        "jit(x => x.cuda() + 1)(ones(2))"}) {
    const std::string said = talk(none, {way});
    INFO(way << "\n" << said);
    CHECK(said.starts_with(std::string(kAbsent) + "NVIDIA's driver cannot be loaded: /no/such/driver"));
    CHECK(said.find("help: name another file by KILN_CUDA_DRIVER, or unset it") != std::string::npos);
  }
  CHECK(talk(none, {"ones(2).cuda(\"cpu\").device"}) == "device('cpu')\n");
}

TEST_CASE("no library of CUDA's is opened before a device of it is named", "[cuda]") {
  const auto opened = [](const std::vector<std::string>& entries) {
    return in_child(fakes(), [&] {
      const std::string printed = printed_by(entries);
      std::ifstream maps("/proc/self/maps");
      const std::string all{std::istreambuf_iterator<char>(maps), {}};
      return printed + (all.find("libfake_") == std::string::npos ? "none" : "some");
    });
  };
  CHECK(opened({"x = ones(2).to(\"cpu\").cpu() + 1", "device(\"cpu\");"}) == "none");
  CHECK(opened({"try { device(\"cuda\") } catch err { }"}) == "some");
}

TEST_CASE("`:devices` tells what was found where", "[cuda]") {
  CHECK(talk(fakes(), {":devices"}) ==
        "cpu       the default\n"
        "cuda      Fake card, 1 GiB, compute capability 9.0\n"
        "driver    13.0, " KILN_FAKE_CUDA
        " (KILN_CUDA_DRIVER)\n"
        "NVRTC     13.0, " KILN_FAKE_NVRTC
        " (KILN_NVRTC)\n"
        "cublasLt  13.0, " KILN_FAKE_CUBLASLT
        " (KILN_CUBLASLT)\n"
        "NCCL      2.28, " KILN_FAKE_NCCL " (KILN_NCCL)\n");
  CHECK(talk(fakes({{"KILN_FAKE_CARDS", "2"},
                    {"KILN_FAKE_CAPABILITY", "61"},
                    {"KILN_CUBLASLT", "/no/such/file"},
                    {"KILN_FAKE_FAIL", "ncclGetVersion:1:2"}}),
             {":devices"}) ==
        "cpu       the default\n"
        "cuda      Fake card, 1 GiB, compute capability 6.1\n"
        "          NVRTC 13.0 no longer compiles for Fake card (sm_61)\n"
        "          help: " +
            kGetNvrtc12 +
            "\n"
            "cuda:1    Fake card, 1 GiB, compute capability 6.1\n"
            "          NVRTC 13.0 no longer compiles for Fake card (sm_61)\n"
            "          help: " +
            kGetNvrtc12 +
            "\n"
            "driver    13.0, " KILN_FAKE_CUDA
            " (KILN_CUDA_DRIVER)\n"
            "NVRTC     13.0, " KILN_FAKE_NVRTC
            " (KILN_NVRTC)\n"
            "cublasLt  cublasLt cannot be loaded: /no/such/file: cannot open shared object file: No such "
            "file or "
            "directory\n"
            "          help: name another file by KILN_CUBLASLT, or unset it\n"
            "NCCL      NCCL (" KILN_FAKE_NCCL
            ") does not start: ncclGetVersion gave 2\n"
            "          help: name another file by KILN_NCCL, or unset it\n");
  CHECK(talk(fakes({{"KILN_CUDA_DRIVER", "/no/such/file"}}), {":devices"}) ==
        "cpu       the default\n"
        "driver    NVIDIA's driver cannot be loaded: /no/such/file: cannot open shared object file: No such "
        "file or "
        "directory\n"
        "          help: name another file by KILN_CUDA_DRIVER, or unset it\n"
        "NVRTC     13.0, " KILN_FAKE_NVRTC
        " (KILN_NVRTC)\n"
        "cublasLt  13.0, " KILN_FAKE_CUBLASLT
        " (KILN_CUBLASLT)\n"
        "NCCL      2.28, " KILN_FAKE_NCCL " (KILN_NCCL)\n");
  CHECK(talk(fakes(), {":devices all"}).starts_with("ValueError: `all` is not known\n"));
}

}  // namespace kiln::loading_test
