#include "tests/jit/programs.h"

#include <array>
#include <map>
#include <random>
#include <set>

#include "jit/graph/evaluate.h"
#include "jit/graph/layouts.h"
#include "tensor/functions.h"
#include "tensor/random.h"
#include "tests/tensor/tensors.h"

namespace kiln::jit::testing {
namespace {

using kiln::testing::describe;
using kiln::testing::same_bits;

// Writes programs step by step, with the tensors that the values have.
class Writer {
 public:
  explicit Writer(unsigned seed) : engine_(seed) {}

  Graph run(int more_steps) {
    builder_.graph.name = "program";
    inputs();
    const std::vector<Tensor> arguments = arguments_of(builder_.graph);
    tensors_.assign(arguments.begin(), arguments.end());
    const int steps = 3 + draw(9) + more_steps;
    for (int i = 0; i < steps; ++i) step();
    const int results = draw(4);
    for (int i = 0; i < results; ++i) builder_.graph.outputs.push_back(Operand::of(value()));
    return std::move(builder_.graph);
  }

 private:
  int draw(int count) { return static_cast<int>(engine_() % static_cast<unsigned>(count)); }
  DType dtype() { return draw(4) == 0 ? DType::I64 : DType::F32; }

  void inputs() {
    const int count = 1 + draw(3);
    const DType shared = dtype();
    for (int i = 0; i < count; ++i) {
      Type type{dtype(), Device{}, {2 + draw(2), 2 + draw(3)}, false, std::nullopt};
      Input input;
      if (draw(3) == 0) type.strides = Dims{1, type.sizes[0]};
      if (draw(2) == 0) {  // part of a memory that others may reach into
        input.storage = 0;
        input.offset = draw(10);
        type.dtype = shared;
        if (draw(3) == 0) type.strides = Dims{2 * type.sizes[1].known(), 2};
      }
      builder_.input("x", type, input);
    }
  }

  // A value that still names its tensor: a write of a layout gives it a new name.
  ValueId value() {
    while (true) {
      const int at = draw(static_cast<int>(tensors_.size()));
      if (!stale_.contains(at)) return at;
    }
  }
  const Tensor& tensor(ValueId id) const { return tensors_[static_cast<std::size_t>(id)]; }
  std::int64_t dim(const Tensor& x) { return draw(std::max(x.rank(), 1)); }

  void step() {
    const ValueId x = value();
    switch (draw(13)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        return view(x);
      case 5:
      case 6:
      case 7:
        return write(x);
      case 8:
        return apply("clone", Form::Plain, {Operand::of(x)}, {});
      case 9:
        return apply(pick({"neg", "square", "relu"}), Form::Plain, {Operand::of(x)}, {});
      case 10:
        return create(tensor(x));
      case 11:
        return compute(x);
      default:
        return apply(pick({"add", "mul", "sub"}), Form::Plain, {Operand::of(x), other()}, {});
    }
  }

  // Rarer kinds: what draws, raises for elements, counts places, or copies views.
  void compute(ValueId x) {
    const Operand source = Operand::of(x);
    const std::int64_t d = dim(tensor(x));
    switch (draw(7)) {
      case 0:
        return apply("rand_like", Form::Plain, {source}, {});
      case 1:
        return apply("remainder", Form::Plain, {source, other()}, {});
      case 2:
        return apply("index_select", Form::Plain, {source, Operand::of(value())}, {d});
      case 3:
        return apply("as_strided_scatter", Form::Plain, {source, Operand::of(value())},
                     {Dims{2, 2}, Dims{2 + draw(2), 1}, std::int64_t{draw(2)}});
      case 4:
        return apply("transpose", Form::Copy, {source}, {d, dim(tensor(x))});
      case 5:
        return apply("cast", Form::Plain, {source}, {pick_dtype()});
      default:
        return apply("sum", Form::Plain, {source}, {Dims{d}});
    }
  }
  std::string_view pick(std::initializer_list<std::string_view> names) {
    return *(names.begin() + draw(static_cast<int>(names.size())));
  }
  Operand other() { return draw(2) == 0 ? Operand::of(value()) : Operand::of_number(Dim(draw(5))); }

