// NumPy's .npz through minizip.
#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "interpreter/files/formats.h"
#include "interpreter/host/text_file.h"

namespace kiln::interp::files {
namespace {

constexpr std::uint64_t kMostRatio = 1032;  // of deflate, by its format
constexpr std::size_t kPiece = 1U << 30U;   // minizip counts in ints
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
};

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
  return {std::move(name), info.uncompressed_size, info.compressed_size};
}

kiln::Tensor read_entry(unzFile archive, const Entry& entry) {
  if (unzOpenCurrentFile(archive) != UNZ_OK) damaged(fmt::format("'{}' does not open", entry.name));
  try {
    EntrySource source(archive, entry.size, entry.compressed);
    kiln::Tensor x = read_npy(source);
    std::byte extra{};
    if (source.read_some(&extra, 1) != 0) throw DamagedFile("there is more data than its header says");
    if (unzCloseCurrentFile(archive) != UNZ_OK) throw DamagedFile("its check sum is wrong");
    return x;
  } catch (const DamagedFile& error) {
    throw DamagedFile(fmt::format("in '{}', {}", entry.name, error.reason));
  }
}

}  // namespace

NamedTensors read_npz(const std::string& path) {
  const std::uint64_t file_size = FileSource(path).most_left();
  const std::unique_ptr<void, CloseUnzip> archive(unzOpen64(path.c_str()));
  if (!archive) throw DamagedFile("it is not a zip archive, or its end is missing");
  unz_global_info64 info{};
  if (unzGetGlobalInfo64(archive.get(), &info) != UNZ_OK) damaged("it has no directory");
  NamedTensors tensors;
  for (std::uint64_t i = 0; i < info.number_entry; ++i) {
    if ((i == 0 ? unzGoToFirstFile(archive.get()) : unzGoToNextFile(archive.get())) != UNZ_OK)
      damaged("its directory ends early");
    Entry entry = current_entry(archive.get(), file_size);
    if (!std::string_view(entry.name).ends_with(kSuffix)) continue;  // notes and folders beside the tensors
    kiln::Tensor x = read_entry(archive.get(), entry);
    entry.name.resize(entry.name.size() - kSuffix.size());
    tensors.emplace_back(std::move(entry.name), std::move(x));
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

}  // namespace

void write_npz(const std::string& path, const std::string& shown_path, const NamedTensors& tensors) {
  errno = 0;
  std::unique_ptr<void, CloseZip> archive(zipOpen64(path.c_str(), APPEND_STATUS_CREATE));
  const auto fail = [&] { host::raise_io("write", shown_path, errno == 0 ? EIO : errno); };
  if (!archive) fail();
  for (const auto& [name, x] : tensors) {
    const bool large = x.numel() > (std::int64_t{1} << 28U);
    zip_fileinfo info{};
    info.tmz_date = {0, 0, 0, 1, 0, 1980};  // equal content gives equal bytes
    if (zipOpenNewFileInZip64(archive.get(), (name + std::string(kSuffix)).c_str(), &info, nullptr, 0,
                              nullptr, 0, nullptr, 0, 0, large ? 1 : 0) != ZIP_OK) {
      fail();
    }
    EntrySink sink(archive.get(), shown_path);
    write_npy(sink, x);
    if (zipCloseFileInZip(archive.get()) != ZIP_OK) fail();
  }
  if (zipClose(archive.release(), nullptr) != ZIP_OK) fail();
}

}  // namespace kiln::interp::files
