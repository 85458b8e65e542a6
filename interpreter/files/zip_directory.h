// Owns where the directory of a zip archive lies: all members are found by it, so that what it does not name
// would be dropped.
#pragma once

#include <cstdint>

#include "interpreter/files/bytes.h"

namespace kiln::interp::files {

struct ZipDirectory {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // of their records
};
constexpr std::uint64_t kZipRecord = 46;  // bytes of a record, without name, comment and what else is in it

// Of a regular file. DamagedFile when bytes follow the archive, when its end says other things of its
// directory than that it lies just before, and when it is empty and yet something stands before it.
ZipDirectory zip_directory(FileSource& file);

}  // namespace kiln::interp::files
