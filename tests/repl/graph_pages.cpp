// Pages and pictures of graphs, written to files.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "interpreter/values/graph_value.h"
#include "jit/graph/text.h"
#include "repl/graph_page.h"
#include "repl/session.h"

using namespace kiln::repl;

namespace {

constexpr const char* kText =
    "graph functional f(%x: f32[2]) {\n"
    "  %a = lt(%x, 1) : bool[2]                         # a<b.kiln:3:7\n"
    "  return %a\n"
    "}\n";

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "kiln-test-pictures";
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
};

}  // namespace

TEST_CASE("nodes and source lines of a page carry their places") {
  const kiln::interp::Value graph = kiln::interp::make_graph(kiln::jit::parse_graph(kText));
  const std::string page = graph_page("f(x)", {"a<b.kiln", 2, "fn f(x) {\n  x < 1\n}"},
                                      {{"functional", graph}, {"llvm", "ret\n"}});
  CHECK(page.find("<div data-l=\"a&lt;b.kiln:3\">  x &lt; 1</div>") != std::string::npos);
  CHECK(page.find("<div data-l=\"a&lt;b.kiln:3\" data-p=\"a&lt;b.kiln:3:7\" title=") != std::string::npos);
  CHECK(page.find(">  %a = lt(%x, 1) : bool[2]</div>") != std::string::npos);
  CHECK(page.find("<h2>llvm</h2>\n<div>ret</div>") != std::string::npos);
  CHECK(page.find("http") == std::string::npos);  // nothing is loaded from elsewhere
}

TEST_CASE("a graph is written as a page and for Graphviz") {
  const Folder folder;
  Session session{{}};
  session.eval("g = parse_graph(\"\"\"" + std::string(kText) + "\"\"\")");
  CHECK(session.eval(":html g " + folder.file("g.html")).output == "wrote " + folder.file("g.html") + "\n");
  CHECK(read_text(folder.file("g.html")).starts_with("<!doctype html>"));
  CHECK(session.eval(":dot g " + folder.file("g.dot")).output == "wrote " + folder.file("g.dot") + "\n");
  CHECK(read_text(folder.file("g.dot")) == session.eval(":dot g").output);
  CHECK(session.eval("print(g.dot())").output == session.eval(":dot g").output + "\n");
  CHECK(session.eval(":dot g /no/such/folder/g.dot").diagnostics.starts_with("IOError"));
  CHECK(session.eval(":dot").diagnostics.find("usage: `:dot f(x) [file.svg]`") != std::string::npos);
}

TEST_CASE("a picture needs Graphviz, and says so") {
  const Folder folder;
  Session session{{}};
  session.eval("g = parse_graph(\"\"\"" + std::string(kText) + "\"\"\")");
  const std::string path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  setenv("PATH", "/no/such/folder", 1);
  const Result result = session.eval(":dot g " + folder.file("g.svg"));
  setenv("PATH", path.c_str(), 1);
  CHECK(result.diagnostics.find("there is no `dot`: Graphviz is not installed") != std::string::npos);
  CHECK(result.status == Status::Error);
}

TEST_CASE("kernels of a card are shown of graphs that make tensors and have constants") {
  for (const char* const entry :
       {":cuda cos(ones(3))", ":cuda (x => x.exp() * tensor([1.0, 2.0, 3.0]) + 1)(ones(3))",
        ":cuda (x => (x + ones(3)).sum() + full([3], 2.5))(ones(3))"}) {
    Session session{{}};
    const Result result = session.eval(entry);
    INFO(entry << "\n" << result.diagnostics);
    CHECK(result.status == Status::Done);
  }
}