  DType pick_dtype() {
    return std::array{DType::F32, DType::F64, DType::I64}[static_cast<std::size_t>(draw(3))];
  }
  // Of the type of another, so that they meet.
  void create(const Tensor& like) {
    const auto none = std::monostate{};
    if (draw(2) == 0) return apply("zeros", Form::Plain, {}, {like.sizes(), like.dtype()});
    apply("full", Form::Plain, {Operand::of_number(Dim(draw(3)))}, {like.sizes(), like.dtype(), none});
  }

  void write(ValueId x) {
    const Operand target = Operand::of(x);
    switch (draw(12)) {
      case 8:
        return apply("squeeze", Form::Write, {target}, {Dims{dim(tensor(x))}});
      case 9:
        return apply("unsqueeze", Form::Write, {target}, {dim(tensor(x))});
      case 10:
        return apply(pick({"floor_div", "remainder"}), Form::Write, {target, other()}, {});
      case 11:
        return apply("normal_functional", Form::Write, {target}, {});
      case 0:
        return apply("copy", Form::Write, {target, other()}, {});
      case 1:
        return apply("zero", Form::Write, {target}, {});
      case 2:
        return apply("ge", Form::Write, {target, other()}, {});
      case 3:
        return apply("t", Form::Write, {target}, {});
      case 4:
        return apply("transpose", Form::Write, {target}, {dim(tensor(x)), dim(tensor(x))});
      default:
        return apply(pick({"add", "mul", "sub"}), Form::Write, {target, other()}, {});
    }
  }

  void view(ValueId id) {
    const Tensor& x = tensor(id);
    const std::int64_t d = dim(x);
    const std::int64_t size = x.rank() > 0 ? x.size(static_cast<int>(d)) : 1;
    const std::vector<Operand> source{Operand::of(id)};
    const std::int64_t start = draw(std::max(static_cast<int>(size), 1)), step = 1 + draw(2);
    switch (draw(20)) {
      case 14:
      case 15:
        return apply(pick({"view", "reshape"}), Form::Plain, source, {other_shape(x)});
      case 16:
        return apply("permute", Form::Plain, source, {some_order(x.rank())});
      case 17:
        return apply("as_strided", Form::Plain, source,
                     {Dims{1 + draw(2), 2}, Dims{1 + draw(4), 1 + draw(2)}});
      case 18:
        return apply(pick({"expand", "broadcast_to"}), Form::Plain, source, {expanded(x)});
      case 19:
        return apply(pick({"select", "slice"}), Form::Plain, source, {d, start});
      case 0:
        return apply("slice", Form::Plain, source, {d, start, size, step});
      case 1:
        return apply("select", Form::Plain, source, {d, start});
      case 2:
        return apply("transpose", Form::Plain, source, {d, dim(x)});
      case 3:
        return apply("view", Form::Plain, source, {Dims{-1}});
      case 4:
        return apply("reshape", Form::Plain, source, {Dims{-1}});
      case 5:
        return apply("diagonal", Form::Plain, source,
                     {std::int64_t{draw(3) - 1}, std::int64_t{0}, std::int64_t{1}});
      case 6:
        return apply("unsqueeze", Form::Plain, source, {d});
      case 7:
        return apply("squeeze", Form::Plain, source, {});
      case 8:
        return apply("split", Form::Plain, source, {Dims{2}, d});
      case 9:
        return apply("unbind", Form::Plain, source, {d});
      case 10:
        return apply("unfold", Form::Plain, source,
                     {d, std::int64_t{1 + draw(2)}, std::int64_t{1 + draw(2)}});
      case 11:
        return apply("as_strided", Form::Plain, source,
                     {Dims{2, 2}, Dims{1 + draw(3), 1}, std::int64_t{draw(2)}});
      case 12:
        return apply("narrow", Form::Plain, source, {d, start, std::int64_t{1}});
      default:
        return apply(pick({"t", "contiguous", "flatten", "detach"}), Form::Plain, source, {});
    }
  }

