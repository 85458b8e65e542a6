// Complex numbers: each op against std::complex of long double, in every layout; views of parts; what is
// refused; derivatives against differences of both parts.
#include <catch2/catch.hpp>

#include <complex>

#include "tensor/autograd.h"
#include "tests/tensor/gradcheck.h"
#include "tests/tensor/samples.h"

namespace kiln::complex_test {

using namespace kiln::testing;

namespace {

using Wide = std::complex<long double>;

Tensor apply(std::string_view name, const std::vector<Tensor>& inputs,
             const std::vector<NamedAttr>& attrs = {}) {
  return kiln::bind(op_named(name), inputs, attrs_of(op_named(name), attrs))[0];
}

Tensor numbers(const Dims& sizes, DType part, int seed, double low = -2.0, double high = 2.0) {
  return ops::complex(noise(sizes, part, seed, low, high), noise(sizes, part, seed + 1000, low, high));
}
Wide at(const Tensor& z, std::int64_t i) {
  if (!is_complex(z.dtype())) return element(z, i);
  return {element(ops::real(z), i), element(ops::imag(z), i)};
}
Tensor of(const std::vector<std::complex<double>>& values) {
  const Dims sizes{static_cast<Dim>(values.size())};
  const auto part = [&](auto f) {
    return make(sizes, DType::F64, [&](std::int64_t i) { return f(values[static_cast<std::size_t>(i)]); });
  };
  return ops::complex(part([](auto z) { return z.real(); }), part([](auto z) { return z.imag(); }));
}
bool near(Wide a, Wide b, long double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(1.0L, std::abs(b));
}
bool near(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return false;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    if (!near(at(a, i), at(b, i), 1e-12L)) return false;
  return true;
}
bool same_parts(const Tensor& a, const Tensor& b) {
  if (!is_complex(a.dtype())) return same_bits(a, b);
  return same_bits(ops::real(a), ops::real(b)) && same_bits(ops::imag(a), ops::imag(b));
}
struct Unary {
  std::string_view name;
  Wide (*expected)(Wide z);
};
constexpr long double kLn2 = 0.693147180559945309417232121458L;
const Unary kUnary[] = {
    {"neg", [](Wide z) { return -z; }},
    {"square", [](Wide z) { return z * z; }},
    {"reciprocal", [](Wide z) { return Wide(1) / z; }},
    {"abs", [](Wide z) { return Wide(std::abs(z)); }},
    {"angle", [](Wide z) { return Wide(std::arg(z)); }},
    {"sign", [](Wide z) { return z / std::abs(z); }},
    {"conj", [](Wide z) { return std::conj(z); }},
    {"sqrt", [](Wide z) { return std::sqrt(z); }},
    {"rsqrt", [](Wide z) { return Wide(1) / std::sqrt(z); }},
    {"exp", [](Wide z) { return std::exp(z); }},
    {"exp2", [](Wide z) { return std::exp(z * kLn2); }},
    {"expm1", [](Wide z) { return std::exp(z) - 1.0L; }},
    {"log", [](Wide z) { return std::log(z); }},
    {"log2", [](Wide z) { return std::log(z) / kLn2; }},
    {"log10", [](Wide z) { return std::log10(z); }},
    {"log1p", [](Wide z) { return std::log(1.0L + z); }},
    {"sin", [](Wide z) { return std::sin(z); }},
    {"cos", [](Wide z) { return std::cos(z); }},
    {"tan", [](Wide z) { return std::tan(z); }},
    {"asin", [](Wide z) { return std::asin(z); }},
    {"acos", [](Wide z) { return std::acos(z); }},
    {"atan", [](Wide z) { return std::atan(z); }},
    {"sinh", [](Wide z) { return std::sinh(z); }},
    {"cosh", [](Wide z) { return std::cosh(z); }},
    {"tanh", [](Wide z) { return std::tanh(z); }},
    {"asinh", [](Wide z) { return std::asinh(z); }},
    {"acosh", [](Wide z) { return std::acosh(z); }},
    {"atanh", [](Wide z) { return std::atanh(z); }},
    {"sigmoid", [](Wide z) { return 1.0L / (1.0L + std::exp(-z)); }},
    {"silu", [](Wide z) { return z / (1.0L + std::exp(-z)); }},
};

struct Binary {
  std::string_view name;
  Wide (*expected)(Wide a, Wide b);
};
const Binary kBinary[] = {
    {"add", [](Wide a, Wide b) { return a + b; }},          {"sub", [](Wide a, Wide b) { return a - b; }},
    {"mul", [](Wide a, Wide b) { return a * b; }},          {"div", [](Wide a, Wide b) { return a / b; }},
    {"pow", [](Wide a, Wide b) { return std::pow(a, b); }},
};

// A row of the sums of products of two matrices.
Tensor by_hand(const Tensor& a, const Tensor& b) {
  const std::int64_t rows = a.size(0), inner = a.size(1), columns = b.size(1);
  std::vector<std::complex<double>> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      Wide total = 0;
      for (std::int64_t k = 0; k < inner; ++k) total += at(a, i * inner + k) * at(b, k * columns + j);
      values.emplace_back(static_cast<double>(total.real()), static_cast<double>(total.imag()));
    }
  }
  return ops::view(of(values), Dims{rows, columns});
}

}  // namespace

