// Owns the form of a row of the op table: everything the system knows of one op, in one place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "tensor/error.h"
#include "tensor/lowering.h"
#include "tensor/tensor.h"

namespace kiln {

struct Op;
struct Pointwise;       // tensor/ops/pointwise.h: what an elementwise row says beside
struct OnnxValue;       // tensor/onnx/nodes.h
class OnnxApplication;  // likewise

// ---- Arguments -------------------------------------------------------------------------------------------

// A non-tensor argument. Absent optional arguments are monostate.
using Attr = std::variant<std::monostate, bool, Dim, double, std::string, Dims, DType, Device>;

// What a parameter accepts. Scalars that stand for tensors (`x + 2`) are parameters of kind Tensor.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // GCC 12 warns of scoped enumerators named like types
enum class ArgKind : std::uint8_t {
  Tensor,
  OptionalTensor,
  TensorList,
  OptionalTensorList,  // become inputs of the op
  Bool,
  Int,
  Float,
  Number,
  String,
  Dtype,
  Device,  // become attributes; Number: int, float or bool
  Ints,    // a list, tuple, or ints spread over the rest of the call: sizes, dims
  Dims,    // an int or a tuple of ints, `dim=`
  Index,   // an int that names a dimension
};
#pragma GCC diagnostic pop

struct Parameter {
  std::string name;
  ArgKind kind = ArgKind::Tensor;
  bool optional = false;      // `?`: none is allowed and is monostate or an absent tensor
  bool keyword_only = false;  // after `*`
  bool has_default = false;
  Attr default_value;
  // What a String may be, when that is fixed: str["none", "tanh"]; "none" where entries of Dims may be none.
  std::vector<std::string> words;
};

// Parsed from text such as "sum(x: tensor, dim: dims? = none, keepdim: bool = false, *, dtype: dtype? =
// none)". Results of several outputs may be named: "… -> (values, indices)". A name `max.dim` is a further
// form of `max` with other parameters: a call by the plain name means the first form, in the order of the
// table, that takes its arguments. Inputs are the tensor parameters in order, with a list parameter's tensors
// spread last; attributes are the rest.
struct Signature {
  std::string name;
  std::vector<Parameter> parameters;
  int inputs = 0;                    // tensor parameters that are not lists
  bool has_list = false;             // one list parameter, whose tensors follow the other inputs
  std::string text;                  // as given, for help
  std::vector<std::string> results;  // names of the outputs: `x.sort().values`; empty where they have none

  static Signature parse(std::string_view text);
  int attr_index(std::string_view name) const;  // position among the attributes; throws InternalError
};

// The attributes of one application, in the order of the signature.
class Attrs {
 public:
  Attrs() = default;
  explicit Attrs(const Op& op);  // all defaults

  // Of `std::int64_t` a number, which is guarded where it is symbolic.
  template <class T>
  std::conditional_t<std::is_same_v<T, std::int64_t>, std::int64_t, const T&> get(
      std::string_view name) const {
    using Kept = std::conditional_t<std::is_same_v<T, std::int64_t>, Dim, T>;
    const Attr& attr = at(name);
    if (const Kept* value = std::get_if<Kept>(&attr)) return *value;
    throw InternalError("attribute '" + std::string(name) + "' has another type");
  }
  template <class T>
  const T* find(std::string_view name) const {  // null when absent
    return std::get_if<T>(&at(name));
  }
  bool has(std::string_view name) const { return !std::holds_alternative<std::monostate>(at(name)); }
  const Attr& at(std::string_view name) const;
  Attrs& set(std::string_view name, Attr value);

  std::span<const Attr> values() const { return values_; }
  std::vector<Attr>& values() { return values_; }
  const Op* op() const { return op_; }
  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  const Op* op_ = nullptr;
  std::vector<Attr> values_;
};

bool has_symbols(const Attrs& attrs);
// At these values of the symbols; as in this call.
Attrs evaluate(Attrs attrs, const SymbolValues& values);
Attrs at_hints(Attrs attrs);

// ---- Rules -----------------------------------------------------------------------------------------------

// A rule, or the reason why there is none. A row without either is refused when the table is built.
template <class F>
struct Rule {
  F fn{};
  std::string_view missing;  // why there is no rule

