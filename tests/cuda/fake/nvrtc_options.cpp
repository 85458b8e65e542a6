#include "tests/cuda/fake/nvrtc_options.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "tests/cuda/fake/settings.h"

namespace kiln::fake {
namespace {

using Words = std::vector<std::string_view>;

bool is_one_of(std::string_view option, const Words& all) {
  return std::find(all.begin(), all.end(), option) != all.end();
}

// What stands after the first of the beginnings that the option has.
std::optional<std::string> after(std::string_view option, const Words& beginnings) {
  for (const std::string_view beginning : beginnings) {
    if (option.starts_with(beginning)) return std::string(option.substr(beginning.size()));
  }
  return std::nullopt;
}

bool read_architecture(std::string name, Options& read) {
  if (name.starts_with("compute_")) {
    read.makes_code = false;
    name.erase(0, std::string_view("compute_").size());
  } else if (name.starts_with("sm_")) {
    name.erase(0, std::string_view("sm_").size());
  } else {
    return false;
  }
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f')) {
    read.architecture.is_for_one_alone = name.back() == 'a';
    name.pop_back();
  }
  if (name.empty() || name.find_first_not_of("0123456789") != std::string::npos || name.size() > 4)
    return false;
  read.architecture.number = std::stoi(name);
  read.virtual_architecture = "compute_" + name + (read.architecture.is_for_one_alone ? "a" : "");
  const std::vector<int> known = nvrtc_architectures();
  return std::find(known.begin(), known.end(), read.architecture.number) != known.end();
}

struct Switches {
  bool contracts = true;  // as NVRTC does by default
};

// Reads an option of one word. It gives false for one that is not known.
bool read_option(std::string_view option, Options& read, Switches& switches) {
  if (const auto name = after(option, {"--gpu-architecture=", "-arch="}))
    return read_architecture(*name, read);
  read.for_nvrtc.emplace_back(option);
  if (const auto value = after(option, {"--fmad=", "-fmad="})) {
    switches.contracts = *value == "true";
    return *value == "true" || *value == "false";
  }
  if (const auto standard = after(option, {"-std=", "--std="}))
    return is_one_of(*standard, {"c++14", "c++17", "c++20"});
  if (const auto folder = after(option, {"-I", "--include-path="})) {
    read.for_compiler.push_back("-I" + *folder);
    return !folder->empty();
  }
  if (const auto macro = after(option, {"-D", "--define-macro="})) {
    read.for_compiler.push_back("-D" + *macro);
    return !macro->empty();
  }
  if (is_one_of(option, {"--minimal", "-minimal"})) return nvrtc_version() >= std::vector<int>{12, 4};
  return is_one_of(option, {"-default-device", "--device-as-default-execution-space", "-lineinfo",
                            "--generate-line-info"});
}

}  // namespace

std::vector<int> nvrtc_version() { return numbers_in(text_setting("KILN_FAKE_NVRTC_VERSION", "13.0"), '.'); }

std::vector<int> nvrtc_architectures() {
  return numbers_in(text_setting("KILN_FAKE_ARCHITECTURES", "75,80,86,87,88,89,90,100,103,110,120,121"), ',');
}

Options read_options(int count, const char* const* options) {
  Options read;
  read.architecture.number = nvrtc_architectures().front();
  read.virtual_architecture = "compute_" + std::to_string(read.architecture.number);
  Switches switches;
  for (int i = 0; i < count; ++i) {
    if (options == nullptr || options[i] == nullptr || !read_option(options[i], read, switches)) {
      read.problem = "nvrtc: error: invalid value or unknown option: " +
                     std::string(options == nullptr || options[i] == nullptr ? "null" : options[i]) + "\n";
      return read;
    }
  }
  read.for_compiler.push_back("-D__CUDA_ARCH__=" + std::to_string(10 * read.architecture.number));
  read.for_compiler.push_back(switches.contracts ? "-ffp-contract=fast" : "-ffp-contract=off");
  if (checks_kernels()) read.for_compiler.push_back("-DKILN_FAKE_CHECKS");
  return read;
}

}  // namespace kiln::fake
