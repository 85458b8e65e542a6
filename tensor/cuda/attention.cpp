// Kernels of attention and its derivative on cards. The row's body runs in their place within `exact()`, and
// where a card has too little shared memory.
#include <limits>

#include <fmt/format.h>

#include "tensor/cuda/attention_job.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/functions.h"
#include "tensor/integers.h"
#include "tensor/product_mode.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kHead = R"(#include "tensor/cuda/kernels/{}.cuh"
#include "tensor/cuda/kernels/matrix_units.cuh"

using namespace kiln;
using namespace kiln::cuda;
using Form = AttentionForm<{}, {}, {}, {}, {}, {}, Hides::{}, {}>;
)";
constexpr std::string_view kFunction =
    "\nextern \"C\" __global__ void __launch_bounds__(Form::kThreads) {}(const AttentionJob job) {{ {}(job); "
    "}}\n";

// The beginning of a program, which says the form.
std::string head(std::string_view header, const AttentionForm& form, const Tensor& mask, bool is_causal) {
  const char* const element = element_name(form.dtype);
  const std::string engine = form.by_units    ? fmt::format("ByMatrixUnits<{}>", element)
                             : form.is_wide() ? "ByFma<double>"
                                              : "ByFma<float>";
  const char* const hides = !mask ? "Nothing" : mask.dtype() == DType::Bool ? "Flags" : "Added";
  return fmt::format(kHead, header, engine, element, form.warps, form.features, form.widths, form.columns,
                     hides, is_causal);
}

// A function of a program; `rows` of each of so many matrices have a tile for a block of threads.
struct Function {
  std::string name, body;
  std::int64_t matrices, rows;

  std::string text() const { return fmt::format(kFunction, name, body); }
};
void launch(Context& context, const AttentionForm& form, const std::string& text, const Function& function,
            const AttentionJob& job) {
  const std::int64_t threads = form.warps * 32, tile = form.warps * 16;
  run(context,
      {.function = function_of(context, text, function.name),
       .threads = function.matrices * ceil_divide(function.rows, tile) * threads,
       .shared_bytes = static_cast<unsigned>(form.bytes),
       .block = static_cast<unsigned>(threads)},
      job);
}

Dims leading(const Tensor& x) { return Dims(x.sizes().begin(), x.sizes().end() - 2); }
bool causal(const Attrs& attrs) { return attrs.get<bool>("is_causal"); }

// Lengths that kernels count in 32 bits.
bool has_lengths(const AttentionOperands& of) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max() / 2;
  return of.query.size(of.query.rank() - 2) <= kMost && of.key.size(of.key.rank() - 2) <= kMost;
}
std::optional<AttentionForm> form_of(const Context& context, const AttentionOperands& of, int staying) {
  if (product_mode() == ProductMode::Exact || !has_lengths(of)) return std::nullopt;
  return attention_form(context, of, staying);
}

void compute_by_body(const Op& op, const Attrs& attrs, Inputs in, Outputs outputs) {
  const Tensors results = op.decompose(op, in, attrs);
  for (std::size_t k = 0; k < outputs.size(); ++k) ops::copy_(outputs[k], results[k]);
}

void forward(const Op& op, const Attrs& attrs, Inputs in, Outputs outputs, Stream& stream) {
  Context& context = Context::of(stream.device);
  const AttentionOperands operands{in[0], in[1], in[2], in[3], {}, leading(outputs[0])};
  const auto form = form_of(context, operands, 1);
  if (!form) return compute_by_body(op, attrs, in, outputs);
  AttentionCall call = attention_call(operands, false);
  AttentionJob& job = call.job;
  job.scale = attrs.get<double>("scale");
  job.result = outputs[0].raw_writable(), job.logsumexp = outputs[1].raw_writable();
  const Function function{"attention", "attend<Form>", job.apart, job.queries};
  launch(context, *form, head("attention", *form, in[3], causal(attrs)) + function.text(), function, job);
}

