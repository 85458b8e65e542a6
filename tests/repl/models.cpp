// Models as the prompt prints them: a tree with shapes, parameters and bytes.
#include <catch2/catch.hpp>

#include "tests/repl/talk.h"

namespace kiln::models_test {

using namespace kiln::repl;

TEST_CASE("a model is printed as a tree of its layers") {
  Talk talk;
  talk("import nn; net = nn.Sequential(nn.Linear(784, 128), relu, nn.Dropout(0.5), nn.Linear(128, 10))");
  CHECK(talk("net") ==
        "                                parameters    bytes\n"
        "Sequential                         101,770  398 KiB\n"
        "  layers.0: Linear                 100,480  392 KiB  weight f32[128, 784],\n"
        "                                                     bias f32[128]\n"
        "  layers.1: fn relu(x: tensor)\n"
        "  layers.2: Dropout                                  p=0.5\n"
        "  layers.3: Linear                   1,290  5.0 KiB  weight f32[10, 128],\n"
        "                                                     bias f32[10]\n");
  CHECK(talk("net.eval(); net").find("p=0.5, training=false\n") != std::string::npos);
  CHECK(talk("net.num_parameters()") == "101770\n");
  CHECK(talk(":who").find("398 KiB") != std::string::npos);
  CHECK(talk("print(net)").starts_with("Sequential(layers=[Linear(weight=tensor("));
}

TEST_CASE("structs within structs, lists and dicts have dotted names, and tensors say what they are") {
  Talk talk;
  talk("import nn");
  talk(
      "struct Net { embed; blocks; head; scale; name = 'x'\n"
      "  fn init(self) {\n"
      "    self.embed = nn.Embedding(10, 4); self.blocks = {'a': [nn.LayerNorm(4)], 'b': [nn.Linear(4, 4, "
      "bias=false)]}\n"
      "    self.head = parameter(ones(4)).requires_grad_(false); self.scale = zeros(3); self.embed2 = "
      "self.embed.weight }\n"
      "  fn call(self, x) = x }");
  const std::string tree = talk("net = Net(); net");
  INFO(tree);
  for (const char* part : {"\n  embed: Embedding ", "\n  blocks.a.0: LayerNorm", "\n  blocks.b.0: Linear ",
                           "head f32[4] (frozen),", "scale f32[3] (buffer),",
                           "embed2 f32[10, 4] (the same as embed.weight),", "name='x'\n"})
    CHECK(tree.find(part) != std::string::npos);
  CHECK(talk("net.blocks['a'].append(net.blocks); net") == tree);
  CHECK(talk("net.embed.weight.sum().backward(); net").ends_with("bytes count the gradients, too\n"));
}

TEST_CASE("what is no model, or prints itself, is printed as ever") {
  Talk talk;
  CHECK(talk("import nn; nn.ReLU()").starts_with("ReLU("));
  CHECK(talk("struct P { w }; P(ones(2).requires_grad_())").starts_with("P(w=tensor("));
  CHECK(talk("struct Q { w fn call(self) = 1 fn repr(self) = 'own' }; Q(ones(2).requires_grad_())") ==
        "own\n");
}

}  // namespace kiln::models_test