  Rule() = default;
  Rule(F f) : fn(f) {}
  static Rule none(std::string_view reason) {
    Rule rule;
    rule.missing = reason;
    return rule;
  }
  explicit operator bool() const { return fn != nullptr; }
  bool stated() const { return fn != nullptr || !missing.empty(); }
};

// The reason of a rule that needs none of its own: a level that wants the rule runs the op's body
// (`decompose`) with the original inputs instead, and so sees the smaller ops it is made of. Without such a
// level the op runs as one kernel, on a device that has one.
inline constexpr std::string_view kComposite = "composite";

struct NotDifferentiable {
  std::string_view reason;
};

// Types of the outputs from those of the inputs. Throws OpError. An absent optional input has the
// type of a bool number, which changes no promotion.
using InferFn = std::vector<TensorType> (*)(std::span<const TensorType> inputs, const Attrs& attrs);

// The op written with the functions of tensor/functions.h. Inputs were checked by `infer`. Reads no element:
// that is what the kernels of a device do (tensor/backend.h).
using BodyFn = Tensors (*)(const Op& op, Inputs inputs, const Attrs& attrs);

// Reverse derivative. `inputs` and `outputs` hold only what the row's `saves` asked for, else absent tensors.
struct VjpArgs {
  const Op& op;
  const Attrs& attrs;
  Inputs inputs;
  Inputs outputs;
  std::span<const TensorType> input_types;
  std::span<const TensorType> output_types;
  Inputs grads;                 // one per output, of its type
  std::span<const bool> needs;  // which inputs want a gradient
};
// One gradient per input, of its type, absent where none is wanted or there is none. Written with the
// functions of tensor/functions.h only, so that derivatives of derivatives come free.
using VjpFn = Tensors (*)(const VjpArgs& args);

// Forward derivative: tangents of the outputs from those of the inputs (absent: zero).
struct JvpArgs {
  const Op& op;
  const Attrs& attrs;
  Inputs inputs;
  Inputs outputs;
  Inputs tangents;
};
using JvpFn = Tensors (*)(const JvpArgs& args);

// Batching: inputs marked `batched` have the batch as dimension 0; all outputs must have it there too. Of ops
// with kCountsPlaces: `memory` is the layout of all that belongs to the examples of input 0, and places among
// the attributes are those of the first example. Null when that input is not batched.
struct BatchArgs {
  const Op& op;
  const Attrs& attrs;
  Inputs inputs;
  std::span<const bool> batched;
  Dim batch_size;
  const Layout* memory = nullptr;
};
using BatchFn = Tensors (*)(const BatchArgs& args);

// Layout of a view's output within its input's storage. Throws OpError when no view exists.
using ViewFn = std::vector<Layout> (*)(const Layout& input, const Attrs& attrs);
// The dtype of a view's outputs, where it is not that of the input: then the layouts count elements of this
// one.
using ViewDTypeFn = DType (*)(DType input, const Attrs& attrs);
// A new base whose `output`-th view equals `updated`: the scatter that undoes the view.
using UndoFn = Tensor (*)(const Tensor& base, const Tensor& updated, const Attrs& attrs, int output);

// Writes an application as nodes of an ONNX graph and gives its results, one per output.
using OnnxFn = std::vector<OnnxValue> (*)(const OnnxApplication& application);

// How an application is exchanged with other programs: as ONNX operators, in one of three ways.
struct OnnxRule {
  // An expression over operators, operands and attributes, as "Sub(Exp(x), 1)"; the name of an operator alone
  // means all operands of the row in their order. tensor/onnx/expression.h has its form.
  std::string_view expression;
  OnnxFn write = nullptr;    // where types, sizes or attributes decide
  BodyFn body = nullptr;     // the op over smaller ops of the table, equal to it but for rounding
  std::string_view missing;  // why there is none; then the row's own body is taken where it has one

