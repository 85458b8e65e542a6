#include "tensor/cpu/convolution/onednn_convolution.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "tensor/cpu/convolution/image_blocks.h"
#include "tensor/cpu/convolution/onednn_plan.h"
#include "tensor/parallel.h"

namespace kiln::cpu::onednn {
namespace {

// ---- Running ---------------------------------------------------------------------------------------------

// From the tensors' own memory, which is kept for the next time.
using Bytes = Ref<Buffer>;
Bytes allocate(std::size_t count) { return Buffer::allocate(count, Device{}); }

// What one thread needs to run a plan again and again: arguments and memory in the convolution's layouts.
class Runner {
 public:
  explicit Runner(const Plan& plan, const std::byte* bias = nullptr)
      : plan_(plan), scratch_(allocate(plan.scratch_bytes())) {
    for (std::size_t part = 0; part < kParts; ++part) {
      plain_[part] = make_memory(plan.ports[part].plain);
      wanted_[part] = make_memory(plan.ports[part].wanted);
      arguments_.push_back({plan.names.argument[part], wanted_[part].get()});
    }
    if (bias == nullptr) return;
    bias_ = make_memory(plan.bias, const_cast<std::byte*>(bias));
    arguments_.push_back({DNNL_ARG_BIAS, bias_.get()});
  }

