#include <algorithm>

#include "tensor/autocast.h"
#include "tensor/backend.h"
#include "tensor/complex_bind.h"
#include "tensor/core_ops.h"
#include "tensor/cost.h"
#include "tensor/functions.h"
#include "tensor/guarded/guarded.h"
#include "tensor/interrupt.h"
#include "tensor/levels/level.h"
#include "tensor/operand_types.h"
#include "tensor/ops/pointwise.h"
#include "tensor/symbolic_run.h"
#include "tensor/tape/record.h"
#include "tensor/tape/sparse_gradient.h"
#include "tensor/timeline.h"
#include "tensor/view.h"

namespace kiln {
namespace {

// An absent input promotes nothing: a bool number.
const TensorType kAbsent{DType::Bool, Device{}, {}, true};

bool has_device(const Tensor& x) { return x && !x.is_number(); }

// A number counts as being where the tensors are, which it goes to.
SmallVector<TensorType, 4> types_of(Inputs inputs) {
  SmallVector<TensorType, 4> types;
  types.reserve(inputs.size());
  for (const Tensor& input : inputs) types.push_back(input ? input.type() : kAbsent);
  put_numbers_beside({types.data(), types.size()});
  return types;
}

// What may be absent is a tensor where it is given: rules tell the type of an absent input by its being a
// number. Elementwise ops take numbers for all.
void check_optional(const Op& op, Inputs inputs) {
  const auto is_number = [](const Tensor& input) { return input && input.is_number(); };
  if (op.pointwise != nullptr || std::none_of(inputs.begin(), inputs.end(), is_number)) return;
  std::size_t i = 0;
  for (const Parameter& parameter : op.signature.parameters) {
    if (parameter.kind != ArgKind::Tensor && parameter.kind != ArgKind::OptionalTensor) continue;
    if (!is_number(inputs[i++]) || parameter.kind == ArgKind::Tensor) continue;
    throw OpError(ErrorKind::Type,
                  spoken_name(op) + ": `" + parameter.name + "` must be a tensor, it is a number",
                  {static_cast<int>(i) - 1}, "none leaves it out; `full` makes a tensor of equal elements");
  }
  // Of a list that may have gaps: an absent input is known by the type of a bool number.
  const bool has_gaps =
      std::any_of(op.signature.parameters.begin(), op.signature.parameters.end(),
                  [](const Parameter& each) { return each.kind == ArgKind::OptionalTensorList; });
  for (; has_gaps && i < inputs.size(); ++i) {
    if (!is_number(inputs[i]) || inputs[i].dtype() != DType::Bool) continue;
    throw OpError(ErrorKind::Type, spoken_name(op) + ": a bool stands where a tensor or none must be",
                  {static_cast<int>(i)}, "none leaves it out; tensor(true) is a mask of no dimensions");
  }
}

// What the signature calls an operand: `a`, or `tensors[2]` of a list, whose tensors follow the others.
std::string operand_name(const Op& op, std::size_t index) {
  const auto others = static_cast<std::size_t>(op.signature.inputs);
  std::size_t i = 0;
  for (const Parameter& parameter : op.signature.parameters) {
    const bool is_list =
        parameter.kind == ArgKind::TensorList || parameter.kind == ArgKind::OptionalTensorList;
    if (is_list && index >= others) return parameter.name + "[" + std::to_string(index - others) + "]";
    const bool is_one = parameter.kind == ArgKind::Tensor || parameter.kind == ArgKind::OptionalTensor;
    if (is_one && i++ == index) return parameter.name;
  }
  return "operand " + std::to_string(index);
}

// Where operands that are on several devices had better be: where the target of a write is, or else on the
// first card that has one.
Device better_device(Inputs inputs, bool writes) {
  if (writes) return inputs[0].device();
  const auto is_on_card = [](const Tensor& x) { return has_device(x) && !is_on_host(x.device()); };
  return std::find_if(inputs.begin(), inputs.end(), is_on_card)->device();
}

[[noreturn]] void refuse_devices(const Op& op, Inputs inputs, bool writes) {
  const Device better = better_device(inputs, writes);
  std::string where, moved;
  std::vector<int> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!has_device(inputs[i])) continue;
    const std::string name = operand_name(op, i);
    where += (where.empty() ? "`" : ", `") + name + "` on " + to_string(inputs[i].device());
    if (moved.empty() && inputs[i].device() != better) moved = name;
    operands.push_back(static_cast<int>(i));
  }
  throw OpError(ErrorKind::Device, spoken_name(op) + ": operands are on different devices: " + where,
                std::move(operands), "bring them together: " + moved + ".to(\"" + to_string(better) + "\")");
}

