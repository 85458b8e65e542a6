// Every reduction against long double arithmetic, in every dtype and several layouts; special values; errors.
#include <catch2/catch.hpp>

#include <limits>

#include "tests/tensor/tensors.h"

namespace kiln::reduce_test {

using namespace kiln::testing;

namespace {

using Sequence = std::vector<long double>;
using Reference = std::function<long double(const Sequence&)>;
constexpr long double kInf = std::numeric_limits<long double>::infinity();

// Each output's elements in row-major order.
std::vector<Sequence> sequences(const Tensor& x, const Dims& dims) {
  std::vector<std::int64_t> weight(x.sizes().size(), 0);
  std::int64_t outputs = 1;
  for (int d = x.rank() - 1; d >= 0; --d) {
    if (std::find(dims.begin(), dims.end(), d) != dims.end()) continue;
    weight[static_cast<std::size_t>(d)] = outputs;
    outputs *= x.size(d);
  }
  std::vector<Sequence> result(static_cast<std::size_t>(outputs));
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    std::int64_t rest = i, output = 0;
    for (int d = x.rank() - 1; d >= 0; --d) {
      output += rest % x.size(d) * weight[static_cast<std::size_t>(d)];
      rest /= x.size(d).fixed();
    }
    result[static_cast<std::size_t>(output)].push_back(element(x, i));
  }
  return result;
}

long double sum(const Sequence& e) {
  long double total = 0;
  for (const long double v : e) total += v;
  return total;
}
long double mean(const Sequence& e) { return sum(e) / static_cast<long double>(e.size()); }
long double var(const Sequence& e) {
  const long double m = mean(e);
  long double total = 0;
  for (const long double v : e) total += (v - m) * (v - m);
  return total / static_cast<long double>(e.size() - 1);
}
long double prod(const Sequence& e) {
  long double total = 1;
  for (const long double v : e) total *= v;
  return total;
}
long double logsumexp(const Sequence& e) {
  long double total = 0;
  for (const long double v : e) total += std::exp(v);
  return std::log(total);
}
long double count(const Sequence& e) {
  return static_cast<long double>(std::count_if(e.begin(), e.end(), [](long double v) { return v != 0; }));
}

struct Case {
  std::string_view op;
  Reference reference;
  bool floats_only = false;
};
const Case kCases[] = {
    {"sum", sum},
    {"nansum", sum},
    {"prod", prod},
    {"amax", [](const Sequence& e) { return *std::max_element(e.begin(), e.end()); }},
    {"amin", [](const Sequence& e) { return *std::min_element(e.begin(), e.end()); }},
    {"any", [](const Sequence& e) { return count(e) > 0 ? 1.0L : 0.0L; }},
    {"all", [](const Sequence& e) { return count(e) == static_cast<long double>(e.size()) ? 1.0L : 0.0L; }},
    {"count_nonzero", count},
    {"mean", mean, true},
    {"var", var, true},
    {"std", [](const Sequence& e) { return std::sqrt(var(e)); }, true},
    {"norm",
     [](const Sequence& e) {
       long double total = 0;
       for (const long double v : e) total += v * v;
       return std::sqrt(total);
     },
     true},
    {"logsumexp", logsumexp, true},
};

// What one result may be away: a few roundings of the accumulator, one of the element type.
long double tolerance(DType dtype, long double scale) {
  const long double unit = dtype == DType::F64    ? 1e-14L
                           : dtype == DType::F32  ? 3e-6L
                           : dtype == DType::F16  ? 2e-3L
                           : dtype == DType::BF16 ? 1.6e-2L
                                                  : 0.0L;
  return unit * std::max(1.0L, std::abs(scale));
}

void check_case(const Case& each, const Tensor& x, const Dims& dims, bool keepdim) {
  const Tensor y = call(each.op, {x}, {{"dim", dims}, {"keepdim", keepdim}})[0];
  const std::vector<Sequence> expected = sequences(x, dims.empty() ? Dims{0, 1, 2} : dims);
  INFO(each.op << " of " << to_string(x.type()) << " over " << to_string(dims) << " gave " << describe(y));
  REQUIRE(y.numel() == static_cast<std::int64_t>(expected.size()));
  CHECK(y.rank() == (keepdim ? x.rank() : x.rank() - static_cast<int>(dims.empty() ? 3 : dims.size())));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const long double wanted = each.reference(expected[i]);
    long double scale = std::abs(wanted);
    if (is_float(y.dtype()))
      for (const long double v : expected[i]) scale += each.op.ends_with("sum") ? std::abs(v) : 0;
    CHECK(std::abs(element(y, static_cast<std::int64_t>(i)) - wanted) <= tolerance(y.dtype(), scale));
  }
}

}  // namespace

