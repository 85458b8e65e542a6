#include "tensor/onnx/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "tensor/ops/pointwise.h"

namespace kiln {
namespace {

// What an elementwise row computes in.
DType computed_dtype(const OnnxApplication& application) {
  if (application.op.pointwise == nullptr) return application.result().dtype;
  std::vector<OperandType> operands;
  bool only_numbers = true;
  for (std::size_t i = 0; i < application.input_types.size(); ++i) {
    const TensorType& type = application.input_types[i];
    operands.push_back({type.dtype, type.is_number, !type.sizes.empty()});
    only_numbers &= type.is_number;
  }
  return pointwise_types(application.op, operands, only_numbers, application.attrs).promoted;
}

// Operators that bools have under another name.
std::string_view type_of_bools(std::string_view type, DType dtype) {
  if (dtype != DType::Bool) return type;
  if (type == "Add" || type == "Max" || type == "BitwiseOr") return "Or";
  if (type == "Mul" || type == "Min" || type == "BitwiseAnd") return "And";
  return type == "BitwiseXor" ? "Xor" : type;
}
// What bools become where an operator is of numbers alone.
DType dtype_beside_bool(std::string_view type) {
  return type.starts_with("Less") || type.starts_with("Greater") ? DType::I32 : DType::Bool;
}
bool is_of_floats(std::string_view type) { return type == "IsNaN" || type == "IsInf"; }

class Writer {
 public:
  explicit Writer(const OnnxApplication& application)
      : app_(application), text_(application.op.onnx.expression), dtype_(computed_dtype(application)) {}

  OnnxValue run() {
    if (std::ranges::all_of(text_, [](unsigned char c) { return std::isalnum(c) != 0; })) {
      OnnxValues operands;
      for (std::size_t i = 0; i < app_.inputs.size(); ++i) operands.push_back(operand(i));
      return finished(apply(text_, std::move(operands), {}));
    }
    const OnnxValue result = expression();
    if (at_ != text_.size()) fail();
    return finished(result);
  }

 private:
  [[noreturn]] void fail() const {
    throw InternalError("the ONNX expression of '" + std::string(app_.op.name()) + "' is wrong at " +
                        std::to_string(at_) + ": " + std::string(text_));
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  std::string_view word() {
    skip_spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return text_.substr(start, at_ - start);
  }

  OnnxValue finished(const OnnxValue& value) { return app_.cast(value, app_.result().dtype); }

  // Elementwise rows convert operands to one dtype, all but those that are masks.
  OnnxValue operand(std::size_t i) {
    const Pointwise* const row = app_.op.pointwise;
    if (row == nullptr || !app_.has(i)) return app_.input(i);
    return app_.input(i, row->mask == static_cast<int>(i) ? DType::Bool : dtype_);
  }

  // Numbers that were written get the dtype of what stands beside them.
  OnnxValue apply(std::string_view type, OnnxValues operands, OnnxAttrs attributes) {
    DType beside = dtype_;
    for (std::size_t i = type == "Where" ? 1 : 0; i < operands.size(); ++i) {
      if (operands[i].name.empty()) continue;
      beside = operands[i].dtype;
      break;
    }
    if (beside == DType::Bool) beside = dtype_beside_bool(type);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (onnx_takes_bool(type, i)) {
        operands[i] = app_.cast(operands[i], DType::Bool);
      } else if (operands[i].name.empty() || operands[i].dtype == DType::Bool) {
        operands[i] = app_.cast(operands[i], beside);
      } else if (is_of_floats(type) && !is_float(operands[i].dtype)) {
        operands[i] = app_.cast(operands[i], DType::F32);
      }
    }
    return app_.node(type_of_bools(type, beside), operands, std::move(attributes));
  }

  OnnxValue expression() {
    OnnxValue left = term();
    while (true) {
      if (take('+')) {
        left = apply("Add", {left, term()}, {});
      } else if (take('-')) {
        left = apply("Sub", {left, term()}, {});
      } else {
        return left;
      }
    }
  }

  OnnxValue term() {
    OnnxValue left = factor();
    while (true) {
      if (take('*')) {
        left = apply("Mul", {left, factor()}, {});
      } else if (take('/')) {
        left = apply("Div", {left, factor()}, {});
      } else {
        return left;
      }
    }
  }

  OnnxValue factor() {
    if (take('(')) {
      const OnnxValue inner = expression();
      expect(')');
      return inner;
    }
    skip_spaces();
    if (at_ < text_.size() &&
        (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-'))
      return {.name = "", .dtype = dtype_, .number = Tensor::number(number())};
    const std::string_view name = word();
    if (name.empty()) fail();
    return take('(') ? call(name) : parameter(name);
  }

  double number() {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail();
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  OnnxValue call(std::string_view type) {
    OnnxValues operands;
    OnnxAttrs attributes;
    while (!take(')')) {
      if (!operands.empty() || !attributes.empty()) expect(',');
      const std::size_t start = at_;
      const std::string_view name = word();
      if (!name.empty() && take('=')) {
        attributes.emplace_back(std::string(name), attribute());
      } else {
        at_ = start;
        operands.push_back(expression());
      }
    }
    return apply(type, std::move(operands), std::move(attributes));
  }

  // Is the attribute an int by its signature, and not a number that may be one?
  bool is_int(std::string_view name) const {
    const auto has_name = [name](const Parameter& each) { return each.name == name; };
    const ArgKind kind = std::ranges::find_if(app_.op.signature.parameters, has_name)->kind;
    return kind == ArgKind::Int || kind == ArgKind::Index;
  }

  OnnxAttr attribute() {
    skip_spaces();
    if (take('"')) {
      const std::size_t end = text_.find('"', at_);
      const std::string text(text_.substr(at_, end - at_));
      at_ = end + 1;
      return text;
    }
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-') {
      const std::size_t start = at_;
      const double value = number();
      if (text_.substr(start, at_ - start).find('.') != std::string_view::npos) return value;
      return static_cast<std::int64_t>(value);
    }
    const std::string_view name = word();
    const Attr& value = app_.attrs.at(name);
    if (const auto* dim = std::get_if<Dim>(&value)) {
      if (is_int(name)) return dim->fixed();
      return static_cast<double>(dim->fixed());
    }
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* truth = std::get_if<bool>(&value)) return std::int64_t{*truth};
    return std::get<double>(value);
  }

  OnnxValue parameter(std::string_view name) {
    std::size_t tensor = 0;
    for (const Parameter& parameter : app_.op.signature.parameters) {
      const bool is_tensor = parameter.kind == ArgKind::Tensor || parameter.kind == ArgKind::OptionalTensor;
      if (parameter.name == name) return is_tensor ? operand(tensor) : attribute_value(name);
      tensor += is_tensor ? 1 : 0;
    }
    fail();
  }

  OnnxValue attribute_value(std::string_view name) {
    const Attr& value = app_.attrs.at(name);
    if (const auto* dim = std::get_if<Dim>(&value)) {
      if (!dim->is_known()) return app_.cast(app_.size(*dim), dtype_);
      return {.name = "", .dtype = dtype_, .number = Tensor::number(dim->known())};
    }
    if (const auto* truth = std::get_if<bool>(&value))
      return {.name = "", .dtype = dtype_, .number = Tensor::number(*truth)};
    return {.name = "", .dtype = dtype_, .number = Tensor::number(std::get<double>(value))};
  }

  const OnnxApplication& app_;
  std::string_view text_;
  DType dtype_;
  std::size_t at_ = 0;
};

}  // namespace

OnnxValue write_onnx_expression(const OnnxApplication& application) { return Writer(application).run(); }

}  // namespace kiln
