#include "tensor/random.h"

#include <cmath>
#include <map>

#include "nd.h"
#include "tensor/cpu/isa.h"
#include "tensor/cpu/random/choose.h"
#include "tensor/cpu/random/random.h"
#include "tensor/parallel.h"

namespace kiln::random_test {

using namespace kiln::test;

namespace {

using Words = std::array<std::uint32_t, 4>;

// Mean, variance and the third and fourth standard moments.
std::array<double, 4> moments(const Tensor& x) {
  const Nd array = nd_of(x);
  const auto n = static_cast<double>(array.values.size());
  double mean = 0;
  for (const double value : array.values) mean += value / n;
  double powers[3] = {};
  for (const double value : array.values) {
    for (int p = 0; p < 3; ++p) powers[p] += std::pow(value - mean, p + 2) / n;
  }
  return {mean, powers[0], powers[1] / std::pow(powers[0], 1.5), powers[2] / (powers[0] * powers[0])};
}

Tensor drawn(const char* op, std::vector<Attr> attrs, std::uint64_t number = 42) {
  seed(number);
  const Op& row = OpTable::get().at(op);
  Attrs values(row);
  std::copy(attrs.begin(), attrs.end(), values.values().begin());
  return kiln::bind(row, {}, values)[0];
}

}  // namespace

TEST_CASE("philox gives the published words", "[random]") {
  // kat_vectors of Random123, philox4x32 10
  CHECK(philox(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(~0ULL, ~0ULL, ~0ULL) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0a4093822ULL, 0x0370734413198a2eULL, 0x85a308d3243f6a88ULL) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform numbers come from the words in order", "[random]") {
  const Tensor x = drawn("rand", {Dims{1003}}, 9);
  for (const std::int64_t i : {0, 1, 63, 64, 511, 1002}) {
    const float expected =
        static_cast<float>(philox(9, 0, static_cast<std::uint64_t>(i / 4))[static_cast<std::size_t>(i % 4)] >>
                           8) *
        0x1p-24F;
    CHECK(x.data<float>()[i] == expected);
  }
  const Tensor y = drawn("rand", {Dims{11}, DType::F64}, 9);
  const Words words = philox(9, 0, 5);
  CHECK(y.data<double>()[10] ==
        static_cast<double>((words[0] | std::uint64_t{words[1]} << 32) >> 11) * 0x1p-53);
}

TEST_CASE("draws follow each other and start again with the seed", "[random]") {
  const Tensor first = drawn("rand", {Dims{5}});
  const Tensor second = call("rand", {}, {Dims{5}});
  CHECK(nd_of(first).values != nd_of(second).values);
  CHECK(generator().offset == 2);
  CHECK(nd_of(drawn("rand", {Dims{5}})).values == nd_of(first).values);
  CHECK(nd_of(drawn("rand", {Dims{5}}, 43)).values != nd_of(first).values);
}

TEST_CASE("numbers are the same on any number of threads and every instruction set", "[random]") {
  const int threads = num_threads();
  const cpu::Isa isa = cpu::isa();
  for (const char* op : {"rand", "randn"}) {
    for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
      set_num_threads(1);
      const Nd expected = nd_of(drawn(op, {Dims{70'001}, dtype}));
      for (const cpu::Isa other : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
        if (!cpu::has_kernels(other)) continue;
        cpu::set_isa(other);
        set_num_threads(3);
        CAPTURE(op, name(dtype), cpu::name(other));
        CHECK(nd_of(drawn(op, {Dims{70'001}, dtype})).values == expected.values);
      }
      cpu::set_isa(isa);
    }
  }
  set_num_threads(threads);
}

TEST_CASE("moments are those of the distributions", "[random]") {
  for (const DType dtype : {DType::F32, DType::F64}) {
    const auto uniform = moments(drawn("rand", {Dims{1 << 18}, dtype}));
    CHECK(uniform[0] == Approx(0.5).margin(0.003));
    CHECK(uniform[1] == Approx(1.0 / 12).margin(0.001));
    CHECK(uniform[2] == Approx(0).margin(0.02));
    CHECK(uniform[3] == Approx(1.8).margin(0.02));
    const auto normal = moments(drawn("randn", {Dims{1 << 18}, dtype}));
    CHECK(normal[0] == Approx(0).margin(0.01));
    CHECK(normal[1] == Approx(1).margin(0.01));
    CHECK(normal[2] == Approx(0).margin(0.03));
    CHECK(normal[3] == Approx(3).margin(0.06));
  }
}

TEST_CASE("uniform numbers stay below one in every dtype", "[random]") {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    const Nd array = nd_of(drawn("rand", {Dims{100'000}, dtype}));
    const auto [least, most] = std::minmax_element(array.values.begin(), array.values.end());
    CHECK(*least >= 0);
    CHECK(*most < 1);
    CHECK(*most > 0.99);
  }
}

TEST_CASE("integers are even over their range", "[random]") {
  const Nd array = nd_of(drawn("randint.low", {Attr(std::int64_t{-3}), 4_i, Dims{70'000}}));
  std::array<int, 7> counts{};
  for (const double value : array.values) {
    REQUIRE(value >= -3);
    REQUIRE(value < 4);
    ++counts[static_cast<std::size_t>(value + 3)];
  }
  for (const int count : counts) CHECK(count == Approx(10'000).margin(400));
  for (const DType dtype : kAllDtypes) {
    const Nd bits = nd_of(drawn("randint", {2_i, Dims{64}, dtype}));
    CHECK(std::count(bits.values.begin(), bits.values.end(), 1) > 16);
  }
  const auto wide = drawn("randint.low", {Attr(std::numeric_limits<std::int64_t>::min()),
                                          Attr(std::numeric_limits<std::int64_t>::max()), Dims{64}});
  CHECK(std::abs(moments(wide)[0]) < 0x1p62);
  CHECK(error_of([] { call("randint", {}, {0_i, Dims{1}}); }, ErrorKind::Value) ==
        "randint: there is no integer from 0 to before 0");
}

TEST_CASE("a stream of words begins anywhere in a draw", "[random]") {
  const Generator draw{7, 3};
  std::vector<std::uint64_t> expected;
  for (std::uint64_t block = 0; block < 400; ++block) {
    const Words words = philox(draw.seed, draw.offset, block);
    expected.push_back(words[0] | std::uint64_t{words[1]} << 32);
    expected.push_back(words[2] | std::uint64_t{words[3]} << 32);
  }
  for (const std::size_t first : {0, 1, 2, 501}) {
    cpu::WordStream stream(draw, first);
    bool equal = true;
    for (std::size_t i = first; i < expected.size(); ++i) equal = equal && stream.next() == expected[i];
    CHECK(equal);
  }
}

TEST_CASE("many draws without replacement follow the weights and end with none left", "[random]") {
  const Generator draw{1, 2};
  std::vector<double> numbers(1000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i % 5);
  const Tensor weights = tensor_of(Nd{{1, 1000}, numbers});
  const Tensor all = Tensor::empty(Dims{1, 800}, DType::I64);
  cpu::draw_by_weight(all, weights, false, draw);
  std::vector<std::int64_t> drawn(all.data<std::int64_t>(), all.data<std::int64_t>() + 800);
  double early = 0, late = 0;  // heavy ones come early
  for (std::size_t i = 0; i < 400; ++i) {
    early += static_cast<double>(drawn[i] % 5);
    late += static_cast<double>(drawn[400 + i] % 5);
  }
  CHECK(early > 1.2 * late);
  std::sort(drawn.begin(), drawn.end());
  CHECK(std::adjacent_find(drawn.begin(), drawn.end()) == drawn.end());
  CHECK(std::none_of(drawn.begin(), drawn.end(), [](std::int64_t i) { return i % 5 == 0; }));
  const Tensor more = Tensor::empty(Dims{1, 801}, DType::I64);
  CHECK_THROWS_AS(cpu::draw_by_weight(more, weights, false, draw), OpError);
}

TEST_CASE("randperm holds every integer once and moves them", "[random]") {
  const Nd array = nd_of(drawn("randperm", {1000_i}));
  std::vector<double> sorted = array.values;
  std::sort(sorted.begin(), sorted.end());
  int fixed = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    CHECK(sorted[i] == static_cast<double>(i));
    fixed += array.values[i] == static_cast<double>(i);
  }
  CHECK(fixed < 10);
  CHECK(drawn("randperm", {0_i}).numel() == 0);
}

TEST_CASE("bernoulli follows its probabilities", "[random]") {
  seed(3);
  const Tensor p = tensor_of(
      build({4, 10'000}, [](const IntDims& i) { return static_cast<double>(i[0]) / 3; }), DType::F32);
  const Nd array = nd_of(call("bernoulli", {p}));
  for (Dim row = 0; row < 4; ++row) {
    double sum = 0;
    for (Dim i = 0; i < 10'000; ++i) sum += array.at({row, i});
    CHECK(sum == Approx(10'000.0 * static_cast<double>(row) / 3).margin(200));
  }
  const Tensor x = ops::zeros(Dims{10'000}, DType::Bool);
  CHECK(call_inplace("bernoulli.p", {x}, {0.25}).is_same(x));
  CHECK(moments(x)[0] == Approx(0.25).margin(0.02));
  CHECK(error_of([&] { call("bernoulli", {vector_of({2}, DType::F32)}); }, ErrorKind::Value) ==
        "bernoulli: a probability lies between 0 and 1, 2 does not");
}

// Small rates, those where one method takes over from the other, and large ones: shares of each number
// against the probabilities, mean and variance.
TEST_CASE("poisson follows its rates", "[random]") {
  constexpr int kCount = 40'000;
  for (const double rate : {0.0, 0.3, 4.0, 9.9, 10.0, 37.5, 1000.0, 3e6}) {
    seed(11);
    const Tensor events = call("poisson", {ops::full(Dims{kCount}, Tensor::number(rate), DType::F64)});
    CHECK(events.dtype() == DType::F64);
    const auto* const drawn_events = events.data<double>();
    double mean = 0, square = 0;
    std::map<double, int> counts;
    for (int i = 0; i < kCount; ++i) {
      mean += drawn_events[i] / kCount;
      square += (drawn_events[i] - rate) * (drawn_events[i] - rate) / kCount;
      ++counts[drawn_events[i]];
    }
    INFO(rate);
    CHECK(mean == Approx(rate).margin(5 * std::sqrt(rate / kCount)));
    CHECK(square == Approx(rate).margin(5 * rate * std::sqrt((2 + 1 / std::max(rate, 1e-9)) / kCount)));
    for (const auto& [number, count] : counts) {
      CHECK(number == std::floor(number));
      const double chance =
          rate == 0 ? 1 : std::exp(number * std::log(rate) - rate - std::lgamma(number + 1));
      CHECK(count == Approx(kCount * chance).margin(6 * std::sqrt(kCount * chance) + 6));
    }
  }
  CHECK(error_of([&] { call("poisson", {vector_of({-1}, DType::F32)}); }, ErrorKind::Value) ==
        "poisson: a rate lies between 0 and 2^53, -1 does not");
  CHECK(error_of([&] { call("poisson", {vector_of({NAN}, DType::F32)}); }, ErrorKind::Value) ==
        "poisson: a rate lies between 0 and 2^53, nan does not");
}

TEST_CASE("normal_ and uniform_ fill through any layout", "[random]") {
  seed(5);
  const Tensor x = laid_out(ops::zeros(Dims{300, 200}), Lay::Gaps);
  call_inplace("normal_functional", {x}, {2.0, 3.0});
  CHECK(moments(x)[0] == Approx(2).margin(0.05));
  CHECK(moments(x)[1] == Approx(9).margin(0.2));
  call_inplace("uniform", {x}, {-1.0, 1.0});
  CHECK(moments(x)[1] == Approx(1.0 / 3).margin(0.01));
  CHECK(error_of([&] { call("normal_functional", {x}, {0.0, -1.0}); }, ErrorKind::Value) ==
        "normal: std must not be negative, it is -1");
  CHECK(error_of([&] { call("rand_like", {vector_of({1})}); }, ErrorKind::DType) ==
        "rand_like: expects a float dtype, got i64");
}

TEST_CASE("multinomial draws by weight, without replacement each once", "[random]") {
  seed(8);
  const Tensor weights = tensor_of(Nd{{2, 3}, {1, 0, 3, 0, 5, 0}}, DType::F32);
  const Nd drawn_rows = nd_of(call("multinomial", {weights}, {8000_i, true}));
  double last = 0;
  for (Dim i = 0; i < 8000; ++i) {
    CHECK(drawn_rows.at({0, i}) != 1);
    CHECK(drawn_rows.at({1, i}) == 1);
    last += drawn_rows.at({0, i}) == 2;
  }
  CHECK(last == Approx(6000).margin(200));
  Nd once = nd_of(call("multinomial", {vector_of({1, 2, 3}, DType::F32)}, {3_i}));
  std::sort(once.values.begin(), once.values.end());
  CHECK(once.values == std::vector<double>{0, 1, 2});
  CHECK(error_of([&] { call("multinomial", {weights}, {4_i}); }, ErrorKind::Value) ==
        "multinomial: 4 different ones cannot be drawn from 3");
}

TEST_CASE("dropout zeros some elements and scales the rest", "[random]") {
  seed(1);
  const Tensor x = ops::ones(Dims{40'000});
  const Nd array = nd_of(call("dropout", {x}, {0.2, true}));
  const auto zeros = std::count(array.values.begin(), array.values.end(), 0.0);
  CHECK(static_cast<double>(zeros) == Approx(8000).margin(300));
  CHECK(std::count(array.values.begin(), array.values.end(), 1.25) + zeros == 40'000);
  CHECK(call("dropout", {x}, {0.2, false}).is_same(x));
  CHECK(error_of([&] { call("dropout", {x}, {1.5, true}); }, ErrorKind::Value) ==
        "dropout: a probability lies between 0 and 1, 1.5 does not");
}

}  // namespace kiln::random_test
