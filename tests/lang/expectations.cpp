#include "expectations.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace kiln::lang {
namespace {

constexpr char kCase[] = "====";
constexpr char kExpected[] = "----";

}  // namespace

std::vector<Expectation> read_expectations(const std::string& path,
                                           const std::function<std::string(std::string)>& actual) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("no such file: " + path);
  std::vector<Expectation> cases;
  std::string* part = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line == kCase) {
      part = &cases.emplace_back().source;
    } else if (line == kExpected) {
      part = &cases.back().expected;
    } else {
      *part += line + "\n";
    }
  }
  if (std::getenv("KILN_UPDATE")) {
    std::ofstream out(path);
    for (Expectation& each : cases) {
      each.expected = actual(each.source);
      out << kCase << "\n" << each.source << kExpected << "\n" << each.expected;
    }
  }
  return cases;
}

}  // namespace kiln::lang