// Numbers are the host's, and go anywhere. So it is with what collectives are told beside tensors, such as
// tokens: they read it on the host.
bool are_on_one_device(const Op& op, Inputs inputs) {
  const Tensor* first = nullptr;
  for (const Tensor& each : inputs) {
    if (!each || each.is_number()) continue;
    if (first == nullptr) {
      first = &each;
    } else if (each.device() != first->device()) [[unlikely]] {
      return op.lowering == Lowering::Collective;
    }
  }
  return true;
}

// A tensor of the host of which all elements are one, such as bodies make of a number, goes anywhere, too.
bool goes_anywhere(const Tensor& x) {
  if (!x || x.is_number()) return true;
  if (!is_on_host(x.device())) return false;
  for (int d = 0; d < x.rank(); ++d)
    if (!same(x.size(d), 1) && !same(x.strides()[static_cast<std::size_t>(d)], 0)) return false;
  return true;
}

// The operands on one device, that of those which do not go anywhere. Throws OpError (Device) where they have
// several. The target of a write stays where it is, and what only copies takes its source from any device.
SmallVector<Tensor, 4> on_one_device(const Op& op, Inputs inputs, bool writes) {
  const bool copies = writes && op.identity.kind == Identity::Kind::SecondOperand;
  const auto stays = [&](const Tensor& each) {
    return (writes && &each == inputs.data()) || (!copies && !goes_anywhere(each));
  };
  const auto anchor = std::find_if(inputs.begin(), inputs.end(), stays);
  SmallVector<Tensor, 4> moved;
  for (const Tensor& each : inputs) {
    if (stays(each) && each.device() != anchor->device()) refuse_devices(op, inputs, writes);
    moved.push_back(!each || each.is_number() || stays(each) ? each : ops::to(each, anchor->device()));
  }
  return moved;
}

std::vector<TensorType> check_inputs(const Op& op, Inputs inputs, const Attrs& attrs) {
  check_optional(op, inputs);
  return op.infer(types_of(inputs), attrs);
}

// The result must fit what it is written into: same shape, no lower category (PyTorch's can_cast).
void check_result(const Op& op, const Tensor& target, const TensorType& result) {
  if (result.sizes != target.sizes()) {
    throw OpError(ErrorKind::Shape,
                  inplace_name(op) + ": the result has shape " + to_string(result.sizes) +
                      ", which cannot be written into a " + to_string(target.type()),
                  {0}, "use " + spoken_name(op) + ", which makes a new tensor");
  }
  if (category(result.dtype) > category(target.dtype())) {
    throw OpError(ErrorKind::DType,
                  inplace_name(op) + ": the result is " + std::string(name(result.dtype)) +
                      ", which cannot be written into a " + to_string(target.type()),
                  {0}, "convert first: x.to(" + std::string(name(result.dtype)) + ")");
  }
}

// Every level takes its own wrapping off, so that what is still wrapped here belongs to none of them.
void check_plain(Inputs inputs) {
  for (const Tensor& input : inputs) {
    if (input && levels::wrapper_of(input) != nullptr) [[unlikely]]
      levels::refuse_escaped(input);
  }
}

// Levels would take a sparse gradient for a constant of their own.
void check_dense(const Op& op, Inputs inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] && levels::wrapper_of(inputs[i]) != nullptr && sparse::is_sparse(inputs[i])) [[unlikely]]
      sparse::refuse(op, inputs, static_cast<int>(i));
  }
}

// What is written through a view that lies where its base no longer does would be seen by nobody.
void check_current(const Op& op, const Tensor& target) {
  if (levels::wrapper_of(target) != nullptr || !is_stale(target)) return;
  throw OpError(ErrorKind::Value,
                inplace_name(op) + ": this " + to_string(target.type()) +
                    " is a view of a tensor whose storage was replaced by set_",
                {0}, "take the view anew, or write to a copy: x.clone()");
}

// May `op` write into `target` while it reads `inputs`? Yes when each is apart from it, or reads every
// element just before that element is written. Kernels of elementwise rows that may refuse elements see to it
// themselves, since only they know when it is certain that nothing is refused.
bool may_write_directly(const Op& op, const Tensor& target, Inputs inputs) {
  if (op.pointwise != nullptr && op.may_fail()) return true;
  for (const Tensor& input : inputs) {
    if (!input || input.layout() == target.layout()) continue;
    if (overlaps(target, input)) return false;
  }
  return true;
}

