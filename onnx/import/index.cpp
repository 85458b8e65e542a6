// Elements at places that are computed: gather, scatter.
#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

Values gather(Call& call) {
  const Tensor x = call.x(0);
  const int axis = call.axis(call.integer("axis", 0), x.rank());
  if (call.knows(1) && call.x(1).rank() == 0) {
    const std::int64_t place = call.an_int(1).known();
    const Dim size = x.size(axis);
    if (size.is_known() && (place < -size.known() || place >= size.known()))
      call.refuse("takes the place " + std::to_string(place) + " of " + to_string(x.type()));
    return {ops::select(x, axis, place < 0 ? size + place : Dim(place))};
  }
  const Tensor index = from_start(call.x(1), x.size(axis));
  const Tensor flat = ops::reshape(index, Dims{index.numel()});
  const Tensor taken = ops::index_select(x, axis, flat);
  Dims sizes(x.sizes().begin(), x.sizes().begin() + axis);
  for (const Dim each : index.sizes()) sizes.push_back(each);
  for (int d = axis + 1; d < x.rank(); ++d) sizes.push_back(x.size(d));
  return {ops::reshape(taken, sizes)};
}

Values gather_elements(Call& call) {
  const Tensor x = call.x(0);
  const int axis = call.axis(call.integer("axis", 0), x.rank());
  return {ops::gather(x, axis, from_start(call.x(1), x.size(axis)))};
}

// The places along each dimension that the last dimension of `index` names, behind those of the batch.
std::vector<Tensor> places(Call& call, const Tensor& x, const Tensor& index, int batch) {
  const int rank = index.rank() - 1;
  const std::int64_t count = index.size(rank).fixed();
  if (batch + count > x.rank() || batch > rank)
    call.refuse("names " + std::to_string(batch + count) + " dimensions of " + to_string(x.type()));
  std::vector<Tensor> all;
  for (int d = 0; d < batch; ++d) {
    Dims sizes(static_cast<std::size_t>(rank), 1);
    sizes[static_cast<std::size_t>(d)] = x.size(d);
    all.push_back(ops::reshape(ops::arange(0, x.size(d), 1, DType::I64), sizes));
  }
  for (int k = 0; k < count; ++k) all.push_back(from_start(ops::select(index, rank, k), x.size(batch + k)));
  return all;
}

Values gather_nd(Call& call) {
  const Tensor x = call.x(0);
  const auto batch = static_cast<int>(call.integer("batch_dims", 0));
  if (call.x(1).rank() < 1) call.refuse("needs indices of rank 1 at least");
  return {ops::index(x, places(call, x, call.x(1), batch))};
}

std::string_view reduction_of(Call& call) {
  const std::string word = call.word("reduction", "none");
  if (word == "none") return "";
  if (word == "add") return "sum";
  if (word == "mul") return "prod";
  if (word == "max") return "amax";
  if (word == "min") return "amin";
  call.refuse("has the unknown reduction " + word);
}

Tensor scattered(const Tensor& x, int axis, const Tensor& index, const Tensor& source,
                 std::string_view reduction) {
  if (reduction.empty()) return ops::scatter(x, axis, index, source);
  return apply("scatter_reduce", {x, index, source},
               {{"dim", Dim(axis)}, {"reduce", std::string(reduction)}});
}

Values scatter_elements(Call& call) {
  const Tensor x = call.x(0);
  const int axis = call.axis(call.integer("axis", 0), x.rank());
  return {scattered(x, axis, from_start(call.x(1), x.size(axis)), call.x(2), reduction_of(call))};
}

// As a scatter of rows: dimensions that are named are one, and so are the others.
Values scatter_nd(Call& call) {
  const Tensor x = call.x(0);
  const Tensor index = call.x(1);
  if (index.rank() < 1) call.refuse("needs indices of rank 1 at least");
  const std::string_view reduction = reduction_of(call);
  const std::vector<Tensor> along = places(call, x, index, 0);
  if (reduction.empty()) return {ops::index_put(x, along, call.x(2))};
  const auto named = static_cast<int>(along.size());
  const std::span<const Dim> sizes = x.sizes();
  const Dim rows = product(sizes.first(along.size())), row = product(sizes.subspan(along.size()));
  Tensor flat = along.empty() ? ops::zeros(Dims{}, DType::I64) : along[0];
  for (int d = 1; d < named; ++d)
    flat = ops::add(ops::mul(flat, number_operand(x.size(d))), along[static_cast<std::size_t>(d)]);
  flat = ops::to(flat, DType::I64);
  const Dim count = flat.numel();
  const Tensor spread = ops::expand(ops::reshape(flat, Dims{count, 1}), Dims{count, row});
  const Tensor made = scattered(ops::reshape(x, Dims{rows, row}), 0, ops::contiguous(spread),
                                ops::reshape(call.x(2), Dims{count, row}), reduction);
  return {ops::reshape(made, x.sizes())};
}

// Each sequence of the batch is reversed up to its length.
Values reverse_sequence(Call& call) {
  const Tensor x = call.x(0);
  const int time = call.axis(call.integer("time_axis", 0), x.rank());
  const int batch = call.axis(call.integer("batch_axis", 1), x.rank());
  const auto along = [&](const Tensor& numbers, int axis) {
    Dims sizes(static_cast<std::size_t>(x.rank()), 1);
    sizes[static_cast<std::size_t>(axis)] = x.size(axis);
    return ops::reshape(numbers, sizes);
  };
  const Tensor step = along(ops::arange(0, x.size(time), 1, DType::I64), time);
  const Tensor length = along(ops::to(call.x(1), DType::I64), batch);
  const Tensor reversed = ops::sub(ops::sub(length, step), Tensor::number(std::int64_t{1}));
  const Tensor index = ops::where(ops::lt(step, length), reversed, step);
  return {ops::gather(x, time, ops::contiguous(ops::expand(index, x.sizes())))};
}

// Rows of the cache from given places on become those of the update.
Values tensor_scatter(Call& call) {
  const Tensor cache = call.x(0);
  const Tensor update = call.x(1);
  const int axis = call.axis(call.integer("axis", -2), cache.rank());
  const std::string mode = call.word("mode", "linear");
  Dims places(static_cast<std::size_t>(cache.rank()), 1);
  places[static_cast<std::size_t>(axis)] = update.size(axis);
  Tensor index = ops::reshape(ops::arange(0, update.size(axis), 1, DType::I64), places);
  if (call.has(2)) {
    Dims batch(static_cast<std::size_t>(cache.rank()), 1);
    batch[0] = cache.size(0);
    index = ops::add(index, ops::reshape(ops::to(call.x(2), DType::I64), batch));
  }
  if (mode == "circular")
    index = ops::to(ops::remainder(index, number_operand(cache.size(axis))), DType::I64);
  return {ops::scatter(cache, axis, ops::contiguous(ops::expand(index, update.sizes())), update)};
}

constexpr Operator kIndexOperators[] = {
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"ReverseSequence", reverse_sequence},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"TensorScatter", tensor_scatter},
};

}  // namespace

std::span<const Operator> index_operators() { return kIndexOperators; }

}  // namespace kiln::onnx
