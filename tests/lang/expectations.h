// Owns tables of expected texts: a file of cases, each a source and what is expected of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace kiln::lang {

struct Expectation {
  std::string source;
  std::string expected;
};

// A file of `==== source` sections, each followed by `----` and the expected text. With KILN_UPDATE set in
// the environment the file is rewritten with what `actual` gives, to be read before it is committed.
std::vector<Expectation> read_expectations(const std::string& path,
                                           const std::function<std::string(std::string)>& actual);

}  // namespace kiln::lang
