#include "dist/launch/remote_command.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace kiln::dist {
namespace {

constexpr const char* kVariable = "KILN_COMMAND";
constexpr std::string_view kDigits = "0123456789abcdef";

// Words, each ended by a zero byte, as hexadecimal digits.
std::string pack(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    for (const char c : word + '\0') {
      text += kDigits[static_cast<unsigned char>(c) >> 4U];
      text += kDigits[static_cast<unsigned char>(c) & 15U];
    }
  }
  return text;
}

std::vector<std::string> unpack(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2) {
    const std::size_t high = kDigits.find(text[at]), low = kDigits.find(text[at + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos)
      throw std::runtime_error(std::string(kVariable) + " does not hold what a launcher packed");
    word += static_cast<char>(high * 16 + low);
    if (word.back() != '\0') continue;
    word.pop_back();
    words.push_back(std::move(word));
    word.clear();
  }
  return words;
}

}  // namespace

std::vector<std::string> remote_command(const std::vector<std::string>& agent, const std::string& host,
                                        const std::vector<std::string>& environment,
                                        const std::vector<std::string>& command) {
  static constexpr std::string_view kHost = "{host}";
  std::vector<std::string> words;
  bool is_named = false;
  for (std::string word : agent) {
    for (std::size_t at = 0; (at = word.find(kHost, at)) != std::string::npos; at += host.size()) {
      word.replace(at, kHost.size(), host);
      is_named = true;
    }
    words.push_back(std::move(word));
  }
  if (!is_named) words.push_back(host);
  words.emplace_back("env");
  words.insert(words.end(), environment.begin(), environment.end());
  std::vector<std::string> packed{std::filesystem::current_path().string()};
  packed.insert(packed.end(), command.begin() + 1, command.end());
  words.push_back(std::string(kVariable) + "=" + pack(packed));
  words.push_back(command.front());
  return words;
}

std::vector<std::string> settings_to_send() {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-";
  std::vector<std::string> settings;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    if (variable.starts_with("KILN_") && variable.find_first_not_of(kPlain) == std::string_view::npos)
      settings.emplace_back(variable);
  }
  return settings;
}

std::vector<std::string> unpacked_arguments(std::vector<std::string> arguments) {
  const char* const text = std::getenv(kVariable);
  if (text == nullptr) return arguments;
  std::vector<std::string> words = unpack(text);
  unsetenv(kVariable);  // what the rank starts is not told to be the rank
  if (words.empty()) return arguments;
  std::error_code ignored;
  std::filesystem::current_path(words.front(), ignored);
  words.erase(words.begin());
  return words;
}

}  // namespace kiln::dist