  // The same elements in two dimensions, or in more.
  Dims other_shape(const Tensor& x) {
    Dims sizes;
    std::int64_t left = x.numel();
    for (const std::int64_t factor : {2, 3}) {
      if (left % factor == 0 && draw(2) == 0) {
        sizes.push_back(factor);
        left /= factor;
      }
    }
    sizes.insert(sizes.begin() + draw(static_cast<int>(sizes.size()) + 1), left);
    return sizes;
  }
  Dims some_order(int rank) {
    Dims order;
    for (int i = 0; i < rank; ++i) order.insert(order.begin() + draw(i + 1), i);
    return order;
  }
  Dims expanded(const Tensor& x) {
    Dims sizes = x.sizes();
    for (Dim& each : sizes) each = each == 1 ? 2 : each;
    if (draw(2) == 0) sizes.insert(sizes.begin(), 2);
    return sizes;
  }

  // Nothing when the op refuses.
  void apply(std::string_view name, Form form, std::vector<Operand> operands,
             std::initializer_list<Attr> attrs) {
    Node node;
    node.op = &OpTable::get().at(name);
    node.form = form;
    node.operands = operands;
    Attrs values(*node.op);
    std::copy(attrs.begin(), attrs.end(), values.values().begin());
    node.attrs = attr_list(values);
    std::vector<Tensor> given;
    for (const Operand& each : operands) {
      given.push_back(each.is_value() ? tensor(each.value)
                                      : Tensor::number(std::get<Dim>(each.number).known()));
    }
    Tensors results;
    try {
      results = node.writes() ? Tensors{bind_inplace(*node.op, given, values)}
                              : kiln::bind(*node.op, given, values);
      if (form == Form::Copy) std::transform(results.begin(), results.end(), results.begin(), ops::clone);
    } catch (const OpError&) {
      return;
    }
    std::vector<Type> types;
    for (const Tensor& each : results) {
      types.push_back(to_type(each.type()));
      const bool follows = node.is_view() || node.writes();
      if (!follows && !each.is_contiguous()) types.back().strides = (each.strides());
    }
    for (const ValueId made : builder_.append(node, types)) {
      if (node.writes_layout()) rename(tensor(operands[0].value), made);
    }
    tensors_.insert(tensors_.end(), results.begin(), results.end());
  }
  void rename(const Tensor& x, ValueId made) {
    for (ValueId id = 0; id < made; ++id) {
      if (tensor(id).is_same(x)) stale_.insert(id);
    }
  }

  std::mt19937 engine_;
  Builder builder_;
  std::vector<Tensor> tensors_;
  std::set<ValueId> stale_;
};

Tensor memory(std::int64_t elements, DType dtype, int seed) {
  return kiln::testing::make(Dims{elements}, dtype, [seed](std::int64_t i) {
    return static_cast<double>((i * 7 + seed * 13) % 11) - 4;
  });
}

}  // namespace

std::vector<Tensor> arguments_of(const Graph& graph) {
  std::map<int, Tensor> storages;
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Type& type = graph.values[i].type;
    Layout layout = evaluate(layout_of_type(type), graph.hints);
    layout.offset = evaluate(graph.inputs[i].offset, graph.hints);
    Tensor whole = memory(std::max<std::int64_t>(64, extent(layout).second), type.dtype, static_cast<int>(i));
    if (graph.inputs[i].storage) whole = storages.try_emplace(*graph.inputs[i].storage, whole).first->second;
    result.push_back(Tensor::alias(whole, layout));
    result.back().impl()->is_number = type.is_number;
  }
  return result;
}

