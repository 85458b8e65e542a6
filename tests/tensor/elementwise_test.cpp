// Every elementwise op on every dtype and layout: against exact integers, and floats against the op itself on
// plain contiguous f32 and f64 operands, which math_test.cpp checks against the C library.
#include <catch2/catch.hpp>

#include <numeric>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/isa.h"
#include "tensor/ops/pointwise.h"
#include "tensor/parallel.h"
#include "tests/effort.h"
#include "tests/tensor/every_isa.h"
#include "tests/tensor/scalar_reference.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::testing::elementwise_test {
namespace {

constexpr DType kDTypes[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                             DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};

std::vector<const Op*> pointwise_ops() {
  std::vector<const Op*> ops;
  for (const Op* op : OpTable::get().ops()) {
    if (op->pointwise != nullptr) ops.push_back(op);
  }
  return ops;
}

// Attributes without a default need a value.
std::vector<NamedAttr> some_attrs(const Op& op) {
  if (op.name() == "polygamma") return {{"n", std::int64_t{1}}};
  if (op.name() == "checked") return {{"message", std::string("an element is 0")}};
  if (op.name() == "add.alpha" || op.name() == "sub.alpha") return {{"alpha", std::int64_t{2}}};
  if (op.name() == "div.rounded") return {{"rounding_mode", std::string("floor")}};
  return {};
}

// Operand `i` of a dtype: floats in the row's range, integers small; what divides, shifts or is a power is
// positive.
Tensor operand(const Op& op, int i, DType dtype, const Dims& sizes) {
  if (i == op.pointwise->mask) return noise(sizes, DType::Bool, 5 + i, -1, 1.99);
  const SampleRange range = op.pointwise->samples[static_cast<std::size_t>(i)];
  if (is_float(dtype)) return noise(sizes, dtype, 5 + i, range.low, range.high);
  const bool positive = i > 0 && range.low > -2.5;
  const int least = dtype == DType::Bool || dtype == DType::U8 || i == 1 || positive ? 0 : -3;
  return make(sizes, dtype, [=](std::int64_t k) {
    const auto value = static_cast<double>(least + (k * 7 + i * 3) % (4 - least));
    return i == 1 && value == 0 ? 1.0 : value;
  });
}

std::vector<Tensor> operands(const Op& op, DType dtype, const Dims& sizes) {
  std::vector<Tensor> result;
  for (int i = 0; i < op.pointwise->operands; ++i) result.push_back(operand(op, i, dtype, sizes));
  return result;
}

// The result, or absent where the row refuses the dtype.
Tensor run(const Op& op, const std::vector<Tensor>& inputs) {
  try {
    return call(op.signature.name, inputs, some_attrs(op))[0];
  } catch (const OpError& error) {
    if (error.kind() != ErrorKind::DType) throw;
    return {};
  }
}

std::int64_t wrap_to(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::Bool:
      return value != 0;
    case DType::U8:
      return static_cast<std::uint8_t>(value);
    case DType::I8:
      return static_cast<std::int8_t>(value);
    case DType::I16:
      return static_cast<std::int16_t>(value);
    case DType::I32:
      return static_cast<std::int32_t>(value);
    default:
      return static_cast<std::int64_t>(value);
  }
}

// Of a dtype it gives what no other one has: it has a test of its own.
bool depends_on_dtype(const Op& op) { return op.name() == "nextafter"; }

// What the op gives for f16 and bf16: computed in f32, rounded once.
std::vector<Tensor> widened(const Op& op, std::vector<Tensor> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (static_cast<int>(i) != op.pointwise->mask) inputs[i] = cpu::contiguous_copy(inputs[i], DType::F32);
  }
  return inputs;
}

