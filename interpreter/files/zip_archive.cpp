#include "interpreter/files/zip_archive.h"

#include <minizip/unzip.h>
#include <zlib.h>

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/files/gzip.h"
#include "interpreter/files/zip_directory.h"
#include "tensor/interrupt.h"

namespace kiln::interp::files {
namespace {

constexpr std::size_t kPiece = 1U << 24U;  // minizip counts in ints; between two an interrupt is seen

[[noreturn]] void damaged(std::string_view what) {
  throw DamagedFile(fmt::format("its archive is damaged: {}", what));
}

// The member that `archive` stands at.
class MemberSource : public Source {
 public:
  MemberSource(unzFile archive, const ZipArchive::Member& member)
      : archive_(archive), left_(std::min(member.size, member.compressed * kMostDeflateRatio + 64)) {}

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

std::string method_name(unsigned long method) {
  if (method == 12) return "bzip2";
  if (method == 14) return "lzma";
  if (method == 93) return "zstd";
  return fmt::format("method {}", method);
}

// Of the member that `archive` stands at, and the bytes of its record in the directory.
ZipArchive::Member current_member(unzFile archive, std::uint64_t file_size, std::uint64_t& record_bytes) {
  unz_file_info64 info{};
  unz64_file_pos place{};
  std::string name(1U << 16U, '\0');
  if (unzGetCurrentFileInfo64(archive, &info, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) !=
          UNZ_OK ||
      unzGetFilePos64(archive, &place) != UNZ_OK) {
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
  record_bytes = kZipRecord + info.size_filename + info.size_file_extra + info.size_file_comment;
  return {std::move(name), info.uncompressed_size, info.compressed_size, place.pos_in_zip_directory,
          place.num_of_file};
}

}  // namespace

void ZipArchive::Close::operator()(void* archive) const { unzClose(archive); }

ZipArchive::ZipArchive(const std::string& path) {
  std::uint64_t size = 0;
  ZipDirectory directory;
  {
    FileSource file(path);
    if (!file.is_regular())
      throw DamagedFile("an archive is read out of order, which only a regular file can be");
    size = file.most_left();
    directory = zip_directory(file);
  }
  if (directory.entries == 0 && directory.bytes == 0) return;  // which minizip takes for no archive
  archive_.reset(unzOpen64(path.c_str()));
  if (!archive_) throw DamagedFile("it is not a zip archive, or its end is missing");
  read_directory(size, directory.entries, directory.bytes);
}

void ZipArchive::read_directory(std::uint64_t file_size, std::uint64_t entries, std::uint64_t bytes) {
  std::uint64_t seen_bytes = 0;  // of the records that were read
  for (std::uint64_t i = 0; i < entries; ++i) {
    if ((i == 0 ? unzGoToFirstFile(archive_.get()) : unzGoToNextFile(archive_.get())) != UNZ_OK)
      damaged("its directory ends early");
    std::uint64_t record_bytes = 0;
    Member member = current_member(archive_.get(), file_size, record_bytes);
    seen_bytes += record_bytes;
    if (member.name.ends_with('/') && member.size == 0) continue;  // a folder
    members_.push_back(std::move(member));
  }
  if (seen_bytes != bytes) damaged("its directory holds more members than its end counts");
}

const ZipArchive::Member* ZipArchive::find(std::string_view name) const {
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const Member& each) { return each.name == name; });
  return found == members_.end() ? nullptr : &*found;
}

void ZipArchive::read(const Member& member, const std::function<void(Source&)>& take) const {
  unz64_file_pos place{member.place, member.number};
  if (unzGoToFilePos64(archive_.get(), &place) != UNZ_OK || unzOpenCurrentFile(archive_.get()) != UNZ_OK)
    damaged(fmt::format("'{}' does not open", member.name));
  try {
    MemberSource source(archive_.get(), member);
    take(source);
    source.expect_end();
    if (unzCloseCurrentFile(archive_.get()) != UNZ_OK) throw DamagedFile("its check sum is wrong");
  } catch (const DamagedFile& error) {
    throw DamagedFile(fmt::format("in '{}', {}", member.name, error.reason), error.help);
  }
}

}  // namespace kiln::interp::files
