// Owns the lines of a terminal that are drawn over again while a program runs, as progress bars: below all
// text, whole beside what else is written, and on the screen once.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::interp {

class LiveLines {
 public:
  using Owner = const void*;
  using Show = std::function<void(Owner, const std::vector<std::string>&)>;
  // What is drawn goes to `write` as the codes of a terminal. With `show` it goes there instead, and other
  // text is elsewhere (interp::Frontend).
  explicit LiveLines(std::function<void(std::string_view)> write, Show show = {})
      : write_(std::move(write)), show_(std::move(show)) {}

  // Draws the lines of an owner, below those of owners that were there before. Lines have no line ends and
  // fit the terminal. Nothing is drawn while a line of text is unfinished.
  void draw(Owner owner, std::vector<std::string> lines);
  // Of the first owner, what is drawn becomes text that stays, with all below it; of others it goes.
  void finish(Owner owner);
  // What is drawn becomes text that stays, and no owner has lines any more.
  void leave();

  // Around other text that goes to the terminal: makes room for it, and draws below it.
  void before_text();
  void after_text(std::string_view text);

 private:
  struct Lines {
    Owner owner;
    std::vector<std::string> lines;
  };
  void draw_all();
  std::vector<Lines>::iterator place_of(Owner owner);

  std::function<void(std::string_view)> write_;
  Show show_;
  std::vector<Lines> owners_;
  std::size_t drawn_ = 0;       // lines on the screen; the cursor is at the first
  bool is_line_begun_ = false;  // by text
};

}  // namespace kiln::interp
