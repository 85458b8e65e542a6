#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "jit/graph/custom.h"
#include "jit/graph/reader.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/text.h"
#include "tensor/host_view.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

// A token as a double when it is written as one: with a point, an exponent, or as inf or nan.
std::optional<double> real_of(std::string_view token) {
  if (token == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (token == "-nan") return -std::numeric_limits<double>::quiet_NaN();
  if (token == "inf") return std::numeric_limits<double>::infinity();
  if (token == "-inf") return -std::numeric_limits<double>::infinity();
  if (token.find_first_of(".e") == std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), value);
  if (read.ec != std::errc() || read.ptr != token.data() + token.size()) return std::nullopt;
  return value;
}

class Parser {
 public:
  Parser(std::string_view text, Inputs constants) : reader_(text) {
    for (const Tensor& each : constants) constants_.emplace(digest(each), each);
  }

  // The last graph of the text; those before it are bodies of functions that later ones apply.
  Graph parse() {
    for (;;) {
      one_graph();
      reader_.skip_lines();
      if (reader_.at_line_end()) return std::move(graph_);
      if (!reader_.at("graph")) reader_.fail_expected("the end");
      define_body();
    }
  }

 private:
  void one_graph() {
    graph_ = {};
    ids_.clear();
    header();
    reader_.skip_lines();
    while (reader_.at("%") || reader_.at("(")) {
      node();
      reader_.skip_lines();
    }
    returned();
    tail();
  }

  void define_body() {
    CustomFunction& function = functions_[graph_.name];
    if (graph_.stage == Stage::Forward) {
      function.name = graph_.name;
      function.forward = std::move(graph_);
    } else if (graph_.stage == Stage::Backward && !function.name.empty()) {
      function.backward = std::move(graph_);
    } else {
      reader_.fail("before the last graph, there are forward graphs, and backward graphs of the same name");
    }
  }

  // ---- Pieces ----

  Dim size(std::string_view stops) {
    const TextReader before = reader_.mark();
    const std::string_view text = reader_.until(stops);
    try {
      if (auto size = Dim::parse(text)) return *size;
    } catch (const OpError& error) {
      reader_ = before;
      reader_.fail(error.what());
    }
    reader_ = before;
    reader_.fail_expected("a size");
  }
  Dims sizes() {
    Dims result;
    reader_.expect("[");
    while (!reader_.take("]")) {
      result.push_back(size(",]"));
      if (!reader_.at("]")) reader_.expect(",");
    }
    return result;
  }
  DType dtype() {
    const TextReader before = reader_.mark();
    if (const auto dtype = dtype_named(reader_.word("a dtype"))) return *dtype;
    reader_ = before;
    reader_.fail_expected("a dtype");
  }
  // Behind the sizes of what is not on the CPU.
  Device device() {
    for (const Device::Kind kind : {Device::Kind::Cuda, Device::Kind::Guarded}) {
      if (!reader_.take(name(kind))) continue;
      return {kind, static_cast<std::int8_t>(reader_.take(":") ? reader_.integer() : 0)};
    }
    return {};
  }
  Type type() {
    Type result;
    result.dtype = dtype();
    result.sizes = sizes();
    result.device = device();
    result.is_number = reader_.take("number");
    if (reader_.take("strides")) result.strides = sizes();
    return result;
  }

  ValueId define(const std::string& name, Type type) {
    const bool numbered = std::isdigit(static_cast<unsigned char>(name[0])) != 0;
    const auto id = static_cast<ValueId>(graph_.values.size());
    if (!ids_.emplace(name, id).second) reader_.fail("%" + name + " is defined twice");
    graph_.values.push_back({numbered ? "" : name, std::move(type)});
    return id;
  }
  ValueId value() {
    const TextReader before = reader_.mark();
    const std::string name = reader_.value_name();
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    reader_ = before;
    reader_.fail("%" + name + " is not defined before");
  }
  Operand operand() {
    if (reader_.at("%")) return Operand::of(value());
    if (reader_.take("none")) return {};
    if (reader_.take("true")) return Operand::of_number(true);
    if (reader_.take("false")) return Operand::of_number(false);
    const TextReader before = reader_.mark();
    if (const auto real = real_of(reader_.until(",)]\n#"))) return Operand::of_number(*real);
    reader_ = before;
    return Operand::of_number(size(",)]\n#"));
  }

