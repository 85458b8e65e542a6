#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "jit/graph/custom.h"
#include "jit/graph/loop.h"
#include "jit/graph/piece_reader.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/text.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

class Parser final : PieceReader {
 public:
  Parser(std::string_view text, const ConstantsByDigest& constants)
      : PieceReader(TextReader(text), constants) {}

  // The last graph of the text; those before it are bodies of functions that later ones apply, and before
  // these come loops.
  Graph parse() {
    reader_.skip_lines();
    if (reader_.at("flow")) read_loops(reader_, constants_, loops_);
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
  Operand operand() override { return reader_.at("%") ? Operand::of(value()) : literal(",)]\n#"); }

  // ---- Header ----

  void header() {
    reader_.skip_lines();
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
    if (const auto loop = loops_.find(text); loop != loops_.end()) {
      node.op = loop->second.get();
      return;
    }
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
    if (row_named(text, node)) return;
    reader_ = before;
    if (graph_.stage == Stage::Fused && text.starts_with("kernel_")) {
      reader_.fail(text +
                   " is compiled code, which is no text: a fused graph is shown, and what is read back is "
                   "the functional graph that it is made from");
    }
    reader_.fail("there is no op '" + text + "'");
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
    read_place(text, node.place);
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

  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
  LoopsByName loops_;
  std::unordered_map<std::string, CustomFunction> functions_;  // defined so far
  std::unordered_map<std::string, std::shared_ptr<const Op>> ops_;
};

}  // namespace

Graph parse_graph(std::string_view text, Inputs constants) {
  ConstantsByDigest by_digest;
  for (const Tensor& each : constants) by_digest.emplace(digest(each), each);
  return Parser(text, by_digest).parse();
}

}  // namespace kiln::jit
