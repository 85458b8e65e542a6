// Owns what the prompt prints for some entries, for tests of programs on cards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace kiln::testing {

// In this process, errors included.
inline std::string printed_for(const std::vector<std::string>& entries) {
  std::string printed;
  repl::Session::Options options;
  options.out = options.err = [&](std::string_view part) { printed += part; };
  repl::Session session(std::move(options));
  for (const std::string& entry : entries) session.eval(entry);
  return printed;
}

}  // namespace kiln::testing
