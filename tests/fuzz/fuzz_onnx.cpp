// Random bytes and mutated models: each is a model or a sentence, never a crash, and memory stays small.
//   fuzz_onnx [--runs N] [--seed S] [FILE...]      FILE: a model to mutate beside those made here
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "jit/graph/verify.h"
#include "onnx/import/import.h"
#include "tensor/error.h"
#include "tests/onnx/records.h"

namespace {

using namespace kiln;
using namespace kiln::onnx;

constexpr std::int64_t kBytes = std::int64_t{64} << 20;

ValueInfo image(const std::string& name) {
  return value_record(name, {size(1), size(2), open_size("n"), size(4)});
}

// A few nodes of many kinds, with shapes and counts among the constants.
std::string small_model() {
  const AttributeProto axis = AttributeProto::of("axis", std::int64_t{1});
  ModelProto model = model_record(
      {image("x")},
      {node_record("Relu", {"x"}, {"a"}), node_record("Reshape", {"a", "shape"}, {"b"}),
       node_record("Unsqueeze", {"b", "axis"}, {"c"}), node_record("ReduceSum", {"c", "axis"}, {"d"}),
       node_record("ConstantOfShape", {"sizes"}, {"e"}), node_record("Expand", {"e", "sizes"}, {"f"}),
       node_record("Tile", {"f", "sizes"}, {"g"}),
       node_record("Slice", {"d", "one", "end", "axis", "step"}, {"y"}),
       node_record("Concat", {"f", "f"}, {"z"}, {axis})},
      {image("y"), image("z")});
  model.graph.initializers = {ints_record("shape", {1, 2, -1, 4}),
                              ints_record("sizes", {2, 3}),
                              ints_record("axis", {1}),
                              ints_record("one", {1}),
                              ints_record("end", {3}),
                              ints_record("step", {1})};
  return write_model(model);
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string mutated(std::string bytes, std::mt19937_64& random) {
  const auto below = [&random](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  for (std::size_t changes = 1 + below(6); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = below(bytes.size());
    switch (below(4)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, 1 + below(8));
        break;
      case 2:
        bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(16)));
        break;
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
    }
  }
  return bytes;
}

// What became of the bytes: true for a model. Other errors than those of a user end the program.
bool imports(const std::string& bytes) {
  try {
    ImportOptions options;
    options.byte_limit = kBytes;
    const Imported made = import_model(read_model(bytes), options);
    if (const std::string fault = jit::find_fault(made.graph); !fault.empty()) {
      std::cerr << "the graph of a model is wrong: " << fault << "\n";
      std::abort();
    }
    return true;
  } catch (const OpError& error) {
    if (!error.message().empty()) return false;
    std::cerr << "an error says nothing\n";
    std::abort();
  }
}

}  // namespace

int main(int count, char** given) {
  std::size_t runs = 2000;
  std::uint64_t seed = 1;
  std::vector<std::string> models{small_model()};
  for (int i = 1; i < count; ++i) {
    const std::string argument = given[i];
    if (argument == "--runs" && i + 1 < count) {
      runs = std::stoul(given[++i]);
    } else if (argument == "--seed" && i + 1 < count) {
      seed = std::stoull(given[++i]);
    } else {
      models.push_back(read(argument));
    }
  }
  std::mt19937_64 random(seed);
  std::size_t imported = imports(models[0]) ? 1 : 0;
  if (imported == 0) return 1;
  for (std::size_t run = 0; run < runs; ++run) {
    std::string bytes = mutated(models[run % models.size()], random);
    if (run % 8 == 0) {
      for (char& each : bytes) each = static_cast<char>(random());
    }
    imported += imports(bytes) ? 1 : 0;
  }
  std::cout << imported << " of " << runs << " were models\n";
}
