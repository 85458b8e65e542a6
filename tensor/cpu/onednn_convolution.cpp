#include "tensor/cpu/onednn_convolution.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/cpu/image_blocks.h"
#include "tensor/cpu/onednn.h"
#include "tensor/cpu/shared_library.h"
#include "tensor/parallel.h"

namespace kiln::cpu::onednn {
namespace {

enum class Kind : std::uint8_t { Forward, Input, Weight };

// The three tensors of a convolution, whichever of them is the result.
enum Part : std::uint8_t { kImage, kWeights, kResult };
constexpr int kParts = 3;

struct Names {
  dnnl_query_t layout[kParts];
  int argument[kParts];
  Part out;
};
constexpr Names kNames[] = {
    {{dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
     {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
     kResult},
    {{dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
     {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
     kImage},
    {{dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md},
     {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
     kWeights},
};

// ---- Describing a convolution ----------------------------------------------------------------------------

struct Geometry {
  dnnl_dims_t stride, dilation, before, after;

  explicit Geometry(const ConvShape& shape) : stride{}, dilation{}, before{}, after{} {
    for (std::size_t d = 0; d < 2; ++d) {
      const std::int64_t reach = (shape.kernel[d] - 1) * shape.dilation[d] + 1;
      stride[d] = shape.stride[d];
      dilation[d] = shape.dilation[d] - 1;
      before[d] = shape.padding[d];
      after[d] = (shape.out[d] - 1) * shape.stride[d] + reach - shape.in[d] - shape.padding[d];
    }
  }
};

// Contiguous layouts, and the same sizes in whatever layout oneDNN likes.
struct Layouts {
  dnnl_memory_desc_t plain[kParts], any[kParts], bias;

  explicit Layouts(const ConvShape& s) {
    const dnnl_dims_t image = {s.batch, s.groups * s.in_channels, s.in[0], s.in[1]};
    const dnnl_dims_t result = {s.batch, s.groups * s.out_channels, s.out[0], s.out[1]};
    const dnnl_dims_t weights = {s.out_channels, s.in_channels, s.kernel[0], s.kernel[1]};
    const dnnl_dims_t grouped = {s.groups, s.out_channels, s.in_channels, s.kernel[0], s.kernel[1]};
    const dnnl_dims_t channels = {s.groups * s.out_channels};
    init(kImage, 4, image, dnnl_nchw);
    init(kResult, 4, result, dnnl_nchw);
    s.groups == 1 ? init(kWeights, 4, weights, dnnl_oihw) : init(kWeights, 5, grouped, dnnl_goihw);
    check(api()->memory_desc_init_by_tag(&bias, 1, channels, dnnl_f32, dnnl_x));
  }

 private:
  void init(Part part, int rank, const dnnl_dims_t sizes, dnnl_format_tag_t tag) {
    check(api()->memory_desc_init_by_tag(&plain[part], rank, sizes, dnnl_f32, tag));
    check(api()->memory_desc_init_by_tag(&any[part], rank, sizes, dnnl_f32, dnnl_format_tag_any));
  }
};

Description describe(const dnnl_convolution_desc_t& convolution, const Description& hint) {
  dnnl_primitive_desc_t made = nullptr;
  if (api()->primitive_desc_create(&made, &convolution, api()->attributes, api()->engine, hint.get()) !=
      dnnl_success) {
    return {};
  }
  return Description(made);
}

Description describe(Kind kind, const ConvShape& shape, const Layouts& layouts, bool bias) {
  const Geometry at(shape);
  const auto& [image, weights, result] = layouts.any;
  dnnl_convolution_desc_t forward, backward;
  if (api()->dilated_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_direct,
                                                   &image, &weights, bias ? &layouts.bias : nullptr, &result,
                                                   at.stride, at.dilation, at.before,
                                                   at.after) != dnnl_success) {
    return {};
  }
  Description described = describe(forward, {});
  if (kind == Kind::Forward || !described) return described;
  const dnnl_status_t status = kind == Kind::Input
                                   ? api()->dilated_convolution_backward_data_desc_init(
                                         &backward, dnnl_convolution_direct, &image, &weights, &result,
                                         at.stride, at.dilation, at.before, at.after)
                                   : api()->dilated_convolution_backward_weights_desc_init(
                                         &backward, dnnl_convolution_direct, &image, &weights, nullptr,
                                         &result, at.stride, at.dilation, at.before, at.after);
  return status == dnnl_success ? describe(backward, described) : Description();
}

bool is_reference(const Description& description) {
  const char* name = nullptr;
  check(api()->primitive_desc_query(description.get(), dnnl_query_impl_info_str, 0, &name));
  return std::string_view(name).starts_with("ref");
}

// ---- Plans: a convolution and the reorders around it -----------------------------------------------------

// A tensor as the caller lays it out and as the convolution wants it.
struct Port {
  dnnl_memory_desc_t plain{}, wanted{};
  std::optional<Primitive> reorder;  // absent when both are the same

  Port(const dnnl_memory_desc_t& user, const dnnl_memory_desc_t& own, bool is_output)
      : plain(user), wanted(own) {
    if (api()->memory_desc_equal(&plain, &wanted) != 0) return;
    const dnnl_memory_desc_t& from = is_output ? wanted : plain;
    const dnnl_memory_desc_t& to = is_output ? plain : wanted;
    dnnl_primitive_desc_t made = nullptr;
    check(api()->reorder_primitive_desc_create(&made, &from, api()->engine, &to, api()->engine,
                                               api()->attributes));
    reorder.emplace(Description(made));
  }
  std::size_t bytes() const { return api()->memory_desc_get_size(&wanted); }
  std::size_t scratch_bytes() const { return reorder ? reorder->scratch_bytes() : 0; }
};

struct Plan {
  const Names& names;
  Primitive convolution;
  dnnl_memory_desc_t bias;
  std::vector<Port> ports;

  Plan(Kind kind, const Description& description, const Layouts& layouts)
      : names(kNames[static_cast<int>(kind)]), convolution(description), bias(layouts.bias) {
    for (int part = 0; part < kParts; ++part) {
      const auto* wanted = api()->primitive_desc_query_md(description.get(), names.layout[part], 0);
      ports.emplace_back(layouts.plain[part], *wanted, part == names.out);
    }
  }
  std::size_t scratch_bytes() const {
    std::size_t most = convolution.scratch_bytes();
    for (const Port& port : ports) most = std::max(most, port.scratch_bytes());
    return most;
  }
};

std::shared_ptr<const Plan> make_plan(Kind kind, const ConvShape& shape, bool bias) {
  const OneThread one;
  const Layouts layouts(shape);
  const Description description = describe(kind, shape, layouts, bias);
  if (!description || is_reference(description)) return nullptr;
  return std::make_shared<const Plan>(kind, description, layouts);
}

// The plan of a convolution of as many images as the shape says; null when there is none.
std::shared_ptr<const Plan> plan_of(Kind kind, const ConvShape& shape, bool bias = false) {
  constexpr std::size_t kMost = 1024;  // a program of ever new shapes must not fill the memory
  static std::mutex mutex;
  static std::map<std::tuple<Kind, bool, ConvShape>, std::shared_ptr<const Plan>> plans;
  if (api() == nullptr) return nullptr;
  const std::lock_guard lock(mutex);
  const auto key = std::tuple(kind, bias, shape);
  if (const auto found = plans.find(key); found != plans.end()) return found->second;
  if (plans.size() >= kMost) plans.clear();
  return plans[key] = make_plan(kind, shape, bias);
}

// ---- Running ---------------------------------------------------------------------------------------------

// From the tensors' own memory, which is kept for the next time.
using Bytes = Ref<Buffer>;
Bytes allocate(std::size_t count) { return Buffer::allocate(count, Device{}); }

// What one thread needs to run a plan again and again: arguments and memory in the convolution's layouts.
class Runner {
 public:
  explicit Runner(const Plan& plan, const float* bias = nullptr)
      : plan_(plan), scratch_(allocate(plan.scratch_bytes())) {
    for (std::size_t part = 0; part < kParts; ++part) {
      plain_[part] = make_memory(plan.ports[part].plain);
      wanted_[part] = make_memory(plan.ports[part].wanted);
      arguments_.push_back({plan.names.argument[part], wanted_[part].get()});
    }
    if (bias == nullptr) return;
    bias_ = make_memory(plan.bias, const_cast<float*>(bias));
    arguments_.push_back({DNNL_ARG_BIAS, bias_.get()});
  }

  // Weights that were put into their layout before, for all threads.
  void use_weights(const void* wanted) { point(wanted_[kWeights], wanted); }
  // Brings a part into its layout: here, or in the caller's memory `into`.
  void load(Part part, const float* data, std::byte* into = nullptr) {
    const Port& port = plan_.ports[part];
    if (!port.reorder) return point(wanted_[part], data);
    point(plain_[part], data);
    point(wanted_[part], into != nullptr ? into : own(part));
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, plain_[part].get()},
                                         {DNNL_ARG_TO, wanted_[part].get()}};
    port.reorder->run(arguments, scratch_->data());
  }
  // Computes the part that is the result.
  void run(float* data) {
    const Part out = plan_.names.out;
    const Port& port = plan_.ports[out];
    point(wanted_[out], port.reorder ? static_cast<void*>(own(out)) : data);
    plan_.convolution.run(arguments_, scratch_->data());
    if (!port.reorder) return;
    point(plain_[out], data);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, wanted_[out].get()},
                                         {DNNL_ARG_TO, plain_[out].get()}};
    port.reorder->run(arguments, scratch_->data());
  }

 private:
  std::byte* own(Part part) {
    if (!buffers_[part]) buffers_[part] = allocate(plan_.ports[part].bytes());
    return buffers_[part]->data();
  }

  const Plan& plan_;
  Bytes scratch_;
  Bytes buffers_[kParts];
  Memory plain_[kParts], wanted_[kParts], bias_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// One image after another, on all threads: from part `in` to the plan's result.
void each_image(const Plan& plan, std::int64_t count, Part in, const float* from, std::int64_t from_size,
                const float* weight, const float* bias, float* to, std::int64_t to_size) {
  const Port& weights = plan.ports[kWeights];
  const Bytes reordered = weights.reorder ? allocate(weights.bytes()) : Bytes();
  if (reordered) Runner(plan).load(kWeights, weight, reordered->data());
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    Runner runner(plan, bias);
    runner.use_weights(reordered ? static_cast<const void*>(reordered->data()) : weight);
    for (std::int64_t n = begin; n < end; ++n) {
      runner.load(in, from + n * from_size);
      runner.run(to + n * to_size);
    }
  });
}

std::int64_t image_size(const ConvShape& shape) {
  return shape.groups * shape.in_channels * shape.in_plane();
}
std::int64_t result_size(const ConvShape& shape) {
  return shape.groups * shape.out_channels * shape.out_plane();
}
ConvShape of_images(ConvShape shape, std::int64_t count) {
  shape.batch = count;
  return shape;
}

}  // namespace

