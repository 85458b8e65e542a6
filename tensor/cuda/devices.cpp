#include "tensor/cuda/devices.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "tensor/cuda/library_search.h"

namespace kiln::cuda {
namespace {

// Notes a failed call of the driver as the library's state.
bool succeeds(DriverFinding& found, std::string_view entry, Result result) {
  if (result == kSuccess) return true;
  found.state = result == kStubLibrary      ? State::Stub
                : result == kDriverMismatch ? State::Mismatch
                                            : State::Failed;
  found.detail = failure_text(found.api, entry, result);
  return false;
}

bool succeeds(NvrtcFinding& found, std::string_view entry, NvrtcResult result) {
  if (result == kNvrtcSuccess) return true;
  const char* const text = found.api.nvrtcGetErrorString(result);
  found.state = State::Failed;
  found.detail = fmt::format("{} gave {} ({})", entry, text == nullptr ? "an error" : text, result);
  return false;
}

// Opens a library and fills its table. It returns false where no library can be used. An entry point that the
// library lacks is noted and told later, since a version that is too old explains more.
template <class Found>
bool open(Found& found, Library library, const LibraryName& name) {
  OpenLibrary opened = find_library(name);
  found.library = library;
  found.path = std::move(opened.path);
  found.found_by = std::move(opened.found_by);
  if (opened.handle == nullptr) {
    found.state = opened.problem.empty() ? State::Missing : State::Unloadable;
    found.detail = std::move(opened.problem);
    return false;
  }
  found.state = State::Usable;
  found.detail = fill(found.api, opened.handle);
  if (!found.detail.empty()) found.state = State::Incomplete;
  return true;
}

// ---- The driver ------------------------------------------------------------------------------------------

bool read_version(DriverFinding& found) {
  if (found.api.cuDriverGetVersion == nullptr) return false;
  int version = 0;
  if (!succeeds(found, "cuDriverGetVersion", found.api.cuDriverGetVersion(&version))) return false;
  found.version = {version / 1000, version % 1000 / 10};
  if (found.version < kOldest) found.state = State::TooOld;
  return found.state == State::Usable;
}

void note_no_card(DriverFinding& found) {
  found.state = State::NoCard;
  if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    found.detail = fmt::format("CUDA_VISIBLE_DEVICES is \"{}\"", visible);
}

bool initialize(DriverFinding& found) {
  const Result result = found.api.cuInit(0);
  if (result == kNoDevice) {
    note_no_card(found);
    return false;
  }
  return succeeds(found, "cuInit", result);
}

bool read_card(DriverFinding& found, int number) {
  const DriverApi& api = found.api;
  constexpr int kLongestName = 256;
  std::array<char, kLongestName> name{};
  Card card;
  int device = 0, major = 0, minor = 0;
  if (!succeeds(found, "cuDeviceGet", api.cuDeviceGet(&device, number)) ||
      !succeeds(found, "cuDeviceGetName", api.cuDeviceGetName(name.data(), kLongestName - 1, device)) ||
      !succeeds(found, "cuDeviceTotalMem_v2", api.cuDeviceTotalMem_v2(&card.bytes, device)) ||
      !succeeds(found, "cuDeviceGetUuid_v2", api.cuDeviceGetUuid_v2(&card.uuid, device)) ||
      !succeeds(found, "cuDeviceGetAttribute", api.cuDeviceGetAttribute(&major, kCapabilityMajor, device)) ||
      !succeeds(found, "cuDeviceGetAttribute", api.cuDeviceGetAttribute(&minor, kCapabilityMinor, device)))
    return false;
  card.name = name.data();
  card.capability = 10 * major + minor;
  found.cards.push_back(std::move(card));
  return true;
}

void read_cards(DriverFinding& found) {
  int count = 0;
  if (!succeeds(found, "cuDeviceGetCount", found.api.cuDeviceGetCount(&count))) return;
  if (count == 0) return note_no_card(found);
  for (int number = 0; number < std::min(count, static_cast<int>(kMostCards)); ++number) {
    if (!read_card(found, number)) return found.cards.clear();
  }
}

// The driver is no part of a toolkit: what a toolkit has is a stub, and what fits the machine's module is
// installed with it.
DriverFinding look_for_driver() {
  DriverFinding found;
  const LibraryName name{"KILN_CUDA_DRIVER", {"libcuda.so.1"}, false};
  if (open(found, Library::Driver, name) && read_version(found) && initialize(found)) read_cards(found);
  return found;
}

// ---- The libraries beside it -----------------------------------------------------------------------------

// The name of a library with the sonames of the majors that a driver takes, or of those that are too new for
// it.
LibraryName name_of(const std::string& variable, const std::string& library, bool too_new) {
  LibraryName name{variable, {}, true};
  const Version version = driver().version;
  const int newest = version < kOldest ? kNewestMajor : version.major;
  for (int major = kNewestMajor; major >= kOldest.major; --major) {
    if ((major > newest) == too_new) name.sonames.push_back(fmt::format("{}.so.{}", library, major));
  }
  return name;
}

// One that is too new is opened where there is no other, so that it can be told of.
template <class Found>
bool open_beside_driver(Found& found, Library library, const std::string& variable, const std::string& name) {
  found.driver = driver().version;
  if (open(found, library, name_of(variable, name, false))) return true;
  const LibraryName too_new = name_of(variable, name, true);
  return found.state == State::Missing && !too_new.sonames.empty() && open(found, library, too_new);
}

template <class Found>
bool version_fits(Found& found) {
  if (found.version < kOldest) {
    found.state = State::TooOld;
  } else if (found.driver >= kOldest && found.version.major > found.driver.major) {
    found.state = State::TooNew;
  }
  return found.state == State::Usable;
}

void read_architectures(NvrtcFinding& found) {
  int count = 0;
  if (!succeeds(found, "nvrtcGetNumSupportedArchs", found.api.nvrtcGetNumSupportedArchs(&count))) return;
  found.architectures.resize(static_cast<std::size_t>(count));
  succeeds(found, "nvrtcGetSupportedArchs", found.api.nvrtcGetSupportedArchs(found.architectures.data()));
}

NvrtcFinding look_for_nvrtc() {
  NvrtcFinding found;
  if (!open_beside_driver(found, Library::Nvrtc, "KILN_NVRTC", "libnvrtc")) return found;
  if (found.api.nvrtcVersion == nullptr || found.api.nvrtcGetErrorString == nullptr) return found;
  if (!succeeds(found, "nvrtcVersion", found.api.nvrtcVersion(&found.version.major, &found.version.minor)))
    return found;
  if (version_fits(found)) read_architectures(found);
  return found;
}

// 130100 is 13.1; before 12.0 the numbers had a digit less.
Version cublas_version(std::size_t number) {
  const std::size_t major = number < 100'000 ? number / 1000 : number / 10'000;
  return {static_cast<int>(major), static_cast<int>(number / 100 % (number < 100'000 ? 10 : 100))};
}

CublasLtFinding look_for_cublaslt() {
  CublasLtFinding found;
  if (!open_beside_driver(found, Library::CublasLt, "KILN_CUBLASLT", "libcublasLt")) return found;
  if (found.api.cublasLtGetVersion == nullptr) return found;
  const std::size_t number = found.api.cublasLtGetVersion();
  if (number == 0) {
    found.state = State::Failed;
    found.detail = "cublasLtGetVersion gave 0";
    return found;
  }
  found.version = cublas_version(number);
  version_fits(found);
  return found;
}

// Which CUDA it is made for it does not say: with a driver that is too old its first call fails.
NcclFinding look_for_nccl() {
  NcclFinding found;
  found.driver = driver().version;
  if (!open(found, Library::Nccl, {"KILN_NCCL", {"libnccl.so.2"}, true})) return found;
  if (found.api.ncclGetVersion == nullptr) return found;
  int number = 0;
  if (const NcclResult result = found.api.ncclGetVersion(&number); result != kNcclSuccess) {
    found.state = State::Failed;
    found.detail = fmt::format("ncclGetVersion gave {}", result);
    return found;
  }
  found.version = {number / 10'000, number / 100 % 100};  // 22809 is 2.28
  return found;
}

}  // namespace

std::string to_string(Version version) { return fmt::format("{}.{}", version.major, version.minor); }

const DriverFinding& driver() {
  static const DriverFinding found = look_for_driver();
  return found;
}

const NvrtcFinding& nvrtc() {
  static const NvrtcFinding found = look_for_nvrtc();
  return found;
}

const CublasLtFinding& cublaslt() {
  static const CublasLtFinding found = look_for_cublaslt();
  return found;
}

const NcclFinding& nccl() {
  static const NcclFinding found = look_for_nccl();
  return found;
}

std::string failure_text(const DriverApi& api, std::string_view entry, Result error) {
  const char *name = nullptr, *text = nullptr;
  if (api.cuGetErrorName == nullptr || api.cuGetErrorName(error, &name) != kSuccess) name = nullptr;
  if (api.cuGetErrorString == nullptr || api.cuGetErrorString(error, &text) != kSuccess) text = nullptr;
  return fmt::format("{} gave {} ({}){}{}", entry, name == nullptr ? "the error" : name, error,
                     text == nullptr ? "" : ": ", text == nullptr ? "" : text);
}

}  // namespace kiln::cuda