TEST_CASE("functions of complex numbers are those of long double", "[complex]") {
  for (const auto& [part, tolerance] : {std::pair(DType::F32, 2e-5L), std::pair(DType::F64, 4e-14L)}) {
    const Tensor z = numbers({40}, part, 3);
    for (const Unary& each : kUnary) {
      INFO(each.name);
      const Tensor result = apply(each.name, {z});
      REQUIRE(result.sizes() == z.sizes());
      CHECK(part_of(result.dtype()) == part);
      for (std::int64_t i = 0; i < z.numel(); ++i) {
        const Wide expected = each.expected(at(z, i)), found = at(result, i);
        INFO("of " << at(z, i) << ": " << found << ", not " << expected);
        CHECK(near(found, expected, tolerance));
      }
    }
  }
}

TEST_CASE("arithmetic of complex numbers, with each other and with real ones", "[complex]") {
  const Tensor a = numbers({3, 4}, DType::F64, 5), b = numbers({4}, DType::F64, 6);
  const Tensor real = noise({3, 4}, DType::F64, 7, 0.5, 2.0);
  for (const Binary& each : kBinary) {
    for (const auto& [x, y] : {std::pair(a, b), std::pair(a, real), std::pair(real, b)}) {
      const Tensor result = apply(each.name, {x, y});
      REQUIRE(result.type() == a.type());
      for (std::int64_t i = 0; i < 12; ++i) {
        const auto of_operand = [i](const Tensor& operand) {
          return at(operand, operand.numel() == 12 ? i : i % 4);
        };
        const Wide expected = each.expected(of_operand(x), of_operand(y));
        INFO(each.name << " at " << i << ": " << at(result, i) << ", not " << expected);
        CHECK(near(at(result, i), expected, 1e-13L));
      }
    }
  }
}

TEST_CASE("dtypes of complex results", "[complex]") {
  const Tensor c64 = numbers({2}, DType::F32, 1), c128 = numbers({2}, DType::F64, 1);
  const Tensor zero_dim = numbers({}, DType::F64, 1);
  const Tensor number = Tensor::number(Complex<double>{0, 2});
  const auto dtype = [](const Tensor& a, const Tensor& b) { return (a * b).dtype(); };
  CHECK(dtype(c64, c128) == DType::C128);
  CHECK(dtype(c64, noise({2}, DType::F64, 2)) == DType::C128);
  CHECK(dtype(c64, noise({}, DType::F64, 2)) == DType::C64);
  CHECK(dtype(noise({2}, DType::F32, 2), zero_dim) == DType::C64);
  CHECK(dtype(noise({2}, DType::F32, 2), number) == DType::C64);
  CHECK(dtype(noise({2}, DType::F64, 2), number) == DType::C128);
  CHECK(dtype(ops::arange(0, 2), number) == DType::C64);
  CHECK(dtype(ops::to(noise({2}, DType::F32, 2), DType::F16), c64) == DType::C64);
  CHECK(dtype(c64, Tensor::number(2.0)) == DType::C64);
}

TEST_CASE("quotients and absolute values do not overflow on the way", "[complex]") {
  const Tensor large = of({{1e300, 1e300}, {3e-320, 4e-320}, {0, -1e308}});
  const Tensor ratio = large / large;
  for (std::int64_t i = 0; i < 3; ++i) CHECK(near(at(ratio, i), 1, 1e-3L));
  CHECK(near(at(apply("abs", {large}), 0), std::abs(Wide(1e300L, 1e300L)), 1e-14L));
  CHECK(near(at(apply("sqrt", {large}), 0) / std::sqrt(Wide(1e300L, 1e300L)), 1, 1e-14L));
  CHECK(std::isinf(at(of({{1, 0}}) / of({{0, 0}}), 0).real()));
}

