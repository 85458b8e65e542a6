#include "repl/page/page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "repl/page/assets.h"

namespace kiln::repl {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const PageTable& table) {
  Json lines = Json::array(), from = Json::array(), of = Json::object(), values = Json::object();
  for (std::size_t i = 0; i < table.lines.size(); ++i) {
    const PageLine& line = table.lines[i];
    lines.push_back(line.text);
    if (line.from.size() == 1)
      from.push_back(line.from[0]);  // as nearly all, where a list would be longer
    else
      from.push_back(line.from);
    const std::string number = std::to_string(table.first + static_cast<int>(i));
    if (!line.of.empty()) of[number] = line.of;
    if (!line.value.empty()) values[number] = line.value;
  }
  Json nodes = Json::array(), inputs = Json::array();
  for (const PageNode& each : table.nodes) {
    nodes.push_back({{"line", each.line},
                     {"op", each.op},
                     {"results", each.results},
                     {"operands", each.operands},
                     {"origin", each.origin}});
    if (each.communicates) nodes.back()["communicates"] = true;
  }
  for (const PageInput& each : table.inputs)
    inputs.push_back({{"name", each.name}, {"role", each.role}, {"type", each.type}});
  return {{"stage", table.stage},
          {"title", table.title},
          {"parent", table.parent},
          {"first", table.first},
          {"lines", lines},
          {"from", from},
          {"of", of},
          {"values", values},
          {"inputs", inputs},
          {"nodes", nodes}};
}

Json json_of(const PagePasses& passes) {
  Json steps = Json::array();
  for (const PageStep& each : passes.steps) {
    steps.push_back({{"pass", each.pass},
                     {"what", each.what},
                     {"why", each.why},
                     {"seconds", each.seconds},
                     {"nodes", each.nodes},
                     {"difference", each.difference}});
  }
  return {{"title", passes.title}, {"steps", steps}};
}

Json json_of(const PageKernels& kernels) {
  Json rows = Json::array();
  for (const PageKernel& each : kernels.rows) {
    rows.push_back({{"name", each.name},
                    {"ops", each.ops},
                    {"bytes", each.bytes},
                    {"flops", each.flops},
                    {"time", each.time},
                    {"roof", each.roof},
                    {"share", each.share ? Json(*each.share) : Json()},
                    {"line", each.line}});
  }
  return {{"title", kernels.title}, {"rows", rows}};
}

Json json_of(const PageCut& cut) {
  Json rows = Json::array();
  for (const PageSaved& each : cut.rows) {
    rows.push_back({{"name", each.name},
                    {"bytes", each.bytes},
                    {"why", each.why},
                    {"kept", each.is_kept},
                    {"line", each.line}});
  }
  return {{"title", cut.title}, {"summary", cut.summary}, {"rows", rows}};
}

Json json_of(const PageNote& note) { return {{"heading", note.heading}, {"text", note.text}}; }

template <class T>
Json list_of(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& each : items) list.push_back(json_of(each));
  return list;
}

// As text of an element: "<" is all that could end it.
std::string embedded(std::string_view text) {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return result;
}

// The text with what stands for each asset, "{{name}}", in its place.
std::string filled(std::string_view text, const std::string& title, const std::string& data) {
  std::string result;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find("{{"), text.size());
    result += text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::size_t close = text.find("}}");
    const std::string_view name = text.substr(2, close - 2);
    result += name == "title" ? title : name == "data" ? data : std::string(page_asset(name));
    text.remove_prefix(close + 2);
  }
  return result;
}

}  // namespace

LineId CallPage::end() const {
  return tables.empty() ? 0 : tables.back().first + static_cast<LineId>(tables.back().lines.size());
}

std::string page_json(const CallPage& page) {
  const Json all{{"title", page.title},
                 {"tables", list_of(page.tables)},
                 {"passes", list_of(page.passes)},
                 {"kernels", list_of(page.kernels)},
                 {"cuts", list_of(page.cuts)},
                 {"notes", list_of(page.notes)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string page_html(const CallPage& page) {
  return filled(page_asset("page.html"), escaped(page.title), embedded(page_json(page)));
}

}  // namespace kiln::repl
