// Signals: discrete Fourier transforms as products, and windows.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

// The angles of a transform of this length, [places, frequencies], in f64 so that long signals stay exact.
Tensor angles(std::int64_t places, std::int64_t length) {
  const Tensor k = ops::arange(0, length, 1, DType::I64);
  const Tensor n = ops::unsqueeze(ops::arange(0, places, 1, DType::I64), 1);
  const Tensor turns = ops::remainder(ops::mul(n, k), Tensor::number(length));
  return ops::to(turns, DType::F64) * (2 * std::numbers::pi / static_cast<double>(length));
}

struct Complex {
  Tensor real, imaginary;  // the latter is absent for real numbers
};

// Along the last dimension, cut or filled with zeros to `length`. In f64: a sum over all places would lose
// digits.
Complex transformed(const Complex& x, std::int64_t length, bool is_inverse) {
  const std::int64_t places = std::min(x.real.size(x.real.rank() - 1).fixed(), length);
  const Tensor angle = angles(places, length);
  const Tensor cosine = ops::cos(angle), sine = is_inverse ? ops::sin(angle) : -ops::sin(angle);
  const auto cut = [&](const Tensor& part) {
    return ops::narrow(ops::to(part, DType::F64), part.rank() - 1, 0, places);
  };
  const Tensor real = cut(x.real);
  Complex made{ops::matmul(real, cosine), ops::matmul(real, sine)};
  if (x.imaginary) {
    const Tensor imaginary = cut(x.imaginary);
    made = {made.real - ops::matmul(imaginary, sine), made.imaginary + ops::matmul(imaginary, cosine)};
  }
  if (is_inverse) {
    const double scale = 1 / static_cast<double>(length);
    made = {made.real * scale, made.imaginary * scale};
  }
  const DType dtype = x.real.dtype();
  return {ops::to(made.real, dtype), ops::to(made.imaginary, dtype)};
}

Complex complex_of(Call& call, const Tensor& x) {
  const int last = x.rank() - 1;
  const std::int64_t parts = x.size(last).fixed();
  if (parts == 1) return {ops::select(x, last, 0), {}};
  if (parts != 2)
    call.refuse("needs real or complex numbers in the last dimension, got " + to_string(x.type()));
  return {ops::select(x, last, 0), ops::select(x, last, 1)};
}

Values fourier(Call& call) {
  const Tensor x = call.x(0);
  if (x.rank() < 2) call.refuse("needs a signal and its parts, got " + to_string(x.type()));
  const bool is_old = call.opset() < 20;  // whose axis was an attribute, and counts the last dimension, too
  const std::int64_t given = is_old ? call.integer("axis", 1) : call.has(2) ? call.an_int(2).fixed() : -2;
  const int axis = call.axis(given, x.rank());
  if (axis == x.rank() - 1) call.refuse("transforms along the parts of its numbers");
  const std::int64_t length = call.has(1) ? call.an_int(1).fixed() : x.size(axis).fixed();
  if (length < 1) call.refuse("has the length " + std::to_string(length));
  Complex from = complex_of(call, x);
  const int last = from.real.rank() - 1;
  const auto moved = [&](const Tensor& part) { return part ? ops::transpose(part, axis, last) : part; };
  const bool is_inverse = call.integer("inverse", 0) != 0, is_onesided = call.integer("onesided", 0) != 0;
  if (is_inverse && is_onesided) {
    // The other half is the conjugate of this one, in reverse.
    const Tensor real = moved(from.real),
                 imaginary = from.imaginary ? moved(from.imaginary) : ops::zeros_like(real);
    const std::int64_t whole = call.has(1) ? length : 2 * (real.size(last).fixed() - 1);
    const std::int64_t kept = std::min(real.size(last).fixed(), whole / 2 + 1), missing = whole - kept;
    if (missing > kept - 1)
      call.refuse("has fewer than half of its " + std::to_string(whole) + " frequencies");
    const auto joined = [&](const Tensor& half, bool negated) {
      const Tensor rest = ops::flip(ops::narrow(half, last, 1, missing), Dims{last});
      const Tensor parts[] = {ops::narrow(half, last, 0, kept), negated ? -rest : rest};
      return ops::cat(parts, last);
    };
    const Complex made = transformed({joined(real, false), joined(imaginary, true)}, whole, true);
    return {ops::unsqueeze(ops::transpose(made.real, axis, last), x.rank() - 1)};
  }
  Complex made = transformed({moved(from.real), moved(from.imaginary)}, length, is_inverse);
  const auto back = [&](Tensor part) {
    if (is_onesided) part = ops::narrow(part, last, 0, length / 2 + 1);
    return ops::transpose(part, axis, last);
  };
  const Tensor parts[] = {back(made.real), back(made.imaginary)};
  return {ops::stack(parts, x.rank() - 1)};
}

// Frames of the signal, weighted by a window, each transformed.
Values short_time_fourier(Call& call) {
  Tensor x = call.x(0);
  const std::int64_t step = call.an_int(1).fixed();
  const Tensor window = call.maybe(2);
  const std::int64_t length = call.has(3) ? call.an_int(3).fixed() : window ? window.size(0).fixed() : 0;
  if (step < 1 || length < 1) call.refuse("needs a step and a length of frames above 0");
  if (x.rank() == 2) x = ops::unsqueeze(x, 2);
  const Complex from = complex_of(call, x);
  const auto frames = [&](const Tensor& part) {
    if (!part) return part;
    const Tensor all = ops::unfold(part, 1, length, step);
    return window ? all * window : all;
  };
  const Complex made = transformed({frames(from.real), frames(from.imaginary)}, length, false);
  const std::int64_t kept = call.integer("onesided", 1) != 0 ? length / 2 + 1 : length;
  const Tensor parts[] = {ops::narrow(made.real, 2, 0, kept), ops::narrow(made.imaginary, 2, 0, kept)};
  return {ops::stack(parts, 3)};
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

constexpr Operator kOperators[] = {
    {"BlackmanWindow", blackman},     {"DFT", fourier},
    {"HammingWindow", hamming},       {"HannWindow", hann},
    {"MelWeightMatrix", mel_weights}, {"STFT", short_time_fourier},
};

}  // namespace

std::span<const Operator> signal_operators() { return kOperators; }

}  // namespace kiln::onnx
