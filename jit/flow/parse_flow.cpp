#include "jit/flow/parse_flow.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "jit/flow/flow_stack.h"

namespace kiln::jit {
namespace {

// The ops of numbers, by name.
const std::map<std::string_view, const Op*>& number_ops() {
  static const auto* const all = [] {
    auto* ops = new std::map<std::string_view, const Op*>();
    for (int k = 0; k <= static_cast<int>(NumberOp::Call); ++k) {
      const Op& op = number_op(static_cast<NumberOp>(k));
      ops->emplace(op.name(), &op);
    }
    return ops;
  }();
  return *all;
}

class FlowParser final : PieceReader {
 public:
  FlowParser(const TextReader& reader, const ConstantsByDigest& constants) : PieceReader(reader, constants) {}

  FlowGraph parse() {
    header();
    reader_.skip_lines();
    while (reader_.take("block")) block();
    while (reader_.take("exit")) exit();
    reader_.expect("}");
    return std::move(flow_);
  }
  const TextReader& behind() const { return reader_; }

 private:
  // ---- Values ----

  struct Name {
    ValueId id = -1;
    std::string name{};
  };
  // "n7", "%x.3" or "%3".
  Name name() {
    const TextReader before = reader_.mark();
    Name found;
    std::string number;
    if (reader_.take("%")) {
      const std::string word = reader_.word("the name of a value");
      const std::size_t dot = word.rfind('.');
      found.name = dot == std::string::npos ? "" : word.substr(0, dot);
      number = dot == std::string::npos ? word : word.substr(dot + 1);
    } else {
      number = reader_.word("a value").substr(1);
    }
    const auto read = std::from_chars(number.data(), number.data() + number.size(), found.id);
    if (read.ec == std::errc() && read.ptr == number.data() + number.size() && found.id >= 0) return found;
    reader_ = before;
    reader_.fail_expected("a value, as %x.3 or n7");
  }
  void define(const Name& name, Type type) {
    const auto at = static_cast<std::size_t>(name.id);
    flow_.values.resize(std::max(flow_.values.size(), at + 1));
    defined_.resize(flow_.values.size());
    if (defined_[at]) reader_.fail("value " + std::to_string(name.id) + " is defined twice");
    defined_[at] = true;
    if (type.is_number && type.dtype == DType::I64) flow_.hints[symbol_of(name.id)] = 1;
    flow_.values[at] = {name.name, std::move(type)};
  }
  Type kind() {
    for (const auto& [word, dtype] : {std::pair{"int", DType::I64}, std::pair{"float", DType::F64}})
      if (reader_.take(word)) return {dtype, Device{}, {}, true, std::nullopt};
    if (!reader_.at("bool[") && reader_.take("bool")) return {DType::Bool, Device{}, {}, true, std::nullopt};
    return type();
  }
  void declare(std::vector<ValueId>& values) {
    reader_.expect("(");
    while (!reader_.take(")")) {
      const Name name = this->name();
      reader_.expect(":");
      define(name, kind());
      values.push_back(name.id);
      if (!reader_.at(")")) reader_.expect(",");
    }
  }
  Operand operand() override {
    if (reader_.at("%")) return Operand::of(name().id);
    const Operand found = literal(",)]\n#");
    const Dim* const size = found.is_number() ? std::get_if<Dim>(&found.number) : nullptr;
    const std::optional<ValueId> number =
        size == nullptr || size->is_known() ? std::nullopt : number_of(size->text());
    if (!number) return found;
    return Operand::of(*number);
  }
  std::vector<Operand> operands() {
    std::vector<Operand> all;
    reader_.expect("(");
    while (!reader_.take(")")) {
      all.push_back(operand());
      if (!reader_.at(")")) reader_.expect(",");
    }
    return all;
  }

  // ---- Header ----

  void header() {
    reader_.expect("flow");
    flow_.name = std::string(reader_.until("("));
    std::vector<ValueId> inputs;
    declare(inputs);
    flow_.inputs.resize(inputs.size(), Role::Argument);
    if (reader_.take("where")) {
      do {
        const std::string symbol = reader_.word("a symbol");
        reader_.expect("=");
        flow_.hints[symbol] = reader_.integer();
      } while (reader_.take(","));
    }
    reader_.expect("{");
  }

  // ---- Blocks ----

