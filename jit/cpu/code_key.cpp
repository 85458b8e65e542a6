#include "jit/cpu/code_key.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <type_traits>
#include <vector>

namespace kiln::jit {
namespace {

class Key {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(std::string_view text) {
    put(text.size());
    text_ += text;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// All fields are named here, so that a new one is not forgotten: what the emitter does not read is left out.

void put(Key& key, const Load& load) {
  const auto& [input, buffer, column, drawn, gather, attrs, operands, dtype, steps, invariant, per_row,
               loop_invariant, ahead] = load;
  key.put(dtype);
  key.put(invariant);
  key.put(per_row);
  key.put(loop_invariant);
  key.put(ahead);
}

void put(Key& key, const Params& params) {
  const auto& [v, n, largest, bits, integers] = params;
  for (const double each : v) key.put(each);
  for (const long long each : n) key.put(each);
  key.put(largest);
  key.put(bits);
  key.put(integers);
}

void put(Key& key, const Instruction& step) {
  const auto& [kind, dtype, invariant, index, bits, op, compute, params, failure, message, operands, node] =
      step;
  key.put(kind);
  key.put(dtype);
  key.put(invariant);
  key.put(index);
  key.put(bits);
  key.put(op == nullptr ? std::string_view() : op->name());
  key.put(compute);
  put(key, params);
  key.put(failure);
  key.put(operands.size());
  for (const Register each : operands) key.put(each);
}

void put(Key& key, const Store& store) {
  const auto& [value, dtype, output, buffer, per_row, around, streaming, ahead] = store;
  key.put(value);
  key.put(dtype);
  key.put(per_row);
  key.put(streaming);
  key.put(ahead);
}

void put(Key& key, const Reduction& reduction) {
  const auto& [value, combine, accumulator, slot] = reduction;
  key.put(value);
  key.put(combine);
  key.put(accumulator);
}

template <class T>
void put_all(Key& key, const std::vector<T>& items) {
  key.put(items.size());
  for (const T& each : items) put(key, each);
}

void put(Key& key, const LoopNest& nest) {
  const auto& [name, axes, row_rank, row_interleaved, of_rows, unroll, loads, numbers, body, stores,
               reductions, columns] = nest;
  key.put(row_rank > 0);
  key.put(unroll);
  put_all(key, loads);
  put_all(key, body);
  put_all(key, stores);
  put_all(key, reductions);
  put_all(key, columns);
}

}  // namespace

std::string code_key(std::span<const LoopNest> nests, std::string_view compiler, std::string_view processor) {
  Key key;
  key.put(compiler);
  key.put(processor);
  for (const LoopNest& each : nests) put(key, each);
  return key.take();
}

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
