// Pictures of graphs, written to files; what a page holds is tested in call_pages.cpp.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "repl/session.h"

namespace kiln::graph_pages_test {

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

TEST_CASE("a call is exported by the ending of the file", "[repl]") {
  const Folder folder;
  Session session{{}};
  session.eval("fn f(x) = x.cos() * 2; x = ones(3)");
  const auto exported = [&](const std::string& name) {
    const std::string path = folder.file(name.c_str());
    CHECK(session.eval(":export f(x) " + path).output.starts_with("wrote " + path));
    return read_text(path);
  };
  CHECK(exported("f.dot") == session.eval(":dot f(x)").output);
  CHECK(exported("f.mmd").starts_with("flowchart TB\n"));
  CHECK(exported("f.html").starts_with("<!"));
  CHECK(exported("f.json").starts_with("{\"title\""));
  const Result model = session.eval(":export f(x) " + folder.file("f.onnx"));
  CHECK(model.output.find("2 nodes, x: f32[3] -> mul: f32[3]") != std::string::npos);
  CHECK(session.eval("run_onnx(\"" + folder.file("f.onnx") + "\", x).equal(f(x))").output == "true\n");
  CHECK(session.eval(":export f(x) f.txt").diagnostics.find("the file must end in .onnx, .dot") !=
        std::string::npos);
  CHECK(session.eval(":export f(x)").diagnostics.find("ends in .onnx, .dot") != std::string::npos);
}

}  // namespace kiln::graph_pages_test
