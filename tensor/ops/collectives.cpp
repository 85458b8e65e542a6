// Owns the rows of collectives that reduce: allreduce, its two halves, and who has an extremum.
#include "tensor/ops/collectives.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/onnx/rules.h"
namespace kiln {

void add_row_collectives(OpTable& table);  // collective_rows.cpp

namespace {

using ops::for_gradient;
using ops::for_tangent;

ReduceOp op_of(const Attrs& attrs) { return reduce_op_named(attrs.get<std::string>("op")); }
bool is_linear(const Attrs& attrs) {
  const ReduceOp op = op_of(attrs);
  return op == ReduceOp::Sum || op == ReduceOp::Average;
}
bool is_extremum(const Attrs& attrs) {
  const ReduceOp op = op_of(attrs);
  return op == ReduceOp::Min || op == ReduceOp::Max;
}

[[noreturn]] void refuse_derivative(const Attrs& attrs) {
  const std::string& word = attrs.get<std::string>("op");
  throw OpError(ErrorKind::Autograd,
                fmt::format("{}: there is no derivative of op=\"{}\"", attrs.op()->name(), word), {0},
                is_extremum(attrs) ? "call allreduce for each tensor" : "reduce x.detach(), or take a sum");
}

std::vector<TensorType> tensors_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const TensorType& each : inputs) {
    ops::check_summed(each, attrs, static_cast<int>(types.size()));
    types.push_back(each);
  }
  return types;
}

// ---- Start and wait --------------------------------------------------------------------------------------

void check_lines(const Attrs& attrs, const char* what, std::size_t tensors) {
  const std::string& text = attrs.get<std::string>(what);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (text.empty() || lines == tensors) return;
  throw OpError(
      ErrorKind::Value,
      fmt::format("allreduce: {} {} for {} tensor{}", lines, what, tensors, tensors == 1 ? "" : "s"), {},
      "a name is one line");
}

// What is beside them on another device is none of the tensors, but these go together.
void check_devices(std::span<const TensorType> inputs) {
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].device == inputs[0].device) continue;
    throw OpError(ErrorKind::Device,
                  fmt::format("allreduce: tensors of one group are on different devices: {} and {}",
                              to_string(inputs[0].device), to_string(inputs[i].device)),
                  {0, static_cast<int>(i)}, "bring them together, or reduce them one by one");
  }
}

std::vector<TensorType> start_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  if (inputs.empty()) throw OpError(ErrorKind::Value, "allreduce_start: there is no tensor to be reduced");
  tensors_infer(inputs, attrs);
  check_devices(inputs);
  for (const char* each : {"names", "places"}) check_lines(attrs, each, inputs.size());
  return {{DType::I64, Device{}, {}}};
}
std::vector<TensorType> wait_infer(std::span<const TensorType> inputs, const Attrs&) {
  return {inputs.begin() + 1, inputs.end()};
}

Tensors reduced(Inputs tensors, const Attrs& attrs, const std::vector<std::string>& names,
                const std::string& group) {
  static const Op& start = OpTable::get().at("allreduce_start");
  static const Op& wait = OpTable::get().at("allreduce_wait");
  Attrs started(start);
  for (const char* each : {"op", "prescale", "postscale", "process_set"}) started.set(each, attrs.at(each));
  const std::vector<std::string> places(tensors.size(), attrs.get<std::string>("place"));
  started.set("names", ops::text_of(names)).set("places", ops::text_of(places)).set("group", group);
  Tensors operands = kiln::bind(start, tensors, started);
  operands.append(tensors.begin(), tensors.end());
  return kiln::bind(wait, operands, Attrs(wait));
}

// ---- One tensor, and a group of them ---------------------------------------------------------------------

Tensors allreduce_body(const Op&, Inputs inputs, const Attrs& attrs) {
  return reduced(inputs, attrs, {attrs.get<std::string>("name")}, "");
}

Tensors grouped_body(const Op&, Inputs inputs, const Attrs& attrs) {
  if (inputs.empty()) return {};
  const std::string& name = attrs.get<std::string>("name");
  std::vector<std::string> names(inputs.size());
  for (std::size_t i = 0; i < names.size() && !name.empty(); ++i) names[i] = fmt::format("{}.{}", name, i);
  return reduced(inputs, attrs, names, name.empty() ? attrs.get<std::string>("place") : name);
}

// The values where this rank has what was found, and zeros elsewhere. Ranks ask who has it when the values
// are there, so that a derivative begins nothing before its gradient comes in.
Tensor where_extremal(const Tensor& x, const Tensor& values, const Attrs& attrs) {
  static const Op& here = OpTable::get().at("extremal_here");
  Attrs asked = ops::attrs_like(here, attrs);
  const bool is_turned = attrs.get<double>("prescale") < 0;
  const Tensor operands[] = {x, values};
  asked.set("op", std::string(is_turned == (op_of(attrs) == ReduceOp::Min) ? "max" : "min"));
  return ops::where(kiln::bind(here, operands, asked)[0], values, ops::zeros_like(values));
}