// The device said why it has no kernel.
[[noreturn]] void refuse_kernel(const Op& op, const Kernel& kernel, Device device) {
  if (kernel.missing.empty())
    throw InternalError("op '" + std::string(op.name()) + "' states no kernel on " + to_string(device));
  throw OpError(
      ErrorKind::Device,
      spoken_name(op) + " does not run on " + to_string(device) + ": " + std::string(kernel.missing), {},
      "compute it on the CPU: x.to(\"cpu\")");
}

// Memory of the types. What speaks of places of its operand's storage gives a storage with the same places.
Tensors outputs_of(const Op& op, Inputs inputs, std::span<const TensorType> types) {
  if (op.has(kCountsPlaces)) {
    const Tensor& x = inputs[0];
    Ref<Buffer> buffer = Buffer::allocate(x.storage()->bytes(), types[0].device);
    return {Tensor::from_storage(Storage::create(std::move(buffer)), x.layout(), x.dtype())};
  }
  Tensors outputs;
  outputs.reserve(types.size());
  for (const TensorType& type : types) outputs.push_back(Tensor::empty(type.sizes, type.dtype, type.device));
  return outputs;
}

bool depends_on_data(const TensorType& type) {
  return std::any_of(type.sizes.begin(), type.sizes.end(), [](Dim size) { return same(size, -1); });
}

// Results of an op whose sizes depend on data: the kernel counts first.
Tensors run_counted(const Op& op, const Kernel& kernel, Inputs inputs, const Attrs& attrs, Stream& stream) {
  const CountedOutputs counted = kernel.count(op, attrs, inputs, stream);
  Tensors outputs = outputs_of(op, inputs, counted.types);
  Tensors with_work(inputs.begin(), inputs.end());
  with_work.append(counted.work.begin(), counted.work.end());
  kernel.run_counted(op, attrs, with_work, outputs, stream);
  return outputs;
}

// Allocates the results of an op. Where no memory is left, the error names the op.
template <class Make>
auto memory_for(const Op& op, const Make& make) {
  try {
    return make();
  } catch (const OpError& error) {
    if (error.kind() != ErrorKind::OutOfMemory) throw;
    throw OpError(error.kind(), spoken_name(op) + ": " + error.message(), error.operands(), error.help());
  }
}

Tensors run_pointwise(const Op& op, Inputs inputs, const Attrs& attrs) {
  Tensors outputs;
  outputs.push_back(memory_for(op, [&] { return pointwise_output(op, inputs, attrs); }));
  Backend& backend = backend_of(outputs[0].device());
  const Kernel& kernel = backend.kernels().of(op);
  if (!kernel) [[unlikely]]
    refuse_kernel(op, kernel, outputs[0].device());
  const guarded::Open memory;
  kernel.run(op, attrs, inputs, outputs, backend.stream());
  return outputs;
}

// The device that an op of these operands is computed on: that of its results.
Device device_of(Inputs inputs, std::span<const TensorType> types) {
  if (!types.empty()) return types[0].device;
  return inputs.empty() ? default_device() : inputs[0].device();
}

// Inputs that were checked, with the types of the results.
Tensors run_checked(const Op& op, Inputs inputs, const Attrs& attrs, std::span<const TensorType> types) {
  const Device device = device_of(inputs, types);
  Backend& backend = backend_of(device);
  const Kernel& kernel = backend.kernels().of(op);
  if (!kernel && (op.decompose == nullptr || !kernel.missing.empty())) refuse_kernel(op, kernel, device);
  if (!kernel || (kernel.takes != nullptr && !kernel.takes(op, attrs, inputs)))
    return op.decompose(op, inputs, attrs);
  const guarded::Open memory;
  if (kernel.give != nullptr) return kernel.give(op, attrs, inputs, backend.stream());
  if (kernel.count != nullptr && std::any_of(types.begin(), types.end(), depends_on_data))
    return run_counted(op, kernel, inputs, attrs, backend.stream());
  Tensors outputs = memory_for(op, [&] { return outputs_of(op, inputs, types); });
  kernel.run(op, attrs, inputs, outputs, backend.stream());
  return outputs;
}

// While ops are timed, a device that works beside the program is waited for, so that the time is the op's.
void wait_for(Device device) {
  if (is_on_host(device)) return;
  Backend& backend = backend_of(device);
  backend.synchronize(backend.stream());
}

// ---- Over symbols ----

bool is_symbolic(const Tensor& x) { return x && (x.is_symbol() || has_symbols(x.layout())); }

