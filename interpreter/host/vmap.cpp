// vmap: a function of one example as a function of a batch.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/host/pytree.h"
#include "interpreter/host/transforms.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/functions.h"
#include "tensor/how_many.h"
#include "tensor/levels/batch_level.h"
#include "tensor/random.h"

namespace kiln::interp {
namespace {

using namespace host;
using kiln::Dim;
using kiln::Tensor;
using levels::BatchLevel;
using levels::Randomness;
using Args = std::span<Value>;

struct VmapOptions {
  Value in_dims, out_dims;
  Randomness randomness;
  std::optional<Dim> chunk_size;
  void visit_references(ReferenceVisitor& visitor) const {
    interp::visit_references(in_dims, visitor);
    interp::visit_references(out_dims, visitor);
  }
};

Tensor move_dim(const Tensor& x, int from, int to) {
  if (from == to) return x;
  kiln::Dims order;
  for (int d = 0; d < x.rank(); ++d) {
    if (d != from) order.push_back(d);
  }
  order.insert(order.begin() + to, from);
  return kiln::ops::permute(x, order);
}

// `dim` counted from the front; ValueError in the words of `what` when it is none of `rank`.
int checked_dim(const Value& dim, int rank, const std::string& what, const std::string& of) {
  if (!dim.is(Tag::Int))
    raise("ValueError", fmt::format("vmap: {} must hold ints and none, got {}", what, describe(dim)));
  const std::int64_t given = dim.as_int();
  if (given < -rank || given >= rank)
    raise("ValueError", fmt::format("vmap: {} {} is out of range for {}", what, given, of));
  return static_cast<int>(given < 0 ? given + rank : given);
}

// The arguments, every tensor that is batched with the batch moved to dimension 0.
struct Batch {
  Value arguments;            // a tuple
  std::vector<bool> batched;  // by leaf
  Dim size = -1;
};

// Takes the leaves of the arguments one after the other.
class ResultCollector {
 public:
  explicit ResultCollector(const VmapOptions& options, const Value& arguments) : arguments_(arguments) {
    const auto* dims = items_of(options.in_dims);
    const std::size_t count = arguments.as<Tuple>().items.size();
    if (dims && dims->size() != count) {
      raise("ValueError",
            fmt::format("vmap: in_dims has {} item{}, the call has {} positional argument{}", dims->size(),
                        dims->size() == 1 ? "" : "s", count, count == 1 ? "" : "s"));
    }
    dims_ = broadcast_prefix(arguments, options.in_dims, "vmap: in_dims");
  }

  Batch collect() {
    batch_.arguments =
        map_leaves(arguments_, [&](const Value& leaf, const std::string& path) { return take(leaf, path); });
    if (batch_.size < 0) {
      raise("ValueError", "vmap: nothing is batched: in_dims is none for every tensor of the call",
            "say which dimension holds the examples");
    }
    return std::move(batch_);
  }

 private:
  Value take(const Value& leaf, const std::string& path) {
    const Value& dim = dims_[batch_.batched.size()];
    const bool whole_argument = path.find('.') == std::string::npos;
    const bool batched = !dim.is_none() && leaf.is(Tag::Tensor);
    batch_.batched.push_back(batched);
    if (!dim.is_none() && !batched && whole_argument) {
      raise(
          "ValueError",
          fmt::format("vmap: in_dims is {} for argument {}, which is {} and has no examples",
                      dim.is(Tag::Int) ? std::to_string(dim.as_int()) : describe(dim), path, describe(leaf)),
          "write none in its place in in_dims");
    }
    if (!batched) return leaf;
    const Tensor x = leaf.as_tensor();
    const std::string of = fmt::format("argument {}, a {}", path, kiln::to_string(x.type()));
    const int from = checked_dim(dim, x.rank(), "in_dims", of);
    check_size(x.size(from), from, of);
    return Value(move_dim(x, from, 0));
  }

  void check_size(Dim size, int dim, const std::string& of) {
    if (batch_.size >= 0 && size != batch_.size) {
      raise("ValueError", fmt::format("vmap: sizes differ: {} has {} along dimension {}, {} has {}", of,
                                      how_many(size, "example"), dim, first_, batch_.size));
    }
    if (batch_.size < 0) first_ = of;
    batch_.size = size;
  }

