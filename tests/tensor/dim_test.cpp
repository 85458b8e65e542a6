// Sizes that may be symbolic: what they evaluate to, how they print, and what comparisons of them record.
#include "tensor/dim.h"

#include <catch2/catch.hpp>
#include <random>
#include <thread>
#include <unordered_set>
#include <vector>

#include "tensor/error.h"
#include "tensor/size_scope.h"
#include "tensor/substitute.h"

namespace kiln::dim_test {

namespace {

const Dim s0 = Dim::symbol("s0");
const Dim s1 = Dim::symbol("s1");
const Dim b = Dim::symbol("b");

// A random expression, and the same as a function of ints that leaves nothing to folding.
struct Drawn {
  Dim size;
  std::function<std::int64_t(const SymbolValues&)> value;
};

std::int64_t floored(std::int64_t x, std::int64_t by) {
  const std::int64_t quotient = x / by;
  return x % by != 0 && (x < 0) != (by < 0) ? quotient - 1 : quotient;
}

Drawn draw(std::mt19937& engine, int depth) {
  const auto below = [&engine](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
  if (depth == 0 || below(5) == 0) {
    if (below(3) == 0) {
      const std::int64_t n = below(13) - 4;
      return {n, [n](const SymbolValues&) { return n; }};
    }
    static const char* const kNames[] = {"s0", "s1", "b"};
    const std::string name = kNames[below(3)];
    return {Dim::symbol(name), [name](const SymbolValues& values) { return values.at(name); }};
  }
  const Drawn x = draw(engine, depth - 1);
  const Drawn y = draw(engine, depth - 1);
  const std::int64_t n = below(2) == 0 ? 1 + below(7) : -1 - below(7);
  switch (below(9)) {
    case 0:
      return {x.size + y.size, [=](const SymbolValues& v) { return x.value(v) + y.value(v); }};
    case 1:
      return {x.size - y.size, [=](const SymbolValues& v) { return x.value(v) - y.value(v); }};
    case 2:
      return {x.size * y.size, [=](const SymbolValues& v) { return x.value(v) * y.value(v); }};
    case 3:
      return {floor_div(x.size, n), [=](const SymbolValues& v) { return floored(x.value(v), n); }};
    case 4:
      return {floor_mod(x.size, n),
              [=](const SymbolValues& v) { return x.value(v) - n * floored(x.value(v), n); }};
    case 5:
      return {min(x.size, y.size), [=](const SymbolValues& v) { return std::min(x.value(v), y.value(v)); }};
    case 6:
      return {max(x.size, y.size), [=](const SymbolValues& v) { return std::max(x.value(v), y.value(v)); }};
    case 7: {  // a product over one of its factors
      const Dim divisor = s0 + Dim(2);
      return {floor_div(x.size * divisor, divisor), x.value};
    }
    default: {
      const std::int64_t up = n < 0 ? -n : n;
      return {ceil_div(x.size, up), [=](const SymbolValues& v) { return -floored(-x.value(v), up); }};
    }
  }
}

SymbolValues assignment(std::mt19937& engine) {
  SymbolValues values;
  for (const char* name : {"s0", "s1", "b"}) values[name] = 2 + static_cast<std::int64_t>(engine() % 40);
  return values;
}

std::vector<std::string> texts(const SizeScope& scope) {
  std::vector<std::string> result;
  for (const SizeGuard& each : scope.guards()) result.push_back(to_string(each));
  return result;
}
using Texts = std::vector<std::string>;

template <class F>
ErrorKind kind_of_error(const F& f) {
  try {
    f();
  } catch (const OpError& error) {
    return error.kind();
  }
  return ErrorKind::Internal;
}

}  // namespace

TEST_CASE("expressions give what their operations give", "[dim]") {
  std::mt19937 engine(1);
  int symbolic = 0;
  for (int i = 0; i < 4000; ++i) {
    const Drawn drawn = draw(engine, 1 + i % 4);
    symbolic += drawn.size.is_known() ? 0 : 1;
    INFO(drawn.size.text());
    for (int k = 0; k < 6; ++k) {
      const SymbolValues values = assignment(engine);
      REQUIRE(evaluate(drawn.size, values) == drawn.value(values));
    }
    const Drawn other = draw(engine, 2);
    const Dim put = substitute(drawn.size, {{"s0", other.size}, {"s1", s0 + 1}, {"b", 5}});
    SymbolValues values = assignment(engine), inner{{"s1", values.at("s0") + 1}, {"b", 5}};
    inner["s0"] = other.value(values);
    // A symbol is at least 2 where an extremum was decided for it.
    if (inner.at("s0") >= 2) CHECK(evaluate(put, values) == drawn.value(inner));
    const auto read = Dim::parse(drawn.size.text());
    REQUIRE(read);
    CHECK(same(*read, drawn.size));
  }
  CHECK(symbolic > 2000);
}

TEST_CASE("what is decided without a guard holds for all values", "[dim]") {
  std::mt19937 engine(2);
  int decided = 0;
  for (int i = 0; i < 4000; ++i) {
    const Drawn x = draw(engine, 1 + i % 3);
    const Drawn y = draw(engine, 1 + i % 3);
    SizeScope scope(assignment(engine));
    for (const SizeRelation relation :
         {SizeRelation::Equal, SizeRelation::NotEqual, SizeRelation::Less, SizeRelation::AtMost}) {
      const auto answer = scope.decide(relation, x.size, y.size);
      if (!answer) continue;
      ++decided;
      INFO(x.size.text() << " and " << y.size.text());
      for (int k = 0; k < 20; ++k) {
        SymbolValues values = assignment(engine);
        if (k < 4) values = {{"b", 2 + k % 2}, {"s0", 2 + k / 2}, {"s1", 2}};
        REQUIRE(holds({relation, x.size, y.size, {}, {}}, values) == *answer);
      }
    }
    CHECK(scope.guards().empty());
  }
  CHECK(decided > 4000);
}

TEST_CASE("guards hold in the call that recorded them, and answer for it", "[dim]") {
  std::mt19937 engine(3);
  std::size_t recorded = 0;
  for (int i = 0; i < 2000; ++i) {
    const Drawn x = draw(engine, 1 + i % 3);
    const Drawn y = draw(engine, 1 + i % 3);
    const SymbolValues hints = assignment(engine);
    SizeScope scope(hints);
    const auto p = x.value(hints);
    const auto q = y.value(hints);
    CHECK((x.size == y.size) == (p == q));
    CHECK((x.size != y.size) == (p != q));
    CHECK((x.size < y.size) == (p < q));
    CHECK((x.size <= y.size) == (p <= q));
    CHECK((x.size > y.size) == (p > q));
    CHECK((x.size >= y.size) == (p >= q));
    for (const SizeGuard& each : scope.guards()) REQUIRE(holds(each, hints));
    recorded += scope.guards().size();
    // Where the guards hold for other values, all answers are the same.
    const SymbolValues others = assignment(engine);
    const bool all = std::all_of(scope.guards().begin(), scope.guards().end(),
                                 [&](const SizeGuard& each) { return holds(each, others); });
    if (!all) continue;
    CHECK((x.value(others) < y.value(others)) == (p < q));
    CHECK((x.value(others) == y.value(others)) == (p == q));
  }
  CHECK(recorded > 1000);
}

TEST_CASE("a guard says what was asked, by which op and where", "[dim]") {
  SizeScope scope({{"s0", 8}, {"s1", 5}});
  scope.set_place("<prompt:1>:1:3");
  {
    const SizeScope::Reason reason("slice");
    CHECK_FALSE(s0 < 4);
    CHECK_FALSE(s0 < 4);
    CHECK(s0 != s1);
  }
  CHECK(s1 == 5);
  CHECK(texts(scope) == Texts{"4 <= s0 (slice, <prompt:1>:1:3)", "s0 != s1 (slice, <prompt:1>:1:3)",
                              "s1 == 5 (<prompt:1>:1:3)"});
  scope.forget_guards(1);
  CHECK(texts(scope) == Texts{"4 <= s0 (slice, <prompt:1>:1:3)"});
}

TEST_CASE("what follows from a guard is not asked again", "[dim]") {
  SizeScope scope({{"s0", 8}, {"s1", 5}});
  CHECK(s0 >= 4);
  CHECK(s0 - 4 >= 0);
  CHECK(s0 + s1 - s1 > 3);
  CHECK(s0 != 3);
  CHECK_FALSE(s0 - 2 == 1);
  CHECK(texts(scope) == Texts{"4 <= s0"});
  CHECK(s0 >= 5);
  CHECK(s0 == s1 + 3);
  CHECK(s1 + 4 > s0);
  CHECK(s0 - s1 == 3);
  CHECK(s0 != s1);
  CHECK(texts(scope) == Texts{"4 <= s0", "5 <= s0", "s0 == s1 + 3"});
}

TEST_CASE("sizes are at least 2, so some comparisons record nothing", "[dim]") {
  SizeScope scope({{"s0", 8}, {"s1", 5}});
  CHECK_FALSE(s0 == 0);
  CHECK_FALSE(s0 == 1);
  CHECK(s0 >= 2);
  CHECK(s0 + 1 > s0);
  CHECK(s0 * s1 > s0);
  CHECK((s0 - 1) * (s1 - 1) >= 1);
  CHECK(2 * s0 != 7);
  CHECK(floor_div(s0, 2) <= s0);
  CHECK(floor_div(s0 + 3, 4) <= s0);
  CHECK(floor_mod(s0, 3) < 3);
  CHECK(min(s0, s1) <= s1);
  CHECK(s0 < std::numeric_limits<std::int64_t>::max());
  CHECK(s0 > std::numeric_limits<std::int64_t>::min());
  CHECK(same(max(s0, 1), s0));
  CHECK(same(min(s0, 1), 1));
  CHECK(same(std::max<Dim>(s0, 1), s0));
  CHECK(texts(scope) == Texts{});
  SizeScope any;
  const Dim k = any.add("k", 3, SizeScope::kAnyInt);
  CHECK(k != 0);
  CHECK(texts(any) == Texts{"k != 0"});
}

TEST_CASE("a size that is used as a number is guarded to be it", "[dim]") {
  SizeScope scope({{"s0", 8}});
  const std::int64_t n = s0 + 1;
  CHECK(n == 9);
  CHECK(static_cast<double>(s0) == 8.0);
  CHECK((s0 ? 1 : 2) == 1);
  CHECK(texts(scope) == Texts{"s0 + 1 == 9"});  // the others follow
  CHECK(s0.hint() == 8);
  CHECK(to_string(2 * s0) == "16");
  CHECK(texts(scope).size() == 1);
}

TEST_CASE("without a scope symbols have no value", "[dim]") {
  CHECK_THROWS_AS(s0 < 4, InternalError);
  CHECK_THROWS_AS(s0.fixed(), InternalError);
  CHECK_THROWS_AS(s0.known(), InternalError);
  CHECK(to_string(2 * s0) == "2*s0");
  CHECK(s0 + 1 == 1 + s0);  // one expression
  SizeScope outer({{"s0", 8}});
  {
    SizeScope inner({{"s1", 5}});
    CHECK_THROWS_AS(s0 < 4, InternalError);
    CHECK(s1 > 4);
    CHECK(outer.guards().empty());
    CHECK(texts(inner) == Texts{"4 < s1"});
  }
  CHECK_FALSE(s0 < 4);
  CHECK(SizeScope::current() == &outer);
}

TEST_CASE("equal expressions are one, on every thread", "[dim]") {
  const Dim here = floor_div(s0 * b + 3, 4) * 2 - s1;
  std::vector<Dim> found(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&found, t] {
      for (int i = 0; i < 200; ++i) {
        const Dim p = Dim::symbol("p" + std::to_string(i % 20));
        found[t] = p * i + s0;
      }
      found[t] = 2 * floor_div(3 + Dim::symbol("b") * Dim::symbol("s0"), 4) - Dim::symbol("s1");
    });
  }
  for (std::thread& each : threads) each.join();
  for (const Dim each : found) CHECK(same(each, here));
  CHECK(std::unordered_set<Dim>{here, found[0], s0, 8, 8}.size() == 3);
}

