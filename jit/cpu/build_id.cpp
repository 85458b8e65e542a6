#include "jit/cpu/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace kiln::jit {
namespace {

struct File {
  explicit File(const std::string& path) : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool read(void* to, std::size_t count, std::size_t from) const {
    return descriptor >= 0 &&
           pread(descriptor, to, count, static_cast<off_t>(from)) == static_cast<ssize_t>(count);
  }
  int descriptor;
};

std::size_t in_words(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

// The note of the linker among those of a segment.
std::string id_among(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t name = sizeof note, id = name + in_words(note.n_namesz);
    const std::size_t end = id + in_words(note.n_descsz);
    if (end > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(name, note.n_namesz) == std::string_view("GNU", 4))
      return std::string(notes.substr(id, note.n_descsz));
    notes.remove_prefix(end);
  }
  return "";
}

}  // namespace

std::string build_id(const std::string& path) {
  constexpr std::size_t kMostNotes = 1 << 16;
  const File file(path);
  Elf64_Ehdr header;
  if (!file.read(&header, sizeof header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "";
  for (std::size_t k = 0; k < header.e_phnum; ++k) {
    Elf64_Phdr segment;
    if (!file.read(&segment, sizeof segment, header.e_phoff + k * sizeof segment)) return "";
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNotes) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!file.read(notes.data(), notes.size(), segment.p_offset)) continue;
    if (std::string id = id_among(notes); !id.empty()) return id;
  }
  return "";
}

}  // namespace kiln::jit
