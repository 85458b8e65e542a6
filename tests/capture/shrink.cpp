#include "tests/capture/shrink.h"

#include <algorithm>
#include <utility>

namespace kiln::testing {
namespace {

class Shrinker {
 public:
  Shrinker(Program program, const std::function<bool(const Program&)>& fails)
      : program_(std::move(program)), fails_(fails) {}

  Program run() {
    leave_out_of(program_.ways);
    leave_out_of(program_.laws);
    do {
      changed_ = false;
      leave_out(program_.statements);
      texts(program_.statements);
    } while (changed_);
    return std::move(program_);
  }

 private:
  bool still_fails() {
    if (!fails_(program_)) return false;
    changed_ = true;
    return true;
  }

  template <class T>
  void leave_out_of(std::vector<T>& all) {
    for (std::size_t k = all.size(); k-- > 0;) {
      const std::vector<T> before = all;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
      if (!still_fails()) all = before;
    }
  }

  // From the end, so that uses go before what they use; runs of statements first.
  void leave_out(std::vector<Statement>& statements) {
    for (std::size_t count = statements.size() / 2; count > 1; count /= 2) {
      for (std::size_t end = statements.size(); end >= count; end -= std::min(end, count))
        try_without(statements, end - count, count);
    }
    for (std::size_t k = statements.size(); k-- > 0;) {
      if (try_without(statements, k, 1)) continue;
      if (statements[k].tail.empty()) continue;
      if (try_unwrapped(statements, k)) continue;
      leave_out(statements[k].body);
    }
  }

  bool try_without(std::vector<Statement>& statements, std::size_t first, std::size_t count) {
    if (first + count > statements.size()) return false;
    const std::vector<Statement> before = statements;
    const auto at = statements.begin() + static_cast<std::ptrdiff_t>(first);
    statements.erase(at, at + static_cast<std::ptrdiff_t>(count));
    if (still_fails()) return true;
    statements = before;
    return false;
  }

  bool try_unwrapped(std::vector<Statement>& statements, std::size_t k) {
    const std::vector<Statement> before = statements;
    const std::vector<Statement> body = statements[k].body;
    const auto at = statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(k));
    statements.insert(at, body.begin(), body.end());
    if (still_fails()) return true;
    statements = before;
    return false;
  }

  void texts(std::vector<Statement>& statements) {
    for (Statement& each : statements) {
      if (!each.is_whole) cut_parts(each.head);
      texts(each.body);
    }
  }

  // Without each postfix ".name(…)" or "[…]", each argument, and each side of an operator.
  void cut_parts(std::string& text) {
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
      for (const std::size_t end : ends_of_part(text, begin)) {
        const std::string before = text;
        text.erase(begin, end - begin);
        if (still_fails()) break;
        text = before;
      }
    }
  }

  // Where what begins at a place may end; nothing begins inside of a word.
  static std::vector<std::size_t> ends_of_part(const std::string& text, std::size_t begin) {
    std::vector<std::size_t> ends;
    const char first = text[begin];
    const bool word = std::isalnum(static_cast<unsigned char>(first)) != 0 || first == '_';
    if (word && begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0)) return ends;
    int depth = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth < 0) break;
      const bool boundary = c == ')' || c == ']' || c == ',' || c == ' ';
      if (depth == 0 && boundary) ends.push_back(at + 1);
    }
    if (depth == 0) ends.push_back(text.size());
    std::reverse(ends.begin(), ends.end());
    return ends;
  }

  Program program_;
  const std::function<bool(const Program&)>& fails_;
  bool changed_ = false;
};

}  // namespace

Program shrunk(Program program, const std::function<bool(const Program&)>& fails) {
  return Shrinker(std::move(program), fails).run();
}

}  // namespace kiln::testing