TEST_CASE("sizes print as they read", "[dim]") {
  CHECK((2 * s0 + 1).text() == "2*s0 + 1");
  CHECK((s1 - s0 - 3).text() == "-s0 + s1 - 3");
  CHECK((b * s0 * b).text() == "b*b*s0");
  CHECK(floor_div(s0 + 1, 2).text() == "((s0 + 1)//2)");
  CHECK((floor_div(s0, 2) * 3).text() == "3*(s0//2)");
  CHECK(floor_mod(s0, b).text() == "(s0%b)");
  CHECK(min(s1, s0 + 4).text() == "min(s0 + 4, s1)");
  CHECK(max(s0 + 4, s0).text() == "s0 + 4");
  CHECK(floor_div(s0 * b * 4, b).text() == "4*s0");
  CHECK(floor_div((s0 + 1) * (b - 2), b - 2).text() == "s0 + 1");
  CHECK(floor_div(floor_div(s0 + 1, 2) + 1, 2).text() == "((s0 + 3)//4)");
  CHECK(ceil_div(s0, 2).text() == "((s0 + 1)//2)");
  CHECK(same(floor_mod(4 * s0, 2), 0));
  for (const char* bad : {"", "s0 +", "2s0", "min(s0)", "(s0", "s0 s1", "s0 / 2"}) {
    INFO(bad);
    CHECK_FALSE(Dim::parse(bad));
  }
  CHECK(Dim::parse("2*ñ + 名")->text() == "2*ñ + 名");
  CHECK_THROWS_AS(Dim::symbol("s 0"), InternalError);
}