void check_values(const Op& op, DType dtype, const std::vector<Tensor>& inputs, const Tensor& result) {
  const ScalarReference* reference = scalar_reference(op.signature.name);
  REQUIRE(reference != nullptr);
  if (depends_on_dtype(op)) return;
  if (dtype == DType::F16 || dtype == DType::BF16) {
    Tensor wide = run(op, widened(op, inputs));
    if (result.dtype() != DType::Bool) wide = cpu::contiguous_copy(wide, dtype);
    CHECK(same_bits(result, wide));
    return;
  }
  if (is_float(result.dtype()) || (is_float(dtype) && !reference->real) ||
      (!is_float(dtype) && !reference->whole)) {
    return;
  }
  for (std::int64_t k = 0; k < result.numel(); ++k) {
    long double args[3] = {};
    for (std::size_t i = 0; i < inputs.size(); ++i) args[i] = element(inputs[i], k);
    if (is_float(dtype)) {
      CHECK(element(result, k) == reference->real(args[0], args[1], args[2]));
    } else {
      const auto want =
          reference->whole(static_cast<std::int64_t>(args[0]), static_cast<std::int64_t>(args[1]),
                           static_cast<std::int64_t>(args[2]));
      const bool flips = op.name() == "bitwise_not" && dtype == DType::Bool;
      CHECK(element(result, k) == wrap_to(result.dtype(), flips ? want + 2 : want));
    }
  }
}

// The same elements of the second and third operand, repeated along the first dimension.
Tensor first_row(const Tensor& x) { return cpu::contiguous_copy(ops::select(x, 0, 0), x.dtype()); }

void check_layouts(const Op& op, const std::vector<Tensor>& plain, const Tensor& expected) {
  std::vector<Tensor> moved = plain;
  for (Tensor& x : moved) x = strided(x);
  CHECK(same_bits(run(op, moved), expected));
  moved = plain;
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = i % 2 == 0 ? backwards(moved[i]) : moved[i];
  CHECK(same_bits(run(op, moved), expected));
  moved = plain;
  for (Tensor& x : moved) x = backwards(x);
  CHECK(same_bits(run(op, moved), expected));
  if (plain.size() == 1 || plain[0].rank() == 0 || plain[0].numel() == 0) return;
  // Rows broadcast: one, and spelled out.
  std::vector<Tensor> broadcast = plain, spelled = plain;
  for (std::size_t i = 1; i < plain.size(); ++i) {
    broadcast[i] = first_row(plain[i]);
    spelled[i] = cpu::contiguous_copy(ops::expand(broadcast[i], plain[i].sizes()), plain[i].dtype());
  }
  CHECK(same_bits(run(op, broadcast), run(op, spelled)));
}

// Halves of any bits, also those that are no numbers and quiet or not.
Tensor raw_halves(DType dtype, std::int64_t count, std::uint32_t first, std::uint32_t step) {
  const Tensor x = Tensor::empty(Dims{count}, dtype);
  auto* const bits = reinterpret_cast<std::uint16_t*>(x.raw_writable());
  for (std::int64_t i = 0; i < count; ++i)
    bits[i] = static_cast<std::uint16_t>(first + static_cast<std::uint32_t>(i) * step);
  return x;
}

// The op in f32, its result rounded once.
Tensor rounded(const Op& op, const std::vector<Tensor>& inputs, DType dtype) {
  const Tensor wide = run(op, widened(op, inputs));
  return wide.dtype() == DType::Bool ? wide : cpu::contiguous_copy(wide, dtype);
}

}  // namespace

TEST_CASE("every elementwise op on every dtype, in every layout", "[elementwise]") {
  for (const Op* op : pointwise_ops()) {
    int allowed = 0;
    for (const DType dtype : kDTypes) {
      for (const Dims& sizes : {Dims{5, 7}, Dims{}, Dims{0, 3}, Dims{1}, Dims{3, 1, 2, 5}}) {
        INFO(op->signature.name << " " << name(dtype) << " " << to_string(sizes));
        const std::vector<Tensor> inputs = operands(*op, dtype, sizes);
        const Tensor result = run(*op, inputs);
        if (!result) continue;
        ++allowed;
        CHECK(result.sizes() == sizes);
        CHECK(result.is_contiguous());
        check_values(*op, dtype, inputs, result);
        check_layouts(*op, inputs, result);
        std::vector<TensorType> types;
        for (const Tensor& input : inputs) types.push_back(input.type());
        CHECK(op->infer(types, attrs_of(*op, some_attrs(*op)))[0] == result.type());
      }
    }
    CHECK(allowed > 0);
  }
}

