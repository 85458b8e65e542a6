// Hands collectives on to who carries them out, and gives what came of them.
#include "tensor/ops/collectives.h"

#include <algorithm>
#include <limits>

#include "tensor/cpu/backend.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln::cpu {
namespace {

// The elements row by row, as they are now: a program that writes to `x` before the result is there writes to
// a copy.
Tensor kept(const Tensor& x) {
  const Tensor rows = ops::contiguous(x);
  return Tensor::from_storage(Storage::create(rows.storage()->buffer()), rows.layout(), rows.dtype());
}

// What no job has stays what no job has.
int number_of(const Attrs& attrs, std::string_view name) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp<std::int64_t>(attrs.get<std::int64_t>(name), -1, kMost));
}
int set_of(const Attrs& attrs) { return number_of(attrs, "process_set"); }

Collective described(Collective::Kind kind, const Tensor& x, const Attrs& attrs) {
  Collective collective{.kind = kind, .input = kept(x), .process_set = set_of(attrs)};
  collective.name = attrs.get<std::string>("name");
  collective.place = attrs.get<std::string>("place");
  return collective;
}

std::optional<std::int64_t> total_of(const Attrs& attrs) {
  const auto* total = attrs.find<Dim>("total");
  return total != nullptr ? std::optional(total->fixed()) : std::nullopt;
}

// The host has it, and it goes anywhere.
Tensor number(std::int64_t value) {
  Tensor result = Tensor::empty({}, DType::I64, Device{});
  *result.writable<std::int64_t>() = value;
  return result;
}

// ---- The halves of allreduce ----

Tensors start(const Op&, const Attrs& attrs, Inputs inputs, Stream&) {
  const auto names = ops::lines_of(attrs.get<std::string>("names"), inputs.size());
  const auto places = ops::lines_of(attrs.get<std::string>("places"), inputs.size());
  std::vector<Collective> all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    all.push_back({.kind = Collective::Kind::AllReduce,
                   .input = kept(inputs[i]),
                   .op = reduce_op_named(attrs.get<std::string>("op")),
                   .prescale = attrs.get<double>("prescale"),
                   .postscale = attrs.get<double>("postscale"),
                   .process_set = set_of(attrs),
                   .name = names[i],
                   .group = attrs.get<std::string>("group"),
                   .place = places[i]});
  }
  return {number(static_cast<std::int64_t>(start_collectives(std::move(all))))};
}

Tensors wait(const Op&, const Attrs&, Inputs inputs, Stream&) {
  return collectives().wait(static_cast<std::uint64_t>(*inputs[0].data<std::int64_t>()));
}

// ---- The others ----

Tensors allgather(const Op&, const Attrs& attrs, Inputs inputs, Stream&) {
  Collective collective = described(Collective::Kind::AllGather, inputs[0], attrs);
  collective.total = total_of(attrs);
  return collectives().run(std::move(collective));
}

Tensors reducescatter(const Op&, const Attrs& attrs, Inputs inputs, Stream&) {
  Collective collective = described(Collective::Kind::ReduceScatter, inputs[0], attrs);
  collective.prescale = attrs.get<double>("prescale");
  collective.postscale = attrs.get<double>("postscale");
  collective.rows = attrs.get<std::int64_t>("rows");
  return collectives().run(std::move(collective));
}

template <Collective::Kind kind>
Tensors rooted(const Op&, const Attrs& attrs, Inputs inputs, Stream&) {
  Collective collective = described(kind, inputs[0], attrs);
  collective.root = number_of(attrs, "root");
  return collectives().run(std::move(collective));
}

Tensors alltoall(const Op&, const Attrs& attrs, Inputs inputs, Stream&) {
  Collective collective = described(Collective::Kind::AllToAll, inputs[0], attrs);
  collective.total = total_of(attrs);
  if (inputs[1]) {
    const HostView splits(inputs[1], DType::I64);
    const auto* const first = splits.as<std::int64_t>();
    collective.splits.assign(first, first + inputs[1].numel().known());
  }
  Tensors results = collectives().run(std::move(collective));
  results[1] = ops::to(results[1], inputs[0].device());
  return results;
}

// The first of the ranks that have the extremum: each says where it has it by its own number, others by one
// that is none.
Tensors extremal_here(const Op&, const Attrs& attrs, Inputs inputs, Stream&) {
  Collective extremum = described(Collective::Kind::AllReduce, inputs[0], attrs);
  extremum.op = reduce_op_named(attrs.get<std::string>("op"));
  const Tensor x = extremum.input;
  const Tensor found = collectives().run(std::move(extremum))[0];
  const Tensor is_equal =
      ops::logical_or(ops::eq(x, found), ops::logical_and(ops::isnan(x), ops::isnan(found)));
  const Tensor rank = number(collectives().rank(set_of(attrs)));
  const Tensor none = number(collectives().size(set_of(attrs)));
  Collective first = described(Collective::Kind::AllReduce, ops::where(is_equal, rank, none), attrs);
  first.op = ReduceOp::Min;
  if (!first.name.empty()) first.name += ".rank";
  first.place += " (rank)";
  return {ops::eq(collectives().run(std::move(first))[0], rank)};
}

}  // namespace

void add_collective_kernels(Kernels& kernels) {
  kernels.add("allreduce_start", {.give = start});
  kernels.add("allreduce_wait", {.give = wait});
  kernels.add("allgather", {.give = allgather});
  kernels.add("reducescatter", {.give = reducescatter});
  kernels.add("broadcast_from", {.give = rooted<Collective::Kind::Broadcast>});
  kernels.add("reduce_to", {.give = rooted<Collective::Kind::Reduce>});
  kernels.add("alltoall", {.give = alltoall});
  kernels.add("extremal_here", {.give = extremal_here});
}

}  // namespace kiln::cpu
