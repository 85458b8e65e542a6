// Owns the step between lexer and parser: which newlines count, whether brackets match, where documentation
// stands.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "lang/complaint.h"
#include "lang/source.h"
#include "lang/token.h"

namespace kiln::lang {

// Where the filter reads from: every token of the text in order, then End forever.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual Token next() = 0;
};

// `##` lines directly above the token that begins at `at`.
struct DocumentationLines {
  std::uint32_t at = 0;
  Span lines;
};

class TokenFilter {
 public:
  // `inside_brackets`: newlines never count, as in an f-string.
  TokenFilter(const SourceFile& file, TokenSource& source, bool inside_brackets);

  // The next token that the grammar knows of. Throws UserError for unterminated strings, foreign characters
  // and brackets that do not match.
  Token next();

  std::span<const Opener> openers() const { return openers_; }
  // In order of `at`; grows as tokens are read.
  const std::vector<DocumentationLines>& documentation() const { return documentation_; }

 private:
  Token read();                              // the next token that is not a space
  const Token& pending(std::size_t index);   // of what was not given yet, without spaces
  const Token& peek(std::size_t steps = 0);  // that many after the next, without comments and newlines
  const Token& peek_on_line();               // the next, a newline too, without a comment
  bool is_used_as_keyword(Token token);
  bool newline_counts();
  void note_comment(Token comment);
  Token join_operator(Token first);
  void check(Token token);
  void open(Token token);
  void close(Token token);
  std::string_view text(Token token) const {
    return file_.text().substr(token.begin, token.end - token.begin);
  }

  const SourceFile& file_;
  TokenSource& source_;
  bool inside_brackets_;
  std::deque<Token> pending_;
  std::vector<Opener> openers_;
  std::optional<std::size_t> match_depth_;  // how many openers there are around a `match` whose cases come
  std::vector<DocumentationLines> documentation_;
  Tok previous_ = Tok::Newline;  // of what `next` gave; as if a line had just ended at the start
  std::uint32_t previous_end_ = 0;
  bool doubled_ = false;       // whether it is the second of `++` or `--`
  bool closed_block_ = false;  // whether `previous_` is the `}` of a block
  enum class Line : std::uint8_t { Empty, Comment, Code } line_ = Line::Empty;  // what the line held so far
  Span documentation_so_far_;
};

}  // namespace kiln::lang