  OnnxRule() = default;
  OnnxRule(std::string_view text) : expression(text) {}
  OnnxRule(const char* text) : expression(text) {}
  OnnxRule(OnnxFn fn) : write(fn) {}
  OnnxRule(BodyFn fn) : body(fn) {}
  static OnnxRule none(std::string_view reason) {
    OnnxRule rule;
    rule.missing = reason;
    return rule;
  }
  explicit operator bool() const { return !expression.empty() || write != nullptr || body != nullptr; }
};

// What an op does with complex operands. Its result is that of ops on real numbers, on their real and
// imaginary parts, so that derivatives, batching, graphs and devices need to know no more of complex numbers.
struct ComplexRule {
  enum Kind : std::uint8_t {
    Refused,     // the op is of real numbers alone
    Moves,       // elements are moved as they lie: the op's own kernel, view or body knows their size alone
    PartByPart,  // the op on the real parts, and by itself on the imaginary parts: sums, and what is linear
    Written,     // `body`, over smaller ops of the parts
    Computes,    // the op's own kernel and rules are of complex numbers as well: factorizations
  };
  Kind kind = Refused;
  BodyFn body = nullptr;
  // Of PartByPart, as bits: operands that are no numbers but say where, which both parts are given: masks,
  // indices. Bit 31 stands for all from there on.
  std::uint32_t beside = 0;
  std::string_view missing;  // of Refused: why; empty where it is no more than that the op takes real numbers