TEST_CASE("elementwise ops give the same bits on any number of threads and every instruction set",
          "[elementwise]") {
  const cpu::Isa best = cpu::isa();
  const int threads = num_threads();
  for (const Op* op : pointwise_ops()) {
    for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::Bool, DType::U8,
                              DType::I8, DType::I16, DType::I32, DType::I64}) {
      const std::vector<Tensor> inputs = operands(*op, dtype, Dims{3, 11'111});
      set_num_threads(1);
      const Tensor expected = run(*op, inputs);
      if (!expected) continue;
      INFO(op->signature.name << " " << name(dtype));
      set_num_threads(3);
      CHECK(same_bits(run(*op, inputs), expected));
      CHECK(same_bits(run(*op,
                          [&] {
                            std::vector<Tensor> moved = inputs;
                            for (Tensor& x : moved) x = strided(x);
                            return moved;
                          }()),
                      expected));
      for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
        if (!cpu::has_kernels(isa)) continue;
        cpu::set_isa(isa);
        CHECK(same_bits(run(*op, inputs), expected));
      }
      cpu::set_isa(best);
    }
  }
  set_num_threads(threads);
}

TEST_CASE("every half gives the same whether blocks are converted or registers", "[elementwise][halves]") {
  constexpr std::int64_t kAll = 65536;
  for (const Op* op : pointwise_ops()) {
    if ((op->pointwise->flags & kFailsOfFloats) != 0) continue;  // every half is one of them
    for (const DType dtype : {DType::F16, DType::BF16}) {
      std::vector<Tensor> inputs;
      for (int i = 0; i < op->pointwise->operands; ++i) {
        inputs.push_back(
            i == op->pointwise->mask
                ? noise({kAll}, DType::Bool, 5, -1, 1.99)
                : raw_halves(dtype, kAll, static_cast<std::uint32_t>(i) * 12345, i == 0 ? 1 : 40503));
      }
      if (!run(*op, inputs)) continue;
      INFO(op->signature.name << " " << name(dtype));
      const cpu::Isa best = cpu::isa();
      cpu::set_isa(cpu::Isa::Baseline);
      const Tensor expected = run(*op, inputs);
      cpu::set_isa(best);
      test::every_isa([&] { CHECK(same_bits(run(*op, inputs), expected)); });
    }
  }
}

TEST_CASE("operands that are one value give what they give written out", "[elementwise]") {
  // Whichever they are; sizes that fill no vector, and more than a block.
  for (const Op* op : pointwise_ops()) {
    for (const DType dtype : kDTypes) {
      for (const std::int64_t n : {std::int64_t{1}, std::int64_t{61}, std::int64_t{5000}}) {
        const std::vector<Tensor> inputs = operands(*op, dtype, Dims{n});
        if (!run(*op, inputs)) continue;
        for (unsigned values = 1; values < 1U << inputs.size(); ++values) {
          INFO(op->signature.name << " " << name(dtype) << " " << n << ", values " << values);
          std::vector<Tensor> expanded = inputs, written = inputs;
          for (std::size_t i = 0; i < inputs.size(); ++i) {
            if ((values >> i & 1U) == 0) continue;
            expanded[i] = ops::expand(ops::narrow(inputs[i], 0, n / 2, 1), Dims{n});
            written[i] = cpu::contiguous_copy(expanded[i], expanded[i].dtype());
          }
          const Tensor expected = run(*op, written);
          test::every_isa([&] { CHECK(same_bits(run(*op, expanded), expected)); });
        }
      }
    }
  }
}

