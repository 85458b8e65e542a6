// Owns what a copy of the server knows of one program: it checks it, and then answers what is asked about it.
// Nothing of the program is run but by the check, which has no effects (interpreter/check).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "editor/analysis.h"
#include "editor/known_types.h"
#include "editor/worker.h"
#include "interpreter/check/seen.h"
#include "repl/session.h"

namespace kiln::editor {

class Program {
 public:
  // Without a program: it knows the library alone.
  explicit Program(repl::Session& session) : session_(session) {}

  // {"mistakes": […], "types": […]} of a text that can be run. `name` is its name in places, `path`, which
  // may be "", what imports are relative to.
  Json check(const std::string& name, const std::string& text, const std::string& path);

  // Of a question by its "ask"; null when there is no answer. Never throws for what is asked about.
  //   complete {text, at}      {"begin": 4, "items": [[text, kind, detail], …]}
  //   signature {text, at}     {"label": …, "parameters": [[begin, end], …], "active": 1}
  //   page {names}             the first that has one: {"kind": …, "text": Markdown}
  //   definition {names}       {"file": …, "line": 0, "column": 0, "library": its text or null}
  Json answer(const Json& question);
  // Answers until the client has closed its end.
  void serve(Channel& channel);

 private:
  struct Sighting {
    interp::Value value;  // the last one
    std::string type;
    int visits = 0;
  };
  // While it lives, the variables that a function sees at a place are variables of the session.
  class LocalsInSession;
  class Targets;

  void see(const std::string& name, lang::Span place, const interp::Value& value);
  std::vector<TypedPlace> types();
  std::vector<std::pair<std::string, interp::Value>> locals_at(std::string_view text, std::size_t at) const;
  Json complete(const std::string& text, std::size_t at);
  Json signature(const std::string& text, std::size_t at);
  Json page(const Json& names);
  Json definition(const Json& names);

  repl::Session& session_;
  std::unique_ptr<Analysis> checked_;  // the text that was checked
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sighting> seen_;
  // In calls for all sizes: within the functions that name them these tell more.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sighting> supposed_;
  const interp::check::SupposedCall* call_ = nullptr;  // that is supposed now
};

}  // namespace kiln::editor
