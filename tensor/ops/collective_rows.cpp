// Owns the rows of collectives that move: allgather, broadcast, alltoall and reducescatter.
#include <fmt/format.h>

#include "tensor/onnx/rules.h"
#include "tensor/ops/collectives.h"

namespace kiln {

void add_row_collectives(OpTable& table);

namespace {

using ops::batch_first;
using ops::for_gradient;
using ops::for_tangent;
using ops::rows_first;

TensorType with_rows(const TensorType& x, Dim rows) {
  Dims sizes = x.sizes;
  sizes[0] = rows;
  return rules::with_sizes(x, sizes);
}
Dim total_of(const Attrs& attrs) {
  const auto* total = attrs.find<Dim>("total");
  return total != nullptr ? *total : Dim(-1);
}

// An example of a batch must have rows itself.
void check_examples(const Tensor& batched, const Attrs& attrs) {
  TensorType example = batched.type();
  example.sizes.erase(example.sizes.begin());
  ops::check_rows(example, attrs);
}
Tensors batch_of_rows(const BatchArgs& args) {
  check_examples(args.inputs[0], args.attrs);
  const Tensor x = rows_first(args.inputs[0]);
  return {batch_first(kiln::bind(args.op, {&x, 1}, args.attrs)[0])};
}
Tensors batch_as_it_is(const BatchArgs& args) { return kiln::bind(args.op, args.inputs, args.attrs); }

// ---- allgather, reducescatter ----------------------------------------------------------------------------

std::vector<TensorType> allgather_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  ops::check_rows(inputs[0], attrs);
  return {with_rows(inputs[0], total_of(attrs))};
}
std::vector<TensorType> reducescatter_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  ops::check_rows(inputs[0], attrs);
  ops::check_summed(inputs[0], attrs);
  return {with_rows(inputs[0], attrs.get<Dim>("rows"))};
}

// Of the sum of all gradients each rank has its own rows.
Tensors allgather_vjp(const VjpArgs& args) {
  static const Op& scatter = op_named("reducescatter");
  Attrs attrs = ops::attrs_like(scatter, for_gradient(args.attrs));
  attrs.set("rows", args.input_types[0].sizes[0]);
  return kiln::bind(scatter, args.grads, attrs);
}
Tensors allgather_jvp(const JvpArgs& args) {
  Attrs attrs = for_tangent(args.attrs);
  attrs.set("total", args.outputs[0].size(0));
  return kiln::bind(args.op, args.tangents, attrs);
}

Tensors reducescatter_vjp(const VjpArgs& args) {
  static const Op& gather = op_named("allgather");
  Attrs attrs = ops::attrs_like(gather, for_gradient(args.attrs));
  attrs.set("total", args.input_types[0].sizes[0]);
  const double scale = args.attrs.get<double>("prescale") * args.attrs.get<double>("postscale");
  const Tensor scaled = scale == 1 ? args.grads[0] : args.grads[0] * scale;
  return kiln::bind(gather, {&scaled, 1}, attrs);
}

Tensors jvp_alike(const JvpArgs& args) { return kiln::bind(args.op, args.tangents, for_tangent(args.attrs)); }

// ---- broadcast_from, reduce_to ---------------------------------------------------------------------------

std::vector<TensorType> broadcast_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  ops::check_tensor(inputs[0], attrs);
  return {inputs[0]};
}
std::vector<TensorType> reduce_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  ops::check_summed(inputs[0], attrs);
  return {inputs[0]};
}

Tensors adjoint(std::string_view of, const VjpArgs& args) {
  const Op& other = op_named(of);
  Attrs attrs = ops::attrs_like(other, for_gradient(args.attrs));
  attrs.set("root", args.attrs.at("root"));
  return kiln::bind(other, args.grads, attrs);
}
Tensors broadcast_vjp(const VjpArgs& args) { return adjoint("reduce_to", args); }
Tensors reduce_vjp(const VjpArgs& args) { return adjoint("broadcast_from", args); }

// ---- alltoall --------------------------------------------------------------------------------------------

std::vector<TensorType> alltoall_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  ops::check_rows(inputs[0], attrs);
  const auto* ranks = attrs.find<Dim>("ranks");
  Dims counts{ranks != nullptr ? *ranks : Dim(-1)};
  if (!inputs[1].is_number) {
    rules::check_index_dtype(inputs[1], "alltoall", 1);
    if (inputs[1].sizes.size() != 1) {
      throw OpError(
          ErrorKind::Shape,
          fmt::format("alltoall: splits must be a vector with a count of rows for each rank, it is {}",
                      to_string(inputs[1])),
          {1});
    }
    counts = inputs[1].sizes;
  }
  return {with_rows(inputs[0], total_of(attrs)), {DType::I64, inputs[0].device, counts}};
}

// What was sent comes back, and zeros for rows that were not.
Tensors alltoall_vjp(const VjpArgs& args) {
  Attrs attrs = for_gradient(args.attrs);
  attrs.set("total", args.input_types[0].sizes[0]);
  const Tensor operands[] = {args.grads[0], args.outputs[1]};
  return {kiln::bind(args.op, operands, attrs)[0], Tensor()};
}
Tensors alltoall_jvp(const JvpArgs& args) {
  Attrs attrs = for_tangent(args.attrs);
  attrs.set("total", args.outputs[0].size(0));
  const Tensor operands[] = {args.tangents[0], args.inputs[1]};
  return {kiln::bind(args.op, operands, attrs)[0], Tensor()};
}

