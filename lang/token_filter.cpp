#include "lang/token_filter.h"

#include <algorithm>

#include "lang/names.h"
#include "lang/utf8.h"

namespace kiln::lang {
namespace {

// After these a `{` begins a block; after anything else it begins a dict.
bool precedes_block(Tok kind) {
  switch (kind) {
    case Tok::Name:
    case Tok::Number:
    case Tok::String:
    case Tok::FString:
    case Tok::True:
    case Tok::False:
    case Tok::None:
    case Tok::Ellipsis:
    case Tok::RightParen:
    case Tok::RightBracket:
    case Tok::RightBrace:
    case Tok::Else:
    case Tok::Try:
    case Tok::Catch:
    case Tok::Finally:
      return true;
    default:
      return false;
  }
}

bool begins_operand(Tok kind) {
  switch (kind) {
    case Tok::Number:
    case Tok::String:
    case Tok::FString:
    case Tok::True:
    case Tok::False:
    case Tok::None:
    case Tok::Ellipsis:
    case Tok::Not:
    case Tok::Tilde:
    case Tok::Fn:
      return true;
    default:
      return false;
  }
}

bool begins_definition(Tok kind) {
  return kind == Tok::Fn || kind == Tok::Struct || kind == Tok::Autograd || kind == Tok::At;
}

bool is_word(std::string_view text) { return text.front() >= 'a' && text.front() <= 'z'; }

}  // namespace

TokenFilter::TokenFilter(const SourceFile& file, TokenSource& source, bool inside_brackets)
    : file_(file), source_(source), inside_brackets_(inside_brackets) {}

Token TokenFilter::next() {
  for (;;) {
    Token token = read();
    if (token.kind == Tok::Comment) {
      note_comment(token);
      continue;
    }
    if (token.kind == Tok::Newline) {
      // A blank line parts documentation from what follows.
      if (line_ != Line::Comment) documentation_so_far_ = {};
      line_ = Line::Empty;
      if (!newline_counts()) continue;
      previous_ = Tok::Newline;
      return token;
    }
    if (token.kind == Tok::End && !openers_.empty()) complain_of_unclosed(file_, openers_.back());
    check(token);
    token = join_operator(token);
    if (previous_ == Tok::Dot && is_word(text(token))) token.kind = Tok::Name;
    if (may_be_name(token.kind) && !is_used_as_keyword(token)) token.kind = Tok::Name;
    if (token.kind == Tok::Match) match_depth_ = openers_.size();
    if (begins_definition(token.kind) && documentation_so_far_) {
      documentation_.push_back({token.begin, documentation_so_far_});
    }
    documentation_so_far_ = {};
    line_ = Line::Code;
    closed_block_ = false;
    if (is_opener(token.kind)) open(token);
    if (is_closer(token.kind)) close(token);
    const bool sign = token.kind == Tok::Plus || token.kind == Tok::Minus;
    doubled_ = sign && previous_ == token.kind && previous_end_ == token.begin;
    previous_ = token.kind;
    previous_end_ = token.end;
    return token;
  }
}

Token TokenFilter::read() {
  if (!pending_.empty()) {
    const Token token = pending_.front();
    pending_.pop_front();
    return token;
  }
  Token token = source_.next();
  while (token.kind == Tok::Space) token = source_.next();
  return token;
}

const Token& TokenFilter::pending(std::size_t index) {
  while (index >= pending_.size()) {
    Token token = source_.next();
    while (token.kind == Tok::Space) token = source_.next();
    pending_.push_back(token);
  }
  return pending_[index];
}

const Token& TokenFilter::peek(std::size_t steps) {
  for (std::size_t i = 0;; ++i) {
    const Token& token = pending(i);
    const bool counts = token.kind != Tok::Comment && token.kind != Tok::Newline;
    if (counts && steps-- == 0) return token;
    if (token.kind == Tok::End) return token;
  }
}

const Token& TokenFilter::peek_on_line() { return pending(pending(0).kind == Tok::Comment ? 1 : 0); }

bool TokenFilter::newline_counts() {
  if (inside_brackets_ && openers_.empty()) return false;
  if (!openers_.empty() && !openers_.back().is_block) return false;
  if (previous_ == Tok::Newline || previous_ == Tok::Semicolon) return false;
  if (doubled_) return true;  // `x++` goes on nowhere: the parser shall say so here
  if (continues_line(previous_)) return false;
  const Token next = peek();
  if (next.kind == Tok::Dot) return false;
  if (!closed_block_) return true;
  if (next.kind == Tok::Finally) return peek(1).kind != Tok::LeftBrace;
  return next.kind != Tok::Else && next.kind != Tok::Catch;
}

// Keywords that came late are names wherever they cannot be meant as such.
bool TokenFilter::is_used_as_keyword(Token token) {
  if (token.kind == Tok::Finally) return closed_block_ && peek().kind == Tok::LeftBrace;
  if (token.kind == Tok::Case) return !openers_.empty() && openers_.back().is_match && previous_ != Tok::Case;
  const bool in_block = !openers_.empty() && openers_.back().is_block;
  const bool begins =
      previous_ == Tok::Newline || previous_ == Tok::Semicolon || (previous_ == Tok::LeftBrace && in_block);
  const bool is_assigned = token.kind == Tok::Yield && previous_ == Tok::Assign && in_block;
  if (!begins && !is_assigned) return false;
  const Token& next = peek_on_line();
  switch (next.kind) {
    case Tok::Name:
    case Tok::Match:
    case Tok::Case:
    case Tok::Yield:
    case Tok::Del:
    case Tok::Finally:
      return true;
    case Tok::Newline:
    case Tok::Semicolon:
    case Tok::RightBrace:
    case Tok::End:
      return token.kind == Tok::Yield && in_block && begins;
    case Tok::LeftParen:
    case Tok::LeftBracket:
    case Tok::LeftBrace:
      return token.kind != Tok::Del && next.begin > token.end;
    case Tok::Plus:
    case Tok::Minus:
    case Tok::Star:  // `yield -x` and `yield - x`
      return token.kind != Tok::Del && next.begin > token.end && peek(1).begin == next.end;
    default:
      return token.kind != Tok::Del && begins_operand(next.kind);
  }
}

void TokenFilter::note_comment(Token comment) {
  const bool documents = text(comment).starts_with("##") && line_ == Line::Empty;
  if (line_ == Line::Empty) line_ = Line::Comment;
  const Span span{&file_, comment.begin, comment.end};
  if (!documents) {
    documentation_so_far_ = {};
  } else {
    documentation_so_far_ = documentation_so_far_ ? join(documentation_so_far_, span) : span;
  }
}

// `not in` and `is not` are one operator each.
Token TokenFilter::join_operator(Token first) {
  const bool is = first.kind == Tok::Operator && text(first) == "is";
  if (!is && first.kind != Tok::Not) return first;
  if (previous_ == Tok::Dot) return first;
  const Token second = peek();
  if (second.kind != (is ? Tok::Not : Tok::In)) return first;
  while (read().begin != second.begin) {
  }
  return {Tok::Operator, first.begin, second.end};
}

void TokenFilter::check(Token token) {
  const Span span{&file_, token.begin, token.end};
  switch (token.kind) {
    case Tok::Unterminated:
      syntax_error({&file_, token.begin, token.end}, "this string is not closed before the end of its line",
                   "a string over several lines is written between `\"\"\"` and `\"\"\"`");
    case Tok::Foreign:
      complain_of_character(file_, token);
    case Tok::String:
    case Tok::FString: {
      // An unclosed `"""` reaches us as the empty string "" with another quote behind it.
      const char quote = file_.text()[token.end - 1];
      const bool empty = span.text().ends_with(std::string{quote, quote}) && span.text().size() <= 3;
      if (empty && token.end < file_.text().size() && file_.text()[token.end] == quote) {
        throw IncompleteError({"SyntaxError",
                               "the string that this `" + std::string(3, quote) + "` opens is never closed",
                               {{{&file_, token.begin, token.end + 1}, ""}},
                               "",
                               {}});
      }
      return;
    }
    case Tok::Name:
    case Tok::Number:  // with rubbish at its end
      for (std::uint32_t i = token.begin; i < token.end;) {
        const CodePoint point = decode_utf8(file_.text(), i);
        const auto fits = i == token.begin ? begins_name : is_name_code_point;
        if (point.value >= 0x80 && !fits(point.value)) {
          complain_of_character(file_, {Tok::Foreign, i, i + point.length});
        }
        i += point.length;
      }
      return;
    default:
      return;
  }
}

void TokenFilter::open(Token token) {
  const bool block = token.kind == Tok::LeftBrace && precedes_block(previous_);
  const bool match = block && match_depth_ == openers_.size();
  if (match) match_depth_.reset();
  openers_.push_back({token, block, match});
}

void TokenFilter::close(Token token) {
  const std::string closer(words(token.kind));
  if (openers_.empty()) {
    syntax_error({&file_, token.begin, token.end},
                 closer + " without " + std::string(words(partner(token.kind))) + " before it");
  }
  const Opener opener = openers_.back();
  if (partner(token.kind) != opener.token.kind) {
    const std::string opened(words(opener.token.kind));
    throw UserError({"SyntaxError",
                     "found " + closer + " where " + std::string(words(partner(opener.token.kind))) +
                         " must close " + opened,
                     {{{&file_, token.begin, token.end}, ""},
                      {{&file_, opener.token.begin, opener.token.end}, "opened here"}},
                     "",
                     {}});
  }
  openers_.pop_back();
  closed_block_ = opener.is_block;
}

}  // namespace kiln::lang