  // Weights that were put into their layout before, for all threads.
  void use_weights(const void* wanted) { point(wanted_[kWeights], wanted); }
  // Brings a part into its layout: here, or in the caller's memory `into`.
  void load(Part part, const std::byte* data, std::byte* into = nullptr) {
    const Port& port = plan_.ports[part];
    if (!port.reorder) return point(wanted_[part], data);
    point(plain_[part], data);
    point(wanted_[part], into != nullptr ? into : own(part));
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, plain_[part].get()},
                                         {DNNL_ARG_TO, wanted_[part].get()}};
    port.reorder->run(arguments, scratch_->data());
  }
  // Computes the part that is the result.
  void run(std::byte* data) {
    const Part out = plan_.names.out;
    const Port& port = plan_.ports[out];
    point(wanted_[out], port.reorder ? own(out) : data);
    if (plan_.reads_unwritten) std::memset(scratch_->data(), 0, plan_.convolution.scratch_bytes());
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

// ---- Cutting an image into stripes -----------------------------------------------------------------------

// Neighbouring rows of an image and of its result that one primitive takes; columns where there is one row.
struct Stripe {
  ConvShape shape;
  std::int64_t image_first = 0, result_first = 0;  // elements before, in a plane
};

// Along which dimension an image is cut.
std::size_t cut_dim(const ConvShape& shape) { return shape.in[0] == 1 && shape.out[0] == 1 ? 1 : 0; }

// The image's rows that rows [begin, end) of the result are made of.
Stripe stripe_of_result(ConvShape shape, std::size_t d, std::int64_t begin, std::int64_t end) {
  const std::int64_t reach = (shape.kernel[d] - 1) * shape.dilation[d] + 1;
  const std::int64_t start = begin * shape.stride[d] - shape.padding[d];
  const std::int64_t first = std::clamp<std::int64_t>(start, 0, shape.in[d]);
  const std::int64_t last =
      std::clamp((end - 1) * shape.stride[d] - shape.padding[d] + reach, first, shape.in[d]);
  shape.in[d] = last - first;
  shape.out[d] = end - begin;
  shape.padding[d] = first - start;
  const std::int64_t image = d == 1 ? 1 : shape.in[1], result = d == 1 ? 1 : shape.out[1];
  return {shape, first * image, begin * result};
}

// The result's rows that reach rows [begin, end) of the image. The stride is 1.
Stripe stripe_of_image(ConvShape shape, std::size_t d, std::int64_t begin, std::int64_t end) {
  const std::int64_t reach = (shape.kernel[d] - 1) * shape.dilation[d] + 1;
  const std::int64_t first = std::clamp<std::int64_t>(begin + shape.padding[d] - reach + 1, 0, shape.out[d]);
  const std::int64_t last = std::clamp(end + shape.padding[d], first, shape.out[d]);
  shape.padding[d] += begin - first;
  shape.in[d] = end - begin;
  shape.out[d] = last - first;
  const std::int64_t image = d == 1 ? 1 : shape.in[1], result = d == 1 ? 1 : shape.out[1];
  return {shape, begin * image, first * result};
}

// How an image is cut, by the sizes alone: a small one is not, a large one so that threads can share it, and
// a larger one so that Ctrl-C, which is seen between stripes, has not to wait.
std::vector<Stripe> stripes_of(Kind kind, const ConvShape& shape) {
  constexpr std::int64_t kWork = std::int64_t{1} << 27;  // multiply-adds of a stripe
  constexpr std::int64_t kMostWork = std::int64_t{1} << 30;
  constexpr std::int64_t kMost = 8, kFewest[] = {8, 1024};
  const std::size_t d = cut_dim(shape);
  const std::int64_t rows = kind == Kind::Input ? shape.in[d] : shape.out[d];
  const std::int64_t work = shape.weights() * shape.out_plane();
  // Each stripe has a gradient of the weight of its own, which takes memory.
  const std::int64_t wanted =
      std::max(std::min(work / kWork, kMost), kind == Kind::Weight ? 0 : work / kMostWork);
  const std::int64_t count = std::min(wanted, rows / kFewest[d]);
  if (count <= 1 || (kind == Kind::Input && shape.stride[d] != 1)) return {{shape, 0, 0}};
  std::vector<Stripe> stripes;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto cut = kind == Kind::Input ? stripe_of_image : stripe_of_result;
    stripes.push_back(cut(shape, d, i * rows / count, (i + 1) * rows / count));
    const ConvShape& each = stripes.back().shape;
    if (each.in[d] == 0 || each.out[d] == 0) return {{shape, 0, 0}};  // all of it padding
  }
  return stripes;
}

// The sizes of a convolution in memory, and its pieces.
class Cut {
 public:
  Cut(Kind kind, DType dtype, const ConvShape& shape, bool bias = false)
      : shape_(shape), item_(static_cast<std::int64_t>(size_of(dtype))), stripes_(stripes_of(kind, shape)) {
    piece_ = {
        kind, dtype == DType::BF16 ? dnnl_bf16 : dnnl_f32, bias, {}, shape.in_plane(), shape.out_plane()};
  }
  // The plans of all stripes of so many images at once; empty when one has none.
  std::vector<std::shared_ptr<const Plan>> plans(std::int64_t images) const {
    std::vector<std::shared_ptr<const Plan>> found;
    for (const Stripe& stripe : stripes_) {
      Piece piece = piece_;
      piece.shape = stripe.shape;
      piece.shape.batch = images;
      found.push_back(plan_of(piece));
      if (!found.back()) return {};
    }
    return found;
  }
  std::int64_t stripes() const { return static_cast<std::int64_t>(stripes_.size()); }
  // Where a stripe of an image, or of its result, begins: in bytes.
  std::int64_t at(Part part, std::int64_t n, std::int64_t stripe) const {
    const Stripe& cut = stripes_[static_cast<std::size_t>(stripe)];
    const std::int64_t before =
        part == kImage ? n * shape_.groups * shape_.in_channels * shape_.in_plane() + cut.image_first
                       : n * shape_.groups * shape_.out_channels * shape_.out_plane() + cut.result_first;
    return item_ * before;
  }
  // Hands out what a stripe of an image gives, of an image or of its result: neighbours of each channel.
  void hand_out(std::int64_t n, std::int64_t stripe, ResultPieces* pieces) const {
    if (pieces == nullptr) return;
    const bool is_image = piece_.kind == Kind::Input;
    const std::int64_t channels = shape_.groups * (is_image ? shape_.in_channels : shape_.out_channels);
    const std::int64_t plane = is_image ? shape_.in_plane() : shape_.out_plane();
    if (stripes_.size() == 1) return pieces->piece(n * channels * plane, (n + 1) * channels * plane);
    const Stripe& cut = stripes_[static_cast<std::size_t>(stripe)];
    const std::int64_t first = is_image ? cut.image_first : cut.result_first;
    const std::int64_t count = is_image ? cut.shape.in_plane() : cut.shape.out_plane();
    for (std::int64_t c = n * channels; c < (n + 1) * channels; ++c)
      pieces->piece(c * plane + first, c * plane + first + count);
  }