TEST_CASE("rows that lie apart, that are one element and that repeat give what they give written out",
          "[elementwise]") {
  // Each operand as one of: part of longer rows, a column, rows that the middle dimension repeats, one row.
  // The rows fill vectors, or leave few elements over, or many.
  constexpr unsigned kForms = 4;
  const auto formed = [](const Tensor& x, unsigned form) {
    const Dims sizes{3, 5, x.size(2) / 2};
    Tensor part = ops::narrow(x, 2, 1, sizes[2]);
    if (form == 1) part = ops::narrow(part, 2, 0, 1);
    if (form == 2) part = ops::narrow(part, 1, 0, 1);
    if (form == 3) part = ops::select(ops::select(part, 0, 0), 0, 0);
    return ops::expand(part, sizes);
  };
  unsigned drawn = 0;
  for (const Op* op : pointwise_ops()) {
    for (const DType dtype : kDTypes) {
      for (const std::int64_t n : {20, 64, 97, 544}) {
        const std::vector<Tensor> inputs = operands(*op, dtype, Dims{3, 5, 2 * n});
        if (!run(*op, inputs)) continue;
        for (unsigned forms = 0; forms < 1U << 2 * inputs.size(); ++forms) {
          if (drawn++ % kEvery != 0) continue;
          INFO(op->signature.name << " " << name(dtype) << " " << n << ", forms " << forms);
          std::vector<Tensor> apart = inputs, written = inputs;
          for (std::size_t i = 0; i < inputs.size(); ++i) {
            apart[i] = formed(inputs[i], forms >> 2 * i & (kForms - 1));
            written[i] = cpu::contiguous_copy(apart[i], apart[i].dtype());
          }
          const Tensor expected = run(*op, written);
          test::every_isa([&] { CHECK(same_bits(run(*op, apart), expected)); });
          if (forms != 0 || !op->has(kInplace) || expected.dtype() != dtype) continue;
          // Written over rows that lie apart, and over nothing beside them.
          test::every_isa([&] {
            const Tensor whole = ops::clone(inputs[0]);
            std::vector<Tensor> into = apart;
            into[0] = formed(whole, 0);
            const Attrs attrs = attrs_of(*op, some_attrs(*op));
            run_eager_inplace(*op, into, attrs);
            CHECK(same_bits(into[0], expected));
            for (const auto& [first, length] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {n + 1, n - 1}})
              CHECK(
                  same_bits(ops::narrow(whole, 2, first, length), ops::narrow(inputs[0], 2, first, length)));
          });
        }
      }
    }
  }
}

TEST_CASE("operands that lie across the result give what they give written out", "[elementwise]") {
  // Each operand as one of: transposed, as the result, a row that repeats, a column, one value. Sides that
  // fill vectors, and some that do not; some matrices of a batch.
  constexpr unsigned kForms = 5;
  constexpr unsigned kSome = 7 * kEvery;
  const auto formed = [](const Tensor& x, unsigned form) {  // [batch, n, m] of [batch, m, n]
    const Dims sizes{x.size(0), x.size(2), x.size(1)};
    Tensor part = ops::transpose(x, 1, 2);
    if (form == 1) part = ops::reshape(cpu::contiguous_copy(part, x.dtype()), sizes);
    if (form == 2) part = ops::narrow(part, 1, 0, 1);
    if (form == 3) part = ops::narrow(part, 2, 0, 1);
    if (form == 4) part = ops::narrow(ops::narrow(ops::narrow(part, 0, 0, 1), 1, 0, 1), 2, 0, 1);
    return ops::expand(part, sizes);
  };
  unsigned drawn = 0;
  for (const Op* op : pointwise_ops()) {
    for (const DType dtype : kDTypes) {
      for (const Dims& sizes : {Dims{1, 64, 128}, Dims{2, 37, 41}, Dims{1, 70, 300}, Dims{1, 8, 1100}}) {
        const std::vector<Tensor> inputs = operands(*op, dtype, sizes);
        if (!run(*op, inputs)) continue;
        unsigned combinations = 1;
        for (std::size_t i = 0; i < inputs.size(); ++i) combinations *= kForms;
        for (unsigned forms = 0; forms < combinations; ++forms) {
          if (forms != 0 && drawn++ % kSome != 0) continue;
          INFO(op->signature.name << " " << name(dtype) << " " << to_string(sizes) << ", forms " << forms);
          std::vector<Tensor> across = inputs, written = inputs;
          for (std::size_t i = 0, rest = forms; i < inputs.size(); ++i, rest /= kForms) {
            across[i] = formed(inputs[i], static_cast<unsigned>(rest % kForms));
            written[i] = cpu::contiguous_copy(across[i], across[i].dtype());
          }
          const Tensor expected = run(*op, written);
          test::every_isa([&] { CHECK(same_bits(run(*op, across), expected)); });
          if (forms != 0 || inputs.size() < 2 || !op->has(kInplace) || expected.dtype() != dtype) continue;
          // Written over what lies as the others do not.
          test::every_isa([&] {
            std::vector<Tensor> into = across;
            into[0] = ops::clone(written[0]);
            const Attrs attrs = attrs_of(*op, some_attrs(*op));
            run_eager_inplace(*op, into, attrs);
            CHECK(same_bits(into[0], expected));
          });
        }
      }
    }
  }
}

