// Owns what can be asked of a name: one page, whatever kind of thing it names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"
#include "tensor/op.h"

namespace kiln::repl {

struct Page {
  std::string name;
  std::string
      kind;  // "op", "function", "struct", "module", "type", "variable", "command", "keyword", "symbol"
  std::vector<std::string> signatures;  // one per overload
  std::string documentation;            // sentences, then `>>> ` examples
  std::vector<std::string> notes;       // "`relu_` writes in place"
};

// The page of a name as the session sees it: a variable, function, struct, module or type (also dotted:
// "nn.Linear", "list.append"), an op (also its `_` form), a method of any type, a command, a keyword or a
// sign of the grammar. Nothing runs.
std::optional<Page> find_page(Session& session, std::string_view name);

// The ops that a name means, `max` and `max.dim` of "max"; empty when it is no op.
std::vector<const Op*> ops_named(std::string_view name);

// The page as text for the prompt.
std::string render(const Page& page, bool color);

// Every name that has a page, with one line on it: what `:apropos` searches.
struct Entry {
  std::string name;
  std::string kind;
  std::string summary;
};
std::vector<Entry> all_entries(Session& session);
// Those that have the word, in any case: in their name first, then in their line.
struct Mentions {
  std::vector<Entry> by_name, by_summary;
};
Mentions mentions_of(Session& session, std::string_view word);

// The value of "a.b.c": a variable, then attributes of modules, structs and instances. None for anything
// else.
std::optional<interp::Value> find_value(Session& session, std::string_view dotted);

// The same, and also what is in a module of the standard library that was not imported: "nn.Linear".
std::optional<interp::Value> find_documented(Session& session, std::string_view dotted);

// An error that names the nearest known name.
[[noreturn]] void unknown_name(Session& session, std::string_view name);

// The first sentence or line of a documentation.
std::string summary_of(std::string_view documentation);

}  // namespace kiln::repl
