// What the page of a call embeds: stages whose lines name the lines that they come from.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "repl/session.h"

namespace kiln::call_pages_test {

using namespace kiln::repl;
using Json = nlohmann::json;

namespace {

std::string page_of(Session& session, const std::string& call) {
  const auto path =
      std::filesystem::temp_directory_path() / ("kiln-test-page-" + std::to_string(getpid()) + ".html");
  const Result result = session.eval(":html " + call + " " + path.string());
  INFO(result.diagnostics);
  REQUIRE(result.status == Status::Done);
  const std::string page = read_text(path.string());
  std::filesystem::remove(path);
  return page;
}

Json data_of(const std::string& page) {
  const std::string begin = "<script id=\"data\" type=\"application/json\">";
  const std::size_t at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

// Two layers of one line, of which the elementwise ops are one kernel.
void define(Session& session) {
  session.eval("fn layer(x, w) = (x * w).relu() + 1");
  session.eval("fn net(x, a, b) = softmax(layer(layer(x, a), b), dim=1)");
  session.eval("x = ones(4, 64); a = ones(64); b = ones(64)");
}

// The head of CUDA C++, before the first kernel.
bool is_before_kernels(std::string_view text) {
  return text.empty() || text.starts_with("#include") || text.starts_with("using namespace");
}

struct Tables {
  explicit Tables(Json data) : all(std::move(data["tables"])) {}
  Json all;

  const Json& of(int line) const {
    std::size_t k = all.size() - 1;
    while (all[k]["first"].get<int>() > line) --k;
    return all[k];
  }
  std::set<int> parts(const std::set<int>& lines) const {
    std::set<int> found = lines;
    for (const int line : lines) {
      const Json& own = of(line)["of"];
      const auto whole = own.find(std::to_string(line));
      if (whole != own.end()) found.insert(whole->begin(), whole->end());
    }
    return found;
  }
  // The lines of the captured graph that a line comes from.
  std::set<int> captured(int line) const {
    std::set<int> lines = parts({line});
    const Json* table = &of(line);
    while ((*table)["stage"] != "captured") {
      std::set<int> above;
      for (const int each : lines) {
        const Json& from = (*table)["from"][static_cast<std::size_t>(each - (*table)["first"].get<int>())];
        if (from.is_number())
          above.insert(from.get<int>());
        else
          above.insert(from.begin(), from.end());
      }
      lines = parts(above);
      table = &all[(*table)["parent"].get<std::size_t>()];
    }
    return lines;
  }
  template <class F>
  void each_line(std::string_view stage, F&& f) const {
    for (const Json& table : all) {
      if (table["stage"] != stage) continue;
      for (std::size_t i = 0; i < table["lines"].size(); ++i)
        f(table["first"].get<int>() + static_cast<int>(i), table["lines"][i].get<std::string>());
    }
  }
};

}  // namespace

TEST_CASE("a page joins where a collective begins to where it is waited for, with the reason") {
  Session session{{}};
  session.eval("fn f(x) = allreduce(x.sin(), name=\"a\") + 1");
  const Tables tables(data_of(page_of(session, "f(ones(4))")));
  int reasons = 0;
  for (const Json& table : tables.all) {
    if (table["stage"] != "fused") continue;
    std::set<int> halves;
    for (const Json& node : table["nodes"])
      if (node.contains("communicates")) halves.insert(node["line"].get<int>());
    CHECK(halves.size() == 2);
    tables.each_line("fused", [&](int line, const std::string& text) {
      if (text.find(": bucket 1 of 1: `a`, 16 B; begun when ") == std::string::npos) return;
      ++reasons;
      CHECK(table["of"][std::to_string(line)].get<std::set<int>>() == halves);
    });
  }
  CHECK(reasons == 1);
}

TEST_CASE("every line of a page names lines of the table before it, and all stages are there") {
  Session session{{}};
  define(session);
  session.eval("a.requires_grad_();");
  const std::string page = page_of(session, "net(x, a, b)");
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.find("http") == std::string::npos);  // nothing is loaded from elsewhere
  CHECK(page.find("{{") == std::string::npos);    // nothing was left to be filled in
  const Tables tables(data_of(page));
  std::set<std::string> stages;
  int next = 0;
  for (const Json& table : tables.all) {
    stages.insert(table["stage"].get<std::string>());
    const int first = table["first"].get<int>(), end = first + static_cast<int>(table["lines"].size());
    REQUIRE(first == next);
    next = end;
    REQUIRE(table["from"].size() == table["lines"].size());
    const int parent = table["parent"].get<int>();
    for (const Json& from : table["from"]) {
      for (const int line : from.is_number() ? Json::array({from}) : from)
        CHECK(&tables.of(line) == &tables.all[static_cast<std::size_t>(parent)]);
    }
    for (const auto& [line, parts] : table["of"].items()) {
      for (const int part : parts) CHECK((first <= part && part < end));
    }
    for (const Json& node : table["nodes"]) {
      CHECK(&tables.of(node["line"].get<int>()) == &table);
      for (const int operand : node["operands"]) {
        CHECK(operand < static_cast<int>(table["nodes"].size()));
        CHECK(-operand <= static_cast<int>(table["inputs"].size()));
      }
    }
  }
  for (const char* const stage : {"source", "captured", "functional", "joint", "forward", "backward", "fused",
                                  "loops", "llvm", "asm", "cuda", "program"}) {
    INFO(stage);
    CHECK(stages.contains(stage));
  }
}

TEST_CASE(
    "every line of a kernel comes from nodes of the program, and two layers of one line are told apart") {
  Session session{{}};
  define(session);
  const Tables tables(data_of(page_of(session, "net(x, a, b)")));
  for (const char* const stage : {"loops", "llvm", "asm", "cuda"}) {
    std::map<int, int> alone;  // lines that come from one node, by the node
    tables.each_line(stage, [&](int line, const std::string& text) {
      if (text.starts_with("at most")) return;  // of the graph
      if (is_before_kernels(text)) return;
      const std::set<int> nodes = tables.captured(line);
      INFO(stage << ": " << text);
      CHECK(!nodes.empty());
      if (nodes.size() == 1) ++alone[*nodes.begin()];
    });
    INFO(stage);
    CHECK(alone.size() == 7);  // mul, relu and add of each layer, and softmax
  }
}

TEST_CASE("stages of a page are as the commands show them") {
  Session session{{}};
  define(session);
  const Tables tables(data_of(page_of(session, "net(x, a, b)")));
  for (const char* const stage : {"loops", "asm", "cuda", "program"}) {
    std::string text;
    tables.each_line(stage, [&](int, const std::string& line) { text += line + "\n"; });
    INFO(stage);
    CHECK(session.eval("print(graph(net, x, a, b, stage=\"" + std::string(stage) + "\"))").output == text);
  }
}

// Run with a fake driver (tests/CMakeLists.txt).
TEST_CASE("the page of a call on a card has CUDA C++ and PTX under its loops", "[.card]") {
  Session session{{}};
  define(session);
  session.eval("x = x.cuda(); a = a.cuda(); b = b.cuda()");
  const Tables tables(data_of(page_of(session, "net(x, a, b)")));
  std::map<std::string, std::string> parents;
  for (const Json& table : tables.all) {
    const int parent = table["parent"].get<int>();
    if (parent >= 0) parents[table["stage"]] = tables.all[static_cast<std::size_t>(parent)]["stage"];
  }
  CHECK(parents["cuda"] == "loops");
  CHECK(parents["ptx"] == "loops");
  CHECK(!parents.contains("llvm"));
  std::set<int> nodes;
  tables.each_line("cuda", [&](int line, const std::string&) { nodes.merge(tables.captured(line)); });
  CHECK(nodes.size() == 7);  // mul, relu and add of each layer, and softmax
}

TEST_CASE("a fused graph that is given as it is has a page of its own nodes") {
  Session session{{}};
  define(session);
  session.eval("g = graph(graph(net, x, a, b, stage=\"forward\"), stage=\"fused\")");
  const Tables tables(data_of(page_of(session, "g")));
  int members = 0;
  tables.each_line("fused", [&](int line, const std::string& text) {
    if (!text.starts_with("  %") || text.find("= relu(") == std::string::npos) return;
    ++members;
    CHECK(tables.captured(line).size() == 1);
  });
  CHECK(members == 2);
}

TEST_CASE("parameters of a page go by their paths") {
  Session session{{}};
  session.eval("import nn");
  session.eval(
      "struct Net { fn init(self) { self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)] }\n"
      "fn call(self, x) { for each in self.layers { x = each(x).relu() }; return x } }");
  session.eval("net = Net(); fn loss(model, x) = model(x).sum()");
  CHECK(page_of(session, "net(ones(1, 2))").find("parameter %layers.1.weight: f32[2, 2]") !=
        std::string::npos);
  CHECK(page_of(session, "loss(net, ones(1, 2))").find("%grad_model.layers.0.bias") != std::string::npos);
  session.eval("held = [ones(2)]; held.append(held); fn first(items) = items[0] * 2");
  CHECK(page_of(session, "first(held)").find("mul(") != std::string::npos);  // what holds itself has no paths
}

TEST_CASE("a page has passes, costs, what is kept, and what was assumed") {
  Session session{{}};
  session.eval("fn f(x) { y = x.exp() * x.exp(); if y.sum() > 0 { y = y.cos() }; return y * 2 }");
  session.eval("x = ones(64).requires_grad_()");
  const Json data = data_of(page_of(session, "f(x)"));
  CHECK(data["passes"][0]["title"] == "graph 1, forward");
  const Json& steps = data["passes"][0]["steps"];
  const auto cse = std::ranges::find(steps, "cse", [](const Json& each) { return each["pass"]; });
  REQUIRE(cse != steps.end());
  CHECK((*cse)["why"].get<std::string>().starts_with("after decomposition"));
  CHECK(!data["kernels"][0]["rows"].empty());
  CHECK(data["kernels"][0]["rows"][0]["roof"].get<std::string>().find("% of") != std::string::npos);
  CHECK(data["cuts"][0]["rows"].size() >= 1);
  std::set<std::string> notes;
  for (const Json& note : data["notes"])
    notes.insert(note["heading"].get<std::string>() + ": " + note["text"].get<std::string>());
  CHECK(notes.contains("assumed of graph 1: x is f32[64], requires_grad"));
  const auto tells = [&](std::string_view text) {
    return std::ranges::any_of(notes,
                               [&](const std::string& each) { return each.find(text) != std::string::npos; });
  };
  CHECK(tells("a condition on the elements of a tensor"));
  bool has_value = false;
  for (const Json& table : data["tables"]) {
    for (const auto& [line, value] : table["values"].items())
      has_value =
          has_value || value.get<std::string>().find("from 2.718 to 2.718, mean 2.718") != std::string::npos;
  }
  CHECK(has_value);
}

TEST_CASE("a page without a file is written to a temporary one") {
  Session session{{}};
  const std::string output = session.eval(":html cos(ones(3))").output;
  REQUIRE(output.starts_with("wrote "));
  const std::string path = output.substr(6, output.size() - 7);
  CHECK(path.ends_with(".html"));
  CHECK(std::filesystem::remove(path));
}

}  // namespace kiln::call_pages_test
