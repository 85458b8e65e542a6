// Owns the files that content is written into before it takes the place of what it replaces.
#pragma once

#include <sys/types.h>

#include <string>

namespace kiln::interp::files {

// A new file ".NAME.kiln-PROCESS-NUMBER.part" beside `target`, open for writing and locked for as long as the
// descriptor is: a part that nobody has locked is what a process left that was killed.
struct PartFile {
  std::string path;
  int descriptor = -1;  // negative: `errno` says why not
};
PartFile make_part_file(const std::string& target);

// Removes such parts that killed processes left in the folder of `target`: regular files of this user alone,
// which nobody has locked. Looking takes at most about a hundredth of the time between two looks at a folder,
// so that saving many files into one stays linear.
void sweep_part_files(const std::string& target);

}  // namespace kiln::interp::files
