#include "interpreter/text/live_lines.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln::interp {

void LiveLines::draw_all() {
  std::string text = "\r";
  std::size_t count = 0;
  for (const Lines& each : owners_) {
    for (const std::string& line : each.lines) text += (count++ == 0 ? "" : "\r\n") + line + "\x1b[K";
  }
  if (drawn_ > count) text += "\x1b[J";
  if (count > 1) text += fmt::format("\x1b[{}A\r", count - 1);
  drawn_ = count;
  write_(text);
}

std::vector<LiveLines::Lines>::iterator LiveLines::place_of(Owner owner) {
  return std::find_if(owners_.begin(), owners_.end(), [&](const Lines& each) { return each.owner == owner; });
}

void LiveLines::draw(Owner owner, std::vector<std::string> lines) {
  if (show_) return show_(owner, lines);
  const auto found = place_of(owner);
  if (found == owners_.end()) {
    owners_.push_back({owner, std::move(lines)});
  } else {
    found->lines = std::move(lines);
  }
  if (!is_line_begun_) draw_all();
}

void LiveLines::finish(Owner owner) {
  if (show_) return show_(owner, {});
  const auto found = place_of(owner);
  if (found == owners_.end()) return;
  if (found == owners_.begin()) {
    if (std::exchange(is_line_begun_, false)) {
      write_("\n");
      draw_all();
    }
    return leave();
  }
  owners_.erase(found);
  if (!is_line_begun_) draw_all();
}

void LiveLines::leave() {
  if (drawn_ > 0) {
    draw_all();  // over the ^C that a terminal shows where the cursor is
    write_(drawn_ > 1 ? fmt::format("\x1b[{}B\n", drawn_ - 1) : "\n");
  }
  drawn_ = 0;
  is_line_begun_ = false;
  owners_.clear();
}

void LiveLines::before_text() {
  if (std::exchange(drawn_, 0) > 0) write_("\r\x1b[J");
}

void LiveLines::after_text(std::string_view text) {
  if (text.empty()) return;
  is_line_begun_ = !text.ends_with('\n');
  if (!is_line_begun_ && !owners_.empty()) draw_all();
}

}  // namespace kiln::interp
