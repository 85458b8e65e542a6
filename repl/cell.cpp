#include "repl/cell.h"

#include <algorithm>

#include "repl/command.h"

namespace kiln::repl {
namespace {

using lang::Completeness;

// ":time f(" is a command whose text goes on.
Completeness command_completeness(std::string_view command) {
  command = trim(command);
  if (!command.starts_with(':')) return Completeness::Complete;
  const std::size_t end = command.find_first_of(" \t\n");
  const bool is_open =
      end != std::string_view::npos && lang::completeness(command.substr(end)) == Completeness::Incomplete;
  return is_open ? Completeness::Incomplete : Completeness::Complete;
}

Completeness part_completeness(std::string_view part) {
  return is_command(part) ? command_completeness(part) : lang::completeness(part);
}

}  // namespace

std::vector<std::string_view> split_cell(std::string_view cell) {
  std::vector<std::string_view> parts;
  const auto is_open = [&] { return part_completeness(parts.back()) == Completeness::Incomplete; };
  for (std::size_t begin = 0; begin < cell.size();) {
    const std::size_t end = std::min(cell.find('\n', begin), cell.size() - 1) + 1;
    const std::string_view line = cell.substr(begin, end - begin);
    const bool may_begin = parts.empty() || is_command(line) || is_command(parts.back());
    if (parts.empty() || (may_begin && !is_open())) {
      parts.push_back(line);
    } else {
      parts.back() = {parts.back().data(), parts.back().size() + line.size()};
    }
    begin = end;
  }
  return parts;
}

Completeness cell_completeness(std::string_view cell) {
  const std::vector<std::string_view> parts = split_cell(cell);
  return parts.empty() ? Completeness::Complete : part_completeness(parts.back());
}

}  // namespace kiln::repl