bool convolve(const ConvShape& shape, const float* x, const float* weight, const float* bias, float* y) {
  const auto plan = plan_of(Kind::Forward, of_images(shape, 1), bias != nullptr);
  if (!plan) return false;
  each_image(*plan, shape.batch, kImage, x, image_size(shape), weight, bias, y, result_size(shape));
  return true;
}

bool convolve_input(const ConvShape& shape, const float* y, const float* weight, float* x) {
  const auto plan = plan_of(Kind::Input, of_images(shape, 1));
  if (!plan) return false;
  each_image(*plan, shape.batch, kResult, y, result_size(shape), weight, nullptr, x, image_size(shape));
  return true;
}

bool convolve_weight(const ConvShape& shape, const float* x, const float* y, float* weight) {
  const ImageBlocks blocks(shape);
  const std::int64_t rest = shape.batch - (blocks.count - 1) * blocks.length;
  const auto plan = plan_of(Kind::Weight, of_images(shape, blocks.length));
  const auto last = plan_of(Kind::Weight, of_images(shape, rest));
  if (!plan || !last) return false;
  const std::int64_t size = shape.weights();
  const Bytes sums =
      blocks.count == 1 ? Bytes() : allocate(static_cast<std::size_t>(blocks.count * size) * sizeof(float));
  float* gradients = sums ? reinterpret_cast<float*>(sums->data()) : weight;
  parallel_for(blocks.count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      Runner runner(block + 1 == blocks.count ? *last : *plan);
      const std::int64_t first = block * blocks.length;
      runner.load(kImage, x + first * image_size(shape));
      runner.load(kResult, y + first * result_size(shape));
      runner.run(gradients + block * size);
    }
  });
  if (sums) add_blocks(gradients, blocks.count, size, weight);
  return true;
}

}  // namespace kiln::cpu::onednn