bool is_over_symbols(Inputs inputs, const Attrs& attrs) {
  const SymbolicRun* const run = SymbolicRun::current();
  return run != nullptr && (run->stand_in() != nullptr || has_symbols(attrs) ||
                            std::any_of(inputs.begin(), inputs.end(), is_symbolic));
}

// Operands and attributes as kernels see them: with the sizes of this call.
struct InThisCall {
  InThisCall(Inputs given, const Attrs& symbolic) : attrs(at_hints(symbolic)) {
    for (const Tensor& each : given) inputs.push_back(at_hints(each));
  }
  SmallVector<Tensor, 4> inputs;
  Attrs attrs;
};

// Did a body without a kernel give a view of an operand?
bool gives_view(const Tensors& results, const InThisCall& now) {
  return std::any_of(results.begin(), results.end(), [&now](const Tensor& made) {
    return std::any_of(now.inputs.begin(), now.inputs.end(), [&made](const Tensor& each) {
      return each && shares_storage(each, made) && !each.is_same(made);
    });
  });
}

// The result of a kernel gets the sizes that the op's rule gives it; one that is an operand is that operand.
Tensor with_symbols(const Op& op, Tensor made, const TensorType& type, Inputs inputs, const InThisCall& now) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (now.inputs[i] && now.inputs[i].is_same(made)) return inputs[i];
  }
  if (op.has(kCountsPlaces)) return Tensor::alias(made, inputs[0].layout());
  if (!depends_on_data(type)) give_sizes(made, type.sizes);
  return made;
}

void fix_sizes(const Tensor& x) {
  if (!x) return;
  for (const Dim each : x.sizes()) static_cast<void>(each.fixed());
}

Tensors run_over_symbols(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (StandIn* const stand_in = SymbolicRun::current()->stand_in()) return stand_in->run(op, inputs, attrs);
  const SizeScope::Reason reason(op.name());
  if (op.view != nullptr) return apply_view(op, inputs[0], attrs);
  const InThisCall now(inputs, attrs);
  if (op.call != nullptr) {  // no rule says what sizes it gives
    for (const Tensor& each : inputs) fix_sizes(each);
    return op.call(op, now.inputs, now.attrs);
  }
  const std::vector<TensorType> types = check_inputs(op, inputs, attrs);
  Tensors results = run_eager(op, now.inputs, now.attrs);
  // A view must be of the operand itself.
  if (op.decompose != nullptr && gives_view(results, now)) return op.decompose(op, inputs, attrs);
  for (std::size_t k = 0; k < results.size(); ++k)
    results[k] = with_symbols(op, results[k], types[k], inputs, now);
  return results;
}

}  // namespace

void check_writable(const Op& op, const TensorType& type, const Layout& layout) {
  if (!has_overlap(layout)) return;
  throw OpError(ErrorKind::Value,
                inplace_name(op) + ": elements of the " + to_string(type) +
                    " share memory, so a write to one would change others",
                {0}, "write to a copy: x.clone()");
}

namespace {

Tensors run_known_sizes(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (op.view != nullptr) return apply_view(op, inputs[0], attrs);
  if (op.pointwise != nullptr) return run_pointwise(op, inputs, attrs);
  if (op.call != nullptr) return op.call(op, inputs, attrs);
  return run_checked(op, inputs, attrs, check_inputs(op, inputs, attrs));
}

// Of a view nothing is moved, and of a body its ops are told. A copy does not read its target.
timeline::Work work_of(const Op& op, Inputs inputs, Inputs results) {
  if (op.view != nullptr || op.lowering == Lowering::Composite) return {};
  const Cost cost = cost_of(op, &op == &core_ops().copy ? inputs.subspan(1) : inputs, results);
  return {cost.bytes, cost.flops.value_or(-1)};
}

}  // namespace

Tensors run_eager(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (is_over_symbols(inputs, attrs)) [[unlikely]]
    return run_over_symbols(op, inputs, attrs);
  if (timeline::records(timeline::Detail::Phases)) [[unlikely]] {
    timeline::Span span(timeline::Kind::Op, op.name());
    Tensors results = run_known_sizes(op, inputs, attrs);
    if (span.is_recorded()) {
      if (!results.empty() && results[0]) wait_for(results[0].device());
      span.does(work_of(op, inputs, results));
    }
    return results;
  }
  return run_known_sizes(op, inputs, attrs);
}

