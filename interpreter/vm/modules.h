// Owns the loaded modules: the standard library's embedded ones, the user's files, each run once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/objects.h"

namespace kiln::interp {

class Interpreter;

class Modules {
 public:
  explicit Modules(Interpreter& interpreter) : interpreter_(interpreter) {}

  // `nn`, `./model.kiln` or `folder.model`, as seen from a file in `folder`. Throws UserError.
  Value import(std::string_view name, const std::string& folder);
  void reload(const std::string& path);
  void forget_user_modules();

  // A name of a module: its own, or one of the standard library's parts of it, which are loaded when one of
  // their names is first asked for. Null when there is none.
  const Value* value_in(const Module& module, std::string_view name);
  const Value* prelude_value(std::string_view name);

  // Runs text in a module. Gives the value of its last expression statement.
  Value run(Module& module, const std::string& name, std::string text, bool& has_value);

  // The latest text that ran under a name, in any module; null when there is none.
  const lang::SourceFile* source(std::string_view name) const;

  void clear();

 private:
  struct Loading {
    std::string key;
    std::string shown;
  };
  Value load(const std::string& key, const std::string& shown, const std::string& path, std::string text);
  void add_part(Module& module, std::string_view part);

  Interpreter& interpreter_;
  std::map<std::string, Value> loaded_;  // by canonical path, or "std:" and the name
  std::vector<Loading> loading_;
};

// The text of a file. Throws UserError (IOError) that says what is wrong with it.
std::string read_source(const std::string& path);

}  // namespace kiln::interp
