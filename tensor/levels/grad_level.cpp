#include "tensor/levels/grad_level.h"
#include "tensor/backend.h"

#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/tape/engine.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"
#include "tensor/tape/record.h"

namespace kiln::levels {
namespace {

// Where the walk ends at an argument. Unlike a leaf the argument may be written: its gradient is that of the
// value it had when the function was called.
class ArgumentNode final : public tape::Node {
 public:
  explicit ArgumentNode(const Tensor& x) : Node(tape::next_sequence()) { output_types.push_back(x.type()); }
  std::string name() const override { return "Argument"; }
  Tensors backward(Inputs, std::span<const bool>) override { return {}; }

 private:
  void visit_kept(ReferenceVisitor&) const override {}
};

}  // namespace

GradLevel::GradLevel(LevelId id) : Level(LevelKind::Grad, id), recording_outside_(tape::recording) {
  tape::recording = true;
}

GradLevel::~GradLevel() { tape::recording = recording_outside_; }

Variable GradLevel::variable(const Tensor& x) {
  Variable made{wrap(x), {Ref<tape::Node>(new ArgumentNode(x)), 0}};
  tape::start_history(made.inside, made.edge);
  retain_grad(made.inside);
  return made;
}

Tensor GradLevel::constant(const Tensor& x) const { return owns(x) ? x : wrap(x, {}, true); }

// What has no history at any level is a constant as it is.
Tensor GradLevel::lift(const Tensor& x) const {
  if (!x || owns(x)) return x;
  const TensorImpl& impl = *x.impl();
  return impl.wrapper || impl.autograd || impl.origin ? constant(x) : x;
}

Tensors GradLevel::bind(const Op& op, Inputs inputs, const Attrs& attrs) {
  SmallVector<Tensor, 4> lifted;
  for (const Tensor& input : inputs) lifted.push_back(lift(input));
  const bool records = tape::sees(lifted);
  // Also where nothing is recorded: a body may give views, which must be views of this level.
  if (op.vjp.missing == kComposite && (records || !has_kernel(op, inputs)))
    return run_body(op, lifted, attrs);
  return records ? tape::bind(op, lifted, attrs) : compute(op, lifted, attrs);
}

Tensor GradLevel::write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) {
  check_target(op, inputs[0]);
  SmallVector<Tensor, 4> lifted;
  for (const Tensor& input : inputs) lifted.push_back(lift(input));
  if (tape::sees_write(op, lifted)) return tape::write(op, lifted, attrs, result);
  compute_inplace(op, lifted, attrs);
  return inputs[0];
}

std::vector<Tensor> GradLevel::gradients(Inputs outputs, Inputs output_grads,
                                         std::span<const Variable> variables, bool keep) {
  std::vector<tape::Edge> roots, wanted;
  std::vector<Tensor> starts;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!owns(outputs[i])) continue;
    tape::Edge edge = tape::history(outputs[i]);
    if (!edge || !output_grads[i]) continue;
    roots.push_back(std::move(edge));
    starts.push_back(constant(output_grads[i]));
  }
  for (const Variable& each : variables) wanted.push_back(each.edge);
  std::vector<Tensor> found = tape::run({.roots = roots,
                                         .root_grads = starts,
                                         .wanted = wanted,
                                         .into_leaves = false,
                                         .retain_graph = keep,
                                         .create_graph = false});
  for (Tensor& grad : found) {
    if (grad) grad = value_below(*this, grad);
  }
  return found;
}

}  // namespace kiln::levels
