// What an editor is told of a program, over a real conversation.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/editor/client.h"

namespace kiln::editor::testing::features_test {
namespace {

const std::string kProgram = R"(import nn
from optim import SGD
## Two layers.
## >>> mlp(ones(2, 784), ones(784, 128), ones(128, 10)).shape
## (2, 10)
fn mlp(x, w1, w2) {
  h = relu(x @ w1)
  return h @ w2
}
w1 = randn(784, 128)
w2 = randn(128, 10)
logits = mlp(randn(32, 784), w1, w2)
)";

// Gives the places of the texts that edits are for, with what they write: "6:2 layer".
std::string shown(const Json& edits) {
  std::string text;
  for (const Json& each : edits) {
    const Json& start = each.at("range").at("start");
    text += start.at("line").dump() + ":" + start.at("character").dump() + " " +
            each.at("newText").get<std::string>() + "\n";
  }
  return text;
}

std::string hover_text(Client& client, const std::string& uri, std::uint32_t line, std::uint32_t character) {
  const Json hover = client.result("textDocument/hover", at(uri, line, character));
  return hover.is_null() ? "" : hover.at("contents").at("value").get<std::string>();
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("mistakes are published with their codes, notes and helps", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("mlp.kiln");
  client.open(uri, kProgram);
  CHECK(client.diagnostics(uri, 1).empty());
  client.change(
      uri, 2,
      {{{"range", {{"start", {{"line", 6}, {"character", 15}}}, {"end", {{"line", 6}, {"character", 17}}}}},
        {"text", "w2"}}});
  const Json found = client.diagnostics(uri, 2);
  REQUIRE(found.size() == 1);
  CHECK(found[0].at("code") == "K0501");
  CHECK(found[0].at("source") == "kiln");
  CHECK(found[0].at("range").at("start").at("line") == 6);
  CHECK(has(found[0].at("message"), "cannot multiply f32[32, 784] by f32[128, 10]"));
  CHECK_FALSE(found[0].at("relatedInformation").empty());
  // Its fix puts the text back.
  const Json actions = client.result("textDocument/codeAction", {{"textDocument", {{"uri", uri}}},
                                                                 {"range", found[0].at("range")},
                                                                 {"context", {{"diagnostics", found}}}});
  REQUIRE(actions.size() == 1);
  CHECK(shown(actions[0].at("edit").at("changes").at(uri)) == "6:11 x @ w1\n");
  client.change(uri, 3, {{{"text", "x = = 1\nreturn 2\ny = (\n"}}});
  CHECK(client.diagnostics(uri, 3).size() == 2);
  client.change(uri, 4, {{{"text", "x = reluu(ones(2))\n"}}});
  const Json names = client.diagnostics(uri, 4);
  REQUIRE(names.size() == 1);
  CHECK(has(names[0].at("message"), "did you mean `relu`?"));
  CHECK(client.leave() == 0);
}

TEST_CASE("hover tells types of variables and pages of functions", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("mlp.kiln");
  client.open(uri, kProgram);
  client.diagnostics(uri, 1);
  CHECK(has(hover_text(client, uri, 6, 2), "h: f32[32, 128]"));
  CHECK(has(hover_text(client, uri, 6, 11), "x: f32[32, 784]"));
  CHECK(has(hover_text(client, uri, 5, 7), "parameter of `mlp`"));
  CHECK(has(hover_text(client, uri, 11, 1), "logits: f32[32, 10]"));
  CHECK(has(hover_text(client, uri, 11, 10), "fn mlp(x, w1, w2)"));
  CHECK(has(hover_text(client, uri, 11, 10), "Two layers."));
  CHECK(has(hover_text(client, uri, 6, 7), "relu"));
  CHECK(has(hover_text(client, uri, 5, 0), "fn"));
  CHECK(has(hover_text(client, uri, 0, 8), "module"));
  CHECK(has(hover_text(client, uri, 1, 19), "SGD"));
}

TEST_CASE("completion knows variables, and puts shapes that fit first", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("mlp.kiln");
  client.open(uri, kProgram);
  client.diagnostics(uri, 1);
  client.change(
      uri, 2,
      {{{"range", {{"start", {{"line", 12}, {"character", 0}}}, {"end", {{"line", 12}, {"character", 0}}}}},
        {"text", "logits = randn(5, 784) @ "}}});
  const Json fitting = client.result("textDocument/completion", at(uri, 12, 25)).at("items");
  REQUIRE_FALSE(fitting.empty());
  CHECK(fitting[0].at("label") == "w1");
  client.change(
      uri, 3,
      {{{"range", {{"start", {{"line", 12}, {"character", 0}}}, {"end", {{"line", 12}, {"character", 25}}}}},
        {"text", "logits.softm"}}});
  const Json members = client.result("textDocument/completion", at(uri, 12, 12)).at("items");
  REQUIRE_FALSE(members.empty());
  CHECK(members[0].at("label") == "softmax");
  const Json told = client.result("completionItem/resolve", members[0]);
  CHECK(has(told.at("documentation").get<std::string>(), "softmax("));
}

TEST_CASE("within a function its own variables are completed by their types", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("mlp.kiln");
  client.open(uri, kProgram);
  client.diagnostics(uri, 1);
  client.change(
      uri, 2,
      {{{"range", {{"start", {{"line", 6}, {"character", 18}}}, {"end", {{"line", 6}, {"character", 18}}}}},
        {"text", "\n  y = h @ "}}});
  const Json fitting = client.result("textDocument/completion", at(uri, 7, 10)).at("items");
  REQUIRE_FALSE(fitting.empty());
  CHECK(fitting[0].at("label") == "w2");
}

TEST_CASE("signatures of calls are shown with the argument that is typed", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("a.kiln");
  client.open(uri, "y = linspace(0, 1, ");
  const Json help = client.result("textDocument/signatureHelp", at(uri, 0, 19));
  REQUIRE_FALSE(help.is_null());
  CHECK(has(help.at("signatures")[0].at("label"), "linspace("));
  CHECK(help.at("activeParameter") == 2);
}

TEST_CASE("names are followed to where they are defined, also into the library", "[editor][features]") {
  const auto state = std::filesystem::temp_directory_path() / "kiln_editor_test_state";
  setenv("XDG_STATE_HOME", state.c_str(), 1);
  Client client;
  const std::string uri = uri_of("mlp.kiln");
  client.open(uri, kProgram + "layer = nn.Linear(3, 4)\n");
  client.diagnostics(uri, 1);
  const Json local = client.result("textDocument/definition", at(uri, 7, 9));
  CHECK(local.at("range").at("start") == Json{{"line", 6}, {"character", 2}});
  const Json function = client.result("textDocument/definition", at(uri, 11, 10));
  CHECK(function.at("range").at("start") == Json{{"line", 5}, {"character", 3}});
  const Json library = client.result("textDocument/definition", at(uri, 12, 12));
  REQUIRE_FALSE(library.is_null());
  const std::string path = library.at("uri").get<std::string>().substr(7);
  std::ifstream file(path);
  std::string line;
  for (int k = 0; k <= library.at("range").at("start").at("line"); ++k) std::getline(file, line);
  CHECK(has(line, "Linear"));
  CHECK(client.result("textDocument/references", at(uri, 6, 2)).size() == 2);
  CHECK(client.result("textDocument/documentHighlight", at(uri, 9, 0)).size() == 2);
  std::filesystem::remove_all(state);
}

TEST_CASE("a new name is written wherever the variable is meant", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("mlp.kiln");
  client.open(uri, kProgram + "again = mlp(x=ones(1, 784), w1=w1, w2=w2)\n");
  const auto rename = [&](std::uint32_t line, std::uint32_t character, const std::string& name) {
    return client.ask("textDocument/rename", at(uri, line, character, {{"newName", name}}));
  };
  CHECK(shown(rename(5, 10, "first").at("result").at("changes").at(uri)) ==
        "5:10 first\n6:15 first\n12:28 first\n");
  CHECK(shown(rename(9, 0, "weights").at("result").at("changes").at(uri)) ==
        "9:0 weights\n11:29 weights\n12:31 weights\n");
  CHECK(shown(rename(1, 18, "Descent").at("result").at("changes").at(uri)) == "1:18 SGD as Descent\n");
  CHECK(rename(6, 2, "x").contains("error"));     // a parameter
  CHECK(rename(6, 2, "relu").contains("error"));  // is called there
  CHECK(rename(6, 2, "if").contains("error"));
  CHECK(rename(6, 2, "a b").contains("error"));
  CHECK(rename(6, 7, "mine").contains("error"));  // of the library
  CHECK(client.result("textDocument/prepareRename", at(uri, 6, 2)).at("placeholder") == "h");
}

// A program of three files: one defines names, one uses them in each way, one takes them from there.
class Program {
 public:
  Program() : folder_(std::filesystem::temp_directory_path() / "kiln_editor_program") {
    std::filesystem::create_directories(folder_ / "parts");
    write("parts/layers.kiln", "rate = 0.5\nfn dense(x, w) = x @ w * rate\nfn local(dense) = dense\n");
    write("model.kiln",
          "import parts.layers\nimport \"./parts/layers.kiln\" as l\nfrom parts.layers import dense, rate as "
          "r\n"
          "y = layers.dense(ones(1, 2), ones(2, 3)) + l.rate + r\nz = dense(ones(1, 2), ones(2, 3))\n"
          "l.local(dense=l.local(dense=2))\n");
    write("main.kiln",
          "from model import dense, z\nprint(dense(ones(1, 2), ones(2, 3)), z)\n"
          "from parts.layers import local\nlocal(dense=1)\n");
  }
  ~Program() { std::filesystem::remove_all(folder_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string folder() const { return folder_.string(); }
  std::string uri(const std::string& name) const { return "file://" + (folder_ / name).string(); }
  std::string text(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  std::filesystem::path folder_;
};

TEST_CASE("a name that files share is found and renamed in all of them", "[editor][features]") {
  const Program program;
  Client client(true, Json::object(), program.folder());
  const std::string main = program.uri("main.kiln"), model = program.uri("model.kiln"),
                    layers = program.uri("parts/layers.kiln");
  client.open(main, program.text("main.kiln"));
  client.open(layers, program.text("parts/layers.kiln"));
  const auto rename = [&](const std::string& uri, std::uint32_t line, std::uint32_t character,
                          const std::string& name) {
    return client.ask("textDocument/rename", at(uri, line, character, {{"newName", name}}));
  };
  const Json from_main = rename(main, 1, 7, "full").at("result").at("changes");
  CHECK(from_main == rename(layers, 1, 4, "full").at("result").at("changes"));
  CHECK(shown(from_main.at(layers)) == "1:3 full\n");
  CHECK(shown(from_main.at(model)) == "2:25 full\n3:11 full\n4:4 full\n");
  CHECK(shown(from_main.at(main)) == "0:18 full\n1:6 full\n");
  // What is imported by another name keeps that name there.
  const Json rate = rename(layers, 0, 0, "share").at("result").at("changes");
  CHECK(shown(rate.at(layers)) == "0:0 share\n1:25 share\n");
  CHECK(shown(rate.at(model)) == "2:32 share\n3:45 share\n");
  CHECK_FALSE(rate.contains(main));
  const auto count = [&](std::uint32_t line, std::uint32_t character, bool with_definitions) {
    return client
        .result("textDocument/references",
                at(layers, line, character, {{"context", {{"includeDeclaration", with_definitions}}}}))
        .size();
  };
  CHECK(count(1, 3, true) == 6);
  CHECK(count(0, 0, true) == 4);
  CHECK(count(2, 9, true) == 5);  // a parameter, which calls name
  const Json parameter = rename(main, 3, 6, "kept").at("result").at("changes");
  CHECK(parameter == rename(layers, 2, 9, "kept").at("result").at("changes"));
  CHECK(shown(parameter.at(layers)) == "2:9 kept\n2:18 kept\n");
  CHECK(shown(parameter.at(model)) == "5:8 kept\n5:22 kept\n");
  CHECK(shown(parameter.at(main)) == "3:6 kept\n");
  CHECK(client.result("textDocument/prepareRename", at(main, 1, 7)).at("placeholder") == "dense");
  CHECK(rename(main, 0, 25, "y").contains("error"));    // is another variable of model.kiln
  CHECK(rename(layers, 0, 0, "l").contains("result"));  // behind a point it is no variable
  CHECK(rename(main, 1, 7, "z").contains("error"));     // is another variable of main.kiln
  const Json found = client.result("workspace/symbol", {{"query", "dens"}});
  REQUIRE(found.size() == 1);
  CHECK(found[0].at("location").at("uri") == layers);
}

TEST_CASE("symbols, folds, colours, hints and lenses of a program", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("mlp.kiln");
  client.open(uri, kProgram + "struct P {\n  x\n  fn norm(self) = self.x\n}\n@jit\nfn fast(x) = x * 2\n");
  client.diagnostics(uri, 1);
  const Json document = {{"textDocument", {{"uri", uri}}}};
  const Json symbols = client.result("textDocument/documentSymbol", document);
  REQUIRE(symbols.size() == 6);
  CHECK(symbols[0].at("name") == "mlp");
  CHECK(symbols[4].at("children").size() == 2);
  CHECK(client.result("textDocument/foldingRange", document).size() >= 3);
  const Json tokens = client.result("textDocument/semanticTokens/full", document).at("data");
  CHECK(tokens.size() % 5 == 0);
  CHECK(tokens.size() > 100);
  const Json whole = {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 99}, {"character", 0}}}};
  const Json hints =
      client.result("textDocument/inlayHint", {{"textDocument", {{"uri", uri}}}, {"range", whole}});
  const auto hint_at = [&](int line, const std::string& label) {
    return std::any_of(hints.begin(), hints.end(), [&](const Json& each) {
      return each.at("position").at("line") == line && each.at("label") == label;
    });
  };
  CHECK(hint_at(5, ": f32[32, 784]"));
  CHECK(hint_at(6, ": f32[32, 128]"));
  CHECK(hint_at(11, ": f32[32, 10]"));
  const Json lenses = client.result("textDocument/codeLens", document);
  REQUIRE(lenses.size() == 2);
  CHECK(client.result("workspace/symbol", {{"query", "norm"}}).size() == 1);
}

TEST_CASE("types in a function follow the sizes that its signature names", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("sizes.kiln");
  client.open(
      uri,
      "fn head(x: f32[b, t, 784], w: f32[784, d]) -> f32[b, t, d] {\n  h = x @ w\n  flat = h.reshape(-1, 2)\n"
      "  last = cat([h, h], dim=1)\n  return h[:, 1:]\n}\n");
  // Nothing is known against a function that is never called.
  CHECK(client.diagnostics(uri, 1).empty());
  CHECK(has(hover_text(client, uri, 0, 8), "x: f32[b, t, 784]"));
  CHECK(has(hover_text(client, uri, 1, 2), "h: f32[b, t, d]"));
  CHECK(has(hover_text(client, uri, 3, 2), "last: f32[b, 2*t, d]"));
}

TEST_CASE("a lens runs the examples of its function, and nothing else does", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("mlp.kiln");
  client.open(uri, kProgram);
  client.diagnostics(uri, 1);
  const Json lenses = client.result("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}});
  REQUIRE(lenses.size() == 1);
  CHECK(client.result("workspace/executeCommand", lenses[0].at("command")).is_null());
  const Json told = client.notification("window/showMessage");
  CHECK(told.at("type") == 3);
  CHECK(has(told.at("message"), "the examples of `mlp`"));
}

TEST_CASE("formatting is one edit over what differs", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("a.kiln");
  client.open(uri, "x = 1\ny=2\nz = 3\n");
  const Json options = {{"textDocument", {{"uri", uri}}},
                        {"options", {{"tabSize", 2}, {"insertSpaces", true}}}};
  CHECK(shown(client.result("textDocument/formatting", options)) == "1:0 y = 2\n\n");
  client.change(uri, 2, {{{"text", "x = = 1\n"}}});
  CHECK(client.result("textDocument/formatting", options).empty());
}

TEST_CASE("formatting of a range changes its lines, and what belongs to them", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("a.kiln");
  client.open(uri, "x=1\ny=2\nz=3\nfn f(a) {\nb=a\n    return b\n}\n");
  const auto edits = [&](int first, int last) {
    return shown(client.result(
        "textDocument/rangeFormatting",
        {{"textDocument", {{"uri", uri}}},
         {"range",
          {{"start", {{"line", first}, {"character", 0}}}, {"end", {{"line", last}, {"character", 0}}}}},
         {"options", {{"tabSize", 2}, {"insertSpaces", true}}}}));
  };
  client.change(uri, 2, {{{"text", "x=1\ny = 2\nz=3\nfn f(a) {\n  b = a\n    return b\n}\n"}}});
  CHECK(edits(0, 1) == "0:0 x = 1\n\n");
  CHECK(edits(1, 2).empty());
  CHECK(edits(2, 3) == "2:0 z = 3\n\n");
  CHECK(edits(5, 6) == "5:0   return b\n\n");
  CHECK(edits(0, 7) == "0:0 x = 1\n\n2:0 z = 3\n\n5:0   return b\n\n");
  client.change(uri, 3, {{{"text", "x=1\ny=2\nz=3\n"}}});
  CHECK(edits(1, 2) == "1:0 y = 2\n\n");
}

TEST_CASE("an editor that asks for mistakes is answered when the check is done, and not told",
          "[editor][features]") {
  Client client(true, {{"textDocument", {{"diagnostic", Json::object()}}}});
  const std::string uri = uri_of("a.kiln");
  const Json document = {{"textDocument", {{"uri", uri}}}};
  client.open(uri, "x = reluu(ones(2))\n");
  const Json first = client.result("textDocument/diagnostic", document);
  CHECK(first.at("kind") == "full");
  REQUIRE(first.at("items").size() == 1);
  CHECK(has(first.at("items")[0].at("message"), "did you mean `relu`?"));
  client.change(uri, 2, {{{"text", "x = = 1\n"}}});
  CHECK_FALSE(client.result("textDocument/diagnostic", document).at("items").empty());
  client.change(uri, 3, {{{"text", "x = 1\n"}}});
  CHECK(client.result("textDocument/diagnostic", document).at("items").empty());
  CHECK(client.leave() == 0);
}

TEST_CASE("all mistakes that can be fixed are fixed by one action", "[editor][features]") {
  Client client;
  const std::string uri = uri_of("a.kiln");
  client.open(uri, "x = reluu(ones(2))\ny = ones(2) @ ones(3)\nprint(sqart(4.0))\n");
  CHECK(client.diagnostics(uri, 1).size() == 3);
  const auto actions = [&](const Json& only) {
    return client.result(
        "textDocument/codeAction",
        {{"textDocument", {{"uri", uri}}},
         {"range", {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 0}, {"character", 0}}}}},
         {"context", {{"diagnostics", Json::array()}, {"only", only}}}});
  };
  for (const char* kind : {"source.fixAll", "source"}) {
    const Json found = actions({kind});
    REQUIRE(found.size() == 1);
    CHECK(found[0].at("title") == "Fix what can be fixed: 2 mistakes");
    CHECK(shown(found[0].at("edit").at("changes").at(uri)) == "0:4 relu\n2:6 sqrt\n");
  }
  CHECK(actions({"refactor"}).empty());
}

}  // namespace
}  // namespace kiln::editor::testing::features_test
