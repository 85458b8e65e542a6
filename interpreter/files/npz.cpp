// NumPy's .npz through minizip.
#include <minizip/zip.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "interpreter/files/formats.h"
#include "interpreter/files/io_error.h"
#include "interpreter/files/zip_archive.h"
#include "interpreter/interpreter.h"
#include "tensor/parallel.h"

namespace kiln::interp::files {
namespace {

constexpr std::size_t kPiece = 1U << 24U;  // minizip counts in ints; between two an interrupt is seen
constexpr std::size_t kMostName = 65'000;  // its length has 16 bits
constexpr std::string_view kSuffix = ".npy";

}  // namespace

NamedTensors read_npz(const std::string& path) {
  const ZipArchive archive(path);
  NamedTensors tensors;
  std::unordered_set<std::string> seen;
  for (const ZipArchive::Member& member : archive.members()) {
    const bool is_npy = std::string_view(member.name).ends_with(kSuffix);
    std::string name = member.name.substr(0, member.name.size() - (is_npy ? kSuffix.size() : 0));
    if (!seen.insert(name).second)
      throw DamagedFile(fmt::format("two of its members have the name '{}'", name));
    archive.read(member, [&](Source& source) {
      const auto size = static_cast<kiln::Dim>(member.size);
      kiln::Tensor x = is_npy ? read_npy(source) : source.tensor(std::span(&size, 1), kiln::DType::U8);
      tensors.emplace_back(name, std::move(x));
    });
  }
  return tensors;
}

namespace {

// Writes into the open entry of an archive.
class EntrySink : public Sink {
 public:
  EntrySink(zipFile archive, const std::string& path) : archive_(archive), path_(path) {}
  void write(const void* bytes, std::size_t n) override {
    for (std::size_t done = 0; done < n;) {
      kiln::check_interrupt();
      const auto piece = static_cast<unsigned>(std::min(n - done, kPiece));
      if (zipWriteInFileInZip(archive_, static_cast<const std::byte*>(bytes) + done, piece) != ZIP_OK) {
        host::raise_io("write", path_, errno);
      }
      done += piece;
    }
  }

 private:
  zipFile archive_;
  const std::string& path_;
};

struct CloseZip {
  void operator()(void* archive) const { zipClose(archive, nullptr); }
};

// The name of a member. NUL would end it; names beyond ASCII are marked as UTF-8, or readers take them for
// the letters of an old PC.
void open_entry(zipFile archive, const std::string& name, bool large, const std::function<void()>& fail) {
  constexpr uLong kIsUtf8 = 1U << 11U;
  const bool is_ascii =
      std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  zip_fileinfo info{};
  info.tmz_date = {0, 0, 0, 1, 0, 1980};  // equal content gives equal bytes
  const int opened = zipOpenNewFileInZip4_64(
      archive, (name + std::string(kSuffix)).c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0, 0,
      -MAX_WBITS, DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY, nullptr, 0, 0, is_ascii ? 0 : kIsUtf8, large ? 1 : 0);
  if (opened != ZIP_OK) fail();
}

void check_names(const NamedTensors& tensors) {
  for (const auto& [name, x] : tensors) {
    if (name.find('\0') != std::string::npos)
      raise("ValueError",
            fmt::format("save: the name '{}' holds a NUL character, which an archive cannot keep",
                        name.c_str()));
    if (name.size() > kMostName)
      raise("ValueError", fmt::format("save: the name '{}…' has {} bytes, an archive keeps {}",
                                      name.substr(0, 40), name.size(), kMostName));
  }
}

}  // namespace

void write_npz(const std::string& path, const std::string& shown_path, const NamedTensors& tensors) {
  check_names(tensors);
  errno = 0;
  std::unique_ptr<void, CloseZip> archive(zipOpen64(path.c_str(), APPEND_STATUS_CREATE));
  const auto fail = [&] { host::raise_io("write", shown_path, errno == 0 ? EIO : errno); };
  if (!archive) fail();
  for (const auto& [name, x] : tensors) {
    open_entry(archive.get(), name, x.numel() > (std::int64_t{1} << 28U), fail);
    EntrySink sink(archive.get(), shown_path);
    write_npy(sink, x);
    if (zipCloseFileInZip(archive.get()) != ZIP_OK) fail();
  }
  if (zipClose(archive.release(), nullptr) != ZIP_OK) fail();
}

}  // namespace kiln::interp::files
