// Owns a session as a notebook sees it: cells, what may follow at a place in one, what a name means. A thin
// layer over repl::Session; how messages travel is known to notebook/kernel alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "notebook/cell_output.h"
#include "notebook/client.h"
#include "notebook/journal.h"
#include "notebook/past_cells.h"
#include "repl/completion.h"
#include "repl/session.h"

namespace kiln::notebook {

struct CellOptions {
  bool silent = false;                // no value and no error is shown, and the cell has no number
  bool kept = true;                   // in the history
  bool may_ask = true;                // whether there is someone to ask for input
  Json expressions = Json::object();  // by name; evaluated after a cell that ran to its end
};

struct CellReply {
  repl::Status status = repl::Status::Done;
  std::optional<CellError> error;
  Json expressions = Json::object();  // by name: what Jupyter says of a value, or of an error
};

// What may replace characters [begin, end) of a cell. Characters are those of Unicode, as Jupyter counts
// them.
struct CellCandidates {
  std::size_t begin = 0, end = 0;
  std::vector<repl::Candidate> all;
};

class Notebook {
 public:
  struct Options {
    bool captures = false;       // what is written to the standard streams of the process
    std::string history_file{};  // see PastCells
    std::string journal{};       // see Journal
    bool runs_init = false;      // the user's init file before the first cell, whose output is of that cell
  };
  Notebook(Client& client, const Options& options);

  // Runs a cell as the prompt runs an entry. Never throws.
  CellReply run(const std::string& cell, const CellOptions& options);

  CellCandidates complete(std::string_view cell, std::size_t cursor);
  // What `?name` shows of the name at the cursor, or of the function whose arguments it is in; what `??name`
  // shows with `source`. Nothing where that is no known name.
  std::optional<std::string> inspect(std::string_view cell, std::size_t cursor, bool source);

  repl::Session& session() { return session_; }
  const PastCells& past() const { return past_; }
  // Where what is not of a cell can be said, as CapturedStreams has it.
  int standard_error() const { return output_.standard_error(); }
  // The session ends as it should: its cells are not to be run again. May be called by any thread.
  void forget_journal() { journal_.forget(); }

 private:
  repl::Session::Options session_options();
  void show_value(const interp::Value& value);
  void show_failure(const lang::Diagnostic& error);
  void show_lines(const void* owner, const std::vector<std::string>& lines);
  std::string ask(const std::string& prompt);
  void begin_session();
  Json evaluated(const std::string& expression);

  Client& client_;
  bool runs_init_;
  CellOutput output_;
  PastCells past_;
  Journal journal_;
  repl::Session session_;

  // Of the cell under way.
  bool is_silent_ = false;
  bool may_ask_ = false;
  std::optional<CellError> error_;
  std::optional<Json> value_;                 // shown last
  std::map<const void*, std::string> drawn_;  // the ids of what is shown anew, by its owner

  int displays_ = 0;  // with ids, so far
  bool is_begun_ = false;
};

}  // namespace kiln::notebook
