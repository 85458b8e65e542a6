// Tensors as pictures: where the channels stand, and what a sample can hold.
#include "interpreter/files/picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/interrupt.h"

namespace kiln::interp::files {
namespace {

[[noreturn]] void not_an_image(const kiln::Tensor& x) {
  raise("ValueError", fmt::format("{} is not a picture", to_string(x.type())),
        "a picture is height x width, height x width x channels or channels x height x width, with 1, 3 or 4 "
        "channels");
}

bool is_channels(kiln::Dim size) { return size == 1 || size == 3 || size == 4; }

// Height x width x channels, whatever came first.
kiln::Tensor channels_last(const kiln::Tensor& x) {
  if (x.numel() == 0) not_an_image(x);
  if (x.rank() == 2) return kiln::ops::unsqueeze(x, 2);
  if (x.rank() != 3) not_an_image(x);
  if (is_channels(x.size(2))) return x;
  if (!is_channels(x.size(0))) not_an_image(x);
  const std::array<kiln::Dim, 3> order{1, 2, 0};
  return kiln::ops::permute(x, order);
}

bool has_fractions(kiln::DType dtype) { return kiln::is_float(dtype) || dtype == kiln::DType::Bool; }

// The greatest element that a sample can stand for.
double most_of(kiln::DType dtype) {
  if (has_fractions(dtype)) return 1;
  return static_cast<double>(dtype == kiln::DType::I32 ? kMostWord : kMostByte);
}

[[noreturn]] void beyond_the_range(const kiln::Tensor& x, double value) {
  if (has_fractions(x.dtype()))
    raise(
        "ValueError",
        fmt::format("a picture of {} has elements from 0 to 1, here is {}", name(x.dtype()), repr_of(value)),
        "`x.clamp(0, 1)` cuts what lies beyond, `x / x.max()` scales it");
  raise("ValueError",
        fmt::format("a picture of {} has elements from 0 to {}, here is {}", name(x.dtype()),
                    most_of(x.dtype()), value),
        x.dtype() == kiln::DType::I32
            ? "`x.clamp(0, 65535)` cuts what lies beyond"
            : "`x.to(i32)` is saved with 16 bits, `x.clamp(0, 255)` cuts what lies beyond");
}

// Each element through `sample`.
template <class T, class Sample>
kiln::Tensor mapped(const kiln::Tensor& x, kiln::DType dtype, const Sample& sample) {
  const kiln::Tensor dense = kiln::ops::contiguous(kiln::ops::to(x, kiln::DType::F64));
  kiln::Tensor result = kiln::Tensor::empty(x.sizes(), dtype);
  const kiln::HostView in(dense);
  const kiln::WritableHostView out(result);
  in_pieces(static_cast<std::size_t>(x.numel()), kPieceOfValues, [&](std::size_t begin, std::size_t end) {
    std::transform(in.as<double>() + begin, in.as<double>() + end, out.as<T>() + begin, sample);
  });
  return result;
}

}  // namespace

kiln::Tensor as_picture(const kiln::Tensor& tensor) {
  const kiln::Tensor x = channels_last(kiln::ops::detach(tensor));
  if (x.dtype() == kiln::DType::U8) return kiln::ops::contiguous(x);
  const double most = most_of(x.dtype());
  const double scale = has_fractions(x.dtype()) ? static_cast<double>(kMostByte) : 1;
  const auto sample = [&](double v) {
    if (!(v >= 0 && v <= most)) beyond_the_range(tensor, v);
    return std::lround(v * scale);
  };
  if (x.dtype() == kiln::DType::I32) return mapped<std::int32_t>(x, x.dtype(), sample);
  return mapped<std::uint8_t>(x, kiln::DType::U8, sample);
}

kiln::Tensor as_shown(const kiln::Tensor& tensor) {
  const kiln::Tensor x = channels_last(kiln::ops::detach(tensor));
  if (x.dtype() == kiln::DType::U8) return kiln::ops::contiguous(x);
  const kiln::Tensor dense = kiln::ops::contiguous(kiln::ops::to(x, kiln::DType::F64));
  double most = has_fractions(x.dtype()) ? 1 : static_cast<double>(kMostByte);
  // Integers beyond 8 bits are samples of 16.
  const kiln::HostView elements(dense);
  const bool wide = std::any_of(elements.as<double>(), elements.as<double>() + dense.numel(),
                                [&](double v) { return v > most; });
  if (wide && !has_fractions(x.dtype())) most = static_cast<double>(kMostWord);
  return mapped<std::uint8_t>(dense, kiln::DType::U8, [&](double v) {
    const double share = std::isnan(v) ? 0 : std::clamp(v / most, 0.0, 1.0);
    return std::lround(share * static_cast<double>(kMostByte));
  });
}

kiln::Tensor without_single_channel(const kiln::Tensor& x) {
  if (x.size(2) > 1) return x;
  const std::array<kiln::Dim, 2> sizes{x.size(0), x.size(1)};
  return kiln::ops::reshape(x, sizes);
}

std::string big_endian_words(const kiln::Tensor& x) {
  const kiln::HostView elements(x);
  const auto* const in = elements.as<std::int32_t>();
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(x.numel()) * 2);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    check_interrupt();
    bytes += static_cast<char>(in[i] >> 8);
    bytes += static_cast<char>(in[i]);
  }
  return bytes;
}

}  // namespace kiln::interp::files