TEST_CASE("roots and logarithms keep to their branch cuts", "[complex]") {
  const Tensor z = of({{-4, 0.0}, {-4, -0.0}, {0, 0}, {1, 1e-9}, {-1, 0}});
  const Tensor root = apply("sqrt", {z}), log = apply("log", {z});
  CHECK(at(root, 0) == Wide(0, 2));
  CHECK(at(root, 1) == Wide(0, -2));
  CHECK(at(root, 2) == Wide(0, 0));
  CHECK(near(at(log, 3).real() / 5e-19L, 1, 1e-9L));  // near 1 no digits are lost
  CHECK(near(at(log, 4), Wide(0, 3.14159265358979323846L), 1e-15L));
}

TEST_CASE("powers by integers are products", "[complex]") {
  const Tensor z = of({{1, 1}, {0, 2}});
  CHECK(same_parts(apply("pow", {z, Tensor::number(std::int64_t{3})}), z * (z * z)));
  CHECK(at(apply("pow", {z, Tensor::number(-2.0)}), 1) == Wide(-0.25, 0));
  CHECK(at(apply("pow", {of({{0, 0}}), Tensor::number(0.5)}), 0) == Wide(0, 0));
}

TEST_CASE("complex results are the same in every layout", "[complex]") {
  const Tensor a = numbers({3, 4}, DType::F32, 8), b = numbers({3, 4}, DType::F32, 9);
  const Tensor turned = ops::transpose(ops::clone(ops::transpose(a, 0, 1)), 0, 1);
  const Tensor wide = ops::zeros(Dims{3, 8}, DType::C64);
  const Tensor spread = ops::slice(wide, 1, 0, 8, 2);
  ops::copy_(spread, a);
  for (const Unary& each : kUnary) {
    INFO(each.name);
    CHECK(same_parts(apply(each.name, {turned}), apply(each.name, {a})));
    CHECK(same_parts(apply(each.name, {spread}), apply(each.name, {a})));
    CHECK(apply(each.name, {ops::slice(a, 0, 1, 1)}).sizes() == Dims{0, 4});
    CHECK(apply(each.name, {ops::select(ops::select(a, 0, 1), 0, 2)}).rank() == 0);
  }
  for (const Binary& each : kBinary) {
    INFO(each.name);
    CHECK(same_parts(apply(each.name, {turned, b}), apply(each.name, {a, b})));
    CHECK(same_parts(apply(each.name, {b, spread}), apply(each.name, {b, a})));
  }
}

TEST_CASE("parts are views through which the tensor is written", "[complex]") {
  for (const DType part : {DType::F32, DType::F64}) {
    const Tensor z = ops::clone(numbers({2, 3}, part, 11));
    const Tensor inner = ops::slice(z, 1, 1, 3);
    ops::fill_(ops::real(inner), Tensor::number(5.0));
    ops::copy_(ops::imag(z), noise({2, 3}, part, 12));
    CHECK(at(z, 1).real() == 5);
    CHECK(at(z, 0).real() != 5);
    CHECK(same_bits(ops::imag(z), noise({2, 3}, part, 12)));
    const Tensor pairs = ops::view_as_real(z);
    CHECK(pairs.sizes() == Dims{2, 3, 2});
    CHECK(pairs.is_contiguous());
    CHECK(same_bits(ops::select(pairs, 2, 1), ops::imag(z)));
    CHECK(same_parts(ops::view_as_complex(pairs), z));
    CHECK(shares_storage(ops::view_as_complex(pairs), z));
    ops::fill_(ops::select(pairs, 2, 0), Tensor::number(-1.0));
    CHECK(at(z, 4).real() == -1);
  }
  const Tensor pairs = noise({4, 2}, DType::F32, 1);
  CHECK_THROWS_AS(ops::view_as_complex(ops::transpose(noise({2, 4}, DType::F32, 1), 0, 1)), OpError);
  CHECK_THROWS_AS(ops::view_as_complex(ops::slice(pairs, 1, 0, 1)), OpError);
  CHECK(same_bits(ops::real(pairs), pairs));
  CHECK_THROWS_AS(ops::imag(pairs), OpError);
}

