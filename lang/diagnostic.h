// Owns the one shape of every message to the user: sentence, place, carets, origins, a fix.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lang/source.h"

namespace kiln::lang {

// A caret line under one operand, with what is known of it: "x: f32[32, 784], parameter of mlp".
struct Label {
  Span span;
  std::string text;
};

// One of the user's active calls, innermost first: where it was called from, in which function.
struct Frame {
  Span span;
  std::string function;
};

struct Diagnostic {
  std::string kind;     // one of the error kinds of the language, e.g. "ShapeError"
  std::string message;  // one sentence, lower case, no full stop
  // The first is the primary place, printed after "-->". An empty text prints a bare caret.
  std::vector<Label> labels;
  std::string help;             // at most one suggestion, one that works
  std::vector<Frame> trace;     // innermost first; the frame of the primary label comes first
  bool trace_is_whole = false;  // those who pass it on add no frames: it is that of an earlier moment

  // The stable code of its kind of mistake, "K0501" (lang/error_codes.h).
  std::string_view code() const;
  // Of the first label, which may be in the standard library.
  Span place() const { return labels.empty() ? Span{} : labels.front().span; }
  // How many calls of the library lie between the mistake and the line of the program that led to it: the
  // frame of that number is the program's. 0 where the mistake is in the program, or no frame is of it.
  std::size_t library_calls() const;
  // Where the program is: of the first label, or of the call that led into the library.
  Span user_place() const;
};

// What the user did wrong. Carries everything that is printed.
class UserError : public std::exception {
 public:
  explicit UserError(Diagnostic diagnostic) : diagnostic_(std::move(diagnostic)) {}
  const Diagnostic& diagnostic() const { return diagnostic_; }
  Diagnostic& diagnostic() { return diagnostic_; }
  const char* what() const noexcept override { return diagnostic_.message.c_str(); }

 private:
  Diagnostic diagnostic_;
};

struct RenderOptions {
  bool color = false;
  bool full_trace = false;  // ":bt full"; otherwise a long trace is folded in its middle
  bool code = false;        // at the end of the first line
  bool links = false;       // places in files are links of the terminal
};

// The text of `repl.md` "Diagnostics", ending in a newline.
std::string render(const Diagnostic& diagnostic, const RenderOptions& options = {});

// One JSON object on one line: kind, code, message, file, line, column, end_line, end_column, labels, help,
// trace.
std::string render_json(const Diagnostic& diagnostic);

// The candidate nearest to `name` (edit distance with transpositions, at most a third of its length), or "".
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates);

// The help for a name that Python, PyTorch, NumPy or JAX have and this language calls otherwise ("write
// `none`"), or "".
std::string foreign_name(std::string_view name);

// The same for a module of Python, "torch.nn", and for a method of a list, text or dict elsewhere, "push".
std::string foreign_module(std::string_view name);
std::string foreign_method(std::string_view name);

// The help for a name that nothing is called: what it is called here, or else "did you mean `relu`?", or
// "".
std::string suggest(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace kiln::lang