// The examples go together, so each rank gets as many rows of all of them.
Tensor shared_splits(const BatchArgs& args) {
  if (!args.batched[1]) return args.inputs[1];
  const Dim batch[] = {0};
  const Tensor least = ops::amin(args.inputs[1], batch);
  return ops::checked(least, ops::eq(least, ops::amax(args.inputs[1], batch)),
                      "alltoall: how many rows go to a rank differs from example to example");
}

Tensors alltoall_batch(const BatchArgs& args) {
  const Tensor x = rules::with_batch(args, 0);
  check_examples(x, args.attrs);
  const Tensor operands[] = {rows_first(x), shared_splits(args)};
  const Tensors results = kiln::bind(args.op, operands, args.attrs);
  const Tensor counts = ops::expand(results[1], rules::prepend(args.batch_size, results[1].sizes()));
  return {batch_first(results[0]), counts};
}

// ---- The rows --------------------------------------------------------------------------------------------

Signature row_signature(std::string_view own, std::string_view results = "") {
  return Signature::parse(
      fmt::format("{}, process_set: int = 0, name: str = \"\", place: str = \"\"){}", own, results));
}

void add_gathering(OpTable& table) {
  table.add(
      {.signature = row_signature("allgather(x: tensor, *, total: int? = none"),
       .family = "collective",
       .documentation =
           "The rows of all ranks, in their order; ranks may have other numbers of rows. `total` says how "
           "many there are together, where that is known: then the shape does not depend on other ranks.",
       .example = ">>> allgather(tensor([1.0, 2.0])).tolist()\n[1.0, 2.0]",
       .infer = allgather_infer,
       .vjp = allgather_vjp,
       .jvp = allgather_jvp,
       .batch = batch_of_rows,
       .lowering = Lowering::Collective,
       .effects = kCommunicates,
       .onnx = onnx_rules::allgather,
       .complex = ops::rows_of_pairs});
  table.add(
      {.signature = row_signature("reducescatter(x: tensor, *, rows: int, prescale: float = 1.0, "
                                  "postscale: float = 1.0"),
       .family = "collective",
       .documentation =
           "The next `rows` rows of the sum over all ranks: those of the ranks follow each other, and are "
           "all rows.",
       .example = ">>> reducescatter(tensor([1.0, 2.0]), rows=2).tolist()\n[1.0, 2.0]",
       .infer = reducescatter_infer,
       .vjp = reducescatter_vjp,
       .jvp = jvp_alike,
       .batch = batch_of_rows,
       .lowering = Lowering::Collective,
       .effects = kCommunicates,
       .onnx = onnx_rules::reducescatter,
       .complex = ops::rows_of_pairs});
}

void add_rooted(OpTable& table) {
  table.add({.signature = row_signature("broadcast_from(x: tensor, *, root: int"),
             .family = "collective",
             .documentation = "The tensor that rank `root` has, on each rank.",
             .example = ">>> broadcast_from(tensor([1.0, 2.0]), root=0).tolist()\n[1.0, 2.0]",
             .infer = broadcast_infer,
             .vjp = broadcast_vjp,
             .jvp = jvp_alike,
             .batch = batch_as_it_is,
             .lowering = Lowering::Collective,
             .traits = kInplace,
             .effects = kCommunicates,
             .onnx = onnx_rules::moved_alone,
             .complex = ops::of_pairs});
  table.add({.signature = row_signature("reduce_to(x: tensor, *, root: int"),
             .family = "collective",
             .documentation = "The sum over all ranks on rank `root`, and zeros on the others.",
             .example = ">>> reduce_to(tensor([1.0, 2.0]), root=0).tolist()\n[1.0, 2.0]",
             .infer = reduce_infer,
             .vjp = reduce_vjp,
             .jvp = jvp_alike,
             .batch = batch_as_it_is,
             .lowering = Lowering::Collective,
             .effects = kCommunicates,
             .onnx = onnx_rules::moved_alone,
             .complex = ops::of_pairs});
}

}  // namespace

void add_row_collectives(OpTable& table) {
  add_gathering(table);
  add_rooted(table);
  table.add(
      {.signature = row_signature("alltoall(x: tensor, splits: tensor? = none, *, total: int? = none, "
                                  "ranks: int? = none",
                                  " -> (received, received_splits)"),
       .family = "collective",
       .documentation =
           "Sends the next `splits[r]` rows to each rank r, evenly without `splits`, and gives the rows "
           "that arrive, in the order of ranks, with how many each sent. `total` says how many rows the "
           "result has, where that is known: zeros follow those that arrive; `ranks` how many there are.",
       .example = ">>> alltoall(tensor([1.0, 2.0])).received.tolist()\n[1.0, 2.0]",
       .infer = alltoall_infer,
       .vjp = alltoall_vjp,
       .jvp = alltoall_jvp,
       .batch = alltoall_batch,
       .saves = saves_output(1),
       .lowering = Lowering::Collective,
       .effects = kCommunicates,
       .outputs = 2,
       .onnx = onnx_rules::alltoall,
       .complex = ops::rows_of_pairs});
}

}  // namespace kiln
