#include "tests/cuda/fake/image.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "tests/cuda/fake/settings.h"

namespace kiln::fake {
namespace {

// The last character is another one for each form of images, or of what kernels and the driver tell each
// other: programs that keep images on disk may come with those of before.
constexpr char kMagic[8] = {'\x7f', 'F', 'A', 'K', 'E', 'B', 'N', '2'};

struct Head {
  char magic[8];
  std::uint32_t architecture;
  std::uint16_t is_for_one_alone, is_checked;
  std::uint64_t bytes, sum;
};

std::uint64_t sum_of(const std::string& bytes) {
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return sum;
}

// By the system, which gives an error where memory ends.
bool read_memory(void* to, const void* from, std::size_t bytes) {
  const iovec here{to, bytes};
  const iovec there{const_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

// Code runs on cards of its own major version that are not older.
bool runs_on(const Head& head, int capability) {
  if ((head.is_checked != 0) != checks_kernels()) return false;
  const auto architecture = static_cast<int>(head.architecture);
  if (head.is_for_one_alone != 0) return architecture == capability;
  return architecture / 10 == capability / 10 && architecture <= capability;
}

}  // namespace

std::string image_of(Architecture architecture, const std::string& library) {
  Head head{{},
            static_cast<std::uint32_t>(architecture.number),
            static_cast<std::uint16_t>(architecture.is_for_one_alone ? 1 : 0),
            static_cast<std::uint16_t>(checks_kernels() ? 1 : 0),
            library.size(),
            sum_of(library)};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + library;
}

Image read_image(const void* place, int capability) {
  Image image;
  Head head{};
  if (!read_memory(&head, place, sizeof head)) return image;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0 || head.bytes > kMost) return image;
  image.library.resize(head.bytes);
  if (!read_memory(image.library.data(), static_cast<const char*>(place) + sizeof head, head.bytes))
    return image;
  if (sum_of(image.library) == head.sum)
    image.state = runs_on(head, capability) ? ImageState::Good : ImageState::OtherCard;
  return image;
}

}  // namespace kiln::fake