TEST_CASE("ints are ints", "[dim]") {
  constexpr Dim kFour = 2 + Dim(2);
  static_assert(kFour == 4 && kFour < 5u && 3 <= kFour && kFour / 2 == 2 && -kFour == -4);
  static_assert(std::numeric_limits<Dim>::max() == std::numeric_limits<std::int64_t>::max());
  const std::vector<int> five(5);
  Dim total = 0;
  for (Dim i = 0; i < five.size(); ++i) total += i;
  CHECK(total == 10);
  CHECK(total * five.size() == std::size_t{50});
  CHECK(Dim(-7) / 2 == -3);
  CHECK(Dim(-7) % 2 == -1);
  CHECK(floor_div(Dim(-7), 2) == -4);
  CHECK(floor_mod(Dim(-7), 2) == 1);
  const bool yes = five.size() == 5;
  const Dim chosen = yes ? kFour : 1;
  CHECK(chosen == 4);
  CHECK(1.5 * static_cast<double>(kFour) == 6.0);
  CHECK(std::to_string(kFour) == "4");
}

TEST_CASE("numbers at the ends of 64 bits", "[dim]") {
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  const std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t n : {lowest, lowest + 1, -(std::int64_t{1} << 62) - 1, -(std::int64_t{1} << 62),
                               std::int64_t{-1}, highest}) {
    CHECK(Dim(n).is_known());
    CHECK(Dim(n).known() == n);
    CHECK(Dim(n) == n);
    CHECK(static_cast<std::int64_t>(Dim(n)) == n);
    CHECK((Dim(n) < 0) == (n < 0));
    CHECK(Dim(n).text() == std::to_string(n));
  }
  CHECK(Dim(lowest) + highest == -1);
  CHECK(Dim(lowest) / 2 == lowest / 2);
  CHECK(Dim(lowest) - lowest == 0);
  CHECK(std::max<Dim>(lowest, 3) == 3);
  CHECK(same(max(Dim(lowest), 3), 3));
  const auto overflows = [](const auto& f) { CHECK(kind_of_error(f) == ErrorKind::Overflow); };
  overflows([&] { (void)(Dim(highest) + 1); });
  overflows([&] { (void)(Dim(lowest) - 1); });
  overflows([&] { (void)(Dim(highest) * 2); });
  overflows([&] { (void)-Dim(lowest); });
  overflows([&] { (void)(Dim(lowest) / -1); });
  overflows([&] { (void)(s0 * highest * 2); });
  overflows([&] { (void)Dim(~std::uint64_t{0}); });
  CHECK(kind_of_error([&] { (void)(Dim(1) / 0); }) == ErrorKind::Value);
  CHECK(kind_of_error([&] { (void)floor_mod(s0, 0); }) == ErrorKind::Value);
  Dim power = s0 + b;
  overflows([&] {
    for (int i = 0; i < 40; ++i) power = power * (s0 + b + 1);
  });
  Dim nested = s0;
  overflows([&] {
    for (int i = 0; i < 300; ++i) nested = floor_mod(nested * nested + 1, s1);
  });
}

TEST_CASE("division of symbols toward zero asks for signs", "[dim]") {
  SizeScope scope({{"s0", 4}, {"s1", 5}});
  CHECK(same((s0 + 3) / 2, floor_div(s0 + 3, 2)));
  CHECK(same(s0 * s1 / s1, s0));
  CHECK(same(s0 * 6 % 3, 0));
  CHECK(texts(scope).empty());
  CHECK(((s0 - 9) / 2).hint() == -2);
  CHECK(((s0 - 9) % 2).hint() == -1);
  CHECK(texts(scope) == Texts{"s0 - 9 < 0"});
}

TEST_CASE("kernels get ints", "[dim]") {
  const Dim sizes[] = {3, 0, -1};
  const auto numbers = ints(sizes);
  CHECK(std::vector(numbers.begin(), numbers.end()) == std::vector<std::int64_t>{3, 0, -1});
  const Dim symbolic[] = {3, s0};
  CHECK_THROWS_AS(ints(symbolic), InternalError);
}

}  // namespace kiln::dim_test
