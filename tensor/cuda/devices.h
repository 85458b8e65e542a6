// Owns what of CUDA is on this machine: its libraries, where each was found and in which version, and the
// cards. A library is looked for and opened when it is first asked for, once in a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/cuda/api.h"

namespace kiln::cuda {

enum class Library : std::uint8_t { Driver, Nvrtc, CublasLt, Nccl };

struct Version {
  int major = 0, minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};
std::string to_string(Version version);  // "13.0"

// The driver, and what it is used with, must be of this version of CUDA or newer.
inline constexpr Version kOldest{12, 0};
// The newest major version of the libraries beside the driver that is looked for.
inline constexpr int kNewestMajor = 13;

enum class State : std::uint8_t {
  Usable,
  Missing,
  Unloadable,  // there is one, but the system cannot load it
  Incomplete,  // it lacks an entry point
  TooOld,
  TooNew,    // of a later CUDA than the driver
  NoCard,    // the driver sees none
  Stub,      // the toolkit's, which programs are linked with and which does nothing
  Mismatch,  // the driver's library and its module in the kernel are of different versions
  OldCard,   // no longer known to NVRTC
  NewCard,   // not yet known to NVRTC
  Failed,    // a call at the start gave an error
};

// What is known of one library.
struct Finding {
  Library library = Library::Driver;
  State state = State::Missing;
  std::string path;      // of its file
  std::string found_by;  // as OpenLibrary says
  Version version;       // the driver's is that of the CUDA it supports
  Version driver;        // of the driver it is to be used with; none where there is no usable one
  // What is wrong: the system's words, the entry point that it lacks, the call that failed, the card, or what
  // hides the cards.
  std::string detail;
};

// Of more cards than these the first are used.
inline constexpr std::size_t kMostCards = 16;

struct Card {
  std::string name;
  std::size_t bytes = 0;  // of its memory
  int capability = 0;     // 90 for compute capability 9.0, which is the architecture sm_90
  Uuid uuid{};
};

struct DriverFinding : Finding {
  std::vector<Card> cards;  // by the number of the device
  DriverApi api;            // complete where the state is Usable
};

struct NvrtcFinding : Finding {
  std::vector<int> architectures;  // that it compiles for: 90 is sm_90
  NvrtcApi api;
};

struct CublasLtFinding : Finding {
  CublasLtApi api;
};

struct NcclFinding : Finding {
  NcclApi api;
};

const DriverFinding& driver();
inline const DriverApi& driver_api() { return driver().api; }
const NvrtcFinding& nvrtc();
const CublasLtFinding& cublaslt();
// Its version is NCCL's own.
const NcclFinding& nccl();

// "cuInit gave CUDA_ERROR_UNKNOWN (999): unknown error".
std::string failure_text(const DriverApi& api, std::string_view entry, Result error);

}  // namespace kiln::cuda
