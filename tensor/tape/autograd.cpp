#include "tensor/autograd.h"

#include <atomic>

#include "tensor/functions.h"
#include "tensor/levels/level.h"
#include "tensor/tape/engine.h"
#include "tensor/tape/leaf.h"
#include "tensor/tape/linked.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"
#include "tensor/view.h"

namespace kiln {
namespace {

using tape::Edge;

int next_hook_id() {
  static std::atomic<int> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

OpError not_on_tape(const std::string& function, const std::string& which, const Tensor& x) {
  return OpError(ErrorKind::Autograd,
                 function + ": " + which + ", a " + to_string(x.type()) +
                     ", does not require grad and has no history: nothing it was made of requires grad",
                 {}, "call requires_grad_() on what to differentiate by, before computing with it");
}

[[noreturn]] void refuse_complex_start(const std::string& function, const Tensor& output) {
  throw OpError(
      ErrorKind::Autograd,
      function + ": the output is a " + to_string(output.type()) +
          ", and a gradient by itself starts from a real number",
      {}, "take its absolute value or a part: z.abs().backward(), or pass a gradient of the same shape");
}

// The gradient that the walk starts with at an output.
Tensor seed(const std::string& function, const Tensor& output, const Tensor& given) {
  if (!given) {
    const GradMode off(false);
    const levels::Gathering gathering(*tape::history(output).node);
    if (is_complex(output.dtype())) refuse_complex_start(function, output);
    if (output.numel() == 1)
      return ops::full(output.sizes(), Tensor::number(1.0), output.dtype(), output.device());
    throw OpError(ErrorKind::Autograd,
                  function + ": the output is a " + to_string(output.type()) +
                      ", and only an output of one element has a gradient to start from by itself",
                  {}, "reduce it first, as in x.sum(), or pass a gradient of the same shape");
  }
  if (given.sizes() != output.sizes()) {
    throw OpError(ErrorKind::Shape, function + ": the gradient is a " + to_string(given.type()) +
                                        ", the output a " + to_string(output.type()) +
                                        ": their shapes must be equal");
  }
  if (!is_differentiable(given.dtype())) {
    throw OpError(ErrorKind::DType,
                  function + ": the gradient is a " + to_string(given.type()) + ", and gradients are floats");
  }
  return given;
}

void check_float(const Tensor& x) {
  if (is_differentiable(x.dtype())) return;
  throw OpError(
      ErrorKind::Autograd,
      "requires_grad: a " + to_string(x.type()) + " cannot require grad, only floats and complex numbers can",
      {0}, "convert it first: x.to(f32)");
}

// Gradients of a tensor are recorded by its own level, which must be the one that is running.
void check_level(const Tensor& x) {
  const levels::Level* level = levels::top;
  while (level != nullptr && level->kind() == LevelKind::Note) level = level->below();
  if (level == nullptr || (level->kind() == LevelKind::Grad && level->owns(x))) return;
  const bool outer = level->kind() == LevelKind::Grad;
  throw OpError(
      ErrorKind::Autograd,
      outer ? "requires_grad: this " + to_string(x.type()) + " comes from outside of " + level->transform()
            : "requires_grad: inside " + level->transform() + " nothing is recorded for this " +
                  to_string(x.type()),
      {0}, "differentiate a function of it: grad(f)(x)");
}

const std::string kBackward = "backward";
const std::string kGrads = "grads";

}  // namespace

bool requires_grad(const Tensor& x) { return tape::has_history(x); }

bool is_leaf(const Tensor& x) {
  const Edge edge = tape::history(x);
  return !edge || tape::meta_of(x)->leaf;
}

void set_requires_grad(const Tensor& x, bool value) {
  if (value == requires_grad(x)) return;
  if (value) {
    check_level(x);
    check_float(x);
    tape::make_leaf(x);
    return;
  }
  if (!is_leaf(x)) {
    throw OpError(ErrorKind::Autograd,
                  "requires_grad: this " + to_string(x.type()) + " is the result of " + grad_fn_name(x) +
                      ", and only a leaf can stop requiring grad",
                  {0}, "use x.detach()");
  }
  tape::drop_history(x);
}

void detach_in_place(const Tensor& x) {
  tape::drop_history(x);
  x.impl()->origin.reset();
  if (Wrapper* wrapper = levels::wrapper_of(x)) {  // as `detach`, at every level
    const levels::AtLevelOf level(x);
    if (levels::top == nullptr) levels::refuse_escaped(x);
    const levels::Below below(*levels::top);
    wrapper->tangent = {};
    wrapper->value = ops::detach(wrapper->value);
  }
}

bool is_parameter(const Tensor& x) {
  const AutogradMeta* meta = tape::meta_of(x);
  return (meta != nullptr && meta->is_parameter) || (requires_grad(x) && is_leaf(x));
}

void mark_parameter(const Tensor& x) { tape::make_meta(x).is_parameter = true; }

Tensor grad_of(const Tensor& x) {
  const AutogradMeta* meta = tape::meta_of(x);
  if (meta == nullptr) return {};
  return meta->retained ? meta->retained->grad : meta->grad;
}

void set_grad(const Tensor& x, Tensor grad) {
  if (grad && (grad.sizes() != x.sizes() || grad.dtype() != x.dtype() || grad.device() != x.device())) {
    throw OpError(ErrorKind::Autograd, "grad: a " + to_string(grad.type()) + " cannot be the gradient of a " +
                                           to_string(x.type()) + ": the types must be equal");
  }
  if (grad && grad.is_same(x))
    throw OpError(ErrorKind::Autograd, "grad: a tensor cannot be its own gradient");
  if (!grad && tape::meta_of(x) == nullptr) return;
  AutogradMeta& meta = tape::make_meta(x);
  (meta.retained ? meta.retained->grad : meta.grad) = std::move(grad);
  tape::note_gradient(x);
}

std::string grad_fn_name(const Tensor& x) {
  if (is_leaf(x)) return "";
  const tape::Edge edge = tape::history(x);
  const auto& name = tape::meta_of(x)->history_name;
  if (name && name->sequence == edge.node->sequence) return *name->text;
  return edge.node->name_of_output(edge.output);
}

int add_hook(const Tensor& x, Hook hook) {
  const Edge edge = tape::history(x);
  if (!edge) throw not_on_tape("register_hook", "the tensor", x);
  const Ref<tape::HookEntry> entry(new tape::HookEntry(next_hook_id(), std::move(hook)));
  if (!edge.node->hooks) edge.node->hooks = std::make_unique<tape::NodeHooks>();
  auto& others = edge.node->hooks->on_output;
  const auto later = std::find_if(others.begin(), others.end(), [&](const tape::NodeHooks::OnOutput& each) {
    return edge.node->hooks_first(edge.output, each.output);
  });
  others.insert(later, {edge.output, entry});
  tape::make_meta(x).hooks.push_back(entry);
  return entry->id;
}

void remove_hook(const Tensor& x, int id) {
  AutogradMeta* meta = tape::meta_of(x);
  if (meta == nullptr) return;
  std::erase_if(meta->hooks, [&](const Ref<tape::HookEntry>& entry) {
    if (entry->id != id) return false;
    entry->run = nullptr;
    return true;
  });
  if (meta->leaf) static_cast<tape::LeafNode&>(*meta->history.node).remove_post_hook(id);
}

int add_post_accumulate_hook(const Tensor& x, PostHook hook) {
  if (!requires_grad(x) || !is_leaf(x)) {
    throw OpError(
        ErrorKind::Autograd,
        "register_post_accumulate_grad_hook: gradients are added into leaves that require grad only, and "
        "this " +
            to_string(x.type()) + " is none",
        {0}, "use register_hook");
  }
  const int id = next_hook_id();
  static_cast<tape::LeafNode&>(*tape::history(x).node).add_post_hook(id, std::move(hook));
  return id;
}

void retain_grad(const Tensor& x) {
  const Edge edge = tape::history(x);
  if (!edge) throw not_on_tape("retain_grad", "the tensor", x);
  AutogradMeta& meta = tape::make_meta(x);
  if (meta.leaf || meta.retained) return;
  meta.retained = Ref<tape::GradSlot>(new tape::GradSlot);
  if (!edge.node->hooks) edge.node->hooks = std::make_unique<tape::NodeHooks>();
  edge.node->hooks->retained.push_back({edge.output, meta.retained});
}

void backward(const Tensor& output, const Tensor& gradient, bool retain_graph, bool create_graph) {
  const Edge edge = tape::history(output);
  if (!edge) throw not_on_tape(kBackward, "the output", output);
  const levels::AtLevelOf level(Tensors{output, gradient});
  const Tensor start = seed(kBackward, output, gradient);
  tape::run({.roots = {&edge, 1},
             .root_grads = {&start, 1},
             .wanted = {},
             .into_leaves = true,
             .retain_graph = retain_graph || create_graph,
             .create_graph = create_graph});
}

std::vector<Tensor> grads(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& grad_outputs, bool retain_graph, bool create_graph,
                          bool allow_unused) {
  if (!grad_outputs.empty() && grad_outputs.size() != outputs.size()) {
    throw OpError(ErrorKind::Value, "grads: there are " + std::to_string(outputs.size()) + " outputs and " +
                                        std::to_string(grad_outputs.size()) + " grad_outputs");
  }
  std::vector<Tensor> given = outputs;
  given.insert(given.end(), grad_outputs.begin(), grad_outputs.end());
  const levels::AtLevelOf level(given);
  std::vector<Edge> roots, wanted;
  std::vector<Tensor> starts;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    roots.push_back(tape::history(outputs[i]));
    if (!roots.back()) throw not_on_tape(kGrads, "output " + std::to_string(i), outputs[i]);
    starts.push_back(seed(kGrads, outputs[i], grad_outputs.empty() ? Tensor() : grad_outputs[i]));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    wanted.push_back(tape::history(inputs[i]));
    if (!wanted.back()) throw not_on_tape(kGrads, "input " + std::to_string(i), inputs[i]);
  }
  std::vector<Tensor> result = tape::run({.roots = roots,
                                          .root_grads = starts,
                                          .wanted = wanted,
                                          .into_leaves = false,
                                          .retain_graph = retain_graph || create_graph,
                                          .create_graph = create_graph});
  for (std::size_t i = 0; i < result.size() && !allow_unused; ++i) {
    if (result[i]) continue;
    throw OpError(ErrorKind::Autograd,
                  "grads: input " + std::to_string(i) + ", a " + to_string(inputs[i].type()) +
                      ", was not used to compute the outputs",
                  {}, "pass allow_unused=true to get none for it");
  }
  return result;
}

bool grad_enabled() { return tape::recording; }
void set_grad_enabled(bool enabled) { tape::recording = enabled; }

GradMode::GradMode(bool enabled) : before_(tape::recording) { tape::recording = enabled; }
GradMode::~GradMode() { tape::recording = before_; }

}  // namespace kiln
