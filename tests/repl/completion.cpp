// What Tab offers.
#include "repl/completion.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "repl/command.h"

namespace kiln::completion_test {

using namespace kiln::repl;

namespace {

struct Tab {
  Session session{{}};
  std::vector<std::string> operator()(std::string_view text) {
    return complete(session, text, text.size()).candidates;
  }
  Candidate first(std::string_view text) { return candidates(session, text, text.size()).all.at(0); }
  bool offers(std::string_view text, const std::string& word) {
    const auto all = (*this)(text);
    return std::find(all.begin(), all.end(), word) != all.end();
  }
};

}  // namespace

TEST_CASE("names: variables, prelude, ops, keywords") {
  Tab tab;
  tab.session.eval("weights = 1\nwidth = 2");
  CHECK(tab("wei") == std::vector<std::string>{"weights"});
  CHECK(tab.offers("w", "width"));
  CHECK(tab.offers("w", "while"));
  CHECK(tab.offers("soft", "softmax"));
  CHECK(tab.offers("enum", "enumerate"));
  CHECK(tab("zzz").empty());
  CHECK(complete(tab.session, "1 + wei", 7).begin == 4);
}

TEST_CASE("fields and methods after a point") {
  Tab tab;
  tab.session.eval(
      "struct Point { across; along  fn norm(self) = 1 }\np = Point(1, 2)\nx = zeros(2)\nxs = [1]");
  CHECK(tab.offers("p.a", "across"));
  CHECK(tab.offers("p.", "norm"));
  CHECK(tab.offers("x.sh", "shape"));
  CHECK(tab.offers("x.re", "relu_"));
  CHECK(tab("xs.app") == std::vector<std::string>{"append"});
  CHECK(tab.offers("f(x).su", "sum"));
  CHECK(tab.offers("f(x).requires", "requires_grad_"));
}

TEST_CASE("fields and methods of graphs") {
  Tab tab;
  tab.session.eval("g = parse_graph(\"graph functional f(%x: f32[2]) {\\n return %x\\n}\")");
  CHECK(tab("g.saved") == std::vector<std::string>{"saved", "saved_bytes"});
  CHECK(tab.offers("g.", "nodes"));
  CHECK_FALSE(tab.offers("g.", "relu"));
}

TEST_CASE("keyword arguments inside a call") {
  Tab tab;
  tab.session.eval(
      "fn train(epochs, rate = 0.1) = 0\nstruct Layer { n  fn init(self, inputs) { self.n = inputs } }");
  CHECK(tab.offers("train(e", "epochs="));
  CHECK(tab.offers("train(1, ra", "rate="));
  CHECK(tab.offers("sum(x, kee", "keepdim="));
  CHECK(tab.offers("x.sum(kee", "keepdim="));
  CHECK(tab("x.sum(di").front() == "dim=");
  CHECK(tab.offers("sorted([1], rev", "reverse="));
  CHECK(tab.offers("Layer(in", "inputs="));
  CHECK_FALSE(tab.offers("Layer(", "self="));
  CHECK_FALSE(tab.offers("train([e", "epochs="));
}

TEST_CASE("files in strings and after file commands") {
  const std::string folder = "/tmp/kiln-test-completion";
  mkdir(folder.c_str(), 0700);
  mkdir((folder + "/data").c_str(), 0700);
  std::ofstream(folder + "/digits.npz") << "x";
  Tab tab;
  CHECK(tab("load(\"" + folder + "/d") ==
        std::vector<std::string>{folder + "/data/", folder + "/digits.npz"});
  CHECK(tab(":load " + folder + "/di") == std::vector<std::string>{folder + "/digits.npz"});
  CHECK(tab("'closed' + le") != std::vector<std::string>{});
  unlink((folder + "/digits.npz").c_str());
  rmdir((folder + "/data").c_str());
  rmdir(folder.c_str());
}

TEST_CASE("commands, topics, modules") {
  Tab tab;
  CHECK(tab(":ti") == std::vector<std::string>{"time", "timeit"});
  CHECK(tab.offers(":help ten", "tensors"));
  CHECK(tab.offers(":time sof", "softmax"));
  CHECK(tab.offers("?sof", "softmax"));
  CHECK(tab(":pass cs") == std::vector<std::string>{"cse"});
  CHECK(tab.offers(":pass cse sof", "softmax"));
  tab.session.eval("register_pass(\"mine\", g => g)");
  CHECK(tab(":pass mi") == std::vector<std::string>{"mine"});
  CHECK(tab(":lesson n").front() == "next");
  CHECK(tab.offers(":diff f(x) cap", "captured"));
  CHECK_FALSE(tab.offers(":diff cap", "captured"));
  CHECK(tab.offers("import n", "nn"));
  CHECK(tab.offers("from op", "optim"));
}

TEST_CASE("methods by what stands before the point, literals and calls too", "[completion]") {
  Tab tab;
  tab.session.eval(
      "fn double(x: f32[n]) -> f32[n] { return 2 * x }\nimport nn\nx = zeros(2, 3)\ns = {1}\nd = {\"a\": 1}");
  CHECK(tab("\"a\".up") == std::vector<std::string>{"upper"});
  CHECK(tab("[1, 2].app") == std::vector<std::string>{"append"});
  CHECK(tab.offers("d.", "keys"));
  CHECK_FALSE(tab.offers("d.", "relu"));
  CHECK(tab.offers("s.", "add"));
  CHECK_FALSE(tab.offers("s.", "relu"));
  CHECK(tab.offers("str(1).", "split"));
  CHECK_FALSE(tab.offers("str(1).", "relu"));
  CHECK(tab.offers("\"a b\".split().", "append"));
  CHECK(tab.offers("f\"{x}\".upper().strip().", "split"));
  CHECK_FALSE(tab.offers("f\"{x}\".upper().", "relu"));
  CHECK(tab.offers("double(x).", "relu"));
  CHECK(tab.offers("(x @ x.t()).", "relu"));
  CHECK(tab("x.shape.").size() < 20);
  CHECK(tab("nn.Linear(2, unknown).wei") == std::vector<std::string>{"weight"});
  CHECK(tab("1.").empty());
  CHECK(tab("x  # x.").empty());
}

TEST_CASE("what the text itself says is known", "[completion]") {
  Tab tab;
  CHECK(tab.offers("fn f(weights) { return wei", "weights"));
  CHECK_FALSE(tab.offers("fn f() { names = [1]\n names.", "relu"));
  CHECK(tab.offers("fn f(x: str) { x.", "upper"));
  CHECK_FALSE(tab.offers("fn f(x: str) { x.", "relu"));
}

TEST_CASE("names of a module that is imported from", "[completion]") {
  Tab tab;
  CHECK(tab("from nn import Lin") == std::vector<std::string>{"Linear"});
  CHECK(tab.offers("from nn import Linear, R", "ReLU"));
  CHECK_FALSE(tab.offers("from nn import ", "relu"));
  CHECK_FALSE(tab.offers("from nn import ", "_fans"));
}

TEST_CASE("keys of a dict", "[completion]") {
  Tab tab;
  tab.session.eval("d = {\"rate\": 0.1, \"rounds\": 3, 4: 5}\nyears = {\"2024\": 1}");
  CHECK(tab("years[\"20") == std::vector<std::string>{"2024"});
  CHECK(tab("d[\"") == std::vector<std::string>{"rate", "rounds"});
  CHECK(tab("d['rou") == std::vector<std::string>{"rounds"});
  CHECK(tab("other[\"").empty());
}

TEST_CASE("values that a parameter takes", "[completion]") {
  Tab tab;
  tab.session.eval(
      "import nn\nfn pick(mode, how=\"x\") { if mode == \"fast\" or mode in [\"slow\", \"off\"] { return 1 "
      "}; return 0 }");
  CHECK(tab("zeros(2, dtype=f") == std::vector<std::string>{"f16", "f32", "f64"});
  CHECK(tab("zeros(2, device=c").front() == "cpu");
  CHECK(tab.offers("zeros(2, device=\"", "cpu"));
  CHECK(tab("gelu(x, approximate=\"") == std::vector<std::string>{"none", "tanh"});
  CHECK(tab("x.gelu(approximate=\"t") == std::vector<std::string>{"tanh"});
  CHECK(tab("mse_loss(a, b, reduction=\"m") == std::vector<std::string>{"mean"});
  CHECK(tab("hinge_embedding_loss(a, b, reduction=\"") == std::vector<std::string>{"mean", "sum", "none"});
  CHECK(tab("nn.MSELoss(reduction=\"s") == std::vector<std::string>{"sum"});
  CHECK(tab("nn.RNN(1, 2, nonlinearity=\"") == std::vector<std::string>{"tanh", "relu"});
  CHECK(tab("interpolate(x, mode=\"bic") == std::vector<std::string>{"bicubic"});
  CHECK(tab("pick(\"") == std::vector<std::string>{"fast", "slow", "off"});
  CHECK(tab("pick(mode=").front() == "\"fast\"");
  CHECK(tab("x.sum(0, keepdim=").front() == "false");
}

TEST_CASE("arguments that are given are not offered again", "[completion]") {
  Tab tab;
  tab.session.eval("fn train(epochs, rate = 0.1) = 0");
  CHECK_FALSE(tab.offers("train(1, ", "epochs="));
  CHECK_FALSE(tab.offers("train(rate=2, ", "rate="));
  CHECK(tab.offers("train(rate=2, ", "epochs="));
}

TEST_CASE("beside a product only what fits", "[completion]") {
  Tab tab;
  tab.session.eval(
      "x = zeros(2, 3)\nw1 = zeros(3, 4)\nw2 = zeros(5, 4)\nwhole = 3\nword = \"w\"\nfn widen(y) = y");
  CHECK(tab("x @ w").front() == "w1");
  CHECK_FALSE(tab.offers("x @ w", "w2"));
  CHECK_FALSE(tab.offers("x @ w", "whole"));
  CHECK_FALSE(tab.offers("x @ w", "word"));
  CHECK(tab.offers("x @ w", "widen"));
  CHECK(tab("x @ w1 @ w").front() != "w1");
  CHECK(tab.offers("x @ w1 @ w", "w2") == false);
  CHECK(tab("x @ w1 @ w2.t() @ w").front() == "w2");
  CHECK(tab.offers("x * w", "w2"));
}

TEST_CASE("what begins with the word comes first, else what is nearest", "[completion]") {
  Tab tab;
  tab.session.eval("Learning = 1\nweight_decay = 2");
  CHECK(tab("learn").front() == "Learning");
  CHECK(tab("decay") == std::vector<std::string>{"weight_decay"});
  CHECK(tab("sofmtax") == std::vector<std::string>{"softmax"});
  CHECK(tab(":tmie") == std::vector<std::string>{"time"});
  CHECK_FALSE(tab.offers("x.softmax_b", "softmax_backward"));
}

TEST_CASE("settings, their values, and words of commands", "[completion]") {
  Tab tab;
  CHECK(tab(":set col") == std::vector<std::string>{"color"});
  CHECK(tab(":set color ") == std::vector<std::string>{"on", "off"});
  CHECK(tab(":set color o") == std::vector<std::string>{"on", "off"});
  CHECK(tab(":set precision ").empty());
  CHECK(tab(":stages fu").front() == "full");
  CHECK(tab.offers(":stages full sof", "softmax"));
  CHECK(tab(":hot re").front() == "reset");
}

TEST_CASE("words of commands are those of their usage", "[completion]") {
  for (const Command* command : all_commands()) {
    std::istringstream words{std::string(command->words)};
    for (std::string word; words >> word;) CHECK(command->usage.find(word) != std::string_view::npos);
  }
}

TEST_CASE("candidates tell kind and type", "[completion]") {
  Tab tab;
  tab.session.eval("weights = zeros(2, 3)");
  CHECK(tab.first("weig").kind == "variable");
  CHECK(tab.first("weig").detail == "f32[2, 3]");
  CHECK(tab.first("weights.sum(keep").kind == "argument");
  CHECK(tab.first("weights.sum(keep").detail == "keepdim: bool = false");
  CHECK(tab.first("scatter").detail.starts_with("scatter(x: tensor"));
  CHECK(tab.first("weights.sha").kind == "field");
  CHECK(tab.first("[1].app").detail == "append(self, x)");
}

TEST_CASE("any text and cursor gives an answer", "[completion]") {
  Tab tab;
  const std::string text = "f(x[\"a\"], **{'b': (1, [2).c}) @ -.5.\n:set @ from , import x\\";
  for (std::size_t cursor = 0; cursor <= text.size(); ++cursor) {
    for (std::size_t begin = 0; begin <= cursor; begin += 5)
      CHECK(candidates(tab.session, text.substr(begin), cursor - begin).begin <= cursor - begin);
  }
}

}  // namespace kiln::completion_test
