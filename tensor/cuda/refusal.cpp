#include "tensor/cuda/refusal.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "tensor/error.h"

namespace kiln::cuda {
namespace {

// ---- Words of several sentences --------------------------------------------------------------------------

struct LibraryWords {
  std::string_view name;
  std::string_view in_sentence;
  std::string_view variable;
  std::string_view file;     // without the version
  std::string_view package;  // of Python, that has it
};

constexpr LibraryWords kLibraryWords[] = {
    {"driver", "NVIDIA's driver", "KILN_CUDA_DRIVER", "libcuda.so", ""},
    {"NVRTC", "NVRTC, the compiler of CUDA,", "KILN_NVRTC", "libnvrtc.so", "nvidia-cuda-nvrtc"},
    {"cublasLt", "cublasLt", "KILN_CUBLASLT", "libcublasLt.so", "nvidia-cublas"},
    {"NCCL", "NCCL", "KILN_NCCL", "libnccl.so", "nvidia-nccl"},
};

const LibraryWords& words_of(const Finding& found) {
  return kLibraryWords[static_cast<std::size_t>(found.library)];
}

// The major version of CUDA that a library beside the driver should have.
int wanted_major(const Finding& found) {
  return found.driver < kOldest ? kNewestMajor : std::min(found.driver.major, kNewestMajor);
}

// Debian's Python takes packages in an environment only. The names of packages had a suffix up to CUDA 12.
std::string install_package(const Finding& found, int major) {
  const LibraryWords& words = words_of(found);
  const std::string package = major < 13 ? fmt::format("{}-cu{}", words.package, major)
                                         : fmt::format("'{}=={}.*'", words.package, major);
  return fmt::format(
      "`python3 -m venv ~/cuda && ~/cuda/bin/pip install {}`, then `export {}=$(find ~/cuda -name {}.{})`",
      package, words.variable, words.file, major);
}

bool is_named_by_variable(const Finding& found) { return found.found_by == words_of(found).variable; }

std::string name_another(const Finding& found) {
  const LibraryWords& words = words_of(found);
  if (is_named_by_variable(found)) return fmt::format("name another file by {}, or unset it", words.variable);
  return fmt::format("install it anew, or name another file by {}", words.variable);
}

// ---- The table -------------------------------------------------------------------------------------------

std::string driver_missing(const Finding&) { return "NVIDIA's driver is not found (libcuda.so.1)"; }
std::string get_driver(const Finding&) {
  return "install NVIDIA's driver, 525 or newer, or name its libcuda.so.1 by KILN_CUDA_DRIVER; a container "
         "is "
         "run with `--gpus all`";
}

std::string driver_too_old(const Finding& found) {
  return fmt::format("NVIDIA's driver supports CUDA {}, and Kiln needs {} or newer", to_string(found.version),
                     to_string(kOldest));
}
std::string update_driver(const Finding&) { return "install NVIDIA's driver 525 or newer"; }

std::string no_card(const Finding& found) {
  return fmt::format("NVIDIA's driver for CUDA {} sees no card{}{}", to_string(found.version),
                     found.detail.empty() ? "" : ", and ", found.detail);
}
std::string show_card(const Finding& found) {
  if (!found.detail.empty())
    return "unset CUDA_VISIBLE_DEVICES, or list in it numbers that `nvidia-smi -L` shows";
  return "`nvidia-smi -L` shows the cards of the machine; a container is run with `--gpus all`";
}

std::string driver_stub(const Finding& found) {
  return fmt::format("NVIDIA's driver ({}) is the toolkit's stub, which programs are linked with",
                     found.path);
}
std::string get_no_stub(const Finding& found) {
  if (is_named_by_variable(found)) return name_another(found);
  return "take the toolkit's folder `stubs` out of LD_LIBRARY_PATH";
}

std::string driver_mismatch(const Finding& found) {
  return fmt::format("NVIDIA's driver ({}) and its module in the kernel are of different versions (error {})",
                     found.path, kDriverMismatch);
}
std::string restart(const Finding&) {
  return "restart the machine: the driver was updated while its old module is in use";
}

std::string driver_failed(const Finding& found) {
  return fmt::format("NVIDIA's driver does not start: {}", found.detail);
}
std::string look_at_driver(const Finding&) {
  return "`nvidia-smi` shows whether the driver works at all; where it fails too, restart the machine";
}

std::string compiler_missing(const Finding& found) {
  return fmt::format("NVRTC, the compiler of CUDA, is not found (libnvrtc.so.{})", wanted_major(found));
}
std::string products_missing(const Finding&) {
  return "cublasLt is not found, so products of matrices run by a kernel of Kiln's own";
}
std::string get_package(const Finding& found) { return install_package(found, wanted_major(found)); }

std::string transfers_missing(const Finding&) {
  return "NCCL is not found (libnccl.so.2), so ranks exchange what is on cards through the host's memory";
}
std::string get_transfers(const Finding& found) {
  return fmt::format(
      "`python3 -m venv ~/cuda && ~/cuda/bin/pip install nvidia-nccl-cu{}`, then `export KILN_NCCL=$(find "
      "~/cuda -name libnccl.so.2)`",
      wanted_major(found));
}

std::string old_card(const Finding& found) {
  return fmt::format("NVRTC {} no longer compiles for {}", to_string(found.version), found.detail);
}
std::string get_old_compiler(const Finding& found) {
  if (found.version.major <= kOldest.major) return "a newer card is needed: compute on the CPU";
  return install_package(found, kOldest.major);
}
std::string new_card(const Finding& found) {
  return fmt::format("NVRTC {} does not yet compile for {}", to_string(found.version), found.detail);
}

std::string unloadable(const Finding& found) {
  return fmt::format("{} cannot be loaded: {}", words_of(found).in_sentence, found.detail);
}
std::string incomplete(const Finding& found) {
  return fmt::format("{} ({}) lacks the entry point {}", words_of(found).name, found.path, found.detail);
}
std::string too_old(const Finding& found) {
  return fmt::format("{} is of CUDA {} ({}), and Kiln needs {} or newer", words_of(found).name,
                     to_string(found.version), found.path, to_string(kOldest));
}
std::string too_new(const Finding& found) {
  return fmt::format("{} is of CUDA {} ({}), which is newer than the driver's CUDA {}", words_of(found).name,
                     to_string(found.version), found.path, to_string(found.driver));
}
std::string failed(const Finding& found) {
  return fmt::format("{} ({}) does not start: {}", words_of(found).name, found.path, found.detail);
}

struct Row {
  std::optional<Library> library;  // none: of each
  State state;
  std::string (*sentence)(const Finding& found);
  std::string (*way_out)(const Finding& found);
};

// What is wrong, in the words for the user: the first row that fits.
constexpr Row kRows[] = {
    {Library::Driver, State::Missing, driver_missing, get_driver},
    {Library::Driver, State::TooOld, driver_too_old, update_driver},
    {Library::Driver, State::NoCard, no_card, show_card},
    {Library::Driver, State::Stub, driver_stub, get_no_stub},
    {Library::Driver, State::Mismatch, driver_mismatch, restart},
    {Library::Driver, State::Failed, driver_failed, look_at_driver},
    {Library::Nvrtc, State::Missing, compiler_missing, get_package},
    {Library::Nvrtc, State::OldCard, old_card, get_old_compiler},
    {Library::Nvrtc, State::NewCard, new_card, get_package},
    {Library::CublasLt, State::Missing, products_missing, get_package},
    {Library::Nccl, State::Missing, transfers_missing, get_transfers},
    {std::nullopt, State::Unloadable, unloadable, name_another},
    {std::nullopt, State::Incomplete, incomplete, name_another},
    {std::nullopt, State::TooOld, too_old, get_package},
    {std::nullopt, State::TooNew, too_new, get_package},
    {std::nullopt, State::Failed, failed, name_another},
};

// Of a device that the driver has a card for.
const Card& card_of(Device device) { return *std::next(driver().cards.begin(), device.index); }

}  // namespace

std::string_view name(Library library) { return kLibraryWords[static_cast<std::size_t>(library)].name; }

std::optional<Refusal> refusal_of(const Finding& found) {
  if (found.state == State::Usable) return std::nullopt;
  for (const Row& row : kRows) {
    if (row.state == found.state && (!row.library || *row.library == found.library))
      return Refusal{row.sentence(found), row.way_out(found)};
  }
  throw InternalError("there are no words for what is wrong with " + std::string(name(found.library)));
}

std::optional<Refusal> refusal_of(const Card& card, const NvrtcFinding& compiler) {
  const std::vector<int>& all = compiler.architectures;
  if (std::find(all.begin(), all.end(), card.capability) != all.end()) return std::nullopt;
  Finding found = compiler;
  const bool is_old = !all.empty() && card.capability < *std::min_element(all.begin(), all.end());
  found.state = is_old ? State::OldCard : State::NewCard;
  found.detail = fmt::format("{} (sm_{})", card.name, card.capability);
  return refusal_of(found);
}

std::optional<Refusal> refusal_of(Device device) {
  if (auto refusal = refusal_of(driver())) return refusal;
  const std::vector<Card>& cards = driver().cards;
  if (device.index < 0 || device.index >= std::ssize(cards)) {
    return Refusal{fmt::format("NVIDIA's driver sees {} card{}", cards.size(), cards.size() == 1 ? "" : "s"),
                   "cards are numbered from 0: \"cuda\" is the first, \"cuda:1\" the second"};
  }
  if (auto refusal = refusal_of(nvrtc())) return refusal;
  return refusal_of(card_of(device), nvrtc());
}

void refuse(Device device) {
  const std::string text = to_string(device);
  if (const auto refusal = refusal_of(device)) {
    throw OpError(ErrorKind::Device,
                  fmt::format("there is no device \"{}\" here: {}", text, refusal->sentence), {},
                  refusal->way_out);
  }
  throw InternalError(text + " can be used, and was refused");
}

}  // namespace kiln::cuda
