// Owns the graph: a program of ops in order, as a value that passes take and give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/op.h"
#include "tensor/shape.h"
#include "tensor/size_scope.h"

namespace kiln::jit {

// ---- Types -----------------------------------------------------------------------------------------------

struct Type {
  DType dtype = DType::F32;
  Device device;
  Dims sizes;
  bool is_number = false;
  // Stated where they are not the strides that the op implies: those of the view for view ops, row-major for
  // all others. Only captured graphs need them.
  std::optional<Dims> strides;
  friend bool operator==(const Type& a, const Type& b);  // sizes by expression, as in `same`
};
std::string to_string(const Type& type);  // "f32[s0, 4]"
Type to_type(const TensorType& type);
TensorType evaluate(const Type& type, const SymbolValues& values);
// What stands for an absent operand in shape rules: it promotes nothing.
Type absent_type();

// The attributes of a node, whose sizes may be symbolic.
Attrs evaluate(const Op& op, const std::vector<Attr>& attrs, const SymbolValues& values);
Attrs to_attrs(const Op& op, const std::vector<Attr>& attrs);
bool same_attr(const Attr& a, const Attr& b);  // to the bit, sizes by expression
bool same_attrs(std::span<const Attr> a, std::span<const Attr> b);
std::vector<Attr> attr_list(const Attrs& attrs);

// ---- Nodes -----------------------------------------------------------------------------------------------

using ValueId = int;  // position in Graph::values
using Number = std::variant<bool, Dim, double>;
bool same_number(const Number& a, const Number& b);  // to the bit: nan is itself, 0.0 is not -0.0

// What an op is applied to: nothing (an optional operand left out), a value, or a number of the host program.
struct Operand {
  ValueId value = kAbsent;
  Number number = false;

  static constexpr ValueId kAbsent = -1;
  static constexpr ValueId kNumber = -2;
  static Operand of(ValueId id) { return {id, false}; }
  static Operand of_number(Number number) { return {kNumber, std::move(number)}; }
  bool is_value() const { return value >= 0; }
  bool is_number() const { return value == kNumber; }
  friend bool operator==(const Operand& a, const Operand& b) {
    return a.value == b.value && (!a.is_number() || same_number(a.number, b.number));
  }
};

// A text that many nodes have: copies share it.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}
  bool empty() const { return text_ == nullptr; }
  const std::string& get() const {
    static const std::string kEmpty;
    return text_ ? *text_ : kEmpty;
  }
  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.get() == b.get();
  }

 private:
  std::shared_ptr<const std::string> text_;  // null: empty
};

// Which nodes of an earlier graph a node comes from, by their numbers there, in order: copies share them. It
// is empty until `number_nodes` (jit/graph/lineage.h) numbers the nodes of that graph.
class Lineage {
 public:
  Lineage() = default;
  explicit Lineage(int node) : nodes_(std::make_shared<const std::vector<int>>(1, node)) {}
  std::span<const int> nodes() const {
    return nodes_ ? std::span<const int>(*nodes_) : std::span<const int>();
  }
  // Of what stands for two nodes.
  static Lineage joined(const Lineage& a, const Lineage& b);

 private:
  std::shared_ptr<const std::vector<int>> nodes_;  // null: empty
};

struct Place {
  SharedText file;  // empty: unknown
  int line = 0;
  int column = 0;
  bool in_checkpoint = false;  // of a `checkpoint`: recomputing is preferred to saving
  Lineage lineage{};           // no part of the text, nor of equality
  friend bool operator==(const Place& a, const Place& b) {
    return a.file == b.file && a.line == b.line && a.column == b.column && a.in_checkpoint == b.in_checkpoint;
  }
};

enum class Form : std::uint8_t {
  Plain,
  // `add_`: writes its first operand, which is also its result. In a functional graph the operand is not read
  // again: the values are those of the form without `_`, and only the memory differs.
  Write,
  Copy,  // `transpose_copy`: a view's elements in memory of their own
};

struct Node {
  const Op* op = nullptr;  // null: `constant`, with the tensor in `constant`
  Form form = Form::Plain;
  std::vector<Attr> attrs;        // in the order of the signature
  std::vector<Operand> operands;  // in the order of bind: tensor parameters, then the list's
  std::vector<ValueId> outputs;
  Tensor constant;
  Place place;
  std::string origin;  // the forward node a backward node comes from, by name
  // A `detach` that is not in the program: it stands for recording that was off, and its result is a view of
  // the operand's base. Not in the text.
  bool is_unrecorded = false;

