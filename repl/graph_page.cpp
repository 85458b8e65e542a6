#include "repl/graph_page.h"

#include <fmt/format.h>

#include "interpreter/values/graph_value.h"
#include "jit/graph/text.h"

namespace kiln::repl {
namespace {

using interp::Tag;

// What the pointer touches has a line (`data-l`), and a node its place (`data-p`); a backward node comes from
// the place of its forward node. Everything of the same place is lit, and of a source line everything on it.
constexpr std::string_view kHead = R"(<meta charset="utf-8">
<style>
  :root { color-scheme: light dark; }
  body { font: 13px/1.5 ui-monospace, monospace; margin: 1.5em; }
  h1 { font-size: 1.1em; }
  main { display: flex; gap: 2em; align-items: flex-start; overflow-x: auto; }
  section { flex: none; }
  h2 { font-size: 1em; border-bottom: 1px solid; }
  div { white-space: pre; padding: 0 .4em; }
  [data-l] { cursor: default; }
  .lit { background: #ffd54a; color: #000; }
</style>
)";

constexpr std::string_view kScript = R"(<script>
  const all = [...document.querySelectorAll("[data-l]")];
  const related = (a, b) => {
    if (a.dataset.p && b.dataset.p) return a.dataset.p === b.dataset.p;
    return a.dataset.l === b.dataset.l;
  };
  const light = element => {
    for (const each of all) each.classList.toggle("lit", element !== null && related(element, each));
  };
  document.addEventListener("pointerover", event => light(event.target.closest("[data-l]")));
</script>
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

template <class F>
void for_each_line(std::string_view text, const F& f) {
  for (std::size_t number = 0; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    f(number, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string section(std::string_view name, const std::string& body) {
  return fmt::format("<section><h2>{}</h2>\n{}</section>\n", escaped(name), body);
}

std::string source_lines(const PageSource& source) {
  std::string body;
  for_each_line(source.text, [&](std::size_t number, std::string_view line) {
    const std::string place = fmt::format("{}:{}", source.file, source.line + static_cast<int>(number));
    body += fmt::format("<div data-l=\"{}\">{}</div>\n", escaped(place), escaped(line));
  });
  return body;
}

std::string node_attributes(const jit::Place& place) {
  if (place.file.empty()) return "";
  const std::string line = fmt::format("{}:{}", place.file.get(), place.line);
  return fmt::format(" data-l=\"{}\" data-p=\"{}:{}\"", escaped(line), escaped(line), place.column);
}

std::string graph_lines(const jit::Graph& graph) {
  std::string body;
  for_each_line(jit::print_graph(graph), [&](std::size_t number, std::string_view line) {
    const bool is_node = number > 0 && number <= graph.nodes.size();  // the first line is the header
    const std::string attributes = is_node ? node_attributes(graph.nodes[number - 1].place) : "";
    const std::string_view padded = line.substr(0, line.find("  # "));
    const std::string_view code = padded.substr(0, padded.find_last_not_of(' ') + 1);
    body += fmt::format("<div{} title=\"{}\">{}</div>\n", attributes, escaped(line), escaped(code));
  });
  return body;
}

std::string text_lines(std::string_view text) {
  std::string body;
  for_each_line(text, [&](std::size_t, std::string_view line) {
    body += fmt::format("<div>{}</div>\n", escaped(line));
  });
  return body;
}

}  // namespace

std::string graph_page(std::string_view title, const PageSource& source,
                       const std::vector<PageStage>& stages) {
  std::string page = "<!doctype html>\n<title>" + escaped(title) + "</title>\n" + std::string(kHead) +
                     "<h1>" + escaped(title) + "</h1>\n<main>\n";
  if (!source.file.empty()) page += section("source", source_lines(source));
  for (const PageStage& stage : stages) {
    const bool is_graph = stage.made.is(Tag::Graph);
    page += section(stage.name, is_graph ? graph_lines(interp::graph_of(stage.made))
                                         : text_lines(stage.made.as<interp::Str>().text));
  }
  return page + "</main>\n" + std::string(kScript);
}

}  // namespace kiln::repl
