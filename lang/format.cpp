#include <algorithm>
#include <set>
#include <string>

#include "lang/format_roles.h"
#include "lang/parse.h"
#include "lang/utf8.h"

namespace kiln::lang {
namespace {

constexpr int kIndent = 2;
// A block on one line that would make the line longer is opened up.
constexpr int kLineWidth = 120;

// A token to lay out, a comment among them, with what the source says of the space before it.
struct Piece {
  Token token;
  TokenRole role;
  int newlines_before = 0;
  std::size_t partner = 0;   // of a bracket: the piece that matches it
  bool spans_lines = false;  // of an opening bracket: whether a newline stands before its closer
  bool begins_top_level = false;
};

std::vector<Piece> read_pieces(std::string_view text,
                               const std::unordered_map<std::uint32_t, TokenRole>& roles) {
  std::vector<Piece> pieces;
  std::vector<std::size_t> open;
  int newlines = 0;
  int total_newlines = 0;
  std::vector<int> newlines_at_open;
  for (const Token token : lex(text)) {
    if (token.kind == Tok::Space || token.kind == Tok::Semicolon) continue;
    if (token.kind == Tok::Newline) {
      ++newlines;
      ++total_newlines;
      continue;
    }
    Piece piece{token, {}, std::exchange(newlines, 0)};
    if (const auto found = roles.find(token.begin); found != roles.end()) piece.role = found->second;
    piece.begins_top_level = piece.role.begins_statement && open.empty();
    if (is_opener(token.kind)) {
      open.push_back(pieces.size());
      newlines_at_open.push_back(total_newlines);
    } else if (is_closer(token.kind)) {
      Piece& opener = pieces[open.back()];
      opener.partner = pieces.size();
      opener.spans_lines = total_newlines > newlines_at_open.back();
      piece.partner = open.back();
      open.pop_back();
      newlines_at_open.pop_back();
    }
    pieces.push_back(piece);
  }
  return pieces;
}

bool opens_block(const Piece& piece) {
  return piece.role.role == Role::BlockBrace && piece.token.kind == Tok::LeftBrace;
}
bool closes_block(const Piece& piece) {
  return piece.role.role == Role::BlockBrace && piece.token.kind == Tok::RightBrace;
}

// Whether it is the part of a statement that stands behind a block of it.
bool goes_on_after_block(const Piece& piece) {
  const Tok kind = piece.token.kind;
  return kind == Tok::Else || kind == Tok::Catch || (kind == Tok::Finally && !piece.role.begins_statement);
}

// Whether a space stands between two tokens of one line.
bool spaced(const Piece& before, const Piece& after) {
  const Tok left = before.token.kind;
  const Tok right = after.token.kind;
  const bool left_block = before.role.role == Role::BlockBrace;
  const bool right_block = after.role.role == Role::BlockBrace;
  if ((is_opener(left) && !left_block) || (is_closer(right) && !right_block)) return false;
  if (right == Tok::Comma) return false;
  if (right == Tok::Colon) return left == Tok::Comma;
  // `1 .real` would become another number without its space.
  if (right == Tok::Dot) return left == Tok::Number;
  if (left == Tok::Dot) return false;
  if (after.role.role == Role::Trailer || before.role.role == Role::Prefix) return false;
  if (before.role.role == Role::SliceColon) return false;
  return before.role.role != Role::Tight && after.role.role != Role::Tight;
}

// Lays pieces out line by line.
class Layout {
 public:
  Layout(std::string_view text, const std::vector<Piece>& pieces) : text_(text), pieces_(pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const bool empty = pieces[i].partner == i + 1;
      if (opens_block(pieces[i]) && pieces[i].spans_lines && !empty) expanded_.insert(i);
    }
    next_code_.resize(pieces.size() + 1, pieces.size());
    for (std::size_t i = pieces.size(); i-- > 0;) {
      next_code_[i] = pieces[i].token.kind == Tok::Comment ? next_code_[i + 1] : i;
    }
  }

