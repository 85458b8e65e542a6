// Kernels on cards of the rows that copy elements, and of those that make tensors from sizes, numbers and
// indices.
#include "tensor/ops/create.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "tensor/backend.h"
#include "tensor/cuda/axes.h"
#include "tensor/cuda/context.h"
#include "tensor/cuda/copy.h"
#include "tensor/cuda/faults.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/kernels/create_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/program.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/ops/rules.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kCreateText = R"(#include "tensor/cuda/kernels/create.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__({threads}) {name}(const {job} job) {{ {body}(job); }}
)";

// How one kernel is written.
struct Form {
  std::string name, job, body;
};

template <class Job>
void launch(const Tensor& result, const Form& form, Job job) {
  Context& context = Context::of(result.device());
  const std::string text =
      fmt::format(kCreateText, fmt::arg("threads", kThreadsOfBlock), fmt::arg("name", form.name),
                  fmt::arg("job", form.job), fmt::arg("body", form.body));
  run(context, {.function = function_of(context, text, form.name), .threads = job.count}, job);
}

// ---- Copies and fills ------------------------------------------------------------------------------------

void copy_source(const Op& op, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  rules::check_fits(inputs[1], outputs[0].dtype(), op.name(), 1);
  copy_elements(outputs[0], inputs[1]);
}

void zero(const Op&, const Attrs&, Inputs, Outputs outputs, Stream&) {
  fill_elements(outputs[0], Tensor::number(false));
}

void copy_input(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  copy_elements(outputs[0], inputs[0]);
}

// Rows that lower to a fill: the number is the row's, or the first operand.
void filled(const Op& op, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const auto& fill_of = *op.lowering.as<lowering::Fill>();
  if (fill_of.number) return fill_elements(outputs[0], Tensor::number(*fill_of.number));
  rules::check_fits(inputs[0], outputs[0].dtype(), op.name(), 0);
  copy_elements(outputs[0], Tensor::alias(inputs[0], Layout{{}, {}, inputs[0].offset()}));
}

void filled_by_attribute(const Op& op, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  const Tensor number = rules::number_attr(attrs.at("fill_value"));
  rules::check_fits(number, outputs[0].dtype(), op.name());
  fill_elements(outputs[0], number);
}

void uninitialized(const Op&, const Attrs&, Inputs, Outputs, Stream&) {}

// ---- Ranges and matrices ---------------------------------------------------------------------------------

const char* name_of(const WholeRange&) { return "WholeRange"; }
const char* name_of(const RealRange&) { return "RealRange"; }
const char* name_of(const WholeSpacing&) { return "WholeSpacing"; }
const char* name_of(const RealSpacing&) { return "RealSpacing"; }

template <class Range>
void fill_range(const Op& op, const Tensor& result, const Range& range) {
  launch(result,
         {fmt::format("{}_{}", op.name(), name(result.dtype())), fmt::format("RangeJob<{}>", name_of(range)),
          fmt::format("fill_range<{}>", element_name(result.dtype()))},
         RangeJob<Range>{result.numel().fixed(), range, result.raw_writable()});
}

void arange(const Op& op, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  std::visit([&](const auto& range) { fill_range(op, outputs[0], range); },
             range_of(attrs, outputs[0].dtype()));
}
void linspace(const Op& op, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  std::visit([&](const auto& range) { fill_range(op, outputs[0], range); }, spacing_of(attrs, outputs[0]));
}

void eye(const Op&, const Attrs&, Inputs, Outputs outputs, Stream&) {
  const Tensor& result = outputs[0];
  launch(result,
         {fmt::format("eye_{}", name(result.dtype())), "EyeJob",
          fmt::format("fill_eye<{}>", element_name(result.dtype()))},
         EyeJob{result.numel().fixed(), result.size(1).fixed(), result.raw_writable()});
}

