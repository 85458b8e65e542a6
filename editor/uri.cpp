#include "editor/uri.h"

#include <cctype>
#include <charconv>

namespace kiln::editor {
namespace {

constexpr std::string_view kFile = "file://";

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("/-_.~").find(c) != std::string_view::npos;
}

}  // namespace

std::string path_of_uri(std::string_view uri) {
  if (!uri.starts_with(kFile)) return "";
  uri.remove_prefix(kFile.size());
  const std::size_t path = uri.find('/');  // behind the host, which is this one
  if (path == std::string_view::npos) return "";
  uri.remove_prefix(path);
  std::string text;
  for (std::size_t i = 0; i < uri.size(); ++i) {
    unsigned code = 0;
    const bool is_code = uri[i] == '%' && i + 2 < uri.size() &&
                         std::from_chars(&uri[i + 1], &uri[i + 1] + 2, code, 16).ptr == &uri[i + 1] + 2;
    text += is_code ? static_cast<char>(code) : uri[i];
    if (is_code) i += 2;
  }
  return text;
}

std::string uri_of_path(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri(kFile);
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c)) {
      uri += c;
    } else {
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return uri;
}

}  // namespace kiln::editor