TEST_CASE("reductions agree with long double arithmetic", "[reduce]") {
  const DType all[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                       DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};
  const Dims subsets[] = {{}, {0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1}};
  for (const Case& each : kCases) {
    for (const DType dtype : all) {
      if (each.floats_only && !is_float(dtype)) continue;
      // Small numbers: products stay exact in integers and in range in halves.
      const double low = dtype == DType::U8 ? 0.0 : -1.99;
      const Tensor x = noise({3, 5, 4}, dtype, 11, low, 1.99);
      for (const Dims& dims : subsets) {
        check_case(each, x, dims, false);
        check_case(each, strided(x), dims, true);
        check_case(each, backwards(x), dims, false);
      }
    }
  }
}

TEST_CASE("result dtypes of reductions", "[reduce]") {
  const Tensor ints = make({3}, DType::I8, [](std::int64_t) { return 100.0; });
  CHECK(call("sum", {ints})[0].dtype() == DType::I64);
  CHECK(call("sum", {ints})[0].item_int() == 300);
  CHECK(call("prod", {ints})[0].item_int() == 1000000);
  CHECK(call("cumsum", {ints}, {{"dim", std::int64_t{0}}})[0].dtype() == DType::I64);
  CHECK(call("sum", {ints}, {{"dtype", DType::I8}})[0].item_int() == 44);  // 300 wraps
  CHECK(call("sum", {ints}, {{"dtype", DType::F32}})[0].dtype() == DType::F32);
  CHECK(call("mean", {ints}, {{"dtype", DType::F64}})[0].item_float() == 100.0);
  CHECK(call("amax", {ints})[0].dtype() == DType::I8);
  const Tensor halves = make({4096}, DType::F16, [](std::int64_t) { return 1.0; });
  CHECK(call("sum", {halves})[0].item_float() == 4096.0);  // not 2048, where halves stop counting
  const Tensor flags = make({4}, DType::Bool, [](std::int64_t i) { return i % 2; });
  CHECK(call("sum", {flags})[0].item_int() == 2);
  CHECK(call("amax", {flags})[0].dtype() == DType::Bool);
}

