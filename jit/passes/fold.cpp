// Before simplification, which knows numbers that tensors are filled with.
#include <algorithm>
#include <cstring>

#include "jit/graph/escape_analysis.h"
#include "jit/graph/evaluate.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/trace.h"
#include "jit/passes/passes.h"
#include "jit/shape_rules.h"
#include "tensor/autograd.h"
#include "tensor/core_ops.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/levels/level.h"

namespace kiln::jit {
namespace {

constexpr std::int64_t kMostElements = 1024;

bool is_small(const Type& type) {
  std::int64_t elements = 1;
  for (const Dim size : type.sizes) {
    if (!size.is_known()) return false;
    if (size.known() > kMostElements) return false;
    elements *= size.known();
  }
  return elements <= kMostElements && !type.is_number && type.device == Device{};
}

bool is_symbolic(const Attr& attr) {
  if (const auto* size = std::get_if<Dim>(&attr)) return !size->is_known();
  const auto* sizes = std::get_if<Dims>(&attr);
  return sizes != nullptr && has_symbols(*sizes);
}
bool is_symbolic(const Operand& operand) {
  const Dim* size = operand.is_number() ? std::get_if<Dim>(&operand.number) : nullptr;
  return size != nullptr && !size->is_known();
}

// The number that all elements are, to the bit; nothing for nan, of which there are many, and for complex
// numbers, which are no numbers of graphs.
std::optional<Number> uniform(const Tensor& x) {
  if (is_complex(x.dtype())) return std::nullopt;
  const HostView elements(x);
  const std::size_t size = size_of(x.dtype());
  for (std::size_t at = size; at < elements.byte_count(); at += size) {
    if (std::memcmp(elements.bytes(), elements.bytes() + at, size) != 0) return std::nullopt;
  }
  if (x.numel() == 0) return std::nullopt;
  const Tensor first = ops::as_strided(x, {}, {}, 0);
  if (x.dtype() == DType::Bool) return first.item_bool();
  if (is_integer(x.dtype())) return Dim(first.item_int());
  const double value = first.item_float();
  return value == value ? std::optional<Number>(value) : std::nullopt;
}

class Folder {
 public:
  explicit Folder(Graph graph) : graph_(std::move(graph)), known_(graph_.values.size()) {}

  Graph run() {
    const NoLevels no_levels;
    const GradMode no_grad(false);
    std::vector<Tensors> folded(graph_.nodes.size());
    bool any = false;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      Tensors results = evaluated(node);
      for (std::size_t k = 0; k < results.size(); ++k)
        known_[static_cast<std::size_t>(node.outputs[k])] = results[k];
      // Views cost nothing, and as constants they would have other layouts.
      if (results.empty() || is_literal(node) || may_share_operand(node) || !lie_row_by_row(results))
        continue;
      folded[i] = std::move(results);
      any = true;
    }
    if (!any && is_in_order(graph_)) return std::move(graph_);
    Rewriter rewriter(graph_);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      folded[i].empty() ? rewriter.copy(graph_.nodes[i]) : put(rewriter, graph_.nodes[i], folded[i]);
    }
    return rewriter.finish();
  }

 private:
  const Type& type(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type; }

  // As constants do.
  static bool lie_row_by_row(const Tensors& results) {
    return std::all_of(results.begin(), results.end(),
                       [](const Tensor& each) { return each.is_contiguous(); });
  }

  // Stays what it is, but is known to what follows.
  static bool is_literal(const Node& node) {
    return node.is_constant() || (node.op->lowering == Lowering::Create && node.op->signature.inputs <= 1 &&
                                  std::none_of(node.operands.begin(), node.operands.end(),
                                               [](const Operand& each) { return each.is_value(); }));
  }

  bool is_foldable(const Node& node) const {
    if (must_run(graph_, node) || node.writes()) return false;
    const auto known = [this](const Operand& each) {
      return !each.is_value() || known_[static_cast<std::size_t>(each.value)];
    };
    const auto symbolic = [](const auto& each) { return is_symbolic(each); };
    return std::all_of(node.operands.begin(), node.operands.end(), known) &&
           std::none_of(node.operands.begin(), node.operands.end(), symbolic) &&
           std::none_of(node.attrs.begin(), node.attrs.end(), symbolic) &&
           std::all_of(node.outputs.begin(), node.outputs.end(),
                       [this](ValueId id) { return is_small(type(id)); });
  }

  // Empty when the results are not known before the graph runs.
  Tensors evaluated(const Node& node) const {
    if (node.is_constant()) return is_small(type(node.outputs[0])) ? Tensors{node.constant} : Tensors();
    if (node.outputs.empty() || !is_foldable(node)) return {};
    SmallVector<Tensor, 4> operands;
    for (const Operand& each : node.operands) {
      operands.push_back(each.is_value()    ? known_[static_cast<std::size_t>(each.value)]
                         : each.is_number() ? number_tensor(each.number)
                                            : Tensor());
    }
    try {
      return kiln::bind(*node.op, operands, evaluate(*node.op, node.attrs, {}));
    } catch (const OpError&) {  // it fails when it runs, as in eager
      return {};
    }
  }

  void put(Rewriter& rewriter, const Node& node, const Tensors& results) const {
    for (std::size_t k = 0; k < results.size(); ++k) {
      const Value& old = graph_.values[static_cast<std::size_t>(node.outputs[k])];
      Type type = old.type;
      type.strides.reset();
      Node made;
      made.place = node.place;
      made.origin = node.origin;
      const Tensor elements = ops::contiguous(results[k]);
      if (const auto number = uniform(elements)) {
        made.op = &core_ops().full;
        made.operands = {Operand::of_number(*number)};
        made.attrs = attr_list(Attrs(*made.op));
        made.attr("size") = old.type.sizes;
        made.attr("dtype") = old.type.dtype;
        if (old.type.device != default_device()) made.attr("device") = old.type.device;
      } else {
        made.constant = elements;
      }
      rewriter.map(node.outputs[k], rewriter.append(std::move(made), std::vector{type}, {&old.name, 1})[0]);
    }
  }

  Graph graph_;
  std::vector<Tensor> known_;  // of its values
};

}  // namespace

Graph fold(Graph graph) {
  if (graph.stage == Stage::Captured) return graph;  // a constant may be written
  return Folder(std::move(graph)).run();
}

}  // namespace kiln::jit
