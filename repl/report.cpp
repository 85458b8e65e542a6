#include "repl/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/stages.h"
#include "interpreter/values/objects.h"
#include "jit/graph/text.h"
#include "jit/passes/no_compiler.h"
#include "jit/pipeline/compiled_graph.h"
#include "jit/pipeline/fused.h"
#include "tensor/error.h"
#include "tensor/how_many.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

constexpr std::string_view kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "pre{font:13px/1.45 ui-monospace,monospace;background:#8881;padding:.6rem;overflow:auto}"
    "table{border-collapse:collapse}td,th{text-align:left;padding:.15rem 1rem .15rem 0}"
    "h2{border-top:1px solid #8885;padding-top:1rem}summary{cursor:pointer}"
    ":root{color-scheme:light dark}";

std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '&')
      made += "&amp;";
    else if (c == '<')
      made += "&lt;";
    else if (c == '>')
      made += "&gt;";
    else
      made += c;
  }
  return made;
}

std::string element(std::string_view tag, std::string_view text) {
  return fmt::format("<{}>{}</{}>\n", tag, escaped(text), tag);
}

std::string list(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string text = element("h3", title) + "<ul>\n";
  for (const std::string& each : lines) text += element("li", each);
  return text + "</ul>\n";
}

std::string row(std::string_view tag, std::initializer_list<std::string> cells) {
  std::string text = "<tr>";
  for (const std::string& each : cells) text += fmt::format("<{}>{}</{}>", tag, escaped(each), tag);
  return text + "</tr>\n";
}

std::string hot_table(const std::vector<interp::HotFunction>& functions) {
  std::string text =
      "<table>\n" + row("th", {"what", "place", "calls or iterations", "bytes of code", "outcome"});
  for (const interp::HotFunction& each : functions)
    text += row("td", {each.is_loop ? "loop" : each.name, each.place, std::to_string(each.calls),
                       std::to_string(each.code_bytes), each.outcome});
  return text + "</table>\n";
}

// The kernels that the graph becomes, or why there are none.
std::string kernel_graph(const jit::Graph& captured) {
  try {
    return jit::print_graph(jit::outline(jit::functional_graph(captured)));
  } catch (const OpError& error) {
    return error.message();
  } catch (const jit::NoCompiler& none) {
    return none.what();
  }
}

std::string entry_text(const interp::EntryInfo& entry) {
  std::string text = fmt::format("<details><summary>{}: {}, {}, {} of code</summary>\n", escaped(entry.place),
                                 how_many(entry.hits, "hit"), how_many(entry.graph.nodes.size(), "node"),
                                 how_many(entry.code_bytes, "byte"));
  text += list("Guards", entry.guards);
  text += element("h3", "Graph") + element("pre", jit::print_graph(entry.graph));
  text += element("h3", "Kernels") + element("pre", kernel_graph(entry.graph));
  return text + "</details>\n";
}

std::string flow_text(const interp::FlowInfo& flow) {
  std::string text = fmt::format("<details><summary>loop {}, {}: {} runs, {} iterations</summary>\n",
                                 escaped(flow.place), escaped(flow.form), flow.runs, flow.trips);
  return text + list("Guards", flow.guards) + element("pre", flow.text) + "</details>\n";
}

std::vector<std::string> breaks_of(const interp::CompileInfo& info) {
  std::vector<std::string> lines;
  for (const interp::GraphBreak& each : info.breaks)
    lines.push_back(fmt::format("{}:{}: {}", each.file, each.line, each.reason));
  return lines;
}

std::vector<std::string> recompiles_of(const interp::CompileInfo& info) {
  std::vector<std::string> lines;
  for (const interp::Recompile& each : info.recompiles)
    lines.push_back(fmt::format("{}: was {}, now {}", each.guard, each.was, each.now));
  return lines;
}

// Of none: the loops at top level. Empty for what was neither compiled nor tried.
std::string function_text(interp::Interpreter& interpreter, const std::string& name, const Value& function) {
  const std::vector<interp::EntryInfo> entries = interp::entries_of(interpreter, function);
  const std::vector<interp::FlowInfo> flows = interp::flows_of(interpreter, function);
  const interp::CompileInfo info = interp::compile_info_of(interpreter, function);
  if (entries.empty() && flows.empty() && info.breaks.empty() && info.notes.empty()) return "";
  std::string text = element("h2", name);
  text += element("p", fmt::format("{}, {}, {}, {}", how_many(info.entries, "entry", "entries"),
                                   how_many(info.graphs, "graph"), how_many(info.compiles, "compile"),
                                   how_many(info.hits, "hit")));
  for (const interp::EntryInfo& each : entries) text += entry_text(each);
  for (const interp::FlowInfo& each : flows) text += flow_text(each);
  text += list("Breaks", breaks_of(info)) + list("Compiled again", recompiles_of(info));
  return text + element("h3", "Why") + element("pre", interp::why(interpreter, function));
}

std::string texts_of(interp::Interpreter& interpreter, const std::string& name, const Value& value) {
  if (value.is(Tag::Function)) return function_text(interpreter, name, value);
  if (!value.is(Tag::StructType)) return "";
  std::string text;
  for (const auto& [method, function] : value.as<interp::StructType>().methods)
    text += function_text(interpreter, name + "." + method, function);
  return text;
}

}  // namespace

std::string report_page(interp::Interpreter& interpreter, const std::string& title) {
  const interp::Module& main = interpreter.main();
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title><style>{}</style>"
      "</head><body>\n",
      escaped(title), kStyle);
  text += element("h1", title) + hot_table(interp::hot_functions(interpreter));
  text += function_text(interpreter, "top level", Value());
  for (std::size_t i = 0; i < main.slots.size(); ++i)
    text += texts_of(interpreter, main.names[i], main.slots[i]);
  return text + "</body></html>\n";
}

}  // namespace kiln::repl
