// What Tab offers.
#include "repl/completion.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

using namespace kiln::repl;

namespace {

struct Tab {
  Session session{{}};
  std::vector<std::string> operator()(std::string_view text) {
    return complete(session, text, text.size()).candidates;
  }
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
  CHECK(tab(":lesson n") == std::vector<std::string>{"next"});
  CHECK(tab.offers(":diff f(x) cap", "captured"));
  CHECK_FALSE(tab.offers(":diff cap", "captured"));
  CHECK(tab.offers("import n", "nn"));
  CHECK(tab.offers("from op", "optim"));
}