TEST_CASE("values beside halves stay f32", "[elementwise][halves]") {
  // No half is 0.1; one operand or more is a value: a number, a tensor of one element, one that is expanded.
  const auto value = [](int kind, DType dtype, std::int64_t n) {
    const Tensor tenth = make({1}, dtype, [](auto) { return 0.1; });
    return kind == 0 ? Tensor::number(0.1) : kind == 1 ? tenth : ops::expand(tenth, Dims{n});
  };
  for (const Op* op : pointwise_ops()) {
    const int count = op->pointwise->operands;
    if (depends_on_dtype(*op)) continue;
    for (const DType dtype : {DType::F16, DType::BF16}) {
      for (const std::int64_t n : {1, 15, 16, 17, 129, 2049}) {
        for (int values = 0; values < 1 << count; ++values) {
          for (int kind = 0; kind < 3; ++kind) {
            std::vector<Tensor> inputs = operands(*op, dtype, {n});
            for (int i = 0; i < count; ++i) {
              if ((values >> i & 1) != 0 && i != op->pointwise->mask)
                inputs[static_cast<std::size_t>(i)] = value(kind, dtype, n);
            }
            const Tensor result = run(*op, inputs);
            if (!result || (result.dtype() != dtype && result.dtype() != DType::Bool)) continue;
            INFO(op->signature.name << " " << name(dtype) << " " << n << " " << values << " " << kind);
            CHECK(same_bits(result, rounded(*op, inputs, dtype)));
          }
        }
      }
    }
  }
}

TEST_CASE("the next number is the next of the dtype, from each half and from floats of every size",
          "[elementwise][halves]") {
  constexpr int kAll = 65536;
  for (const DType dtype : {DType::F16, DType::BF16}) {
    const int infinity = dtype == DType::F16 ? 0x7c00 : 0x7f80;
    const Tensor x = raw_halves(dtype, kAll, 0, 1);
    // Places in the order of numbers: magnitudes up, those of negative numbers down; zeros are one place.
    const auto place = [](int bits) { return (bits & 0x8000) != 0 ? -(bits & 0x7fff) : bits; };
    for (const double toward : {double(INFINITY), -double(INFINITY), 0.0}) {
      const Tensor y = ops::nextafter(x, Tensor::number(toward));
      const auto* const bits = reinterpret_cast<const std::uint16_t*>(y.raw());
      bool as_defined = y.dtype() == dtype;
      for (int i = 0; i < kAll; ++i) {
        if ((i & 0x7fff) > infinity) {
          as_defined = as_defined && std::isnan(element(y, i));
          continue;
        }
        const int end = std::isinf(toward) ? (toward > 0 ? infinity : -infinity) : 0;
        const int step = place(i) < end ? 1 : place(i) > end ? -1 : 0;
        as_defined = as_defined && place(bits[i]) == place(i) + step;
      }
      INFO(name(dtype) << " toward " << toward);
      CHECK(as_defined);
    }
  }
  const Tensor floats = noise({4000}, DType::F64, 3, -40, 40), others = noise({4000}, DType::F64, 4, -40, 40);
  for (const DType dtype : {DType::F32, DType::F64}) {
    const Tensor x = ops::to(ops::sign(floats) * ops::exp2(floats * 3.0), dtype);
    const Tensor toward = ops::to(ops::sign(others) * ops::exp2(others * 3.0), dtype);
    const Tensor y = ops::nextafter(x, toward);
    bool as_defined = true;
    for (int i = 0; i < 4000; ++i) {
      const double want = dtype == DType::F64 ? std::nextafter(x.data<double>()[i], toward.data<double>()[i])
                                              : std::nextafter(x.data<float>()[i], toward.data<float>()[i]);
      as_defined = as_defined && element(y, i) == want;
    }
    CHECK(as_defined);
  }
}

