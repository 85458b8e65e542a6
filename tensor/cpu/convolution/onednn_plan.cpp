#include "tensor/cpu/convolution/onednn_plan.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "tensor/cpu/shared_library.h"

namespace kiln::cpu::onednn {
namespace {

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

// Contiguous layouts, of stripes within whole planes, and the same sizes in whatever layout oneDNN likes.
struct Layouts {
  dnnl_memory_desc_t plain[kParts], any[kParts], bias;
  dnnl_memory_desc_t gradient;  // of the weights, in any layout

  explicit Layouts(const Piece& piece) {
    const ConvShape& s = piece.shape;
    const dnnl_dims_t image = {s.batch, s.groups * s.in_channels, s.in[0], s.in[1]};
    const dnnl_dims_t result = {s.batch, s.groups * s.out_channels, s.out[0], s.out[1]};
    const dnnl_dims_t weights = {s.out_channels, s.in_channels, s.kernel[0], s.kernel[1]};
    const dnnl_dims_t grouped = {s.groups, s.out_channels, s.in_channels, s.kernel[0], s.kernel[1]};
    const dnnl_dims_t channels = {s.groups * s.out_channels};
    planes(kImage, image, piece.image_plane, piece.type);
    planes(kResult, result, piece.result_plane, piece.type);
    const int rank = s.groups == 1 ? 4 : 5;
    const auto& kernels = s.groups == 1 ? weights : grouped;
    const dnnl_data_type_t type = piece.kind == Kind::Weight ? dnnl_f32 : piece.type;
    check(api()->memory_desc_init_by_tag(&plain[kWeights], rank, kernels, type,
                                         s.groups == 1 ? dnnl_oihw : dnnl_goihw));
    check(api()->memory_desc_init_by_tag(&any[kWeights], rank, kernels, piece.type, dnnl_format_tag_any));
    check(api()->memory_desc_init_by_tag(&gradient, rank, kernels, dnnl_f32, dnnl_format_tag_any));
    check(api()->memory_desc_init_by_tag(&bias, 1, channels, piece.type, dnnl_x));
  }

 private:
  // Planes of so many elements, of which the convolution has some rows, or a part of the only row.
  void planes(Part part, const dnnl_dims_t sizes, std::int64_t plane, dnnl_data_type_t type) {
    const dnnl_dims_t strides = {sizes[1] * plane, plane, sizes[3], 1};
    check(api()->memory_desc_init_by_strides(&plain[part], 4, sizes, type, strides));
    check(api()->memory_desc_init_by_tag(&any[part], 4, sizes, type, dnnl_format_tag_any));
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

Description describe(const Piece& piece, const Layouts& layouts) {
  const Geometry at(piece.shape);
  const auto& [image, weights, result] = layouts.any;
  dnnl_convolution_desc_t forward, backward;
  if (api()->dilated_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_direct,
                                                   &image, &weights, piece.bias ? &layouts.bias : nullptr,
                                                   &result, at.stride, at.dilation, at.before,
                                                   at.after) != dnnl_success) {
    return {};
  }
  Description described = describe(forward, {});
  if (piece.kind == Kind::Forward || !described) return described;
  const dnnl_status_t status = piece.kind == Kind::Input
                                   ? api()->dilated_convolution_backward_data_desc_init(
                                         &backward, dnnl_convolution_direct, &image, &weights, &result,
                                         at.stride, at.dilation, at.before, at.after)
                                   : api()->dilated_convolution_backward_weights_desc_init(
                                         &backward, dnnl_convolution_direct, &image, &layouts.gradient,
                                         nullptr, &result, at.stride, at.dilation, at.before, at.after);
  return status == dnnl_success ? describe(backward, described) : Description();
}

bool is_reference(const Description& description) {
  const char* name = nullptr;
  check(api()->primitive_desc_query(description.get(), dnnl_query_impl_info_str, 0, &name));
  return std::string_view(name).starts_with("ref");
}

std::shared_ptr<const Plan> make_plan(const Piece& piece) {
  const OneThread one;
  const Layouts layouts(piece);
  const Description description = describe(piece, layouts);
  if (!description || is_reference(description)) return nullptr;
  return std::make_shared<const Plan>(piece, description, layouts.plain, layouts.bias);
}

}  // namespace

Plan::Plan(const Piece& piece, const Description& description, const dnnl_memory_desc_t (&plain)[kParts],
           const dnnl_memory_desc_t& bias_layout)
    : names(kNames[static_cast<int>(piece.kind)]),
      convolution(description),
      bias(bias_layout),
      reads_unwritten(piece.kind == Kind::Weight && piece.type == dnnl_bf16) {
  for (int part = 0; part < kParts; ++part) {
    const auto* wanted = api()->primitive_desc_query_md(description.get(), names.layout[part], 0);
    ports.emplace_back(plain[part], *wanted, part == names.out);
  }
}

std::size_t Plan::scratch_bytes() const {
  std::size_t most = convolution.scratch_bytes();
  for (const Port& port : ports) most = std::max(most, port.scratch_bytes());
  return most;
}

std::shared_ptr<const Plan> plan_of(const Piece& piece) {
  constexpr std::size_t kMost = 1024;  // a program of ever new shapes must not fill the memory
  static std::mutex mutex;
  static std::map<Piece, std::shared_ptr<const Plan>> plans;
  if (api() == nullptr) return nullptr;
  const std::lock_guard lock(mutex);
  if (const auto found = plans.find(piece); found != plans.end()) return found->second;
  if (plans.size() >= kMost) plans.clear();
  return plans[piece] = make_plan(piece);
}

}  // namespace kiln::cpu::onednn
