// Owns the generator of random numbers in integer operators, so that a runtime draws Kiln's numbers.
#include "tensor/philox.h"
#include "onnx/export/model_writer.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

// Numbers of 32 bits are kept in i64, whose products wrap. Unsigned numbers, which few runtimes have all
// operators of, are not needed.
class Philox {
 public:
  explicit Philox(Scope& scope)
      : scope_(scope), mask_(constant(0xffffffff)), two_to_32_(constant(std::int64_t{1} << 32)) {}

  std::string run(const std::string& seed, const std::string& draw, const std::string& blocks) {
    std::string x0 = scope_.add("Range", {constant(0), blocks, constant(1)}, {}, 1)[0];
    std::string x1 = high(x0), x2 = low(draw), x3 = high(draw);
    x0 = low(x0);
    std::string k0 = low(seed), k1 = high(seed);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const std::string a = node("Mul", x0, constant(kPhiloxM0)), b = node("Mul", x2, constant(kPhiloxM1));
      x0 = node("BitwiseXor", node("BitwiseXor", high(b), x1), k0);
      x1 = low(b);
      x2 = node("BitwiseXor", node("BitwiseXor", high(a), x3), k1);
      x3 = low(a);
      k0 = low(node("Add", k0, constant(kPhiloxW0)));
      k1 = low(node("Add", k1, constant(kPhiloxW1)));
    }
    std::vector<std::string> words;
    const std::string last = row(-1);
    for (const std::string& word : {x0, x1, x2, x3}) words.push_back(node("Unsqueeze", word, last));
    const std::string all = scope_.add("Concat", std::move(words), {{"axis", std::int64_t{-1}}}, 1)[0];
    return node("Reshape", all, last);
  }

 private:
  std::string node(std::string_view type, const std::string& a, const std::string& b) {
    return scope_.add(type, {a, b}, {}, 1)[0];
  }
  std::string constant(std::int64_t value) {
    return scope_.constant(ops::full({}, Tensor::number(value), DType::I64, Device{}));
  }
  std::string row(std::int64_t value) {
    return scope_.constant(ops::full(std::vector<Dim>{1}, Tensor::number(value), DType::I64, Device{}));
  }
  std::string low(const std::string& x) { return node("BitwiseAnd", x, mask_); }
  // Without its low half a number is a multiple of 2^32, so that the division is exact whatever its sign is.
  std::string high(const std::string& x) { return low(node("Div", node("Sub", x, low(x)), two_to_32_)); }

  Scope& scope_;
  std::string mask_, two_to_32_;
};

}  // namespace

const LocalFunction& ModelWriter::philox() {
  if (philox_) return *philox_;
  constexpr int kOldest = 18;  // operators on bits
  if (options_.opset < kOldest)
    throw OpError(ErrorKind::Capture,
                  "draws need operators on bits, which opset 18 has: ask for one, or for random=\"runtime\"");
  Scope scope(*this, true);
  FunctionProto function;
  for (const char* const name : {"seed", "draw", "blocks"}) function.inputs.push_back(scope.fresh(name));
  function.outputs = {Philox(scope).run(function.inputs[0], function.inputs[1], function.inputs[2])};
  function.domain = kOpsDomain;
  function.name = "philox";
  function.nodes = std::move(scope.nodes);
  function.opsets = {{"", options_.opset}};
  model.functions.push_back(std::move(function));
  return philox_.emplace(LocalFunction{std::string(kOpsDomain), "philox", {}});
}

std::string Scope::draw_words(const Dim& blocks) {
  if (is_function_)
    throw OpError(ErrorKind::Capture,
                  "random numbers within a function of the model: export with custom=\"inline\"");
  draws = true;
  const std::string number =
      constant(ops::full({}, Tensor::number(model_.draw_count++), DType::I64, Device{}));
  const std::string draw = add("Add", {"draw", number}, {}, 1)[0];
  const TensorType words{DType::I64, Device{}, {}};
  const OnnxValues operands{{"seed", DType::I64}, {draw, DType::I64}, {size(blocks), DType::I64}};
  return model_.call(*this, model_.philox(), operands, std::span(&words, 1))[0].name;
}

}  // namespace kiln::onnx