  std::string run() {
    std::string out;
    for (std::size_t begin = 0; begin < pieces_.size();) {
      std::size_t end = begin + 1;
      while (end < pieces_.size() && !pieces_[end].begins_top_level) ++end;
      out += top_level(begin, end, out.empty());
      begin = end;
    }
    return out;
  }

 private:
  struct Open {
    std::size_t piece;
    int line_indent;  // of the line that the bracket is on
    int column;  // behind the bracket, when something follows on its line: later lines align with that; else
                 // -1
    bool block;
  };

  std::string_view text(const Piece& piece) const {
    std::string_view found = text_.substr(piece.token.begin, piece.token.end - piece.token.begin);
    if (piece.token.kind == Tok::Comment) {
      while (!found.empty() && (found.back() == ' ' || found.back() == '\t' || found.back() == '\r'))
        found.remove_suffix(1);
    }
    return found;
  }

  // A statement of the file with the comments behind it, again until no block has to be opened up.
  std::string top_level(std::size_t begin, std::size_t end, bool first) {
    for (;;) {
      out_.clear();
      open_.clear();
      line_indent_ = 0;
      too_long_.clear();
      for (std::size_t i = begin; i < end; ++i) put(i, i == begin, first);
      end_line();
      if (too_long_.empty()) return out_;
      expanded_.insert(too_long_.begin(), too_long_.end());
    }
  }

  void put(std::size_t i, bool begins, bool first) {
    const Piece& piece = pieces_[i];
    if (begins) {
      if (!first && piece.newlines_before > 1) out_ += '\n';
      start_line(indent_of(i));
    } else if (breaks(i)) {
      end_line();
      const Piece& before = pieces_[i - 1];
      const bool edge = is_opener(before.token.kind) || is_closer(piece.token.kind);
      if (piece.newlines_before > 1 && !edge) out_ += '\n';
      start_line(indent_of(i));
    } else if (piece.token.kind == Tok::Comment) {
      write("  ");
    } else if (piece.role.begins_statement && !opens_block(pieces_[i - 1])) {
      write("; ");
    } else if (spaced(pieces_[i - 1], piece)) {
      write(" ");
    }
    if (is_closer(piece.token.kind)) open_.pop_back();
    write(text(piece));
    if (piece.role.ends_silent) write(";");
    if (is_opener(piece.token.kind)) {
      const bool block = opens_block(piece);
      if (block && !expanded_.contains(i)) blocks_on_line_.push_back(i);
      open_.push_back({i, line_indent_, hangs(i) ? column_ : -1, block});
    }
  }

  // Whether what a bracket holds begins on its own line.
  bool hangs(std::size_t i) const {
    const Piece& next = pieces_[i + 1];
    return next.newlines_before == 0 && next.token.kind != Tok::Comment;
  }

  // Whether a line ends before a piece, which is not the first.
  bool breaks(std::size_t i) const {
    const Piece& piece = pieces_[i];
    const Piece& before = pieces_[i - 1];
    if (before.token.kind == Tok::Comment) return true;
    if (piece.token.kind == Tok::Comment) return piece.newlines_before > 0;
    if (opens_block(before) && closes_block(piece)) return false;
    const bool in_block = !open_.empty() && open_.back().block;
    if (in_block && expanded_.contains(open_.back().piece)) {
      if (is_opener(before.token.kind) && open_.back().piece == i - 1) return true;
      if (closes_block(piece)) return true;
      // Fields may share a line as the user wrote them.
      if (piece.role.begins_statement)
        return !piece.role.is_field || piece.newlines_before > 0 || !field_before(i);
    }
    if (closes_block(before) && goes_on_after_block(piece)) return false;
    return piece.newlines_before > 0;
  }

  // Whether the member before the one that begins at `i` is a field.
  bool field_before(std::size_t i) const {
    while (i-- > 0) {
      if (closes_block(pieces_[i])) return false;
      if (pieces_[i].role.begins_statement) return pieces_[i].role.is_field;
    }
    return false;
  }

