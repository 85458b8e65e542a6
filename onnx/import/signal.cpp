// Signals: discrete Fourier transforms, and windows.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "onnx/import/call.h"
#include "tensor/ops/fourier.h"

namespace kiln::onnx {
namespace {

// Transforms are of f32 and f64; halves are transformed as f32.
DType transformed_dtype(const Tensor& x) { return x.dtype() == DType::F64 ? DType::F64 : DType::F32; }

// Real numbers, with 1 part in the last dimension, as pairs.
Tensor pairs_of(Call& call, const Tensor& x) {
  const int last = x.rank() - 1;
  const std::int64_t parts = x.size(last).fixed();
  const Tensor floats = ops::to(x, transformed_dtype(x));
  if (parts == 2) return floats;
  if (parts != 1)
    call.refuse("needs real or complex numbers in the last dimension, got " + to_string(x.type()));
  const Tensor both[] = {floats, ops::zeros_like(floats)};
  return ops::cat(both, last);
}

// Cut along a dimension, or filled with zeros, to `length`.
Tensor of_length(const Tensor& x, int dim, std::int64_t length) {
  const std::int64_t size = x.size(dim).fixed();
  if (size >= length) return ops::narrow(x, dim, 0, length);
  Dims missing(x.sizes().begin(), x.sizes().end());
  missing[static_cast<std::size_t>(dim)] = length - size;
  const Tensor both[] = {x, ops::zeros(missing, x.dtype(), x.device())};
  return ops::cat(both, dim);
}

std::int64_t half_of(std::int64_t length) { return length / 2 + 1; }

Values fourier(Call& call) {
  const Tensor x = call.x(0);
  if (x.rank() < 2) call.refuse("needs a signal and its parts, got " + to_string(x.type()));
  const bool is_old = call.opset() < 20;  // whose axis was an attribute, and counts the last dimension, too
  const std::int64_t given = is_old ? call.integer("axis", 1) : call.has(2) ? call.an_int(2).fixed() : -2;
  const int axis = call.axis(given, x.rank()), last = x.rank() - 2;
  if (axis == x.rank() - 1) call.refuse("transforms along the parts of its numbers");
  const std::int64_t length = call.has(1) ? call.an_int(1).fixed() : x.size(axis).fixed();
  if (length < 1) call.refuse("has the length " + std::to_string(length));
  const Tensor pairs = ops::transpose(pairs_of(call, x), axis, last);
  const bool is_inverse = call.integer("inverse", 0) != 0, is_onesided = call.integer("onesided", 0) != 0;
  const auto back = [&](const Tensor& made) { return ops::to(ops::transpose(made, axis, last), x.dtype()); };
  if (is_inverse && is_onesided) {
    // The other half is the conjugate of this one, in reverse.
    const std::int64_t known = pairs.size(last).fixed(), whole = call.has(1) ? length : 2 * (known - 1);
    if (whole < 1 || known < half_of(whole))
      call.refuse("has fewer than half of its " + std::to_string(whole) + " frequencies");
    const Tensor real = ops::irdft(of_length(pairs, last, half_of(whole)), whole);
    return {back(ops::unsqueeze(real, x.rank() - 1))};
  }
  const Tensor made = ops::dft(of_length(pairs, last, length), is_inverse);
  return {back(is_onesided ? ops::narrow(made, last, 0, half_of(length)) : made)};
}

// Frames of the signal, weighted by a window, each transformed.
Values short_time_fourier(Call& call) {
  Tensor x = call.x(0);
  const std::int64_t step = call.an_int(1).fixed();
  const Tensor window = call.maybe(2);
  const std::int64_t length = call.has(3) ? call.an_int(3).fixed() : window ? window.size(0).fixed() : 0;
  if (step < 1 || length < 1) call.refuse("needs a step and a length of frames above 0");
  if (x.rank() == 2) x = ops::unsqueeze(x, 2);
  // [batch, frames, parts, length] become [batch, frames, length, parts].
  const Tensor frames = ops::unfold(pairs_of(call, x), 1, length, step);
  const Tensor weighted = window ? frames * ops::to(window, frames.dtype()) : frames;
  const Tensor made = ops::dft(ops::transpose(weighted, 2, 3), false);
  const bool is_onesided = call.integer("onesided", 1) != 0;
  return {ops::to(is_onesided ? ops::narrow(made, 2, 0, half_of(length)) : made, x.dtype())};
}

// A sum of cosines over the window.
Values window_of(Call& call, double a, double b, double c) {
  const std::int64_t size = call.an_int(0).fixed();
  const AttributeProto* type = call.attribute("output_datatype");
  const DType dtype = type == nullptr ? DType::F32 : dtype_of(static_cast<ElementType>(type->i));
  const double length = static_cast<double>(call.integer("periodic", 1) != 0 ? size : size - 1);
  const Tensor at =
      ops::to(ops::arange(0, size, 1, DType::I64), DType::F64) * (2 * std::numbers::pi / length);
  const Tensor made = ops::cos(at) * -b + ops::cos(at * 2.0) * c + a;
  return {ops::to(made, dtype)};
}

Values hann(Call& call) { return window_of(call, 0.5, 0.5, 0); }
Values hamming(Call& call) { return window_of(call, 25.0 / 46, 21.0 / 46, 0); }
Values blackman(Call& call) { return window_of(call, 0.42, 0.5, 0.08); }

// The frequencies of a spectrum that are the edges of triangles evenly spaced in mels: `bins` + 2 of them.
std::vector<std::int64_t> mel_edges(std::int64_t bins, std::int64_t length, double rate, double low,
                                    double high) {
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double first = to_mel(low), step = (to_mel(high) - first) / static_cast<double>(bins + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (first + static_cast<double>(i) * step) / 2595) - 1);
    edges.push_back(static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  return edges;
}

// A column for each mel bin, which rises from 0 to 1 and falls again over the frequencies of the spectrum.
Values mel_weights(Call& call) {
  const std::int64_t bins = call.an_int(0).fixed(), length = call.an_int(1).fixed();
  const std::int64_t frequencies = length / 2 + 1;
  const double low = call.number(3, 0), high = call.number(4, 0), rate = call.number(2, 1);
  if (bins < 1 || length < 1 || !(rate > 0) || !(low >= 0) || !(high >= low) || high > rate)
    call.refuse("needs bins, a length and a rate above 0, and edges from 0 up to the rate");
  const std::vector<std::int64_t> edges = mel_edges(bins, length, rate, low, high);
  if (edges.back() > frequencies) call.refuse("has edges beyond the spectrum");
  std::vector<float> weights(static_cast<std::size_t>(frequencies * bins), 0);
  const auto set = [&](std::int64_t frequency, std::int64_t bin, double weight) {
    if (frequency < frequencies)
      weights[static_cast<std::size_t>(frequency * bins + bin)] = static_cast<float>(weight);
  };
  for (std::int64_t i = 0; i < bins; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t left = edges[at], middle = edges[at + 1], right = edges[at + 2];
    for (std::int64_t j = left; j < middle; ++j)
      set(j, i, static_cast<double>(j - left) / static_cast<double>(middle - left));
    set(middle, i, 1);
    for (std::int64_t j = middle + 1; j < right; ++j)
      set(j, i, static_cast<double>(right - j) / static_cast<double>(right - middle));
  }
  const AttributeProto* type = call.attribute("output_datatype");
  const DType dtype = type == nullptr ? DType::F32 : dtype_of(static_cast<ElementType>(type->i));
  return {ops::to(ops::reshape(real_numbers(weights), Dims{frequencies, bins}), dtype)};
}

constexpr Operator kSignalOperators[] = {
    {"BlackmanWindow", blackman},     {"DFT", fourier},
    {"HammingWindow", hamming},       {"HannWindow", hann},
    {"MelWeightMatrix", mel_weights}, {"STFT", short_time_fourier},
};

}  // namespace

std::span<const Operator> signal_operators() { return kSignalOperators; }

}  // namespace kiln::onnx