TEST_CASE("integer sums wrap as 64-bit integers", "[reduce]") {
  const Tensor x = make({2}, DType::I64, [](std::int64_t) { return 0.0; });
  set_element(x, 0, static_cast<long double>(std::numeric_limits<std::int64_t>::max()));
  set_element(x, 1, 1);
  CHECK(call("sum", {x})[0].item_int() == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("empty reductions give the identity, or say that there is none", "[reduce]") {
  const Tensor x = Tensor::empty(Dims{2, 0}, DType::F32);
  const Tensor row = call("sum", {x}, {{"dim", Dims{1}}})[0];
  CHECK(elements(row) == Sequence{0, 0});
  CHECK(elements(call("prod", {x}, {{"dim", Dims{1}}})[0]) == Sequence{1, 1});
  CHECK(elements(call("any", {x}, {{"dim", Dims{1}}})[0]) == Sequence{0, 0});
  CHECK(elements(call("all", {x}, {{"dim", Dims{1}}})[0]) == Sequence{1, 1});
  CHECK(call("sum", {x}, {{"dim", Dims{0}}})[0].numel() == 0);
  CHECK(std::isnan(call("mean", {x})[0].item_float()));
  CHECK(std::isnan(call("var", {x})[0].item_float()));
  CHECK(elements(call("logsumexp", {x}, {{"dim", Dims{1}}})[0]) == Sequence{-kInf, -kInf});
  for (const char* op : {"amax", "amin"}) {
    CHECK_THROWS_AS(call(op, {x}, {{"dim", Dims{1}}}), OpError);
    CHECK(call(op, {x}, {{"dim", Dims{0}}})[0].numel() == 0);
  }
  try {
    call("argmax", {x}, {{"dim", std::int64_t{-1}}});
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK(error.kind() == ErrorKind::Value);
    CHECK(error.message() ==
          "argmax over dimension 1, which has size 0 of f32[2, 0]: there is no first element");
  }
}

TEST_CASE("nan wins every maximum, infinities do not confuse logsumexp", "[reduce]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const std::int64_t at : {0, 1, 40, 99}) {
    const Tensor x =
        make({100}, DType::F32, [=](std::int64_t i) { return i == at ? nan : static_cast<double>(i % 7); });
    CHECK(std::isnan(call("amax", {x})[0].item_float()));
    CHECK(std::isnan(call("amin", {x})[0].item_float()));
    CHECK(std::isnan(call("max", {x})[0].item_float()));
    CHECK(call("argmax", {x})[0].item_int() == at);
    CHECK(call("argmin", {x})[0].item_int() == at);
  }
  const Tensor lowest = make({2, 3}, DType::F64, [=](std::int64_t i) {
    return i < 3 ? -inf : i == 4 ? inf : 0.0;
  });
  CHECK(elements(call("logsumexp", {lowest}, {{"dim", Dims{1}}})[0]) == Sequence{-kInf, kInf});
  const Tensor large = make({2}, DType::F32, [](std::int64_t) { return 1000.0; });
  CHECK(call("logsumexp", {large}, {{"dim", Dims{0}}})[0].item_float() == Approx(1000.0 + std::log(2.0)));
}

TEST_CASE("extrema along a dimension come with the index of the first", "[reduce]") {
  for (const DType dtype : {DType::F32, DType::F16, DType::I64, DType::U8, DType::Bool}) {
    const Tensor x = noise({4, 70, 3}, dtype, 21, dtype == DType::U8 ? 0.0 : -3.0, 3.0);
    for (const Tensor& layout : {x, strided(x), backwards(x)}) {
      for (const std::int64_t dim : {0, 1, 2}) {
        const Tensors found = call("max.dim", {layout}, {{"dim", dim}});
        const Tensor places = call("argmax", {layout}, {{"dim", dim}})[0];
        const std::vector<Sequence> each = sequences(x, Dims{dim});
        REQUIRE(found[0].numel() == static_cast<std::int64_t>(each.size()));
        CHECK(found[0].dtype() == dtype);
        for (std::size_t i = 0; i < each.size(); ++i) {
          const auto first = std::max_element(each[i].begin(), each[i].end());
          CHECK(element(found[0], static_cast<std::int64_t>(i)) == *first);
          CHECK(element(found[1], static_cast<std::int64_t>(i)) == first - each[i].begin());
          CHECK(element(places, static_cast<std::int64_t>(i)) == first - each[i].begin());
        }
      }
    }
  }
  const Tensor x = make({2, 3}, DType::F32, [](std::int64_t i) { return i == 4 ? -1.0 : 2.0; });
  CHECK(call("argmin", {x})[0].item_int() == 4);
  CHECK(call("argmin", {x}, {{"dim", std::int64_t{1}}, {"keepdim", true}})[0].sizes() == Dims{2, 1});
}

TEST_CASE("0-d tensors reduce to themselves", "[reduce]") {
  const Tensor x = make({}, DType::F32, [](std::int64_t) { return 2.5; });
  for (const char* op : {"sum", "mean", "prod", "amax", "norm", "max"})
    CHECK(call(op, {x})[0].item_float() == 2.5);
  CHECK(call("sum", {x}, {{"dim", Dims{-1}}})[0].item_float() == 2.5);
  CHECK(call("softmax", {x}, {{"dim", std::int64_t{0}}})[0].item_float() == 1.0);
  CHECK(call("max.dim", {x}, {{"dim", std::int64_t{0}}})[1].item_int() == 0);
  CHECK(call("cumsum", {x}, {{"dim", std::int64_t{0}}})[0].item_float() == 2.5);
}

TEST_CASE("running sums and products agree with long double arithmetic", "[reduce]") {
  for (const DType dtype : {DType::Bool, DType::I16, DType::I64, DType::F16, DType::F32, DType::F64}) {
    const Tensor x = noise({3, 40, 5}, dtype, 31, -1.2, 1.2);
    for (const Tensor& layout : {x, backwards(x)}) {
      for (const std::int64_t dim : {0, 1, 2}) {
        const Tensor sums = call("cumsum", {layout}, {{"dim", dim}})[0];
        const Tensor products = call("cumprod", {layout}, {{"dim", dim}})[0];
        const std::vector<Sequence> in = sequences(x, Dims{dim});
        const std::vector<Sequence> so_far = sequences(sums, Dims{dim});
        const std::vector<Sequence> grown = sequences(products, Dims{dim});
        for (std::size_t s = 0; s < in.size(); ++s) {
          long double total = 0, product = 1;
          for (std::size_t i = 0; i < in[s].size(); ++i) {
            total += in[s][i];
            product *= in[s][i];
            CHECK(std::abs(so_far[s][i] - total) <= tolerance(sums.dtype(), total));
            CHECK(std::abs(grown[s][i] - product) <= tolerance(products.dtype(), product));
          }
        }
      }
    }
  }
}

TEST_CASE("softmax agrees with long double arithmetic", "[reduce]") {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    const Tensor x = noise({3, 50, 4}, dtype, 41, -9.0, 9.0);
    for (const Tensor& layout : {x, strided(x), backwards(x)}) {
      for (const std::int64_t dim : {0, 1, -1}) {
        const Dims dims{dim < 0 ? 2 : dim};
        const std::vector<Sequence> in = sequences(x, dims);
        const std::vector<Sequence> p = sequences(call("softmax", {layout}, {{"dim", dim}})[0], dims);
        const std::vector<Sequence> log_p = sequences(call("log_softmax", {layout}, {{"dim", dim}})[0], dims);
        for (std::size_t s = 0; s < in.size(); ++s) {
          const long double total = logsumexp(in[s]);
          for (std::size_t i = 0; i < in[s].size(); ++i) {
            CHECK(std::abs(p[s][i] - std::exp(in[s][i] - total)) <= tolerance(dtype, 0));
            CHECK(std::abs(log_p[s][i] - (in[s][i] - total)) <= tolerance(dtype, in[s][i] - total));
          }
        }
      }
    }
  }
}