// A gradient that a kernel gives for each of the leading dimensions: in the output itself, or apart where the
// operand is broadcast, so that it is added up.
class Gradient {
 public:
  Gradient(const Tensor& output, Dims sizes, DType sums) : output_(output), kernel_gives_(output) {
    for (int d = 2; d > 0; --d) sizes.push_back(output.size(output.rank() - d));
    if (count_elements(sizes) != output.numel()) kernel_gives_ = Tensor::empty(sizes, sums, output.device());
  }
  void* memory() const { return kernel_gives_.raw_writable(); }
  const char* element() const { return element_name(kernel_gives_.dtype()); }
  void finish() const {
    if (!kernel_gives_.is_same(output_)) ops::copy_(output_, ops::sum_to(kernel_gives_, output_.sizes()));
  }

 private:
  Tensor output_, kernel_gives_;
};

// Do the sums of a lane for key and value fit its registers together?
bool fits_registers(const AttentionForm& form) {
  constexpr std::int64_t kMost = 256;
  return (form.features + form.widths) * (form.is_wide() ? 2 : 1) <= kMost;
}

void backward(const Op& op, const Attrs& attrs, Inputs in, Outputs outputs, Stream& stream) {
  Context& context = Context::of(stream.device);
  const AttentionOperands operands{in[1], in[2], in[3], in[6], in[0], leading(in[0])};
  const auto form = form_of(context, operands, 2);
  if (!form) return compute_by_body(op, attrs, in, outputs);
  AttentionCall call = attention_call(operands, true);
  AttentionJob& job = call.job;
  const DType sums = in[4].dtype();
  const Tensor logarithms = in_order(in[4]), delta = in_order(in[5]);
  const Gradient query(outputs[0], operands.leading, sums), key(outputs[1], call.apart, sums),
      value(outputs[2], call.apart, sums);
  job.scale = attrs.get<double>("scale");
  job.logarithms = logarithms.raw(), job.delta = delta.raw();
  job.by_query = query.memory(), job.by_key = key.memory(), job.by_value = value.memory();
  const auto by_keys = [&](const char* name, bool wants_key, bool wants_value) {
    const std::string body = fmt::format("attend_by_keys<Form, {}, {}, {}, {}>", key.element(),
                                         value.element(), wants_key, wants_value);
    return Function{name, body, job.apart, job.keys};
  };
  std::vector<Function> functions = {{"attention_by_query",
                                      fmt::format("attend_by_query<Form, {}>", query.element()),
                                      job.apart * job.alike, job.queries}};
  if (fits_registers(*form)) {
    functions.push_back(by_keys("attention_by_keys", true, true));
  } else {
    functions.push_back(by_keys("attention_by_key", true, false));
    functions.push_back(by_keys("attention_by_value", false, true));
  }
  std::string text = head("attention_backward", *form, in[6], causal(attrs));
  for (const Function& each : functions) text += each.text();
  for (const Function& each : functions) launch(context, *form, text, each, job);
  for (const Gradient* const each : {&query, &key, &value}) each->finish();
}

// Do types and sizes suit? `first`: the query among the operands.
bool suit(Inputs in, std::size_t first) {
  const Tensor &query = in[first], &key = in[first + 1], &value = in[first + 2];
  const Dim most = query.dtype() == DType::F64 ? 128 : 256;
  for (const Tensor& each : {query, key, value}) {
    if (each.size(each.rank() - 1) > most) return false;
    for (const Dim size : each.sizes())
      if (size == 0) return false;
  }
  return true;
}

}  // namespace

void add_attention_kernels(Kernels& kernels) {
  kernels.add("flash_attention",
              {.run = forward, .takes = [](const Op&, const Attrs&, Inputs in) { return suit(in, 0); }});
  kernels.add("flash_attention_backward",
              {.run = backward, .takes = [](const Op&, const Attrs&, Inputs in) { return suit(in, 1); }});
}

}  // namespace kiln::cuda