template <bool kLower>
void triangle(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& result = outputs[0];
  if (result.numel() == 0) return;
  const Tensor bits = as_bits(inputs[0]);
  const IntDims strides[] = {IntDims(bits.strides())};
  const WalkAxes walk(IntDims(bits.sizes()), strides);
  if (!walk.fits()) {
    const Tensor ordered[] = {laid_out(inputs[0])};
    Stream none;
    return triangle<kLower>(op, attrs, ordered, outputs, none);
  }
  TriangleJob job{.count = result.numel().fixed(),
                  .rows = result.size(result.rank() - 2).fixed(),
                  .columns = result.size(result.rank() - 1).fixed(),
                  .diagonal = triangle_diagonal(attrs),
                  .axes = walk.argument<1>(),
                  .source = nullptr,
                  .result = result.raw_writable()};
  job.source = bits.raw();
  launch(result,
         {fmt::format("{}_{}_bytes", op.name(), size_of(bits.dtype())), "TriangleJob",
          fmt::format("keep_triangle<{}, {}>", element_name(bits.dtype()), kLower)},
         job);
}

// ---- one_hot ---------------------------------------------------------------------------------------------

CountedOutputs count_classes(const Op&, const Attrs&, Inputs inputs, Stream&) {
  const Tensor& index = inputs[0];
  check_some_class(index);
  const Tensor largest = largest_index(index);
  const HostView view(largest, DType::I64);
  return {{one_hot_type(index, *view.as<std::int64_t>())}, {}};
}

void one_hot(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& result = outputs[0];
  const Tensor index = inputs[0].is_contiguous() ? inputs[0] : laid_out(inputs[0]);
  const std::int64_t classes = result.sizes().back().fixed(), rows = index.numel().fixed();
  if (rows == 0) return;
  Context& context = Context::of(result.device());
  // What it holds stays as it is: who writes to the index takes other memory.
  const Tensor kept =
      Tensor::from_storage(Storage::create(index.storage()->buffer()), index.layout(), index.dtype());
  const FaultTicket ticket = expect_fault(context, [kept, classes](std::int64_t place) {
    const HostView view(kept, DType::I64);
    return wrong_class(view.as<std::int64_t>()[place], classes);
  });
  OneHotJob job{.count = rows * std::max<std::int64_t>(classes, 1),
                .columns = std::max<std::int64_t>(classes, 1),
                .classes = classes,
                .index = index.raw(),
                .result = result.raw_writable(),
                .fault = reinterpret_cast<unsigned long long*>(const_cast<std::uint64_t*>(ticket.word)),
                .launch = ticket.launch};
  launch(result,
         {fmt::format("one_hot_{}", name(index.dtype())), "OneHotJob",
          fmt::format("fill_one_hot<{}>", element_name(index.dtype()))},
         job);
}

}  // namespace

void add_copy_kernels(Kernels& kernels) {
  kernels.add("copy", {.run = copy_source, .is_direct = true});
  kernels.add("fill", {.run = copy_source, .is_direct = true});
  kernels.add("zero", {.run = zero, .is_direct = true});
  kernels.add("cast", copy_input);
  kernels.add("clone", copy_input);
}

void add_create_kernels(Kernels& kernels) {
  for (const Op* const op : OpTable::get().ops())
    if (op->lowering.as<lowering::Fill>() != nullptr) kernels.add(*op, {.run = filled});
  for (const char* const name : {"full_like", "new_full"}) kernels.add(name, filled_by_attribute);
  for (const char* const name : {"empty", "empty_like", "new_empty"}) kernels.add(name, uninitialized);
  kernels.add("arange", arange);
  kernels.add("linspace", linspace);
  kernels.add("eye", eye);
  kernels.add("tril", triangle<true>);
  kernels.add("triu", triangle<false>);
  kernels.add("one_hot", {.run = one_hot, .count = count_classes, .run_counted = one_hot});
}

}  // namespace kiln::cuda
