// Owns which files `kiln fmt`, `kiln check` and `kiln test` look after.
#pragma once

#include <string>
#include <vector>

#include "lang/diagnostic.h"

namespace kiln::repl {

// Files and folders that a walk looks at before it gives up: nobody means all of a disk.
inline constexpr std::size_t kMostEntries = 10'000;

struct ProgramFiles {
  std::vector<std::string> paths;
  std::vector<lang::Diagnostic> unreadable;  // an IOError for each folder that could not be read
};

// Files and "-" stay; folders become the .kiln files below them, in order of name. Hidden folders are passed
// over, links to folders are not followed. Throws UsageError for a folder with more than kMostEntries
// entries.
ProgramFiles find_programs(const std::vector<std::string>& files);

}  // namespace kiln::repl
