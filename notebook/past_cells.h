// Owns the cells that ran, as Jupyter asks for them: the last ones, a range, those that match a pattern.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "repl/history.h"

namespace kiln::notebook {

struct PastCell {
  int session = 0;
  int number = 0;  // of the cell in its session
  std::string text;
  std::string output;  // the text of its value, "" where it has none
};

// Cells of this session, up to a bound, and the texts of cells of earlier ones, which are one session
// together.
class PastCells {
 public:
  static constexpr int kEarlier = 1, kThis = 2;  // numbers of the sessions
  static constexpr std::size_t kKept = 1000;     // newest of this session

  // The file holds the cells of all sessions, and is read at once; "" keeps those of this one alone.
  explicit PastCells(std::string file);

  void add(int number, std::string_view text, std::string_view output);
  // The newest, oldest first.
  std::vector<PastCell> last(int count) const;
  // Those of a session with numbers from `start` to before `stop`; session 0 is this one, -1 the one before.
  std::vector<PastCell> range(int session, int start, int stop) const;
  // The newest whose whole text matches the pattern, where `*` stands for any text and `?` for a character.
  // `unique`: of equal texts the newest alone.
  std::vector<PastCell> matching(const std::string& pattern, int count, bool unique) const;

 private:
  std::vector<PastCell> all() const;

  repl::History file_;
  std::vector<PastCell> earlier_;
  std::deque<PastCell> cells_;
};

}  // namespace kiln::notebook
