// Owns plans: convolutions of oneDNN, kept by what they compute, with the reorders around them.
#pragma once

#include <memory>
#include <vector>

#include "tensor/cpu/convolution/convolution.h"
#include "tensor/cpu/convolution/onednn.h"

namespace kiln::cpu::onednn {

enum class Kind : std::uint8_t { Forward, Input, Weight };

// The three tensors of a convolution, whichever of them is the result.
enum Part : std::uint8_t { kImage, kWeights, kResult };
inline constexpr int kParts = 3;

struct Names {
  dnnl_query_t layout[kParts];
  int argument[kParts];
  Part out;
};

// What one primitive computes: whole images, or a stripe out of planes that have so many elements.
struct Piece {
  Kind kind = Kind::Forward;
  dnnl_data_type_t type = dnnl_f32;  // of all but a gradient of the weight, which is f32
  bool bias = false;
  ConvShape shape;  // of the stripe; the batch is that of the primitive
  std::int64_t image_plane = 0, result_plane = 0;
  friend auto operator<=>(const Piece&, const Piece&) = default;
};

struct Plan {
  const Names& names;
  Primitive convolution;
  dnnl_memory_desc_t bias;
  std::vector<Port> ports;
  // The gradient of a weight of bf16 takes numbers that nobody wrote from the scratch memory and multiplies
  // them by 0, which is no number for some: there they must be numbers.
  bool reads_unwritten;

  Plan(const Piece& piece, const Description& description, const dnnl_memory_desc_t (&plain)[kParts],
       const dnnl_memory_desc_t& bias_layout);
  std::size_t scratch_bytes() const;
};

// Null when oneDNN is not there or has only a reference of it.
std::shared_ptr<const Plan> plan_of(const Piece& piece);

}  // namespace kiln::cpu::onednn
