#include "lang/link.h"

#include <unistd.h>

#include <array>
#include <cctype>
#include <climits>
#include <cstdlib>

namespace kiln::lang {
namespace {

constexpr std::string_view kOpen = "\x1b]8;;";
constexpr std::string_view kEnd = "\x1b\\";

// Every byte that is not plain in a URI as %XX (RFC 3986).
std::string escaped(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos) {
      text += c;
    } else {
      text += '%';
      text += kHex[byte >> 4];
      text += kHex[byte & 15U];
    }
  }
  return text;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

std::string link_to_file(const std::string& path, std::uint32_t line, std::string_view text) {
  std::array<char, PATH_MAX> whole{};
  if (realpath(path.c_str(), whole.data()) == nullptr) return std::string(text);
  return std::string(kOpen) + "file://" + host_name() + escaped(whole.data()) + "#" + std::to_string(line) +
         std::string(kEnd) + std::string(text) + std::string(kOpen) + std::string(kEnd);
}

}  // namespace kiln::lang
