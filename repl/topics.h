// Owns the help pages that are about a subject and not about a name.
#pragma once

#include <span>
#include <string_view>

namespace kiln::repl {

// Lines of a page that begin with "kiln> " are entries that run in order, in a fresh session: tests run them.
struct Topic {
  std::string_view name;
  std::string_view summary;
  std::string_view page;
};
std::span<const Topic> topics();

}  // namespace kiln::repl