Graph random_program(unsigned seed, int more_steps) { return Writer(seed).run(more_steps); }

namespace {

// Without node `left_out`, what depends on it, and output `output_out`; -1: none.
Graph without(const Graph& graph, int left_out, int output_out) {
  Rewriter rewriter(graph);
  const auto known = [&rewriter](const Operand& each) {
    return !each.is_value() || rewriter.at(each.value) >= 0;
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (static_cast<int>(i) == left_out || !std::all_of(node.operands.begin(), node.operands.end(), known))
      continue;
    rewriter.copy(node);
  }
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    if (static_cast<int>(k) != output_out && known(graph.outputs[k])) {
      rewriter.graph.outputs.push_back(rewriter.at(graph.outputs[k]));
    }
  }
  return std::move(rewriter.graph);
}

}  // namespace

Graph shrunk(Graph graph, const std::function<bool(const Graph&)>& fails) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    const int nodes = static_cast<int>(graph.nodes.size()), outputs = static_cast<int>(graph.outputs.size());
    for (int i = 0; i < nodes + outputs && !smaller; ++i) {
      Graph candidate = without(graph, i < nodes ? i : -1, i < nodes ? -1 : i - nodes);
      if (!fails(candidate)) continue;
      graph = std::move(candidate);
      smaller = true;
    }
  }
  return graph;
}

std::string difference(const Graph& captured, const Graph& other) {
  return difference(captured, [&other](Inputs arguments) { return evaluate(other, arguments); });
}

namespace {

// Offsets say nothing: a result may lie alone in a memory of its own.
bool lie_alike(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && (a.numel() == 0 || a.strides() == b.strides());
}

// What a run gave, the arguments first; or what it said, and how often it drew.
struct SeenOutcome {
  std::vector<Tensor> tensors;
  std::string error;
  std::uint64_t draws = 0;
};

SeenOutcome outcome_of(const Graph& captured, const Run& run) {
  SeenOutcome outcome{arguments_of(captured), {}, 0};
  seed(1);
  try {
    const Tensors results = run(outcome.tensors);
    outcome.tensors.insert(outcome.tensors.end(), results.begin(), results.end());
  } catch (const OpError& error) {
    outcome.error = error.message();
  }
  outcome.draws = generator().offset;
  return outcome;
}

}  // namespace

std::string difference(const Graph& captured, const Run& other) {
  const auto eager = [&captured](Inputs given) { return evaluate(captured, given); };
  const SeenOutcome expected = outcome_of(captured, eager), actual = outcome_of(captured, other);
  if (expected.error != actual.error) {
    const auto said = [](const std::string& error) { return error.empty() ? "nothing" : error; };
    return "the error is " + said(actual.error) + ", not " + said(expected.error);
  }
  if (!expected.error.empty()) return {};
  if (expected.draws != actual.draws) return "it draws random numbers another number of times";
  if (expected.tensors.size() != actual.tensors.size()) return "another number of results";
  const std::size_t arguments = static_cast<std::size_t>(captured.argument_count());
  const std::vector<Tensor>&first = expected.tensors, &second = actual.tensors;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::string who =
        i < arguments ? "argument " + std::to_string(i) : "result " + std::to_string(i - arguments);
    if (!same_bits(first[i], second[i]))
      return who + " is " + describe(second[i]) + ", not " + describe(first[i]);
    if (!lie_alike(first[i], second[i])) return who + " has another layout";
    for (std::size_t k = 0; k < i; ++k) {
      if (first[i].is_same(first[k]) != second[i].is_same(second[k])) return who + " is another tensor";
      if (shares_storage(first[i], first[k]) != shares_storage(second[i], second[k])) {
        return who + (shares_storage(first[i], first[k]) ? " no longer" : " now") + " shares memory with " +
               std::to_string(k);
      }
    }
  }
  return {};
}

}  // namespace kiln::jit::testing
