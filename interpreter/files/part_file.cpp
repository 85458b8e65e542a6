#include "interpreter/files/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

namespace kiln::interp::files {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kMark = ".kiln-", kSuffix = ".part";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// ".x.npy.kiln-123-4.part"
bool is_part_name(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  const std::size_t mark = name.rfind(kMark);
  if (mark == std::string_view::npos) return false;
  const std::string_view numbers = name.substr(mark + kMark.size());
  const std::size_t dash = numbers.find('-');
  return dash != std::string_view::npos && is_number(numbers.substr(0, dash)) &&
         is_number(numbers.substr(dash + 1));
}

struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number;
};

// The lock is had before the name goes: who makes a part looks, once it has its own lock, whether the name is
// still there.
void remove_if_left(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) return;
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return;
  if (::flock(file.number, LOCK_EX | LOCK_NB) != 0) return;
  ::unlink(path.c_str());
}

fs::path folder_of(const std::string& target) {
  const fs::path folder = fs::path(target).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

}  // namespace

PartFile make_part_file(const std::string& target) {
  static unsigned counter = 0;
  const std::string name = fs::path(target).filename().string().substr(0, 100);
  for (int tries = 0; tries < 1000; ++tries) {
    PartFile part;
    part.path = (fs::path(target).parent_path() /
                 fmt::format(".{}{}{}-{}{}", name, kMark, ::getpid(), ++counter, kSuffix))
                    .string();
    part.descriptor = ::open(part.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (part.descriptor < 0 && errno == EEXIST) continue;  // of a process that had this number before
    if (part.descriptor < 0) return part;
    // A process that sweeps may have the lock for the moment in which it removes the part, so this one waits.
    // Some file systems have no locks; there no process gets one, and no part is taken for left.
    while (::flock(part.descriptor, LOCK_EX) != 0 && errno == EINTR) {
    }
    struct stat status{};
    if (::fstat(part.descriptor, &status) == 0 && status.st_nlink > 0) return part;
    ::close(part.descriptor);  // somebody swept between the two calls
  }
  errno = EEXIST;
  return {};
}

void sweep_part_files(const std::string& target) {
  static std::unordered_map<std::string, Clock::time_point> next_look;
  const fs::path folder = folder_of(target);
  const Clock::time_point start = Clock::now();
  const auto known = next_look.find(folder.string());
  if (known != next_look.end() && start < known->second) return;
  std::error_code failed;
  for (auto it = fs::directory_iterator(folder, failed); !failed && it != fs::directory_iterator();
       it.increment(failed)) {
    if (is_part_name(it->path().filename().string())) remove_if_left(it->path().string());
  }
  const Clock::time_point end = Clock::now();
  next_look[folder.string()] = end + (end - start) * 100;
}

}  // namespace kiln::interp::files