  // ---- Header ----

  void header() {
    reader_.skip_lines();
    if (reader_.at("flow"))
      reader_.fail("the flow graph of a loop is shown, and not read back: capture the function again");
    reader_.expect("graph");
    const TextReader before = reader_.mark();
    const auto stage = stage_named(reader_.word("a stage"));
    if (!stage) {
      reader_ = before;
      reader_.fail_expected("a stage: captured, functional, joint, forward, backward or fused");
    }
    graph_.stage = *stage;
    graph_.name = reader_.word("the name of the graph");
    reader_.expect("(");
    while (!reader_.take(")")) {
      input();
      if (!reader_.at(")")) reader_.expect(",");
    }
    if (reader_.take("with")) {
      reader_.expect("fastmath");
      graph_.fast_math = true;
    }
    if (reader_.take("where")) {
      do {
        const std::string symbol = reader_.word("a symbol");
        reader_.expect("=");
        graph_.hints[symbol] = reader_.integer();
      } while (reader_.take(","));
    }
    reader_.expect("{");
  }

  void input() {
    Input input;
    if (reader_.take("base")) {
      input.role = Role::Base;
      reader_.expect("(");
      while (!reader_.take(")")) {
        input.members.push_back(static_cast<int>(reader_.integer()));
        if (!reader_.at(")")) reader_.expect(",");
      }
    }
    for (const Role role : {Role::Captured, Role::Parameter, Role::Saved, Role::Grad}) {
      if (reader_.take(name(role))) input.role = role;
    }
    const std::string input_name = reader_.value_name();
    reader_.expect(":");
    define(input_name, type());
    if (reader_.take("storage")) {
      input.storage = static_cast<int>(reader_.integer());
      reader_.expect("offset");
      input.offset = size(",)");
    }
    graph_.inputs.push_back(std::move(input));
  }

  // ---- Nodes ----

