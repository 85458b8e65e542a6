// Owns reading a zip archive: its members as the directory names them, each as a stream of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/files/bytes.h"

namespace kiln::interp::files {

class ZipArchive {
 public:
  struct Member {
    std::string name;
    std::uint64_t size = 0;
    std::uint64_t compressed = 0;
    std::uint64_t place = 0;   // of its record in the directory
    std::uint64_t number = 0;  // among the records
  };

  // Of a regular file. DamagedFile where the directory and the members do not agree, where a member is
  // encrypted or compressed in a way that is not read.
  explicit ZipArchive(const std::string& path);

  const std::vector<Member>& members() const { return members_; }  // without folders
  const Member* find(std::string_view name) const;  // the first of this name, null if no member has it
  // Gives the bytes of a member to `take`, which must read all of them. DamagedFile names the member.
  void read(const Member& member, const std::function<void(Source&)>& take) const;

 private:
  struct Close {
    void operator()(void* archive) const;
  };
  void read_directory(std::uint64_t file_size, std::uint64_t entries, std::uint64_t bytes);

  std::unique_ptr<void, Close> archive_;  // null: an archive without members
  std::vector<Member> members_;
};

}  // namespace kiln::interp::files
