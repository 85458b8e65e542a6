// NumPy's .npz through minizip.
#include <minizip/unzip.h>
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
#include "interpreter/files/zip_directory.h"
#include "interpreter/interpreter.h"
#include "tensor/parallel.h"

namespace kiln::interp::files {
namespace {

constexpr std::uint64_t kMostRatio = 1032;  // of deflate, by its format
constexpr std::size_t kPiece = 1U << 24U;   // minizip counts in ints; between two an interrupt is seen
constexpr std::size_t kMostName = 65'000;   // its length has 16 bits
constexpr std::string_view kSuffix = ".npy";

[[noreturn]] void damaged(std::string_view what) {
  throw DamagedFile(fmt::format("its archive is damaged: {}", what));
}

// The entry that `archive` stands at.
class EntrySource : public Source {
 public:
  EntrySource(unzFile archive, std::uint64_t size, std::uint64_t compressed)
      : archive_(archive), left_(std::min(size, compressed * kMostRatio + 64)) {}

  std::size_t read_some(void* out, std::size_t n) override {
    std::size_t done = 0;
    while (done < n) {
      kiln::check_interrupt();
      const auto piece = static_cast<unsigned>(std::min(n - done, kPiece));
      const int got = unzReadCurrentFile(archive_, static_cast<std::byte*>(out) + done, piece);
      if (got < 0) damaged("an entry does not unpack");
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    left_ -= std::min<std::uint64_t>(left_, done);
    return done;
  }
  std::uint64_t most_left() const override { return left_; }

 private:
  unzFile archive_;
  std::uint64_t left_;
};

struct CloseUnzip {
  void operator()(void* archive) const { unzClose(archive); }
};

struct Entry {
  std::string name;
  std::uint64_t size;
  std::uint64_t compressed;
  std::uint64_t record_bytes;  // in the directory
};

std::string method_name(unsigned long method) {
  if (method == 12) return "bzip2";
  if (method == 14) return "lzma";
  if (method == 93) return "zstd";
  return fmt::format("method {}", method);
}

Entry current_entry(unzFile archive, std::uint64_t file_size) {
  unz_file_info64 info{};
  std::string name(1U << 16U, '\0');
  if (unzGetCurrentFileInfo64(archive, &info, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) !=
      UNZ_OK) {
    damaged("an entry has no record");
  }
  if ((info.flag & 1U) != 0) throw DamagedFile("its archive is encrypted");
  if (info.compressed_size > file_size) damaged("an entry claims more bytes than the file has");
  name.resize(info.size_filename);
  if (info.compression_method != 0 && info.compression_method != Z_DEFLATED) {
    throw DamagedFile(
        fmt::format("'{}' is compressed by {}, and only members that are stored or deflated are read", name,
                    method_name(info.compression_method)),
        "in Python, `numpy.savez_compressed` deflates");
  }
  const std::uint64_t record =
      kZipRecord + info.size_filename + info.size_file_extra + info.size_file_comment;
  return {std::move(name), info.uncompressed_size, info.compressed_size, record};
}

// A tensor, or the bytes of what is none.
kiln::Tensor read_entry(unzFile archive, const Entry& entry, bool is_npy) {
  if (unzOpenCurrentFile(archive) != UNZ_OK) damaged(fmt::format("'{}' does not open", entry.name));
  try {
    EntrySource source(archive, entry.size, entry.compressed);
    const auto size = static_cast<kiln::Dim>(entry.size);
    kiln::Tensor x = is_npy ? read_npy(source) : source.tensor(std::span(&size, 1), kiln::DType::U8);
    source.expect_end();
    if (unzCloseCurrentFile(archive) != UNZ_OK) throw DamagedFile("its check sum is wrong");
    return x;
  } catch (const DamagedFile& error) {
    throw DamagedFile(fmt::format("in '{}', {}", entry.name, error.reason));
  }
}

struct Archive {
  std::uint64_t bytes;
  ZipDirectory directory;
};

Archive look_at(const std::string& path) {
  FileSource file(path);
  if (!file.is_regular())
    throw DamagedFile("an archive is read out of order, which only a regular file can be");
  const std::uint64_t size = file.most_left();
  return {size, zip_directory(file)};
}

}  // namespace

NamedTensors read_npz(const std::string& path) {
  const auto [file_size, directory] = look_at(path);
  if (directory.entries == 0 && directory.bytes == 0) return {};  // which minizip takes for no archive
  const std::unique_ptr<void, CloseUnzip> archive(unzOpen64(path.c_str()));
  if (!archive) throw DamagedFile("it is not a zip archive, or its end is missing");
  std::uint64_t bytes = 0;  // of the records that were read
  NamedTensors tensors;
  std::unordered_set<std::string> seen;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if ((i == 0 ? unzGoToFirstFile(archive.get()) : unzGoToNextFile(archive.get())) != UNZ_OK)
      damaged("its directory ends early");
    Entry entry = current_entry(archive.get(), file_size);
    bytes += entry.record_bytes;
    if (entry.name.ends_with('/') && entry.size == 0) continue;  // a folder
    const bool is_npy = std::string_view(entry.name).ends_with(kSuffix);
    std::string name = entry.name.substr(0, entry.name.size() - (is_npy ? kSuffix.size() : 0));
    if (!seen.insert(name).second)
      throw DamagedFile(fmt::format("two of its members have the name '{}'", name));
    tensors.emplace_back(std::move(name), read_entry(archive.get(), entry, is_npy));
  }
  if (bytes != directory.bytes) damaged("its directory holds more members than its end counts");
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