Attrs summed(Attrs attrs) { return std::move(attrs.set("op", std::string("sum"))); }

Tensors allreduce_vjp(const VjpArgs& args) {
  const Attrs attrs = for_gradient(args.attrs);
  if (is_linear(attrs)) return kiln::bind(args.op, args.grads, attrs);
  if (!is_extremum(attrs)) refuse_derivative(args.attrs);
  return {where_extremal(args.inputs[0], kiln::bind(args.op, args.grads, summed(attrs))[0], attrs)};
}

Tensors allreduce_jvp(const JvpArgs& args) {
  const Attrs attrs = for_tangent(args.attrs);
  if (is_linear(attrs)) return kiln::bind(args.op, args.tangents, attrs);
  if (!is_extremum(attrs)) refuse_derivative(args.attrs);
  const Tensor own = where_extremal(args.inputs[0], args.tangents[0], attrs);
  return kiln::bind(args.op, {&own, 1}, summed(attrs));
}

// What is reduced is reduced element by element, but for Adasum, which looks at whole tensors.
Tensors allreduce_batch(const BatchArgs& args) {
  if (op_of(args.attrs) != ReduceOp::Adasum) return kiln::bind(args.op, args.inputs, args.attrs);
  static const Op& grouped = OpTable::get().at("grouped_allreduce");
  Attrs attrs = ops::attrs_like(grouped, args.attrs);
  for (const char* each : {"op", "prescale", "postscale"}) attrs.set(each, args.attrs.at(each));
  Tensors examples;
  for (std::int64_t b = 0; b < args.batch_size.fixed(); ++b)
    examples.push_back(ops::select(args.inputs[0], 0, b));
  return {examples.empty() ? ops::clone(args.inputs[0]) : ops::stack(kiln::bind(grouped, examples, attrs))};
}

Tensors grouped_vjp(const VjpArgs& args) {
  if (!is_linear(args.attrs)) refuse_derivative(args.attrs);
  return kiln::bind(args.op, args.grads, for_gradient(args.attrs));
}

Tensors grouped_jvp(const JvpArgs& args) {
  if (!is_linear(args.attrs)) refuse_derivative(args.attrs);
  Tensors tangents(args.tangents.begin(), args.tangents.end());
  for (std::size_t i = 0; i < tangents.size(); ++i)
    if (!tangents[i]) tangents[i] = ops::zeros_like(args.inputs[i]);
  return kiln::bind(args.op, tangents, for_tangent(args.attrs));
}

Tensors batches_from(const BatchArgs& args, std::size_t first) {
  Tensors tensors;
  for (std::size_t i = first; i < args.inputs.size(); ++i) tensors.push_back(rules::with_batch(args, i));
  return tensors;
}

void refuse_parts_of_adasum(const BatchArgs& args) {
  if (op_of(args.attrs) != ReduceOp::Adasum) return;
  throw OpError(
      ErrorKind::Value,
      fmt::format("{}: Adasum looks at whole tensors, which those under vmap are not", args.op.name()), {0},
      "call allreduce for each tensor");
}

Tensors grouped_batch(const BatchArgs& args) {
  refuse_parts_of_adasum(args);
  return kiln::bind(args.op, batches_from(args, 0), args.attrs);
}

// The batch is begun as a whole, so its token is that of each example.
Tensors start_batch(const BatchArgs& args) {
  refuse_parts_of_adasum(args);
  const Tensor token = kiln::bind(args.op, batches_from(args, 0), args.attrs)[0];
  return {ops::expand(token, Dims{args.batch_size})};
}
Tensors wait_batch(const BatchArgs& args) {
  if (!args.batched[0]) {
    throw OpError(
        ErrorKind::Value,
        "allreduce_wait: what was begun outside of vmap is no batch that can be waited for within it", {0},
        "wait for it outside, or begin it within");
  }
  Tensors operands = batches_from(args, 1);
  operands.insert(operands.begin(), ops::select(args.inputs[0], 0, 0));
  return kiln::bind(args.op, operands, args.attrs);
}

// ---- Who has the extremum --------------------------------------------------------------------------------

std::vector<TensorType> extremal_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  ops::check_summed(inputs[0], attrs);
  return {rules::with_dtype(inputs[0], DType::Bool)};
}
Tensors extremal_batch(const BatchArgs& args) {
  const Tensor operands[] = {rules::with_batch(args, 0), args.inputs[1]};
  return kiln::bind(args.op, operands, args.attrs);
}

// ---- The rows --------------------------------------------------------------------------------------------

constexpr std::string_view kToken = "it stands between the halves of allreduce, which has a derivative";

