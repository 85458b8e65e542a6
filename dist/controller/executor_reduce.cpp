// Reductions over ranks: factors, buffers that tensors share, and what stands in for ranks that have joined.
#include "dist/controller/executor_reduce.h"

#include "dist/algorithms/reductions.h"
#include "dist/controller/spans.h"

namespace kiln::dist {
namespace {

// Factors of a collective with an average among them.
struct Factors {
  double before, after;
  explicit Factors(const Agreement& a) : before(a.call.prescale), after(a.call.postscale) {
    if (a.call.op == kiln::ReduceOp::Average) after /= static_cast<double>(a.ranks.size());
  }
};

ReduceOp plain_op(kiln::ReduceOp op) {
  switch (op) {
    case kiln::ReduceOp::Min:
      return ReduceOp::Min;
    case kiln::ReduceOp::Max:
      return ReduceOp::Max;
    case kiln::ReduceOp::Product:
      return ReduceOp::Product;
    default:
      return ReduceOp::Sum;
  }
}

// Halves that are scaled stay f32 from the first factor to the last, so that they are rounded once.
DType working_dtype(DType dtype, const Factors& factors) {
  const bool is_half = dtype == DType::F16 || dtype == DType::BF16;
  return is_half && (factors.before != 1 || factors.after != 1) ? DType::F32 : dtype;
}

// One tensor of a shared buffer.
struct Part {
  const TensorSpec* spec;
  const Submitted* input;  // null: this rank has joined
  Tensor output;
  Bytes work;
};

std::vector<Part> parts_of(std::span<Work> works) {
  std::vector<Part> parts;
  for (Work& work : works) {
    const std::vector<TensorSpec>& specs = work.agreement->call.tensors;
    for (std::size_t i = 0; i < specs.size(); ++i)
      parts.push_back({&specs[i], work.inputs.empty() ? nullptr : work.inputs[i].get(), {}, {}});
  }
  return parts;
}

// One tensor that needs neither factor nor conversion before the sum: from where it was submitted into its
// result.
void reduce_directly(const Group& group, const Agreement& agreement, Part& part, double after) {
  const DType dtype = part.spec->dtype;
  Memory& memory = *group.memory;
  part.work = memory.output(part.output);
  allreduce(group, dtype, plain_op(agreement.call.op), memory.input(part.input->bytes()), part.work);
  memory.scale(dtype, part.work, dtype, part.work, after);
}

// Reduces tensors of one dtype in one buffer.
void reduce_in_buffer(const Group& group, const Agreement& agreement, std::span<Part> parts,
                      const Factors& factors) {
  const DType dtype = parts.front().spec->dtype;
  const DType working = working_dtype(dtype, factors);
  Memory& memory = *group.memory;
  std::size_t bytes = 0;
  for (const Part& part : parts) bytes += static_cast<std::size_t>(part.spec->numel()) * size_of(working);
  const Room buffer = memory.room(bytes);
  std::size_t at = 0;
  begin_phase("copy in");
  for (Part& part : parts) {
    part.work = buffer.bytes.subspan(at, static_cast<std::size_t>(part.spec->numel()) * size_of(working));
    at += part.work.size();
    if (part.input != nullptr) {
      memory.scale(dtype, memory.input(part.input->bytes()), working, part.work, factors.before);
    } else {
      memory.fill_neutral(working, agreement.call.op, part.work);
    }
  }
  begin_phase("allreduce");
  if (agreement.call.op == kiln::ReduceOp::Adasum) {
    for (const Part& part : parts) adasum(group, working, part.work);
  } else {
    allreduce(group, working, plain_op(agreement.call.op), buffer.bytes, buffer.bytes);
  }
  begin_phase("copy out");
  for (Part& part : parts) {
    if (part.input != nullptr)
      memory.scale(working, part.work, dtype, memory.output(part.output), factors.after);
  }
}

void reduce_together(const Group& group, const Agreement& agreement, std::span<Part> parts) {
  const Factors factors(agreement);
  for (Part& part : parts) {
    if (part.input != nullptr) part.output = result_of(group, *part.input, *part.spec);
  }
  Part& first = parts.front();
  const bool is_direct = parts.size() == 1 && first.input != nullptr && factors.before == 1 &&
                         working_dtype(first.spec->dtype, factors) == first.spec->dtype &&
                         agreement.call.op != kiln::ReduceOp::Adasum;
  if (is_direct) return reduce_directly(group, agreement, first, factors.after);
  reduce_in_buffer(group, agreement, parts, factors);
}

}  // namespace

Tensor made(const Group& group, const TensorSpec& spec) {
  return group.memory->made(Dims(spec.sizes.begin(), spec.sizes.end()), spec.dtype);
}

Tensor result_of(const Group& group, const Submitted& input, const TensorSpec& spec) {
  return input.result() ? input.result() : made(group, spec);
}

void perform_allreduce(const Group& group, std::span<Work> works) {
  std::vector<Part> parts = parts_of(works);
  // Tensors of one group may differ in dtype: each run of equal ones is a buffer.
  for (std::size_t begin = 0; begin < parts.size();) {
    std::size_t end = begin + 1;
    while (end < parts.size() && parts[end].spec->dtype == parts[begin].spec->dtype) ++end;
    reduce_together(group, *works.front().agreement, std::span(parts).subspan(begin, end - begin));
    begin = end;
  }
  auto part = parts.begin();
  for (Work& work : works) {
    for (std::size_t i = 0; i < work.agreement->call.tensors.size(); ++i, ++part) {
      if (part->input != nullptr) work.outputs.push_back(std::move(part->output));
    }
  }
}

void scatter_parts(const Group& group, Work& work, std::span<const Range> parts, Tensor output) {
  const Factors factors(*work.agreement);
  const Signature& call = work.agreement->call;
  const DType dtype = call.tensors.front().dtype;
  const DType working = working_dtype(dtype, factors);
  const auto count = static_cast<std::size_t>(call.tensors.front().numel());
  Memory& memory = *group.memory;
  const Room scaled = memory.room(count * size_of(working)),
             part = memory.room(parts[group.me].count() * size_of(working));
  memory.scale(dtype, memory.input(work.inputs.front()->bytes()), working, scaled.bytes, factors.before);
  reduce_scatter(group, working, plain_op(call.op), scaled.bytes, parts, part.bytes);
  memory.scale(working, part.bytes, dtype, memory.output(output), factors.after);
}

}  // namespace kiln::dist