TEST_CASE("copies, conversions and fills of complex numbers", "[complex]") {
  const Tensor z = numbers({3, 2}, DType::F64, 13);
  const Tensor narrow = ops::to(z, DType::C64);
  CHECK(same_bits(ops::real(narrow), ops::to(ops::real(z), DType::F32)));
  CHECK(same_parts(ops::to(ops::to(narrow, DType::C128), DType::C64), narrow));
  CHECK(same_parts(ops::contiguous(ops::transpose(ops::clone(ops::transpose(z, 0, 1)), 0, 1)), z));
  const Tensor real = noise({3, 2}, DType::F32, 1);
  CHECK(same_bits(ops::real(ops::to(real, DType::C64)), real));
  CHECK(at(ops::to(real, DType::C64), 3).imag() == 0);
  CHECK_THROWS_AS(ops::to(z, DType::F64), OpError);
  CHECK_THROWS_AS(ops::copy_(ops::zeros(Dims{3, 2}, DType::F64), z), OpError);
  const Tensor target = ops::zeros(Dims{3, 2}, DType::C64);
  CHECK(at(target, 5) == Wide(0, 0));
  ops::fill_(target, Tensor::number(Complex<double>{1, -2}));
  CHECK(at(target, 5) == Wide(1, -2));
  ops::copy_(target, real);
  CHECK(same_bits(ops::real(target), real));
  ops::add_(target, z);
  CHECK(near(at(target, 2), at(z, 2) + static_cast<long double>(element(real, 2)), 1e-6L));
  CHECK(at(ops::ones_like(target), 1) == Wide(1, 0));
  CHECK(at(ops::full(Dims{2}, Tensor::number(Complex<double>{0, 3}), DType::C128), 1) == Wide(0, 3));
  CHECK(apply("full", {Tensor::number(Complex<double>{0, 3})}, {{"size", Dims{2}}}).dtype() == DType::C64);
  CHECK(at(apply("eye", {}, {{"n", std::int64_t{2}}, {"dtype", DType::C128}}), 3) == Wide(1, 0));
  const Tensor joined[] = {real, ops::to(z, DType::C64)};
  const Tensor both = ops::cat(joined);
  CHECK(both.sizes() == Dims{6, 2});
  CHECK(at(both, 7) == at(ops::to(z, DType::C64), 1));
}

TEST_CASE("what moves elements moves both parts", "[complex]") {
  const Tensor z = numbers({4, 3}, DType::F32, 14);
  const Tensor places = ops::arange(0, 3);
  const auto agrees = [&](const std::function<Tensor(const Tensor&)>& f) {
    const Tensor whole = f(z);
    CHECK(same_bits(ops::real(whole), f(ops::real(z))));
    CHECK(same_bits(ops::imag(whole), f(ops::imag(z))));
  };
  agrees([](const Tensor& x) { return ops::flip(x, Dims{0, 1}); });
  agrees([](const Tensor& x) { return ops::tril(x); });
  agrees([&](const Tensor& x) { return ops::index_select(x, 0, places); });
  agrees([&](const Tensor& x) {
    const Tensor indices[] = {places, places};
    return ops::index(x, indices);
  });
  agrees([](const Tensor& x) { return ops::reshape(ops::transpose(x, 0, 1), Dims{2, 6}); });
  agrees([](const Tensor& x) { return apply("roll", {x}, {{"shifts", Dims{1}}, {"dims", Dims{0}}}); });
  agrees([](const Tensor& x) { return apply("repeat", {x}, {{"repeats", Dims{2, 1}}}); });
  agrees([](const Tensor& x) {
    return apply("pad", {x}, {{"pad", Dims{1, 2}}, {"mode", std::string("constant")}});
  });
  agrees([](const Tensor& x) { return ops::sum(x, Dims{0}); });
  agrees([](const Tensor& x) { return ops::mean(x, Dims{1}, true); });
  agrees([](const Tensor& x) { return ops::cumsum(x, 1); });
  agrees([](const Tensor& x) {
    return ops::where(ops::gt(noise({4, 3}, DType::F32, 1), Tensor::number(0.0)), x, Tensor::number(0.0));
  });
}

