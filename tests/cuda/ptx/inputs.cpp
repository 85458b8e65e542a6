#include "tests/cuda/ptx/inputs.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "tensor/host_view.h"
#include "tensor/ops/pointwise.h"

namespace kiln::testing {
namespace {

using Bits = std::uint64_t;

constexpr int kRandomCount = 30000, kUsualCount = 10000, kMixedCount = 10000;

Bits float_bits(double value, DType dtype) {
  switch (dtype) {
    case DType::F16:
      return to_half(static_cast<float>(value)).bits;
    case DType::BF16:
      return to_bfloat16(static_cast<float>(value)).bits;
    case DType::F32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    default:
      return std::bit_cast<Bits>(value);
  }
}

std::vector<Bits> float_edges(DType dtype) {
  std::vector<Bits> edges;
  for (const double value : {0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 100.25, 1e-3, 1e4, 1e10,
                             std::numeric_limits<double>::infinity()}) {
    edges.push_back(float_bits(value, dtype));
    edges.push_back(float_bits(-value, dtype));
  }
  const Bits sign = Bits{1} << (8 * size_of(dtype) - 1);
  const Bits infinity = float_bits(std::numeric_limits<double>::infinity(), dtype);
  const Bits least_normal = infinity & ~(infinity << 1);  // the lowest bit of the exponent
  // The nan that no payload marks, the largest number, and the least and largest of the subnormal ones.
  for (const Bits bits :
       {infinity + least_normal / 2, infinity - 1, least_normal, least_normal - 1, Bits{1}}) {
    edges.push_back(bits);
    edges.push_back(bits | sign);
  }
  return edges;
}

std::vector<Bits> integer_edges(DType dtype) {
  std::vector<Bits> edges;
  for (const int value : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 63, 64, 100}) {
    edges.push_back(static_cast<Bits>(value));
    edges.push_back(~static_cast<Bits>(value) + 1);
  }
  const Bits half = Bits{1} << (8 * size_of(dtype) - 1);
  for (const Bits bits : {half, half + 1, half - 1, half - 2, half / 2}) edges.push_back(bits);
  return edges;
}

// Elements of one dtype as bits.
class Source {
 public:
  Source(DType dtype, std::mt19937_64& random)
      : edges(dtype == DType::Bool ? std::vector<Bits>{0, 1}
              : is_float(dtype)    ? float_edges(dtype)
                                   : integer_edges(dtype)),
        dtype_(dtype),
        random_(random) {}

  Bits any() { return dtype_ == DType::Bool ? random_() & 1U : random_(); }
  Bits edge() { return edges[random_() % edges.size()]; }
  Bits usual() {
    if (dtype_ == DType::Bool) return any();
    if (!is_float(dtype_)) return random_() % 81 - 40;
    constexpr double kScales[] = {1.0, 3.0, 100.0, 1e-4};
    const double unit = static_cast<double>(random_() >> 11) * 0x1p-52 - 1.0;
    return float_bits(unit * kScales[random_() % 4], dtype_);
  }
  Bits mixed() {
    const Bits kind = random_() % 3;
    return kind == 0 ? any() : kind == 1 ? edge() : usual();
  }
  int bit_count() const { return dtype_ == DType::Bool ? 1 : 8 * static_cast<int>(size_of(dtype_)); }

  std::vector<Bits> edges;

 private:
  DType dtype_;
  std::mt19937_64& random_;
};

// Columns of bits, one for each operand.
class Rows {
 public:
  explicit Rows(std::vector<Source> sources) : columns(sources.size()), sources_(std::move(sources)) {}

  template <class F>
  void add(std::size_t count, F each) {
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t i = 0; i < columns.size(); ++i) columns[i].push_back(each(sources_[i], k));
    }
  }
  // Every combination of what `choices` gives for an operand.
  template <class F>
  void add_all(F choices) {
    std::size_t count = 1;
    for (const Source& source : sources_) count *= choices(source).size();
    std::size_t period = 1;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::vector<Bits> values = choices(sources_[i]);
      for (std::size_t k = 0; k < count; ++k) columns[i].push_back(values[k / period % values.size()]);
      period *= values.size();
    }
  }
  // Rows whose operands are all the same.
  void add_equal(std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      const Bits bits = sources_.back().mixed();
      for (std::vector<Bits>& column : columns) column.push_back(bits);
    }
  }
  int bit_count() const {
    int count = 0;
    for (const Source& source : sources_) count += source.bit_count();
    return count;
  }

  std::vector<std::vector<Bits>> columns;

 private:
  std::vector<Source> sources_;
};

std::vector<Bits> patterns(const Source& source) {
  std::vector<Bits> all(std::size_t{1} << source.bit_count());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

Tensor tensor_of(const std::vector<Bits>& bits, DType dtype) {
  const Tensor x = Tensor::empty(Dims{static_cast<std::int64_t>(bits.size())}, dtype);
  const WritableHostView view(x);
  const std::size_t size = size_of(dtype);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const Bits element = dtype == DType::Bool ? bits[i] & 1U : bits[i];
    std::memcpy(view.bytes() + i * size, &element, size);
  }
  return x;
}

}  // namespace

std::vector<Tensor> inputs_of(const Op& op, DType dtype) {
  constexpr int kFewBits = 16;
  std::mt19937_64 random(7);
  std::vector<DType> dtypes;
  std::vector<Source> sources;
  for (int i = 0; i < op.pointwise->operands; ++i) {
    dtypes.push_back(i == op.pointwise->mask ? DType::Bool : dtype);
    sources.emplace_back(dtypes.back(), random);
  }
  Rows rows(std::move(sources));
  rows.add_all([](const Source& source) { return source.edges; });
  if (rows.bit_count() <= kFewBits) {
    rows.add_all(patterns);
  } else {
    rows.add(kRandomCount, [](Source& source, std::size_t) { return source.any(); });
    rows.add(kUsualCount, [](Source& source, std::size_t) { return source.usual(); });
    rows.add(kMixedCount, [](Source& source, std::size_t) { return source.mixed(); });
    rows.add_equal(kUsualCount);
  }
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < dtypes.size(); ++i) inputs.push_back(tensor_of(rows.columns[i], dtypes[i]));
  return inputs;
}

}  // namespace kiln::testing
