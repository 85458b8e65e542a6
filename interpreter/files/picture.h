// Owns what a picture is as a tensor.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/tensor.h"

namespace kiln::interp::files {

constexpr std::int64_t kMostByte = 255, kMostWord = 65535;  // the brightest samples of 8 and of 16 bits

// What a picture file keeps: contiguous, height x width x channels (1, 3 or 4; channels may come first). u8
// as it is, floats from 0 to 1 and bools spread over 0 to 255, other integers from 0 to 255 as u8; an i32
// holds samples of 16 bits and stays one. ValueError for tensors that are no picture, and for an element
// beyond its range, nan among them: nothing is cut.
kiln::Tensor as_picture(const kiln::Tensor& x);

// The same as u8, to be shown: elements beyond the range are cut to its ends, samples of 16 bits lose 8.
kiln::Tensor as_shown(const kiln::Tensor& x);

// Height x width for one channel.
kiln::Tensor without_single_channel(const kiln::Tensor& x);

// The samples of a contiguous i32 as two bytes each, the higher one first.
std::string big_endian_words(const kiln::Tensor& x);

}  // namespace kiln::interp::files
