// Commands that write what became of a call to a file: dot html export.
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "interpreter/host/graph_stages.h"
#include "interpreter/host/onnx_export.h"
#include "interpreter/values/graph_value.h"
#include "jit/graph/dot.h"
#include "repl/graphviz.h"
#include "repl/page/write_page.h"
#include "repl/write_text.h"

namespace kiln::repl {
namespace {

namespace fs = std::filesystem;

// "f(x) file.svg" as the call and the file; no file when the last word is none of these kinds.
struct Drawing {
  std::string_view call;
  std::string path;
};
Drawing split_file(std::string_view command, std::string_view text, std::span<const std::string_view> kinds) {
  const std::size_t blank = text.find_last_of(" \t");
  if (blank == std::string_view::npos) return {text, {}};
  const std::string_view word = text.substr(blank + 1);
  for (const std::string_view kind : kinds) {
    if (word.ends_with(kind)) return {trim(text.substr(0, blank)), std::string(word)};
  }
  if (!two_expressions(text).second.empty()) {
    usage_error(*find_command(command), fmt::format("the file must end in {}", fmt::join(kinds, ", ")));
  }
  return {text, {}};
}

// ---- A picture of each graph ----

// "net.svg" for the first graph of a call, "net-2.svg" for the second.
std::string numbered(const std::string& path, std::size_t index) {
  if (index == 0) return path;
  const fs::path whole(path);
  return (whole.parent_path() /
          fmt::format("{}-{}{}", whole.stem().string(), index + 1, whole.extension().string()))
      .string();
}

void write_picture(const jit::Graph& graph, const std::string& path) {
  if (path.ends_with(".dot")) {
    write_text(path, jit::dot_text(graph));
  } else if (path.ends_with(".mmd")) {
    write_text(path, jit::mermaid_text(graph));
  } else {
    draw(jit::dot_text(graph), path);
  }
}

// Shows the texts for Graphviz where there is no path.
void write_pictures(Session& session, std::string_view command, const Drawing& drawing) {
  const interp::host::CapturedCall call = drawn_call(session, written_call(session, command, drawing.call));
  const auto& functional = interp::host::stage_named("functional");
  const auto graphs = call.graphs();
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const interp::Value stage = interp::host::stage_value(functional, *graphs[i], call.remove);
    if (drawing.path.empty()) {
      session.write(jit::dot_text(interp::graph_of(stage)));
      continue;
    }
    const std::string path = numbered(drawing.path, i);
    write_picture(interp::graph_of(stage), path);
    session.write(fmt::format("wrote {}\n", path));
  }
}

void dot(Session& session, std::string_view text) {
  static constexpr std::array<std::string_view, 5> kKinds{".svg", ".png", ".pdf", ".dot", ".mmd"};
  write_pictures(session, "dot", split_file("dot", text, kKinds));
}

// ---- A page of all stages ----

void write_stages(Session& session, std::string_view command, const Drawing& drawing) {
  const WrittenCall written = written_call(session, command, drawing.call);
  if (drawing.path.empty() && session.options().show_page)
    return session.options().show_page(page_text(session, drawing.call, written));
  const std::string path = write_page(session, drawing.call, written, drawing.path);
  session.write(fmt::format("wrote {}\n", path));
}

void html(Session& session, std::string_view text) {
  static constexpr std::array<std::string_view, 3> kKinds{".html", ".htm", ".json"};
  write_stages(session, "html", split_file("html", text, kKinds));
}

// ---- By the ending ----

void write_model(Session& session, std::string_view command, const Drawing& drawing) {
  const WrittenCall call = written_call(session, command, drawing.call);
  const interp::host::WrittenModel written =
      interp::host::export_call(session.interpreter(), call.function, call.positional, call.named,
                                interp::host::stage_named("functional"), drawing.path, {});
  session.write(fmt::format("wrote {}\n", written.text()));
}

struct Format {
  std::string_view ending;
  void (*write)(Session& session, std::string_view command, const Drawing& drawing);
};
constexpr std::array<Format, 9> kFormats{{{".onnx", write_model},
                                          {".dot", write_pictures},
                                          {".mmd", write_pictures},
                                          {".svg", write_pictures},
                                          {".png", write_pictures},
                                          {".pdf", write_pictures},
                                          {".html", write_stages},
                                          {".htm", write_stages},
                                          {".json", write_stages}}};

void export_file(Session& session, std::string_view text) {
  std::array<std::string_view, kFormats.size()> endings;
  std::transform(kFormats.begin(), kFormats.end(), endings.begin(),
                 [](const Format& each) { return each.ending; });
  const Drawing drawing = split_file("export", text, endings);
  for (const Format& each : kFormats) {
    if (drawing.path.ends_with(each.ending)) return each.write(session, "export", drawing);
  }
  usage_error(*find_command("export"),
              fmt::format("behind the call stands a file that ends in {}", fmt::join(endings, ", ")));
}

constexpr std::array<Command, 3> kPicturesCommands{{
    {"dot", "f(x) [file.svg]", "Compiling", "a picture of the functional graph, through Graphviz",
     "The file may end in .svg, .png, .pdf or .dot, or in .mmd for Mermaid; without a file the text for\n"
     "Graphviz is shown.\n\n"
     "kiln> :dot cos(ones(3))\n",
     dot, in_programs("graph(f, x).dot()")},
    {"html", "f(x) [file.html]", "Compiling",
     "a page of all stages, linked line by line, with the graph drawn",
     "Two stages stand side by side. A line under the pointer lights what it came from, and what became of "
     "it,\n"
     "down to instructions. The page needs no network. Without a file it is written to a temporary one. A "
     "file\n"
     "that ends in .json gets what the page shows, as data.\n\n"
     "kiln> :html cos(ones(3))\n",
     html, in_programs("html(f, x)")},
    {"export", "f(x) file.onnx", "Compiling",
     "the graph of a call as a file: a model of ONNX, a picture, a page",
     "The ending says what is written: .onnx a model that other programs run (`?export`); .svg, .png and "
     ".pdf\n"
     "a picture through Graphviz; .dot its text; .mmd a flowchart for Mermaid; .html a page of all stages;\n"
     ".json what that page shows, as data.\n\n"
     "kiln> :export cos(ones(3)) /tmp/kiln-cos.mmd\n",
     export_file, in_programs("export(f, x, \"/tmp/kiln-export.onnx\")")},
}};

}  // namespace

std::span<const Command> picture_commands() { return kPicturesCommands; }

}  // namespace kiln::repl
