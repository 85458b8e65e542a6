// Cycles of every kind end; what is still reached does not; deep structures end without a deep stack.
#include <catch2/catch.hpp>
#include <string>

#include "interpreter/collector.h"
#include "interpreter/interpreter.h"
#include "interpreter/objects.h"
#include "tensor/storage.h"

namespace kiln::interp {
namespace {

struct Fixture {
  Interpreter interpreter;
  std::size_t before = 0;

  Fixture() {
    run("none");  // what the first run makes stays
    Collector::collect();
    before = Collector::live_containers();
  }
  Value run(const std::string& text) { return interpreter.run("<test>", text).value; }
  // Containers that are left, over those there were, after a search.
  std::size_t left() {
    Collector::collect();
    return Collector::live_containers() - before;
  }
};

TEST_CASE("lists, tuples and dicts that hold each other end", "[collector]") {
  Collector::collect();
  const std::size_t before = Collector::live_containers();
  {
    const Value list = make<List>();
    const Value dict = make<Dict>();
    dict.as<Dict>().set(Value("list"), list);
    list.as<List>().items.push_back(make<Tuple>(std::vector<Value>{dict}));
    list.as<List>().items.push_back(list);
  }
  CHECK(Collector::live_containers() == before + 3);
  CHECK(Collector::collect() == 3);
  CHECK(Collector::live_containers() == before);
}

TEST_CASE("a cycle that is held from outside stays whole", "[collector]") {
  Collector::collect();
  const std::size_t before = Collector::live_containers();
  Value inner = make<List>();
  {
    const Value outer = make<List>(std::vector<Value>{inner});
    inner.as<List>().items.push_back(outer);
  }
  CHECK(Collector::collect() == 0);
  CHECK(inner.as<List>().items[0].as<List>().items[0].object() == inner.object());
  inner = Value();
  CHECK(Collector::collect() == 2);
  CHECK(Collector::live_containers() == before);
}

TEST_CASE("what only garbage holds ends with it, what garbage shares does not", "[collector]") {
  Collector::collect();
  const Value shared = make<List>();
  const Value text("shared");
  {
    const Value cycle = make<List>();
    cycle.as<List>().items = {cycle, shared, text, make<Tuple>(std::vector<Value>{Value("own")})};
  }
  CHECK(shared.object()->refs == 2);
  CHECK(Collector::collect() == 2);  // the cycle and its tuple
  CHECK(shared.object()->refs == 1);
  CHECK(text.object()->refs == 1);
}

TEST_CASE_METHOD(Fixture, "closures, instances, methods and structs that hold themselves end",
                 "[collector]") {
  run("fn make() { fn f() = f; return f }\nmake(); none");
  run("make = none");
  CHECK(left() == 0);
  run("struct Node { next; fn look(self) = self }\nn = Node(none); n.next = n; n.extra = n.look; n = none");
  run("Node = none");
  CHECK(left() == 0);
  run("fn outer() { struct Inner { v }; i = Inner(none); i.v = [Inner, i]; return none }\nouter()");
  run("outer = none");
  CHECK(left() == 0);
}

TEST_CASE_METHOD(Fixture, "a search in the middle of a program takes nothing it still needs", "[collector]") {
  // Cycles enough for many searches, while registers, cells and temporaries hold others.
  const std::string result = interpreter.repr(run(R"(
struct Node { left; right }
fn ring(i) { a = Node(none, i); b = Node(a, [i]); a.left = b; return a }
fn work(n) {
  kept = [ring(i) for i in range(100)]
  total = 0
  for i in range(n) { total += ring(i).left.left.right + ring(0).right }
  return total, sum([k.left.right[0] for k in kept])
}
work(30000)
)"));
  CHECK(result == "(449985000, 4950)");
  run("none");
  run("Node = none; ring = none; work = none");
  CHECK(left() == 0);
}

TEST_CASE_METHOD(Fixture, "tensors in cycles are given back before memory fills with them", "[collector]") {
  const std::size_t bytes = kiln::memory_use(kiln::Device{}).live_bytes;
  run(R"(
fn leak(n) {
  for i in range(n) { xs = [zeros(1024, 1024)]; xs.append(xs) }
  return none
}
leak(300)
)");
  // 300 of 4 MiB were made: a search came whenever 256 MiB had been added.
  CHECK(kiln::memory_use(kiln::Device{}).live_bytes - bytes < (std::size_t{320} << 20U));
  Collector::collect();
  CHECK(kiln::memory_use(kiln::Device{}).live_bytes == bytes);
}

TEST_CASE("a million objects that hold one another in a row end without recursion", "[collector]") {
  Collector::collect();
  const std::size_t before = Collector::live_containers();
  Value chain;
  for (int i = 0; i < 1'000'000; ++i) {
    Value next = i % 2 == 0 ? make<List>(std::vector<Value>{chain}) : make<Tuple>(std::vector<Value>{chain});
    chain = std::move(next);
  }
  chain = Value();
  CHECK(Collector::live_containers() == before);
}

TEST_CASE_METHOD(Fixture, "the code of a compiled function ends with it", "[collector]") {
  for (const char* const backend : {"eager", "fused"}) {
    run(std::string("make = () => jit(fn(x) { return x.exp() * 2 + x }, backend=\"") + backend + "\"); none");
    run("f = make(); f(ones(3)); f(ones(3)); none");
    const std::weak_ptr<const Code> code = run("f").as<Function>().owner;
    CHECK_FALSE(code.expired());
    run("f = none; none");
    CHECK(code.expired());
  }
}

}  // namespace
}  // namespace kiln::interp