  ExitId exit_number() {
    reader_.expect("exit");
    return static_cast<ExitId>(reader_.integer());
  }
  void block() {
    if (reader_.integer() != static_cast<std::int64_t>(flow_.blocks.size()))
      reader_.fail("blocks are numbered in order");
    FlowBlock block;
    if (reader_.at("(")) declare(block.parameters);
    if (reader_.take("begins")) {
      reader_.expect("a");
      reader_.expect("loop");
      block.begins_loop = true;
    }
    if (reader_.take(",")) {
      reader_.expect("interrupted");
      reader_.expect(":");
      block.interrupted = exit_number();
    }
    reader_.expect(":");
    flow_.blocks.push_back(std::move(block));
    for (reader_.skip_lines(); !ends_block(); reader_.skip_lines())
      flow_.blocks.back().steps.push_back(step());
    flow_.blocks.back().end = end();
    reader_.skip_lines();
  }
  bool ends_block() { return reader_.at("jump") || reader_.at("if") || reader_.at("leave"); }

  Place place() {
    Place place;
    if (reader_.take("#")) read_place(reader_.rest_of_line(), place);
    return place;
  }

  // ---- Steps ----

  FlowStep step() {
    std::vector<Name> results;
    if (reader_.take("(")) {
      reader_.expect(")");
    } else {
      do {
        results.push_back(name());
      } while (reader_.take(","));
    }
    reader_.expect("=");
    FlowStep step;
    const TextReader before = reader_.mark();
    const std::string text = reader_.word("an op");
    if (const auto number = number_ops().find(text); number != number_ops().end()) {
      number_step(step.node, *number->second, results);
    } else {
      reader_ = before;
      plain_step(step.node, results);
    }
    for (const Name& each : results) step.node.outputs.push_back(each.id);
    if (reader_.take("if")) {
      do {
        step.guards.push_back(guard());
      } while (reader_.take("and"));
    }
    if (reader_.take("else")) step.exit = exit_number();
    step.node.place = place();
    return step;
  }
  // Operands without brackets: they end where the line does, or with a word.
  void number_step(Node& node, const Op& op, const std::vector<Name>& results) {
    node.op = &op;
    std::vector<TensorType> types;
    do {
      node.operands.push_back(number_operand());
      types.push_back(type_of(node.operands.back()));
    } while (reader_.take(","));
    if (reader_.take("of")) node.attrs = {reader_.word("a function")};
    if (results.size() != 1) reader_.fail("an op of numbers gives one");
    const TensorType made = op.infer(types, to_attrs(op, node.attrs))[0];
    define(results[0], {made.dtype, made.device, {}, true, std::nullopt});
  }
  Operand number_operand() {
    if (reader_.at("%")) return Operand::of(name().id);
    const TextReader before = reader_.mark();
    // A size may have blanks, as "s0 - 1", and words end it.
    std::string_view text = reader_.until(",\n#");
    for (const std::string_view word : {" if ", " else ", " of "})
      text = text.substr(0, std::min(text.find(word), text.size()));
    reader_ = before;
    const std::size_t length = text.size();
    const Operand found = literal_of(text, length);
    const Dim* const size = found.is_number() ? std::get_if<Dim>(&found.number) : nullptr;
    const bool is_symbol = size != nullptr && !size->is_known();
    const std::optional<ValueId> number = is_symbol ? number_of(size->text()) : std::nullopt;
    return number ? Operand::of(*number) : found;
  }
  // The literal that is so many bytes long.
  Operand literal_of(std::string_view text, std::size_t length) {
    reader_.skip_space();
    FlowParser alone(TextReader(text), constants_);
    const Operand found = alone.literal("\n");
    reader_.skip(length);
    return found;
  }
  TensorType type_of(const Operand& operand) const {
    if (operand.is_value()) {
      const Type& type = flow_.type(operand.value);
      return {type.dtype, type.device, type.sizes, type.is_number};
    }
    const DType dtype = std::holds_alternative<bool>(operand.number)     ? DType::Bool
                        : std::holds_alternative<double>(operand.number) ? DType::F64
                                                                         : DType::I64;
    return {dtype, Device{}, {}, true};
  }
  void plain_step(Node& node, const std::vector<Name>& results) {
    const TextReader before = reader_.mark();
    const std::string text = reader_.word("an op");
    const bool is_constant = text == "constant";
    if (text == push_op().name()) {
      node.op = &push_op();
    } else if (text == pop_op().name()) {
      node.op = &pop_op();
    } else if (!is_constant && !row_named(text, node)) {
      reader_ = before;
      reader_.fail("there is no op '" + text + "'");
    }
    reader_.expect("(");
    const TextReader elements = reader_;
    if (is_constant) {
      reader_.until(")");
    } else {
      arguments(node);
    }
    reader_.expect(")");
    reader_.expect(":");
    if (results.empty()) {
      reader_.expect("(");
      reader_.expect(")");
    }
    std::vector<Type> types;
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (k > 0) reader_.expect(",");
      types.push_back(type());
      define(results[k], types.back());
    }
    if (!is_constant) return;
    const TextReader after = reader_;
    reader_ = elements;
    node.constant = constant(types.at(0));
    reader_ = after;
  }

