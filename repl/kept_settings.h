// Owns the settings that last: the file in which they are kept for later sessions, and the way back.
//
// A line of the file is `key = value`; `#` begins a comment. Whatever a line says, it stays as it is until
// its own setting is changed, so that a slip, a comment or a setting of another version is never lost.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "repl/settings.h"

namespace kiln::repl {

class KeptSettings {
 public:
  // An empty path keeps nothing. The file is made with the first setting that is kept.
  explicit KeptSettings(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // Sets what the file says, but for the keys in `given`, which the command line said. Warns of lines that
  // say nothing that can be set.
  void apply(Session& session, const std::vector<std::string_view>& given);

  // Throws UserError for a value that cannot be set.
  void set(Session& session, const Setting& setting, std::string_view value);
  // Keeps what the setting is now. Throws UserError (IOError) where the file cannot be read or written.
  void keep(const Setting& setting, std::string_view value);
  // To what it was before the first change, in this session and in the file.
  void reset(Session& session, const Setting& setting);

 private:
  // Puts a line in place of those of the key, "" for none.
  void rewrite(std::string_view key, const std::string& line);

  std::string path_;
  std::map<std::string_view, std::string> before_;  // by key, what was there before the first change
};

}  // namespace kiln::repl
