#include "tests/cuda/fake/settings.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

namespace kiln::fake {
namespace {

struct Fault {
  std::string entry;
  int call = 0;
  int error = 0;
};

std::vector<Fault> read_faults() {
  std::vector<Fault> faults;
  std::istringstream all(text_setting("KILN_FAKE_FAIL", ""));
  for (std::string one; std::getline(all, one, ',');) {
    std::istringstream parts(one);
    Fault fault;
    std::string call, error;
    if (!std::getline(parts, fault.entry, ':') || !std::getline(parts, call, ':') ||
        !std::getline(parts, error)) {
      std::fprintf(stderr, "fake CUDA: KILN_FAKE_FAIL is entry:call:error,…, not \"%s\"\n", one.c_str());
      std::abort();
    }
    fault.call = std::stoi(call);
    fault.error = std::stoi(error);
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace

std::string text_setting(const char* variable, const char* otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : value;
}

std::int64_t number_setting(const char* variable, std::int64_t otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : std::stoll(value);
}

std::vector<int> numbers_in(const std::string& text, char separator) {
  std::vector<int> numbers;
  std::istringstream all(text);
  for (std::string one; std::getline(all, one, separator);) numbers.push_back(std::stoi(one));
  return numbers;
}

bool checks_kernels() {
  static const bool set = number_setting("KILN_FAKE_CHECK", 0) != 0;
  return set;
}

int count_call(std::string_view entry) {
  static std::mutex mutex;
  static const std::vector<Fault> faults = read_faults();
  static std::map<std::string, int, std::less<>> calls;
  const std::lock_guard lock(mutex);
  const auto place = calls.try_emplace(std::string(entry), 0).first;
  const int call = ++place->second;
  for (const Fault& fault : faults) {
    if (fault.entry == entry && fault.call == call) return fault.error;
  }
  return 0;
}

void tell_missing(std::string_view entry) {
  std::fprintf(stderr, "fake CUDA: %.*s is not implemented\n", static_cast<int>(entry.size()), entry.data());
}

}  // namespace kiln::fake