  int indent_of(std::size_t i) const {
    const Piece& piece = pieces_[i];
    if (open_.empty()) return continues(i) ? kIndent : 0;
    const Open& open = open_.back();
    if (is_closer(piece.token.kind)) return open.line_indent;
    if (!open.block && open.column >= 0) return open.column;
    const bool deeper = open.block && continues(i);
    return open.line_indent + (deeper ? 2 * kIndent : kIndent);
  }

  // Whether the line that begins with a piece goes on with a statement that began before.
  bool continues(std::size_t i) const {
    i = next_code_[i];
    if (i == pieces_.size()) return false;
    const Piece& piece = pieces_[i];
    if (piece.role.begins_statement || closes_block(piece)) return false;
    if (goes_on_after_block(piece) && closes_block(previous_code(i))) return false;
    // A definition below its decorator.
    return !definition_keyword(piece);
  }

  const Piece& previous_code(std::size_t i) const {
    do --i;
    while (i > 0 && pieces_[i].token.kind == Tok::Comment);
    return pieces_[i];
  }

  bool definition_keyword(const Piece& piece) const {
    const Tok kind = piece.token.kind;
    const bool decorator = kind == Tok::At && piece.role.role == Role::Prefix;
    return kind == Tok::Struct || kind == Tok::Autograd || decorator ||
           (kind == Tok::Fn && starts_after_decorator(piece));
  }

  // Whether an `fn` that begins a line is the one its decorators stand above.
  bool starts_after_decorator(const Piece& fn) const {
    const auto i = static_cast<std::size_t>(&fn - pieces_.data());
    std::size_t at = i;
    while (at-- > 0) {
      if (pieces_[at].role.begins_statement)
        return pieces_[at].token.kind == Tok::At && definition_of(at) == i;
    }
    return false;
  }

  // The `fn` of the decorated definition that begins at a piece: the first outside all brackets.
  std::size_t definition_of(std::size_t at) const {
    while (pieces_[at].token.kind != Tok::Fn) {
      at = is_opener(pieces_[at].token.kind) ? pieces_[at].partner + 1 : at + 1;
      if (at >= pieces_.size()) return at;
    }
    return at;
  }

  void start_line(int indent) {
    line_indent_ = indent;
    out_.append(static_cast<std::size_t>(indent), ' ');
    column_ = indent;
    widest_ = 0;
    blocks_on_line_.clear();
  }

  void write(std::string_view text) {
    out_ += text;
    for (std::size_t i = 0; i < text.size();) {
      const CodePoint point = decode_utf8(text, i);
      i += point.length;
      if (point.value != '\n') {
        column_ += display_width(point.value);
        continue;
      }
      // Inside a string: a line of its own, as far as width goes.
      widest_ = std::max(widest_, column_);
      column_ = 0;
    }
  }

  void end_line() {
    if (!blocks_on_line_.empty() && std::max(widest_, column_) > kLineWidth) {
      too_long_.push_back(blocks_on_line_.front());
    }
    blocks_on_line_.clear();
    out_ += '\n';
  }

  std::string_view text_;
  const std::vector<Piece>& pieces_;
  std::vector<std::size_t> next_code_;  // of each piece: itself or the first behind it that is no comment
  std::set<std::size_t> expanded_;      // braces of blocks whose statements stand on lines of their own
  std::vector<std::size_t> too_long_;
  std::vector<std::size_t> blocks_on_line_;
  std::vector<Open> open_;
  std::string out_;
  int line_indent_ = 0;
  int column_ = 0;
  int widest_ = 0;  // of the lines before the current one that a string's newlines have ended
};

}  // namespace

std::string format(const SourceFile& file) {
  parse(file);  // whatever is wrong with the file is said of the file itself
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string_view text = file.text();
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const SourceFile bare(file.name(), std::string(text));
  const std::vector<Piece> pieces = read_pieces(bare.text(), token_roles(bare));
  return Layout(bare.text(), pieces).run();
}

}  // namespace kiln::lang
