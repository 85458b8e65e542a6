#include "tests/cuda/fake/image.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

namespace kiln::fake {
namespace {

constexpr char kMagic[8] = {'\x7f', 'F', 'A', 'K', 'E', 'B', 'I', 'N'};

struct Head {
  char magic[8];
  std::uint32_t architecture, is_for_one_alone;
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
  const auto architecture = static_cast<int>(head.architecture);
  if (head.is_for_one_alone != 0) return architecture == capability;
  return architecture / 10 == capability / 10 && architecture <= capability;
}

}  // namespace

std::string image_of(Architecture architecture, const std::string& library) {
  Head head{{},
            static_cast<std::uint32_t>(architecture.number),
            architecture.is_for_one_alone ? 1U : 0U,
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