TEST_CASE("divisors and multiples of the least and the greatest integers", "[elementwise]") {
  const auto of = [](DType dtype, std::vector<double> values) {
    return make({static_cast<std::int64_t>(values.size())}, dtype,
                [=](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
  };
  const Tensor bytes = of(DType::I8, {-128, -128, 127, 0, 0, -6}),
               others = of(DType::I8, {-128, 96, -127, 5, 0, 4});
  const std::vector<double> divisors = {-128, 32, 127, 5, 0, 2}, multiples = {-128, -128, 127, 0, 0, 12};
  for (int i = 0; i < 6; ++i) {
    CHECK(element(ops::gcd(bytes, others), i) == divisors[static_cast<std::size_t>(i)]);
    CHECK(element(ops::lcm(bytes, others), i) == multiples[static_cast<std::size_t>(i)]);
  }
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const Tensor x = Tensor::empty(Dims{2}, DType::I64), y = Tensor::empty(Dims{2}, DType::I64);
  std::copy_n(std::initializer_list<std::int64_t>{kLeast, 4'611'686'018'427'387'847}.begin(), 2,
              x.writable<std::int64_t>());
  std::copy_n(std::initializer_list<std::int64_t>{kLeast + 2, 3 * 1'537'228'672'809'129'301}.begin(), 2,
              y.writable<std::int64_t>());
  const Tensor divisor = ops::gcd(x, y);
  CHECK(divisor.data<std::int64_t>()[0] == 2);
  CHECK(divisor.data<std::int64_t>()[1] == std::gcd(x.data<std::int64_t>()[1], y.data<std::int64_t>()[1]));
}

TEST_CASE("every byte is shifted by every amount, alone and in blocks", "[elementwise]") {
  for (const DType dtype : {DType::U8, DType::I8}) {
    const int least = dtype == DType::U8 ? 0 : -128;
    const Tensor x = make({2048}, dtype, [=](auto i) { return static_cast<double>(least + i % 256); });
    const Tensor amount = make({2048}, dtype, [](auto i) { return static_cast<double>(i / 256); });
    test::every_isa([&] {
      const Tensor left = ops::bitwise_left_shift(x, amount), right = ops::bitwise_right_shift(x, amount);
      bool as_defined = true;
      for (int i = 0; i < 2048; ++i) {
        const int value = least + i % 256, places = i / 256;
        const auto moved = static_cast<std::int64_t>(value * (1 << places));
        as_defined = as_defined && element(left, i) == wrap_to(dtype, moved);
        as_defined = as_defined && element(right, i) == (value >> places);
      }
      CHECK(as_defined);
    });
  }
}

TEST_CASE("floats are written over themselves", "[elementwise][halves]") {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    const Tensor x = noise({3000}, dtype, 1), y = noise({3000}, dtype, 2);
    const Tensor sum = ops::add(x, y), power = ops::exp(x);
    const Tensor target = ops::clone(x);
    ops::add_(target, y);
    CHECK(same_bits(target, sum));
    const Tensor other = ops::clone(x);
    const Op& exp = OpTable::get().at("exp");
    bind_inplace(exp, std::vector<Tensor>{other}, Attrs(exp));
    CHECK(same_bits(other, power));
  }
}

TEST_CASE("sizes around those of blocks and vectors", "[elementwise]") {
  for (const std::int64_t n :
       {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 255, 257, 511, 1023, 1024, 1025, 4097, 32769, 70001}) {
    const Tensor a = noise({n}, DType::F32, 1), b = noise({n}, DType::F32, 2);
    const Tensor wide = ops::exp(ops::to(a, DType::F64));
    const Tensor sum = ops::add(a, b), scaled = ops::mul(a, Tensor::number(3.0)), grown = ops::exp(a);
    const Tensor mixed = ops::add(ops::to(a, DType::F16), b);
    bool right = true;
    for (std::int64_t i = 0; i < n; ++i) {
      const float x = a.data<float>()[i], y = b.data<float>()[i];
      right = right && sum.data<float>()[i] == x + y && scaled.data<float>()[i] == x * 3.0F;
      right = right && mixed.data<float>()[i] == to_float(to_half(x)) + y;
      right = right &&
              std::fabs(grown.data<float>()[i] - wide.data<double>()[i]) <= 1e-7 * wide.data<double>()[i];
    }
    INFO(n);
    CHECK(right);
  }
}

// Whole blocks, whose length is known, and what is left after them.
TEST_CASE("a part of a tensor gives that part of the result", "[elementwise]") {
  for (const Op* op : pointwise_ops()) {
    if (op->pointwise->operands != 1) continue;
    for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
      Tensor x = operands(*op, dtype, Dims{70'001})[0];
      for (const std::int64_t at : {5, 400}) set_element(x, at, NAN);
      for (const std::int64_t at : {6, 130, 700}) set_element(x, at, -0.0);
      for (const std::int64_t at : {7, 300, 69'999}) set_element(x, at, -INFINITY);
      const Tensor whole = run(*op, {x});
      if (!whole) continue;
      INFO(op->signature.name << " " << name(dtype));
      for (const int threads : {1, 4}) {
        const Threads scope(threads);
        for (const std::int64_t n : {1, 31, 127, 128, 129, 255, 256, 257, 300, 1000, 70'001}) {
          const Tensor part = ops::slice(x, 0, 0, n), expected = ops::slice(whole, 0, 0, n);
          CHECK(same_bits(run(*op, {part}), expected));
          CHECK(same_bits(run(*op, {strided(part)}), expected));
        }
      }
    }
  }
}

TEST_CASE("a column or a row meets a matrix as broadcasting says", "[elementwise]") {
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{3, 5}, {1000, 3}, {3, 3000}, {257, 300}}) {
    const Tensor m = noise({rows, columns}, DType::F32, 1);
    const Tensor row = noise({columns}, DType::F32, 2), column = noise({rows, 1}, DType::F32, 3);
    const Tensor with_row = ops::mul(m, row), with_column = ops::mul(m, column),
                 outer = ops::mul(column, row);
    bool right = true;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const float x = m.data<float>()[i * columns + j], r = row.data<float>()[j],
                    c = column.data<float>()[i];
        right = right && with_row.data<float>()[i * columns + j] == x * r;
        right = right && with_column.data<float>()[i * columns + j] == x * c;
        right = right && outer.data<float>()[i * columns + j] == c * r;
      }
    }
    INFO(rows << "x" << columns);
    CHECK(right);
  }
}

TEST_CASE("floor_div and remainder of floats are consistent, also for quotients beyond the mantissa",
          "[elementwise]") {
  const Tensor a = noise({4000}, DType::F64, 1, -1e18, 1e18), b = noise({4000}, DType::F64, 2, -3, 3);
  const Tensor q = ops::floor_div(a, b), r = ops::remainder(a, b);
  for (int i = 0; i < 4000; ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i], rest = r.data<double>()[i];
    CHECK((rest == 0 || (rest < 0) == (y < 0)));
    CHECK(std::fabs(rest) < std::fabs(y));
    CHECK(std::fabs(q.data<double>()[i] - std::floor(static_cast<long double>(x) / y)) <=
          std::fabs(x / y) * 0x1p-52 + 1);
  }
  const auto pair = [](double x, double y) {
    return std::pair(
        ops::floor_div(make({1}, DType::F64, [=](auto) { return x; }), Tensor::number(y)).data<double>()[0],
        ops::remainder(make({1}, DType::F64, [=](auto) { return x; }), Tensor::number(y)).data<double>()[0]);
  };
  CHECK(pair(-7, 2) == std::pair(-4.0, 1.0));
  CHECK(pair(7, -2) == std::pair(-4.0, -1.0));
  CHECK(pair(6, 0.1).first == 59);  // 0.1 is a little more than a tenth
  CHECK(std::isinf(pair(1, 0).first));
  CHECK(std::isnan(pair(1, 0).second));
}

