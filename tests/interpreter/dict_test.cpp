// The dict against a plain list of pairs, and the keys that are one.
#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/values/value.h"
#include "lang/diagnostic.h"

namespace kiln::interp::dict_test {
namespace {

// What a dict must be: pairs in order of insertion, looked for one by one.
struct Model {
  std::vector<std::pair<Value, Value>> pairs;

  Value* find(const Value& key) {
    for (auto& [k, v] : pairs) {
      if (values_equal(k, key)) return &v;
    }
    return nullptr;
  }
  void set(const Value& key, const Value& value) {
    if (Value* found = find(key)) {
      *found = value;
    } else {
      pairs.emplace_back(key, value);
    }
  }
  bool erase(const Value& key) {
    return std::erase_if(pairs, [&](const auto& pair) { return values_equal(pair.first, key); }) > 0;
  }
};

std::vector<std::pair<Value, Value>> pairs_of(const Dict& dict) {
  std::vector<std::pair<Value, Value>> pairs;
  for (const Dict::Entry& entry : dict.entries()) {
    if (entry.live) pairs.emplace_back(entry.key, entry.value);
  }
  return pairs;
}

bool same(const Dict& dict, const Model& model) {
  const auto pairs = pairs_of(dict);
  if (pairs.size() != model.pairs.size() || pairs.size() != dict.size()) return false;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!values_equal(pairs[i].first, model.pairs[i].first)) return false;
    if (!values_equal(pairs[i].second, model.pairs[i].second)) return false;
  }
  return true;
}

Value random_key(std::mt19937& random) {
  const auto n = static_cast<std::int64_t>(random() % 40);
  switch (random() % 5) {
    case 0:
      return n;
    case 1:
      return static_cast<double>(n) / 2;
    case 2:
      return std::to_string(n);
    case 3:
      return make<Tuple>(std::vector<Value>{Value(n), Value("t")});
    default:
      return Value(n % 2 == 0);
  }
}

TEST_CASE("a dict does what a list of pairs would, in the same order", "[dict]") {
  std::mt19937 random(7);
  const Value holder = make<Dict>();
  Dict& dict = holder.as<Dict>();
  Model model;
  for (int step = 0; step < 20'000; ++step) {
    const Value key = random_key(random);
    switch (random() % 4) {
      case 0:
      case 1:
        dict.set(key, Value(step));
        model.set(key, Value(step));
        break;
      case 2:
        CHECK(dict.erase(key) == model.erase(key));
        break;
      default: {
        const Value* found = dict.find(key);
        const Value* expected = model.find(key);
        REQUIRE((found != nullptr) == (expected != nullptr));
        if (found) CHECK(values_equal(*found, *expected));
      }
    }
    if (step % 500 == 0) CHECK(same(dict, model));
    if (step % 7000 == 6999) {
      dict.clear();
      model.pairs.clear();
    }
  }
  CHECK(same(dict, model));
}

TEST_CASE("numbers that are equal are one key, whatever their type", "[dict]") {
  const Value holder = make<Dict>();
  Dict& dict = holder.as<Dict>();
  dict.set(Value(1), "int");
  dict.set(Value(1.0), "float");
  dict.set(Value(true), "bool");
  dict.set(Value(0.0), "zero");
  dict.set(Value(-0.0), "minus zero");
  CHECK(dict.size() == 2);
  CHECK(dict.find(Value(1))->as<Str>().text == "bool");
  CHECK(dict.find(Value(0))->as<Str>().text == "minus zero");
  CHECK(dict.find(Value("1")) == nullptr);
  // 2^53 + 1 is no float: the float next to it is another key.
  dict.set(Value(std::int64_t{9007199254740993}), "odd");
  CHECK(dict.find(Value(9007199254740992.0)) == nullptr);
}

TEST_CASE("text is found with and without an object of its own", "[dict]") {
  const Value holder = make<Dict>();
  Dict& dict = holder.as<Dict>();
  CHECK(dict.find(std::string_view("absent")) == nullptr);
  for (int i = 0; i < 1000; ++i) dict.set(Value("key " + std::to_string(i)), Value(i));
  for (int i = 0; i < 1000; i += 3) CHECK(dict.erase(Value("key " + std::to_string(i))));
  for (int i = 0; i < 1000; ++i) {
    const Value* found = dict.find(std::string_view("key " + std::to_string(i)));
    REQUIRE((found != nullptr) == (i % 3 != 0));
    if (found) CHECK(found->as_int() == i);
  }
}

TEST_CASE("a key that was taken out comes back at the end", "[dict]") {
  const Value holder = make<Dict>();
  Dict& dict = holder.as<Dict>();
  for (int i = 0; i < 4; ++i) dict.set(Value(i), Value(i));
  CHECK(dict.erase(Value(1)));
  CHECK_FALSE(dict.erase(Value(1)));
  dict.set(Value(1), Value(10));
  dict.set(Value(0), Value(20));
  std::vector<std::int64_t> keys;
  for (const auto& [key, value] : pairs_of(dict)) keys.push_back(key.as_int());
  CHECK(keys == std::vector<std::int64_t>{0, 2, 3, 1});
}

TEST_CASE("taking out and putting in without end does not make the table grow", "[dict]") {
  const Value holder = make<Dict>();
  Dict& dict = holder.as<Dict>();
  for (int i = 0; i < 100'000; ++i) {
    dict.set(Value(i), Value(i));
    if (i >= 10) CHECK(dict.erase(Value(i - 10)));
  }
  CHECK(dict.size() == 10);
  CHECK(dict.entries().size() < 100);
}

TEST_CASE("what can change is no key", "[dict]") {
  const Value holder = make<Dict>();
  Dict& dict = holder.as<Dict>();
  CHECK_THROWS_AS(dict.set(make<List>(), Value(1)), lang::UserError);
  CHECK_THROWS_AS(dict.find(make<Dict>()), lang::UserError);
  CHECK_THROWS_AS(dict.erase(make<Tuple>(std::vector<Value>{make<List>()})), lang::UserError);
  CHECK(dict.size() == 0);
}

TEST_CASE("an entry releases its key and value when it is taken out", "[dict]") {
  const Value holder = make<Dict>();
  Dict& dict = holder.as<Dict>();
  const Value key("key");
  const Value value = make<List>();
  dict.set(key, value);
  CHECK(key.object()->refs == 2);
  CHECK(value.object()->refs == 2);
  dict.set(Value("key"), Value(1));  // keeps the first key
  CHECK(value.object()->refs == 1);
  CHECK(key.object()->refs == 2);
  dict.erase(key);
  CHECK(key.object()->refs == 1);
}

}  // namespace
}  // namespace kiln::interp::dict_test