TEST_CASE("norms of all orders", "[reduce]") {
  const Tensor x =
      make({2, 3}, DType::F64, [](std::int64_t i) { return i == 2 ? 0.0 : static_cast<double>(i) - 3.0; });
  const double inf = std::numeric_limits<double>::infinity();  // x is [-3 -2 0; 0 1 2]
  const auto norm = [&](Attr p) { return elements(call("norm", {x}, {{"p", p}, {"dim", Dims{1}}})[0]); };
  CHECK(norm(std::int64_t{1}) == Sequence{5, 3});
  CHECK(norm(0.0) == Sequence{2, 2});
  CHECK(norm(inf) == Sequence{3, 2});
  CHECK(norm(-inf) == Sequence{0, 0});
  CHECK(static_cast<double>(norm(3.0)[0]) == Approx(std::cbrt(35.0)));
}

TEST_CASE("corrections of the variance", "[reduce]") {
  const Tensor x = make({4}, DType::F64, [](std::int64_t i) { return static_cast<double>(i); });
  CHECK(call("var", {x})[0].item_float() == Approx(5.0 / 3.0));
  CHECK(call("var", {x}, {{"unbiased", false}})[0].item_float() == Approx(5.0 / 4.0));
  CHECK(call("var", {x}, {{"correction", std::int64_t{2}}})[0].item_float() == Approx(5.0 / 2.0));
  const Tensor one = make({1}, DType::F64, [](std::int64_t) { return 3.0; });
  CHECK(std::isnan(call("var", {one})[0].item_float()));
}

TEST_CASE("reductions say what is wrong and what to do", "[reduce]") {
  const Tensor ints = make({3, 4}, DType::I64, [](std::int64_t) { return 1.0; });
  const auto error_of = [](const std::function<void()>& f) -> OpError {
    try {
      f();
    } catch (const OpError& error) {
      return error;
    }
    FAIL("no error");
    throw;
  };
  const OpError mean = error_of([&] { call("mean", {ints}); });
  CHECK(mean.kind() == ErrorKind::DType);
  CHECK(mean.message() == "mean needs float elements, and this is i64[3, 4]");
  CHECK(mean.help() == "convert first: x.to(f32)");
  CHECK(error_of([&] { call("softmax", {ints}, {{"dim", std::int64_t{0}}}); }).kind() == ErrorKind::DType);
  CHECK(error_of([&] { call("sum", {ints}, {{"dim", Dims{2}}}); }).kind() == ErrorKind::Index);
  CHECK(error_of([&] { call("sum", {ints}, {{"dim", Dims{0, -2}}}); }).message().find("sum") == 0);
}

}  // namespace kiln::reduce_test