TEST_CASE("attributes choose the formula", "[elementwise]") {
  const Tensor x = make({4}, DType::F64, [](auto i) { return static_cast<double>(i) - 1.5; });
  const auto at = [](const Tensor& t, int i) { return t.data<double>()[i]; };
  const auto one = [&](std::string_view op, std::vector<NamedAttr> attrs) { return call(op, {x}, attrs)[0]; };
  CHECK(at(one("gelu", {}), 3) == Approx(1.5 * 0.5 * std::erfc(-1.5 / std::sqrt(2.0))));
  CHECK(at(one("gelu", {{"approximate", std::string("tanh")}}), 3) ==
        Approx(0.75 * (1 + std::tanh(std::sqrt(2 / M_PI) * (1.5 + 0.044715 * 3.375)))));
  CHECK(at(one("elu", {{"alpha", 2.0}}), 0) == Approx(2 * std::expm1(-1.5)));
  CHECK(at(one("elu", {}), 3) == 1.5);
  CHECK(at(one("leaky_relu", {}), 0) == Approx(-0.015));
  CHECK(at(one("leaky_relu", {{"negative_slope", 0.5}}), 0) == -0.75);
  CHECK(at(one("softplus", {}), 0) == Approx(std::log1p(std::exp(-1.5))));
  CHECK(at(one("softplus", {{"beta", 2.0}, {"threshold", 1.0}}), 3) == 1.5);
  CHECK(at(one("softplus", {{"beta", 2.0}}), 3) == Approx(std::log1p(std::exp(3.0)) / 2));
  CHECK(at(call("round", {make({1}, DType::F64, [](auto) { return 2.345678; })},
                {{"decimals", std::int64_t{2}}})[0],
           0) == Approx(2.35));
  CHECK(at(call("round", {make({1}, DType::F64, [](auto) { return 1250.0; })},
                {{"decimals", std::int64_t{-2}}})[0],
           0) == 1200.0);
  const Tensor odd = make({3}, DType::F64, [](auto i) {
    return i == 0 ? NAN : i == 1 ? INFINITY : -INFINITY;
  });
  CHECK(
      elements(call("nan_to_num", {odd})[0]) ==
      std::vector<long double>{0, std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()});
  CHECK(elements(call("nan_to_num", {odd}, {{"nan", 1.0}, {"posinf", 2.0}, {"neginf", 3.0}})[0]) ==
        std::vector<long double>{1, 2, 3});
  CHECK(element(call("nan_to_num", {ops::to(odd, DType::F16)})[0], 1) == 65504);
  const Tensor seven = make({2}, DType::I32, [](auto i) { return i == 0 ? 7 : -7; });
  const Tensor two = Tensor::number(std::int64_t{2});
  const auto divided = [&](const char* mode) {
    return elements(call("div.rounded", {seven, two}, {{"rounding_mode", std::string(mode)}})[0]);
  };
  CHECK(divided("floor") == std::vector<long double>{3, -4});
  CHECK(divided("trunc") == std::vector<long double>{3, -3});
  CHECK(elements(call("add.alpha", {seven, two}, {{"alpha", std::int64_t{10}}})[0]) ==
        std::vector<long double>{27, 13});
}