  void node() {
    std::vector<std::string> names;
    if (reader_.take("(")) {
      reader_.expect(")");
    } else {
      do {
        names.push_back(reader_.value_name());
      } while (reader_.take(","));
    }
    reader_.expect("=");
    Node node;
    named_op(node);
    reader_.expect("(");
    const TextReader before_elements = reader_;
    std::vector<double> elements;
    if (!node.is_constant()) {
      arguments(node);
    } else {
      reader_.until(")");  // read again once the type is known
    }
    reader_.expect(")");
    reader_.expect(":");
    std::vector<Type> types;
    if (names.empty()) {
      reader_.expect("(");
      reader_.expect(")");
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i > 0) reader_.expect(",");
      types.push_back(type());
    }
    if (node.is_constant()) {
      const TextReader after = reader_;
      reader_ = before_elements;
      node.constant = constant(types[0]);
      reader_ = after;
    }
    for (std::size_t i = 0; i < names.size(); ++i) node.outputs.push_back(define(names[i], types[i]));
    comment(node);
    keep_op(graph_, node);
    graph_.nodes.push_back(std::move(node));
  }

  void named_op(Node& node) {
    const TextReader before = reader_.mark();
    const std::string text = reader_.word("an op");
    if (text == "constant") return;
    if (const auto defined = functions_.find(text); defined != functions_.end()) {
      std::shared_ptr<const Op>& op = ops_[text];
      if (!op) {
        const std::string fault = find_fault(defined->second);
        if (!fault.empty()) reader_.fail("the bodies of " + text + " do not fit: " + fault);
        op = make_custom_op(defined->second);
      }
      node.op = op.get();
      return;
    }
    if (text == interpreted_op().name()) {
      node.op = &interpreted_op();
      return;
    }
    if (text == inplace_name(set_op())) {
      node.op = &set_op();
      node.form = Form::Write;
      return;
    }
    const OpTable& table = OpTable::get();
    node.op = table.find(text);
    if (node.op == nullptr && text.ends_with("_copy")) {
      node.op = table.find(text.substr(0, text.size() - 5));
      node.form = Form::Copy;
    }
    if (node.op == nullptr && text.ends_with("_")) {
      node.op = table.find_inplace(text);
      node.form = Form::Write;
    }
    if (node.op != nullptr) return;
    reader_ = before;
    if (graph_.stage == Stage::Fused && text.starts_with("kernel_")) {
      reader_.fail(text +
                   " is compiled code, which is no text: a fused graph is shown, and what is read back is "
                   "the functional graph that it is made from");
    }
    reader_.fail("there is no op '" + text + "'");
  }

  void arguments(Node& node) {
    const Op& op = *node.op;
    bool first = true;
    const auto comma = [&] {
      if (!first) reader_.expect(",");
      first = false;
    };
    for (int i = 0; i < op.signature.inputs; ++i) {
      comma();
      node.operands.push_back(operand());
    }
    if (op.signature.has_list) {
      comma();
      reader_.expect("[");
      while (!reader_.take("]")) {
        node.operands.push_back(operand());
        if (!reader_.at("]")) reader_.expect(",");
      }
    }
    node.attrs = attrs(op, first);
  }

  std::vector<Attr> attrs(const Op& op, bool first) {
    std::vector<Attr> result = attr_list(Attrs(op));
    // What the text leaves out is absent or has its default.
    while (!reader_.at(")")) {
      if (!first) reader_.expect(",");
      first = false;
      const TextReader before = reader_.mark();
      const std::string wanted = reader_.word("an attribute");
      std::size_t index = 0;
      const Parameter* found = nullptr;
      for (const Parameter& parameter : op.signature.parameters) {
        if (parameter.kind <= ArgKind::OptionalTensorList) continue;
        if (parameter.name == wanted) {
          found = &parameter;
          break;
        }
        ++index;
      }
      if (found == nullptr) {
        reader_ = before;
        reader_.fail(std::string(op.name()) + " has no attribute '" + wanted + "'");
      }
      reader_.expect("=");
      result[index] = attr(*found);
    }
    return result;
  }

  Attr attr(const Parameter& parameter) {
    if (reader_.take("none")) return std::monostate{};
    if (reader_.take("true")) return true;
    if (reader_.take("false")) return false;
    if (reader_.at("\"")) return reader_.quoted();
    if (reader_.at("[")) return sizes();
    if (parameter.kind == ArgKind::Dtype) return dtype();
    const TextReader before = reader_.mark();
    const std::string_view token = reader_.until(",)");
    if (parameter.kind == ArgKind::Device) {
      if (const auto device = device_named(token)) return *device;
      reader_ = before;
      reader_.fail_expected("a device");
    }
    if (const auto real = real_of(token)) return *real;
    reader_ = before;
    return size(",)");
  }

  Tensor constant(const Type& type) {
    if (reader_.take("digest")) {
      const TextReader before = reader_.mark();
      const std::string wanted = reader_.word("a digest");
      const auto found = constants_.find(wanted);
      if (found != constants_.end()) return found->second;
      reader_ = before;
      reader_.fail("no constant with the digest " + wanted + " is at hand");
    }
    std::vector<Operand> elements;
    reader_.expect("[");
    while (!reader_.take("]")) {
      elements.push_back(operand());
      if (!reader_.at("]")) reader_.expect(",");
    }
    const Dims sizes = evaluate(type.sizes, {});
    if (count_elements(sizes) != static_cast<std::int64_t>(elements.size())) {
      reader_.fail("expected " + std::to_string(count_elements(sizes)) + " elements, found " +
                   std::to_string(elements.size()));
    }
    const Tensor made = Tensor::empty(sizes, type.dtype, type.device);
    const WritableHostView view(made);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (!elements[i].is_number()) reader_.fail_expected("a number");
      const Tensor number = number_tensor(elements[i].number);
      const HostView cast(number, type.dtype);
      std::copy_n(cast.bytes(), cast.byte_count(), view.bytes() + i * size_of(type.dtype));
    }
    return made;
  }
  static Tensor number_tensor(const Number& number) {
    if (const auto* flag = std::get_if<bool>(&number)) return Tensor::number(*flag);
    if (const auto* real = std::get_if<double>(&number)) return Tensor::number(*real);
    return Tensor::number(std::get<Dim>(number).known());
  }

  // "# grad of %b, demo.kiln:2:8, checkpoint", "# recomputes %a"
  void comment(Node& node) {
    if (!reader_.take("#")) return;
    std::string text(reader_.rest_of_line());
    for (const std::string_view start : {"grad of %", "recomputes %"}) {
      if (!text.starts_with(start)) continue;
      const std::size_t end = std::min(text.find(", "), text.size());
      node.origin = text.substr(start.size(), end - start.size());
      text = end == text.size() ? "" : text.substr(end + 2);
    }
    constexpr std::string_view kCheckpoint = "checkpoint";
    if (text == kCheckpoint || text.ends_with(", checkpoint")) {
      node.place.in_checkpoint = true;
      text.resize(text.size() - std::min(text.size(), kCheckpoint.size() + 2));
    }
    const std::size_t last = text.rfind(':');
    if (last == std::string::npos || last == 0) return;
    const std::size_t middle = text.rfind(':', last - 1);
    if (middle == std::string::npos) return;
    const auto read = [&text](std::size_t begin, std::size_t end, int& into) {
      const auto result = std::from_chars(text.data() + begin, text.data() + end, into);
      return result.ec == std::errc() && result.ptr == text.data() + end;
    };
    Place place{text.substr(0, middle), 0, 0, node.place.in_checkpoint};
    if (read(middle + 1, last, place.line) && read(last + 1, text.size(), place.column)) node.place = place;
  }

  // ---- What follows the nodes ----

  void returned() {
    reader_.expect("return");
    if (reader_.at_line_end()) return;
    do {
      graph_.outputs.push_back(operand());
    } while (reader_.take(","));
  }

  // A value, or a symbol with a value in this graph.
  void saved() {
    if (reader_.at("%")) return graph_.saved.push_back(value());
    std::string symbol = reader_.word("a value or a symbol");
    if (!graph_.hints.contains(symbol)) reader_.fail("the size " + symbol + " has no value behind `where`");
    graph_.saved_sizes.push_back(std::move(symbol));
  }

  void tail() {
    while (true) {
      reader_.skip_lines();
      if (reader_.take("}")) return;
      if (reader_.take("save")) {
        saved();
      } else if (reader_.take("write")) {
        effect(Effect::Kind::Write);
      } else if (reader_.take("same")) {
        effect(Effect::Kind::Same);
      } else if (reader_.take("set")) {
        effect(Effect::Kind::Set);
      } else if (reader_.take("layout")) {
        effect(Effect::Kind::Layout);
      } else {
        reader_.fail_expected("'write', 'layout', 'set', 'same', 'save' or '}'");
      }
    }
  }

  void effect(Effect::Kind kind) {
    Effect effect;
    effect.kind = kind;
    effect.input = value();
    if (effect.input >= static_cast<int>(graph_.inputs.size()) && !graph_.is_functional())
      reader_.fail("only inputs are written");
    if (reader_.take(".")) effect.member = static_cast<int>(reader_.integer());
    reader_.expect("<-");
    if (kind == Effect::Kind::Layout) {
      Node step;
      named_op(step);
      if (step.form != Form::Write) reader_.fail_expected("an op that writes a layout, as t_");
      effect.layout = step.op;
      reader_.expect("(");
      effect.attrs = attrs(*step.op, true);
      reader_.expect(")");
      reader_.expect("as");
    }
    effect.value = value();
    graph_.effects.push_back(std::move(effect));
  }

  TextReader reader_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
  std::unordered_map<std::string, Tensor> constants_;
  std::unordered_map<std::string, CustomFunction> functions_;  // defined so far
  std::unordered_map<std::string, std::shared_ptr<const Op>> ops_;
};

}  // namespace

Graph parse_graph(std::string_view text, Inputs constants) { return Parser(text, constants).parse(); }

}  // namespace kiln::jit