namespace {

void write_known_sizes(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Tensor& target = inputs[0];
  Backend& backend = backend_of(target.device());
  const Kernel& kernel = backend.kernels().of(op);
  const guarded::Open memory;
  if (kernel.is_direct && may_write_directly(op, target, inputs)) {
    kernel.run(op, attrs, inputs, {&target, 1}, backend.stream());
    return;
  }
  static const Attrs copy(core_ops().copy);
  const Tensor operands[] = {target, run_eager(op, inputs, attrs)[0]};
  backend.kernels().of(*copy.op()).run(*copy.op(), copy, Inputs(operands), {&target, 1}, backend.stream());
}

}  // namespace

void run_eager_inplace(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (is_over_symbols(inputs, attrs)) [[unlikely]] {
    if (StandIn* const stand_in = SymbolicRun::current()->stand_in())
      return stand_in->write(op, inputs, attrs);
    const InThisCall now(inputs, attrs);
    return run_eager_inplace(op, now.inputs, now.attrs);
  }
  if (timeline::records(timeline::Detail::Phases)) [[unlikely]] {
    timeline::Span span(timeline::Kind::Op, inplace_name(op));
    write_known_sizes(op, inputs, attrs);
    if (span.is_recorded()) {
      wait_for(inputs[0].device());
      span.does(work_of(op, inputs, inputs.first(1)));
    }
    return;
  }
  write_known_sizes(op, inputs, attrs);
}

Tensors run_body(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (op.decompose == nullptr) return run_eager(op, inputs, attrs);
  if (op.call == nullptr) check_inputs(op, inputs, attrs);
  return op.decompose(op, inputs, attrs);
}

namespace {

// As bind, of ops on real numbers and of moves.
Tensors bind_as_it_is(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (levels::top != nullptr) [[unlikely]]
    return levels::top->bind(op, inputs, attrs);
  check_plain(inputs);
  return tape::sees(inputs) ? tape::bind(op, inputs, attrs) : run_eager(op, inputs, attrs);
}

}  // namespace

Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) {
  check_dense(op, inputs);
  if (autocast::is_on) [[unlikely]]
    return autocast::bind(op, inputs, attrs);
  if (!are_on_one_device(op, inputs)) [[unlikely]] {
    const SmallVector<Tensor, 4> moved = on_one_device(op, inputs, false);
    return bind(op, {moved.data(), moved.size()}, attrs);
  }
  if (is_of_complex(op, inputs, attrs)) [[unlikely]] {
    ComplexCall call = run_complex(op, inputs, attrs);
    if (!call.goes_on) return std::move(call.results);
    return bind_as_it_is(op, {call.inputs.data(), call.inputs.size()}, attrs);
  }
  return bind_as_it_is(op, inputs, attrs);
}

namespace {

// The value is computed apart, by ops on parts, and copied.
Tensor write_complex(const Op& op, const Tensor& target, const Tensors& results) {
  check_result(op, target, results[0].type());
  return ops::copy_(target, results[0]);
}

}  // namespace

Tensor bind_inplace(const Op& op, Inputs inputs, const Attrs& attrs) {
  check_dense(op, inputs);
  if (autocast::is_on) [[unlikely]] {  // the target says the dtype
    const autocast::Off off;
    return bind_inplace(op, inputs, attrs);
  }
  if (op.writes_metadata()) {
    return levels::top != nullptr ? levels::top->rearrange(op, inputs, attrs)
                                  : tape::rearrange(op, inputs, attrs);
  }
  if (!are_on_one_device(op, inputs)) [[unlikely]] {
    const SmallVector<Tensor, 4> moved = on_one_device(op, inputs, true);
    return bind_inplace(op, {moved.data(), moved.size()}, attrs);
  }
  const Tensor& target = inputs[0];
  if (target.impl()->origin) check_current(op, target);
  check_writable(op, target.type(), target.layout());
  SmallVector<Tensor, 4> complex;
  if (is_of_complex(op, inputs, attrs)) [[unlikely]] {
    ComplexCall call = run_complex(op, inputs, attrs);
    if (!call.goes_on) return write_complex(op, target, call.results);
    complex = std::move(call.inputs);
    inputs = Inputs(complex.data(), complex.size());
  }
  const std::vector<TensorType> results = check_inputs(op, inputs, attrs);
  check_result(op, target, results[0]);
  check_interrupt();
  const HeldInterrupts whole;
  if (levels::top != nullptr) [[unlikely]]
    return levels::top->write(op, inputs, attrs, results[0]);
  check_plain(inputs);
  if (tape::sees_write(op, inputs)) return tape::write(op, inputs, attrs, results[0]);
  run_eager_inplace(op, inputs, attrs);
  return target;
}

}  // namespace kiln