TEST_CASE("clamp takes either bound, numbers or tensors, and passes nan on", "[elementwise]") {
  const Tensor x = make({4}, DType::F32, [](auto i) { return i == 3 ? NAN : static_cast<double>(i) - 1; });
  const auto list = [](const Tensor& t) { return elements(t); };
  const Tensor low = ops::clamp(x, 0.0, std::nullopt), high = ops::clamp(x, std::nullopt, 0.0);
  CHECK(list(ops::slice(low, 0, 0, 3)) == std::vector<long double>{0, 0, 1});
  CHECK(list(ops::slice(high, 0, 0, 3)) == std::vector<long double>{-1, 0, 0});
  CHECK(std::isnan(element(low, 3)));
  const Tensor whole = ops::clamp(make({3}, DType::I8, [](auto i) { return i * 50.0; }), std::nullopt, 60.0);
  CHECK(whole.dtype() == DType::I8);
  CHECK(list(whole) == std::vector<long double>{0, 50, 60});
  const Tensor bounds = make({2, 1}, DType::F32, [](auto i) { return static_cast<double>(i); });
  CHECK(ops::clamp(ops::slice(x, 0, 0, 3), bounds, Tensor()).sizes() == Dims{2, 3});
}

TEST_CASE("clamp keeps the sign of a zero at a bound of the other sign", "[elementwise]") {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    const Tensor zeros = make({40}, dtype, [](auto i) { return i % 2 == 0 ? -0.0 : 0.0; });
    for (const Tensor& kept : {ops::clamp(zeros, 0.0, std::nullopt), ops::clamp(zeros, -0.0, 0.0),
                               ops::clamp(zeros, std::nullopt, -0.0), ops::clamp(zeros, 0.0, 1.0)})
      CHECK(same_bits(kept, zeros));
  }
}

}  // namespace kiln::testing::elementwise_test