  ComplexRule() = default;
  ComplexRule(Kind given) : kind(given) {}
  ComplexRule(BodyFn fn) : kind(Written), body(fn) {}
  static ComplexRule none(std::string_view reason) {
    ComplexRule rule;
    rule.missing = reason;
    return rule;
  }
  static ComplexRule parts_beside(std::uint32_t operands) {
    ComplexRule rule(PartByPart);
    rule.beside = operands;
    return rule;
  }
  bool is_beside(std::size_t operand) const { return (beside >> (operand < 31 ? operand : 31) & 1U) != 0; }
};

// Which values backward needs, as bits.
struct Saves {
  std::uint32_t inputs = 0;   // bit i: input i
  std::uint32_t outputs = 0;  // bit i: output i
};
inline constexpr Saves kSavesNothing{};
constexpr Saves saves_input(int i) { return {1U << i, 0}; }
constexpr Saves saves_output(int i) { return {0, 1U << i}; }
constexpr Saves operator|(Saves a, Saves b) { return {a.inputs | b.inputs, a.outputs | b.outputs}; }

// May the body of a composite op write some of its inputs, with these attributes: running statistics?
using WritesInputsFn = bool (*)(const Attrs& attrs);

enum Trait : std::uint32_t {
  kCommutative = 1U << 0,
  kCheapToRecompute = 1U << 1,
  kInplace = 1U << 2,        // has a form `name_` that writes its first input
  kDataDependent = 1U << 3,  // the output's shape depends on data: a graph break; `infer` gives -1 there
  kMetadataWrite = 1U << 4,  // the `_` form changes only the layout: t_, squeeze_
  kLowPrecision = 1U << 5,   // within `autocast(dtype)` operands come in that dtype: products, convolutions
  kStopsGradient = 1U << 6,  // the results are constants, not values whose derivative is missing: detach
  kStorageWrite = 1U << 7,   // the `_` form changes which memory the tensor lies in: set_
  kCountsPlaces = 1U << 8,   // sees places of the storage, wherever in it the first input begins: as_strided
  kFullPrecision = 1U << 9,  // within `autocast(dtype)` operands come in f32: exp, log, sums, losses
  kShowsAll = 1U << 10,      // views that show each element, so that a write through one leaves none: view
  kFixesNumbers = 1U << 11,  // a number among its attributes is part of how it decomposes: no symbol
};
// From bit 12 on lie the flags of elementwise rows (tensor/ops/row_flags.h).

// What an op does beside giving its results. Of a node in a graph ask `jit::effects_of`: it knows types.
enum SideEffect : std::uint32_t {
  kNoEffects = 0,
  kDraws = 1U << 0,         // advances the generator
  kOrdered = 1U << 1,       // does what the program sees: its place among all ordered ops stays
  kCommunicates = 1U << 2,  // waits for other processes, which do the same in the same order
  kMayFail = 1U << 3,  // raises for some elements of its inputs; elementwise ops mostly for integers alone
};

// Of an op that is sums of products: how many of them each element of the result has.
using ProductsFn = std::int64_t (*)(Inputs inputs);

// `outputs` of an op whose number of outputs depends on its arguments: a tuple even of one, as of split; or
// one tensor unless attributes ask for more, as of unique.
inline constexpr int kVariadic = 0;
// Of one that gives one tensor, and others beside it only when asked for: max_pool2d.
inline constexpr int kOneAtLeast = -1;
inline constexpr int kOnDemand = -1;

// One op. Designated initializers make a row read as a record, which a file of tensor/ops/ adds to the table.
//
// What every row gives:
//   signature, family, documentation, example: what help shows and tests run.
//   infer: the types of the results, and the errors of operands that do not fit.
//   decompose or view: how it is computed, where that can be said without reading elements: a body over
//     smaller ops, or a layout. A row without either has a kernel on each device, or the device says why not;
//     one with a body may have kernels, too, which give the same bits. Kernels stand with the devices: those
//     of the CPU in the file of the family in tensor/cpu/, which adds them to the column by the row's name.
//     Ops on elements one by one, plain reductions, fills and draws share a kernel that asks the row.
//   vjp, jvp, batch: derivatives and batching, or why there are none. kComposite: those of the body.
// What a row gives where it applies:
//   saves: of a vjp that reads inputs or outputs, which.
//   undo: of a view, the scatter that puts elements back.
//   lowering: what the compiler makes of it. Either the kind alone, which is a kernel of its own, or what the
//     compiler must know to do more: `lowering::Reduce{cpu::Combine::Sum}`. Bodies are Composite.
//   identity: where the result is an operand to the bit, so that nothing need be computed.
//   products: of sums of products, how many, for who counts operations.
//   onnx: how it is written in a file of ONNX. A row without a body has a rule, or a reason why there is
//   none. complex: what it does with complex operands. effects: what it does beside giving results. A node
//   with effects is never left out. traits: the rest; each says above what it means.
// A pass asks the row and knows no name. `OpTable::add` refuses a row that leaves out what it must say.
struct Op {
  Signature signature;
  std::string_view family;         // "elementwise", "reduce", "shape", … as in the language's document
  std::string_view documentation;  // a sentence or two
  std::string_view example;        // lines `>>> code` followed by what is printed
  InferFn infer = nullptr;
  BodyFn decompose = nullptr;  // the body over smaller ops, equal to kernels to the bit; null: there is none
  ViewFn view = nullptr;       // set: outputs are views of input 0
  ViewDTypeFn view_dtype = nullptr;  // of a view, null: the input's
  // Of an op that is no row of the table: the code that a part of a graph was compiled to, or a call back
  // into the program. It checks its inputs itself.
  BodyFn call = nullptr;
  Rule<UndoFn> undo{};  // views: must be stated
  Rule<VjpFn> vjp{};
  Rule<JvpFn> jvp{};
  Rule<BatchFn> batch{};
  Saves saves{};
  // What the gradient of input i alone reads (the last stands for all that follow). Empty: all of `saves`.
  std::vector<Saves> saves_by_input{};
  WritesInputsFn writes_inputs = nullptr;  // null: never
  const Pointwise* pointwise = nullptr;    // set for Lowering::Pointwise
  Lowering lowering = Lowering::Composite;
  Identity identity{};
  ProductsFn products = nullptr;
  std::uint32_t traits = 0;
  std::uint32_t effects = kNoEffects;  // of SideEffect
  int outputs = 1;
  OnnxRule onnx{};  // empty: a function made of the body
  ComplexRule complex{};
  std::vector<std::string_view> dtypes_note{};  // extra words on dtypes for the documentation
  int id = -1;                                  // position in the table; -1 of an op that is no row of it