  const Attr& attr(std::string_view name) const;
  Attr& attr(std::string_view name);
  bool is_constant() const { return op == nullptr; }
  // Does the result have the layout that a view rule gives? A view of a number has memory of its own, and so
  // `is_view` is false.
  bool applies_view() const { return op != nullptr && op->view != nullptr && form == Form::Plain; }
  bool is_view() const { return applies_view() && operands[0].is_value(); }
  // Does it count elements from the start of its first operand's storage?
  bool counts_places() const { return op != nullptr && op->has(kCountsPlaces) && operands[0].is_value(); }
  bool writes() const { return form == Form::Write; }
  bool writes_layout() const { return writes() && op->has(kMetadataWrite); }
  bool writes_storage() const { return writes() && op->has(kStorageWrite); }
  // Does it change the layout or storage of its first operand, and write no element?
  bool writes_metadata() const { return writes() && op->writes_metadata(); }
  // The operand whose memory the result shares, if the node is a view or writes.
  const Operand& viewed() const { return operands[writes_storage() ? 1 : 0]; }
  friend bool operator==(const Node& a, const Node& b);
};
// As in the text: "add", "add_", "slice_copy", "constant".
std::string op_text(const Node& node);

// ---- Graphs ----------------------------------------------------------------------------------------------

enum class Stage : std::uint8_t { Captured, Functional, Joint, Forward, Backward, Fused };
std::string_view name(Stage stage);
std::optional<Stage> stage_named(std::string_view text);

enum class Role : std::uint8_t {
  Argument,
  Captured,   // a variable of an enclosing function or module
  Parameter,  // of a model
  Saved,      // by the forward graph
  Grad,       // of an output of the forward graph
  Base,       // stands for several arguments that share memory
};
std::string_view name(Role role);

struct Value {
  std::string name;  // the user's; empty: numbered when printed
  Type type;
  friend bool operator==(const Value&, const Value&) = default;
};

// Input i is value i. A call gives one tensor per argument; an input of role Base stands for several of them
// and is the memory they share, flat; each other input takes the next argument that no base stands for.
struct Input {
  Role role = Role::Argument;
  std::vector<int> members;    // the arguments that a base stands for
  std::optional<int> storage;  // inputs with the same number share memory, from `offset` elements on
  Dim offset = 0;
  friend bool operator==(const Input& a, const Input& b);
};

// A change that a call makes to one of its arguments at its end; effects are in order. Afterwards `value` is
// the argument itself, and views of `value` are views of it.
struct Effect {
  enum class Kind : std::uint8_t {
    Write,   // the elements become those of `value`
    Layout,  // the layout changes, as by the `_` form of `layout`
    Set,     // the argument gets the storage and layout of `value`
    Same,    // no change: `value` is the argument
  };
  Kind kind = Kind::Write;
  ValueId input = 0;  // of a write also a view of one, once narrowed
  int member = -1;    // of an input of role Base: which of its members; -1: the memory itself
  ValueId value = Operand::kAbsent;
  const Op* layout = nullptr;
  std::vector<Attr> attrs;
  friend bool operator==(const Effect& a, const Effect& b);
};

struct Graph {
  Stage stage = Stage::Captured;
  std::string name;
  bool fast_math = false;  // recorded within `fastmath()`: a multiply-add may be rounded once
  SymbolValues hints;      // the values of the symbols when the graph was made
  std::vector<Value> values;
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<Operand> outputs;
  // What is kept for backward: symbols, which backward gets as numbers, then values.
  std::vector<std::string> saved_sizes;
  std::vector<ValueId> saved;
  std::vector<Effect> effects;
  std::vector<std::string> guards;  // in words; no part of the text, nor of equality
  // What passes decided, in words. It is no part of the text, nor of equality.
  std::vector<std::string> notes;
  // What was asked of the symbols while the graph was made. The graph is right where these guards hold. They
  // are no part of the text either, nor of equality.
  std::vector<SizeGuard> size_guards;
  // Ops of its nodes that are in no table: kernels, functions with derivatives of their own. Likewise no part
  // of the text.
  std::vector<std::shared_ptr<const Op>> own_ops;

  bool is_input(ValueId id) const { return id >= 0 && id < static_cast<ValueId>(inputs.size()); }
  // Do values never change? Writes are left only over operands that are not read again.
  bool is_functional() const { return stage != Stage::Captured; }
  int argument_count() const;
  // The argument of each input, -1 for a base.
  std::vector<int> arguments() const;
  // The node that makes each value, -1 for inputs.
  std::vector<int> producers() const;
  friend bool operator==(const Graph& a, const Graph& b);
};

// The graph for the sizes of its hints alone: all of them are ints.
Graph at_hints(Graph graph);

// What the node does beside giving its results, as bits of SideEffect: those of its op, and kMayFail only
// where elements of its types, or a number that only a call knows, may be refused.
std::uint32_t effects_of(const Graph& graph, const Node& node);
// Must the node run though nothing reads its results? It has an effect: draws that all others follow, or an
// error, as in eager.
bool must_run(const Graph& graph, const Node& node);

// Adds the guards that are not there.
void add_size_guards(std::vector<SizeGuard>& to, std::span<const SizeGuard> guards);

// "%a", or "%3" for the fourth value without a name.
std::vector<std::string> value_names(const Graph& graph);

}  // namespace kiln::jit
