// Owns reading a compiled kernel library as a file: what the system does not tell of it once it is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::fake {

// A variable that is __shared__.
struct SharedVariable {
  std::string_view symbol;
  std::uint64_t offset;  // of the library's beginning
  std::size_t bytes;

  // Its name in the text.
  std::string name() const;
};
// They are in the order of their places.
std::vector<SharedVariable> shared_variables(const std::string& library);

// Bytes of its shared variables, but for those of other kernels than this one.
std::size_t static_shared_of(const std::string& library, const std::vector<std::string>& kernels,
                             const std::string& kernel);

// The bytes of a section. They are empty where the file has no section of that name.
std::string_view section_of(const std::string& library, std::string_view name);

// The parts of its memory that are not written, constants among them: where each begins and ends.
std::vector<std::pair<std::uint64_t, std::uint64_t>> constant_parts(const std::string& library);

}  // namespace kiln::fake