TEST_CASE("products and reductions of complex numbers", "[complex]") {
  const Tensor a = numbers({3, 5}, DType::F64, 15), b = numbers({5, 2}, DType::F64, 16);
  CHECK(near(ops::matmul(a, b), by_hand(a, b)));
  const Tensor real = noise({5, 2}, DType::F64, 17);
  CHECK(near(ops::matmul(a, real), by_hand(a, ops::to(real, DType::C128))));
  CHECK(near(apply("einsum", {a, b}, {{"equation", std::string("ij,jk->ik")}}), by_hand(a, b)));
  Wide product = 1, dot = 0;
  const Tensor v = ops::select(a, 0, 1), w = ops::select(a, 0, 2);
  for (std::int64_t i = 0; i < 5; ++i) {
    product *= at(v, i);
    dot += at(v, i) * at(w, i);
  }
  CHECK(near(at(ops::prod(v), 0), product, 1e-13L));
  CHECK(near(at(ops::cumprod(v, 0), 4), product, 1e-13L));
  CHECK(near(at(ops::dot(v, w), 0), dot, 1e-13L));
  long double squares = 0;
  Wide mean = 0;
  for (std::int64_t i = 0; i < 5; ++i) mean += at(v, i) / 5.0L;
  for (std::int64_t i = 0; i < 5; ++i) squares += std::norm(at(v, i) - mean);
  CHECK(near(at(apply("var", {v}), 0), squares / 4, 1e-13L));
  CHECK(near(at(apply("std", {v}), 0), std::sqrt(squares / 4), 1e-13L));
  CHECK(at(ops::eq(v, v), 3) == Wide(1));
  CHECK(at(ops::any(v - v), 0) == Wide(0));
}

TEST_CASE("every op takes complex operands or says why not", "[complex]") {
  int taken = 0, refused = 0;
  for (const Op* const op : OpTable::get().ops()) {
    INFO(op->name());
    if (op->communicates()) continue;
    for (const Sample& sample : samples_of(*op)) {
      std::vector<Tensor> inputs = sample.in_domain(sample.inputs);
      bool any = false;
      for (Tensor& each : inputs) {
        if (!each || each.is_number() || each.dtype() != DType::F64) continue;
        each = ops::complex(each, each * 0.5);
        any = true;
      }
      if (!any) continue;
      try {
        kiln::bind(*op, inputs, attrs_of(*op, sample.attrs));
        ++taken;
      } catch (const OpError& error) {
        INFO(error.message());
        CHECK(!error.message().empty());
        if (op->complex.kind == ComplexRule::Refused) {
          CHECK(error.kind() == ErrorKind::DType);
          CHECK(!error.help().empty());
        }
        ++refused;
      }
    }
  }
  CHECK(taken > 100);
  CHECK(refused > 50);
}

TEST_CASE("gradients by both parts agree with differences", "[complex]") {
  // Of real and imaginary parts, so that differences are those of real numbers.
  const Tensor re = noise({3}, DType::F64, 21, 0.3, 1.2), im = noise({3}, DType::F64, 22, 0.2, 1.1);
  for (const Unary& each : kUnary) {
    INFO(each.name);
    const gradients::Function f = [&](const std::vector<Tensor>& in) {
      const Tensor y = apply(each.name, {ops::complex(in[0], in[1])});
      if (!is_complex(y.dtype())) return std::vector<Tensor>{y};
      return std::vector<Tensor>{ops::real(y), ops::imag(y)};
    };
    CHECK(gradients::compare_gradients(f, {re, im}) == "");
  }
  const Tensor other = noise({3}, DType::F64, 23, 0.5, 1.5);
  for (const Binary& each : kBinary) {
    INFO(each.name);
    const gradients::Function f = [&](const std::vector<Tensor>& in) {
      const Tensor z = ops::complex(in[0], in[1]);
      const Tensor y = apply(each.name, {z, ops::complex(in[2], in[0])}) + apply(each.name, {in[2], z});
      return std::vector<Tensor>{ops::real(y), ops::imag(y)};
    };
    CHECK(gradients::compare_gradients(f, {re, im, other}) == "");
  }
}

TEST_CASE("gradients of complex leaves are dL/da + i dL/db", "[complex]") {
  const Tensor z = of({{3, 4}, {-1, 2}});
  set_requires_grad(z, true);
  const Tensor size = apply("abs", {z});
  CHECK(same_parts(grads({ops::sum(size * size)}, {z}, {}, true, false, false)[0], of({{6, 8}, {-2, 4}})));
  const Tensor through = ops::sum(ops::real(z * z));
  CHECK(same_parts(grads({through}, {z}, {}, true, false, false)[0], of({{6, -8}, {-2, -4}})));
  CHECK(same_parts(grads({ops::sum(ops::imag(ops::conj(z)))}, {z}, {}, true, false, false)[0],
                   of({{0, -1}, {0, -1}})));
  CHECK_THROWS_AS(grads({ops::sum(z)}, {z}, {}, false, false, false), OpError);
  const Tensor origin = of({{0, 0}});
  set_requires_grad(origin, true);
  CHECK(at(grads({ops::sum(apply("abs", {origin}))}, {origin}, {}, false, false, false)[0], 0) == Wide(0, 0));
}

}  // namespace kiln::complex_test