  std::string_view name() const { return signature.name; }
  bool has(Trait trait) const { return (traits & trait) != 0; }
  bool draws() const { return (effects & kDraws) != 0; }
  bool communicates() const { return (effects & kCommunicates) != 0; }
  bool may_fail() const { return (effects & kMayFail) != 0; }
  // Is its place among other ordered ops part of what it does? It runs once then, and is merged with none.
  bool is_ordered() const { return (effects & (kDraws | kOrdered | kCommunicates)) != 0; }
  // Is the `_` form a metadata write: does it change the layout or storage of its first input, and no
  // element?
  bool writes_metadata() const { return has(kMetadataWrite) || has(kStorageWrite); }
  DType dtype_of_view(DType input, const Attrs& attrs) const {
    return view_dtype == nullptr ? input : view_dtype(input, attrs);
  }
};

// The name of the `_` form. PyTorch calls some ops that give new values `…_functional`, so that their plain
// name may mean another function: of `normal_functional` it is `normal_`.
std::string inplace_name(const Op& op);
// What errors call an op: its name without the form, `add` of `add.alpha`, and as its `_` form has it.
std::string spoken_name(const Op& op);

// ---- The table -------------------------------------------------------------------------------------------

// All ops, built once at first use. Rows never move.
class OpTable {
 public:
  static const OpTable& get();
  std::span<const Op* const> ops() const { return ops_; }
  const Op* find(std::string_view name) const;          // null when there is none
  const Op* find_inplace(std::string_view name) const;  // of the name of a `_` form
  const Op& at(std::string_view name) const;            // throws InternalError
  // Is it a row of the table, which never goes away? Not so the op that stands for a part of one graph.
  bool has(const Op& op) const { return op.id >= 0 && ops_[static_cast<std::size_t>(op.id)] == &op; }

  // For the family files: takes a row, checks that every rule is there or says why not.
  const Op& add(Op op);

 private:
  std::vector<const Op*> ops_;
  std::unordered_map<std::string_view, const Op*> by_name_;
};

// The row of a name that this code knows to be in the table.
inline const Op& op_named(std::string_view name) { return OpTable::get().at(name); }

// Each family's file in tensor/ops/ adds its rows.
void add_create_ops(OpTable& table);
void add_elementwise_ops(OpTable& table);
void add_reduce_ops(OpTable& table);
void add_view_ops(OpTable& table);
void add_shape_ops(OpTable& table);
void add_index_ops(OpTable& table);
void add_linalg_ops(OpTable& table);
void add_fourier_ops(OpTable& table);
void add_nn_ops(OpTable& table);
void add_random_ops(OpTable& table);
void add_collective_ops(OpTable& table);

// ---- The door --------------------------------------------------------------------------------------------

// Applies an op: looks at the highest level among the inputs (today: eager, tape), checks, runs, records.
Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs);

// The `_` form: computes the op and writes the result into inputs[0] (cast to its dtype; same shape), which
// is returned. Throws OpError when the shapes differ, the elements of inputs[0] overlap, or the tape forbids
// it, and (Interrupted) before anything is written, never within.
Tensor bind_inplace(const Op& op, Inputs inputs, const Attrs& attrs);

// Runs the kernel of the operands' device, or the body where it has none, with no level looked at: what the
// tape and the other levels call in the end. Throws OpError (Device) for operands on different devices.
Tensors run_eager(const Op& op, Inputs inputs, const Attrs& attrs);
// Likewise for the `_` form, which the caller has checked.
void run_eager_inplace(const Op& op, Inputs inputs, const Attrs& attrs);
// Runs the body of a composite op over smaller ops, each of which goes through `bind`.
Tensors run_body(const Op& op, Inputs inputs, const Attrs& attrs);

}  // namespace kiln