// The parameters of a reduction, and those of all collectives.
std::string signature_of(std::string_view head, std::string_view own, std::string_view result = "") {
  return fmt::format(
      "{}, *, op: str[\"sum\", \"average\", \"min\", \"max\", \"product\", \"adasum\"] = \"average\", "
      "prescale: float = 1.0, postscale: float = 1.0, process_set: int = 0, {}){}",
      head, own, result);
}
constexpr std::string_view kNamed = "name: str = \"\", place: str = \"\"";

void add_allreduce(OpTable& table) {
  table.add({.signature = Signature::parse(signature_of("allreduce(x: tensor", kNamed)),
             .family = "collective",
             .documentation =
                 "What the tensors of all ranks come to, on each of them: `postscale` times their `op` of "
                 "`prescale` times each. All ranks call it, by equal names.",
             .example = ">>> allreduce(tensor([1.0, 2.0])).tolist()\n[1.0, 2.0]",
             .infer = tensors_infer,
             .decompose = allreduce_body,
             .vjp = allreduce_vjp,
             .jvp = allreduce_jvp,
             .batch = allreduce_batch,
             .saves = saves_input(0),
             .traits = kInplace,
             .effects = kCommunicates,
             .onnx = onnx_rules::reduced_alone,
             .complex = ops::sums_of_pairs});
  table.add({.signature = Signature::parse(signature_of("grouped_allreduce(tensors: tensors", kNamed)),
             .family = "collective",
             .documentation = "`allreduce` of several tensors, which are done together.",
             .example = ">>> [t.tolist() for t in grouped_allreduce([tensor([1.0]), tensor([2.0])])]\n"
                        "[[1.0], [2.0]]",
             .infer = tensors_infer,
             .decompose = grouped_body,
             .vjp = grouped_vjp,
             .jvp = grouped_jvp,
             .batch = grouped_batch,
             .effects = kCommunicates,
             .outputs = kVariadic,
             .onnx = onnx_rules::reduced_alone,
             .complex = ops::sums_of_pairs});
}

void add_halves(OpTable& table) {
  constexpr std::string_view kLines = "names: str = \"\", places: str = \"\", group: str = \"\"";
  table.add(
      {.signature = Signature::parse(signature_of("allreduce_start(tensors: tensors", kLines)),
       .family = "collective",
       .documentation =
           "Begins `allreduce` of each tensor, and gives a token for `allreduce_wait`. Names and places "
           "are lines, one for each tensor.",
       .example = ">>> x = tensor([1.0]); allreduce_wait(allreduce_start([x]), [x])[0].tolist()\n[1.0]",
       .infer = start_infer,
       .vjp = Rule<VjpFn>::none(kToken),
       .jvp = Rule<JvpFn>::none(kToken),
       .batch = start_batch,
       .lowering = Lowering::Collective,
       .effects = kCommunicates,
       .onnx = OnnxRule::none("it is half of allreduce, which has a form as a whole")});
  table.add(
      {.signature = Signature::parse("allreduce_wait(token: tensor, tensors: tensors)"),
       .family = "collective",
       .documentation =
           "The results of what `allreduce_start` began, as soon as they are there. It is given the same "
           "tensors, so that their memory stays until then.",
       .example = ">>> x = tensor([1.0]); allreduce_wait(allreduce_start([x]), [x])[0].tolist()\n[1.0]",
       .infer = wait_infer,
       .vjp = Rule<VjpFn>::none(kToken),
       .jvp = Rule<JvpFn>::none(kToken),
       .batch = wait_batch,
       .lowering = Lowering::Collective,
       .effects = kCommunicates,
       .outputs = kVariadic,
       .onnx = OnnxRule::none("it is half of allreduce, which has a form as a whole")});
}

}  // namespace

void add_collective_ops(OpTable& table) {
  add_allreduce(table);
  add_halves(table);
  constexpr std::string_view kFlag = "its result is true or false";
  table.add({.signature = Signature::parse(fmt::format(
                 "extremal_here(x: tensor, after: tensor? = none, *, op: str[\"min\", \"max\"] = \"max\", "
                 "process_set: int = 0, {})",
                 kNamed)),
             .family = "collective",
             .documentation =
                 "For each element, is this rank the first that has the extremum over all ranks? There its "
                 "gradient goes. Ranks ask each other when `after` is there.",
             .example = ">>> extremal_here(tensor([1.0, 2.0])).tolist()\n[true, true]",
             .infer = extremal_infer,
             .vjp = Rule<VjpFn>::none(kFlag),
             .jvp = Rule<JvpFn>::none(kFlag),
             .batch = extremal_batch,
             .lowering = Lowering::Collective,
             .traits = kStopsGradient,
             .effects = kCommunicates,
             .onnx = onnx_rules::extremal_alone});
  add_row_collectives(table);
}

}  // namespace kiln