  // "s0 - 1 <= n3 (slice, f.kiln:3:9)"
  SizeGuard guard() {
    static constexpr std::pair<std::string_view, SizeRelation> kSigns[] = {{" == ", SizeRelation::Equal},
                                                                           {" != ", SizeRelation::NotEqual},
                                                                           {" <= ", SizeRelation::AtMost},
                                                                           {" < ", SizeRelation::Less}};
    const TextReader before = reader_.mark();
    std::string_view text = reader_.until("\n#");
    for (const std::string_view word : {" and ", " else "})
      text = text.substr(0, std::min(text.find(word), text.size()));
    SizeGuard found;
    for (const auto& [sign, relation] : kSigns) {
      const std::size_t at = text.find(sign);
      if (at == std::string_view::npos) continue;
      std::string_view right = text.substr(at + sign.size());
      // What asked stands in brackets behind it.
      if (const std::size_t open = right.rfind(" (");
          open != std::string_view::npos && right.ends_with(")")) {
        const std::string_view said = right.substr(open + 2, right.size() - open - 3);
        const std::size_t comma = std::min(said.find(", "), said.size());
        found.op = std::string(said.substr(0, comma));
        if (comma < said.size()) found.place = std::string(said.substr(comma + 2));
        right = right.substr(0, open);
      }
      const std::optional<Dim> a = Dim::parse(text.substr(0, at)), b = Dim::parse(right);
      if (!a || !b) break;
      found.relation = relation;
      found.a = *a;
      found.b = *b;
      reader_ = before;
      reader_.skip(text.size());
      return found;
    }
    reader_ = before;
    reader_.fail_expected("what must hold of sizes");
  }

  // ---- Ends ----

  FlowEnd::Target target() {
    reader_.expect("block");
    FlowEnd::Target target;
    target.block = static_cast<BlockId>(reader_.integer());
    if (reader_.at("(")) target.arguments = operands();
    return target;
  }
  FlowEnd end() {
    FlowEnd end;
    if (reader_.take("jump")) {
      end.kind = FlowEnd::Kind::Jump;
      end.then = target();
    } else if (reader_.take("if")) {
      end.kind = FlowEnd::Kind::Branch;
      end.condition = reader_.at("%") ? operand() : condition();
      reader_.expect("jump");
      end.then = target();
      reader_.expect("else");
      end.other = target();
    } else {
      reader_.expect("leave");
      reader_.expect("by");
      end.exit = exit_number();
    }
    end.place = place();
    return end;
  }
  Operand condition() {
    if (reader_.take("true")) return Operand::of_number(true);
    if (reader_.take("false")) return Operand::of_number(false);
    return Operand::of(name().id);
  }

  void exit() {
    if (reader_.integer() != static_cast<std::int64_t>(flow_.exits.size()))
      reader_.fail("exits are numbered in order");
    FlowExit exit;
    exit.values = operands();
    reader_.expect("because");
    std::string_view reason = reader_.rest_of_line();
    if (const std::size_t hash = reason.rfind("# "); hash != std::string_view::npos && hash > 0) {
      if (read_place(reason.substr(hash + 2), exit.place)) reason = reason.substr(0, hash);
    }
    while (!reason.empty() && reason.back() == ' ') reason.remove_suffix(1);
    exit.reason = std::string(reason);
    flow_.exits.push_back(std::move(exit));
    reader_.skip_lines();
  }

  FlowGraph flow_;
  std::vector<bool> defined_;
};

}  // namespace

FlowGraph parse_flow(TextReader& reader, const ConstantsByDigest& constants) {
  FlowParser parser(reader, constants);
  FlowGraph flow = parser.parse();
  reader = parser.behind();
  return flow;
}

}  // namespace kiln::jit