  const Value& arguments_;
  std::vector<Value> dims_;
  Batch batch_;
  std::string first_;
};

// Examples from `start` on, `size` of them.
Value part(const Batch& batch, Dim start, Dim size) {
  std::size_t next = 0;
  return map_leaves(batch.arguments, [&](const Value& leaf, const std::string&) {
    if (!batch.batched[next++]) return leaf;
    return Value(kiln::ops::slice(leaf.as_tensor(), 0, start, start + size));
  });
}

// Runs f on a batch, the examples from `start` on of the whole: outputs with the batch as dimension 0 where
// `out_dims` has a place for it.
Value run(Interpreter& interpreter, const Value& f, const Call& call, const Value& arguments,
          const Batch& batch, Dim start, Dim size, const VmapOptions& options) {
  BatchLevel level(size, options.randomness, start, batch.size);
  std::size_t next = 0;
  const Value examples = map_leaves(arguments, [&](const Value& leaf, const std::string&) {
    return batch.batched[next++] ? Value(level.example_of(leaf.as_tensor())) : leaf;
  });
  const Value out = call_with(interpreter, f, {examples.as<Tuple>().items, call.named});
  const std::vector<Value> dims = broadcast_prefix(out, options.out_dims, "vmap: out_dims");
  next = 0;
  return map_leaves(out, [&](const Value& leaf, const std::string& path) {
    const Value& dim = dims[next++];
    if (!leaf.is(Tag::Tensor) && !is_any_number(leaf)) return leaf;
    const Tensor x = to_operand(leaf);
    if (!dim.is_none()) return Value(level.batch_of(x));
    if (!level.owns(x)) return leaf;
    raise("ValueError", fmt::format("vmap: out_dims is none for output {}, which differs from example to "
                                    "example",
                                    path.empty() ? "0" : path));
  });
}

// Joins the outputs of chunks, and moves the batch to where `out_dims` wants it.
Value assemble(const std::vector<Value>& chunks, const Value& out_dims) {
  const std::vector<Value> dims = broadcast_prefix(chunks.front(), out_dims, "vmap: out_dims");
  std::vector<std::vector<Tensor>> pieces;
  for (const Value& chunk : chunks) pieces.push_back(tensors_in(chunk));
  std::size_t next_leaf = 0, next_tensor = 0;
  return map_leaves(chunks.front(), [&](const Value& leaf, const std::string&) {
    const Value& dim = dims[next_leaf++];
    if (!leaf.is(Tag::Tensor)) return leaf;
    const std::size_t at = next_tensor++;
    if (dim.is_none()) return leaf;
    std::vector<Tensor> column;
    for (const auto& each : pieces) column.push_back(each[at]);
    const Tensor whole = column.size() == 1 ? column[0] : kiln::ops::cat(column, 0);
    const int to = checked_dim(dim, whole.rank(), "out_dims",
                               fmt::format("an output that is {} with its batch", describe(Value(whole))));
    return Value(move_dim(whole, 0, to));
  });
}

Value run_batched(Interpreter& interpreter, const Value& f, const VmapOptions& options, const Call& call) {
  const Value arguments = tuple_value(call.positional);
  const Batch batch = ResultCollector(options, arguments).collect();
  if (!options.chunk_size || *options.chunk_size >= batch.size) {
    return assemble({run(interpreter, f, call, batch.arguments, batch, 0, batch.size, options)},
                    options.out_dims);
  }
  const kiln::Generator before = kiln::generator();
  std::vector<Value> chunks;
  for (Dim start = 0; start < batch.size; start += *options.chunk_size) {
    const Dim size = std::min(*options.chunk_size, batch.size - start);
    levels::rewind_draws(before);  // every chunk draws its part of the same numbers
    chunks.push_back(run(interpreter, f, call, part(batch, start, size), batch, start, size, options));
  }
  return assemble(chunks, options.out_dims);
}

Randomness randomness_argument(const Value& value) {
  const std::string& text = text_argument(value, "randomness");
  if (text == "error") return Randomness::Error;
  if (text == "different") return Randomness::Different;
  if (text == "same") return Randomness::Same;
  raise("ValueError",
        fmt::format("vmap: randomness is \"error\", \"different\" or \"same\", not \"{}\"", text));
}

Value vmap(Interpreter&, Args a) {
  VmapOptions options{a[1], a[2], randomness_argument(a[3]), std::nullopt};
  if (!a[4].is_none()) {
    options.chunk_size = int_argument(a[4], "chunk_size");
    if (*options.chunk_size < 1)
      raise("ValueError", fmt::format("vmap: chunk_size must be at least 1, it is {}", *options.chunk_size));
  }
  return transformed("vmap", a[0],
                     holding([](const Value& f, const VmapOptions& held, Interpreter& interpreter,
                                const Call& call) { return run_batched(interpreter, f, held, call); },
                             a[0], options));
}

constexpr NativeDef kVmapNatives[] = {
    {"vmap(f, in_dims=0, out_dims=0, randomness=\"error\", chunk_size=none)",
     "A function that applies f, written for one example, to a batch at once. `in_dims` says for each "
     "argument which dimension holds the examples (none: all share it), `out_dims` where the results have "
     "them. `randomness` is \"error\", \"different\" or \"same\"; `chunk_size` bounds how many run "
     "together.\n"
     ">>> vmap(dot)(tensor([[1, 2], [3, 4]]), tensor([[1, 1], [0, 1]])).tolist()\n[3, 4]",
     vmap},
};

}  // namespace

std::span<const NativeDef> vmap_natives() { return kVmapNatives; }

}  // namespace kiln::interp
