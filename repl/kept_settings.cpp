#include "repl/kept_settings.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "repl/command.h"
#include "repl/folder_lock.h"
#include "repl/lines.h"
#include "repl/paths.h"
#include "repl/write_text.h"

namespace kiln::repl {
namespace {

struct SettingLine {
  std::string_view key, value;
};

// Both are empty for a line that sets nothing: a comment or a blank one.
SettingLine parse_line(std::string_view line) {
  line = trim(line.substr(0, line.find('#')));
  const std::size_t end = std::min(line.find_first_of(" ="), line.size());
  std::string_view value = trim(line.substr(end));
  if (value.starts_with('=')) value = trim(value.substr(1));
  return {line.substr(0, end), value};
}

void apply_line(KeptSettings& kept, Session& session, const SettingLine& line) {
  const Setting* setting = find_setting(line.key);
  if (setting == nullptr) {
    command_error("NameError", fmt::format("there is no setting `{}`", line.key), help_for_setting(line.key));
  }
  if (!setting->passing.empty())
    command_error("ValueError", fmt::format("`{}` is not kept: {}", line.key, setting->passing));
  kept.set(session, *setting, line.value);
}

void warn(Session& session, const std::string& place, const lang::Diagnostic& what) {
  session.write_error(
      fmt::format("warning: {}: {}{}\n", place, what.message, what.help.empty() ? "" : "; " + what.help));
}

std::string text_of(const std::string& path) {
  return access(path.c_str(), F_OK) == 0 ? read_text(path) : std::string();
}

}  // namespace

void KeptSettings::apply(Session& session, const std::vector<std::string_view>& given) {
  if (path_.empty() || access(path_.c_str(), F_OK) != 0) return;
  std::string text;
  try {
    text = read_text(path_);
  } catch (const lang::UserError& error) {
    return warn(session, "settings are as they come", error.diagnostic());
  }
  int number = 0;
  for (const std::string_view each : lines_of(text)) {
    ++number;
    const SettingLine line = parse_line(each);
    if (line.key.empty() || std::find(given.begin(), given.end(), line.key) != given.end()) continue;
    try {
      apply_line(*this, session, line);
    } catch (const lang::UserError& error) {
      warn(session, fmt::format("{}:{}", path_, number), error.diagnostic());
    }
  }
}

void KeptSettings::set(Session& session, const Setting& setting, std::string_view value) {
  std::string before = setting.get(session);
  setting.set(session, value);
  before_.emplace(setting.key, std::move(before));
}

void KeptSettings::keep(const Setting& setting, std::string_view value) {
  rewrite(setting.key, fmt::format("{} = {}\n", setting.key, value));
}

void KeptSettings::reset(Session& session, const Setting& setting) {
  if (const auto found = before_.find(setting.key); found != before_.end()) {
    setting.set(session, found->second);
    before_.erase(found);
  }
  if (!path_.empty()) rewrite(setting.key, {});
}

void KeptSettings::rewrite(std::string_view key, const std::string& line) {
  make_folders(path_.substr(0, path_.rfind('/')));
  const FolderLock lock(path_);
  const std::string before = text_of(path_);
  std::string after;
  bool is_placed = line.empty();
  for (const std::string_view each : lines_of(before)) {
    if (parse_line(each).key != key) {
      after += std::string(each) + "\n";
    } else if (!is_placed) {
      after += line;
      is_placed = true;
    }
  }
  if (!is_placed) after += line;
  if (after != before) write_text(path_, after);
}

}  // namespace kiln::repl