 private:
  ConvShape shape_;
  std::int64_t item_;
  std::vector<Stripe> stripes_;
  Piece piece_;
};

// Weights in the layout of each plan.
std::vector<Bytes> laid_out_weights(const std::vector<std::shared_ptr<const Plan>>& plans,
                                    const std::byte* weight) {
  std::vector<Bytes> all;
  for (const auto& plan : plans) {
    const Port& port = plan->ports[kWeights];
    all.push_back(port.reorder ? allocate(port.bytes()) : Bytes());
    if (all.back()) Runner(*plan).load(kWeights, weight, all.back()->data());
  }
  return all;
}

// The result of the images, or with Kind::Input their gradient of the result's. One image after another
// within a stripe, on all threads. False when oneDNN has no such convolution.
bool through_weights(Kind kind, const ConvShape& shape, DType dtype, const std::byte* from,
                     const std::byte* weight, const std::byte* bias, std::byte* into, ResultPieces* pieces) {
  const Cut cut(kind, dtype, shape, bias != nullptr);
  const auto plans = cut.plans(1);
  if (plans.empty()) return false;
  const Part read = kind == Kind::Input ? kResult : kImage, written = kind == Kind::Input ? kImage : kResult;
  const std::int64_t images = shape.batch;
  const std::vector<Bytes> weights = laid_out_weights(plans, weight);
  parallel_for(images * cut.stripes(), 1, [&](std::int64_t begin, std::int64_t end) {
    std::optional<Runner> runner;
    for (std::int64_t task = begin; task < end; ++task) {
      check_interrupt();
      const std::int64_t n = task % images, stripe = task / images;
      if (task == begin || n == 0) {
        const auto place = static_cast<std::size_t>(stripe);
        runner.emplace(*plans[place], bias);
        runner->use_weights(weights[place] ? weights[place]->data() : weight);
      }
      runner->load(read, from + cut.at(read, n, stripe));
      runner->run(into + cut.at(written, n, stripe));
      cut.hand_out(n, stripe, pieces);
    }
  });
  return true;
}

}  // namespace

bool convolve(const ConvShape& shape, DType dtype, const std::byte* x, const std::byte* weight,
              const std::byte* bias, std::byte* y, ResultPieces* pieces) {
  return through_weights(Kind::Forward, shape, dtype, x, weight, bias, y, pieces);
}

bool convolve_input(const ConvShape& shape, DType dtype, const std::byte* y, const std::byte* weight,
                    std::byte* x, ResultPieces* pieces) {
  return through_weights(Kind::Input, shape, dtype, y, weight, nullptr, x, pieces);
}

bool convolve_weight(const ConvShape& shape, DType dtype, const std::byte* x, const std::byte* y,
                     float* weight) {
  const ImageBlocks blocks(shape);
  const Cut cut(Kind::Weight, dtype, shape);
  const auto plans = cut.plans(blocks.length);
  const auto last = cut.plans(shape.batch - (blocks.count - 1) * blocks.length);
  if (plans.empty() || last.empty()) return false;
  const std::int64_t size = shape.weights(), count = blocks.count * cut.stripes();
  const Bytes sums = count == 1 ? Bytes() : allocate(static_cast<std::size_t>(count * size) * sizeof(float));
  float* gradients = sums ? reinterpret_cast<float*>(sums->data()) : weight;
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      check_interrupt();
      const std::int64_t block = task / cut.stripes(), stripe = task % cut.stripes();
      Runner runner(*(block + 1 == blocks.count ? last : plans)[static_cast<std::size_t>(stripe)]);
      const std::int64_t first = block * blocks.length;
      runner.load(kImage, x + cut.at(kImage, first, stripe));
      runner.load(kResult, y + cut.at(kResult, first, stripe));
      runner.run(reinterpret_cast<std::byte*>(gradients + task * size));
    }
  });
  if (sums) add_blocks(gradients, count, size, weight);
  return true;
}

}  // namespace kiln::cpu::onednn
