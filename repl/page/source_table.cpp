#include "repl/page/source_table.h"

#include <fmt/format.h>

#include <set>

#include "interpreter/vm/impl.h"
#include "repl/definition.h"
#include "repl/page/tables.h"

namespace kiln::repl {
namespace {

constexpr int kAround = 2;  // lines that are shown before and after one

// Numbers of lines, by file: those of what is called first.
class Wanted {
 public:
  void add(const std::string& file, int line) {
    const auto [found, fresh] = files_.try_emplace(file);
    if (fresh) order.push_back(file);
    found->second.insert(line);
  }
  const std::set<int>& lines(const std::string& file) const { return files_.at(file); }
  std::vector<std::string> order;

 private:
  std::map<std::string, std::set<int>> files_;
};

Wanted wanted_lines(const interp::Value& called, const std::vector<interp::CapturedGraph>& graphs) {
  Wanted wanted;
  if (const auto definition = definition_of(called)) {
    const auto count = std::count(definition->text.begin(), definition->text.end(), '\n') + 1;
    for (int k = 0; k < count; ++k) wanted.add(definition->file, static_cast<int>(definition->line) + k);
  }
  for (const interp::CapturedGraph& graph : graphs) {
    for (const jit::Node& node : graph.graph.nodes) {
      const jit::Place& place = node.place;
      if (place.file.empty()) continue;
      for (int k = -kAround; k <= kAround; ++k) wanted.add(place.file.get(), place.line + k);
    }
  }
  return wanted;
}

}  // namespace

SourceLines add_source(CallPage& page, Session& session, const interp::Value& called,
                       const std::vector<interp::CapturedGraph>& graphs) {
  const Wanted wanted = wanted_lines(called, graphs);
  SourceLines known;
  std::vector<PageLine> lines;
  for (const std::string& file : wanted.order) {
    const lang::SourceFile* const source = session.interpreter().impl().modules.source(file);
    if (source == nullptr) continue;
    lines.push_back({.text = "## " + file});
    int last = 0;
    for (const int number : wanted.lines(file)) {
      if (number < 1 || number > static_cast<int>(source->line_count())) continue;
      if (last > 0 && number > last + 1) lines.push_back({.text = "     …"});
      last = number;
      known[{file, number}] = page.end() + static_cast<LineId>(lines.size());
      lines.push_back(
          {.text = fmt::format("{:>4}  {}", number, source->line(static_cast<std::uint32_t>(number)))});
    }
  }
  if (!lines.empty()) add_table(page, "source", "", -1).lines = std::move(lines);
  return known;
}

}  // namespace kiln::repl
