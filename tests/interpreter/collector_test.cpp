// Cycles of every kind end; what is still reached does not; deep structures end without a deep stack.
#include <catch2/catch.hpp>
#include <string>

#include "interpreter/interpreter.h"
#include "interpreter/values/collector.h"
#include "interpreter/values/objects.h"
#include "tensor/autograd.h"
#include "tensor/storage.h"

namespace kiln::interp::collector_test {
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

TEST_CASE("sets in cycles end", "[collector]") {
  Collector::collect();
  const std::size_t before = Collector::live_containers();
  {
    const Value set = make<Set>();
    const Value method = make<Method>(set, Value());
    set.as<Set>().add(method);
  }
  CHECK(Collector::live_containers() == before + 2);
  CHECK(Collector::collect() == 2);
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
  run("struct Node { next; fn look(self) = self }\nn = Node(none); n.next = n; setattr(n, \"extra\", "
      "n.look); "
      "n = none");
  run("Node = none");
  CHECK(left() == 0);
  run("fn outer() { struct Inner { v }; i = Inner(none); i.v = [Inner, i]; return none }\nouter()");
  run("outer = none");
  CHECK(left() == 0);
}

TEST_CASE_METHOD(Fixture, "generators that hold themselves end, those within a `finally` as well",
                 "[collector]") {
  run("[].append(1); none");  // makes the methods of lists, which stay
  before += left();
  run("fn g(xs) { try { yield 1; yield xs } finally { xs.append(\"closed\") } }\n"
      "fn make() { xs = []; it = g(xs); xs.append(it); next(it); return none }\nmake()");
  run("make = none; g = none");
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
  // 300 of 4 MiB were made: a search came whenever 8 MiB had been added.
  CHECK(kiln::memory_use(kiln::Device{}).live_bytes - bytes < (std::size_t{32} << 20U));
  Collector::collect();
  CHECK(kiln::memory_use(kiln::Device{}).live_bytes == bytes);
}

TEST_CASE_METHOD(Fixture, "gradients in cycles are given back, with no value of the language between them",
                 "[collector]") {
  const std::size_t bytes = kiln::memory_use(kiln::Device{}).live_bytes;
  run(R"(
fn leaf() = zeros(1024, 256).requires_grad_()
fn pair() { x = leaf(); y = leaf(); x.grad = y; y.grad = x }
fn ring() { x = leaf(); y = leaf(); z = leaf(); x.grad = y; y.grad = z; z.grad = x; return none }
fn history() { x = leaf(); (x * x * x).sum().backward(create_graph=true); return none }
fn assigned() { x = leaf(); x.grad = x * x; return none }
fn twice() { x = leaf(); y = leaf(); x.grad = y; y.grad = x; x.grad = none; x.grad = y; return none }
kept = leaf(); kept.grad = leaf(); kept.grad.grad = kept
for f in [pair, ring, history, assigned, twice] { for i in range(100) { f() } }
)");
  CHECK(kiln::memory_use(kiln::Device{}).live_bytes - bytes < (std::size_t{32} << 20U));
  const auto left_bytes = [&] {
    Collector::collect();
    return kiln::memory_use(kiln::Device{}).live_bytes - bytes;
  };
  constexpr std::size_t kKept = std::size_t{2} << 20U, kNumbers = 4096;
  CHECK(left_bytes() >= kKept);
  CHECK(left_bytes() < kKept + kNumbers);
  CHECK(interpreter.repr(run("kept.grad.grad is kept")) == "true");
  run("kept = none");
  run("none");
  CHECK(left_bytes() < kNumbers);
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

// The kinds of objects.def, and what tensors, the tape and compiled code hold. Each line makes a cycle
// through one.
constexpr std::pair<const char*, const char*> kCycles[] = {
    {"List", "l.append(l)"},
    {"Tuple", "l.append((l,))"},
    {"Dict", "l.append({1: l})"},
    {"Slice", "l.append(slice(l))"},
    {"Function", "l.append(x => l)"},
    {"default of a Function", "l.append(fn(x=l) { return x })"},
    {"Native", "l.append(grad(x => l))"},
    {"Method", "l.append(l.append)"},
    {"StructType", "struct S { a = l  fn m(self) = l }; l.append(S)"},
    {"Instance", "struct S { a }; l.append(S(l))"},
    {"Instance with a field of setattr", "struct S { a = 1 }; s = S(); setattr(s, \"b\", l); l.append(s)"},
    {"Error", "try { throw l } catch e { l.append(e) }"},
    {"Iterator", "l.append(iter(l))"},
    {"Cell", "fn get() = l\nl.append(get)"},
    {"Graph", "l[0].requires_grad_().register_hook(g => l); l.append(graph(x => x * l[0], ones(300)))"},
    {"Opaque", "l[0].requires_grad_(); l.append(l[0].register_hook(g => l))"},
    {"iterator of an instance", "struct S { a  fn next(self) = self.a }; l.append(iter(S(l)))"},
    {"enumerate", "l.append(enumerate(l))"},
    {"zip", "l.append(zip(l, [1]))"},
    {"map", "l.append(map(x => l, [1]))"},
    {"filter", "l.append(filter(x => l, [1]))"},
    {"reversed", "l.append(reversed(l))"},
    {"iter of a function", "l.append(iter(() => l, 1))"},
    {"progress", "l.append(progress(l))"},
    {"the curve of progress", "l.append(progress([], curve=l))"},
    {"iterator of a tensor with a hook", "l[0].requires_grad_().register_hook(g => it); it = iter(l[0])"},
    {"value_and_grad", "l.append(value_and_grad(x => l))"},
    {"vmap", "l.append(vmap(x => l))"},
    {"in_dims of vmap", "l.append(vmap(sin, in_dims=l))"},
    {"vjp", "l.append(vjp(x => (l, x)[1], t)[1])"},
    {"linearize", "l.append(linearize(x => (l, x)[1], t)[1])"},
    {"hook that is a pullback", "w = t * 1; w.requires_grad_().register_hook(vjp(sin, w)[1])"},
    {"jacrev", "l.append(jacrev(x => l))"},
    {"jacfwd", "l.append(jacfwd(x => l))"},
    {"hessian", "l.append(hessian(x => l))"},
    {"functionalize", "l.append(functionalize(x => l))"},
    {"checkpoint", "l.append(checkpoint(x => l))"},
    {"checkpoint on the tape", "l.append(checkpoint(x => (l, x.sin().exp())[1])(ones(2).requires_grad_()))"},
    {"no_grad as a decorator", "l.append(no_grad()(x => l))"},
    {"hook", "w = t * 1; w.requires_grad_().register_hook(g => w)"},
    {"post-accumulate hook",
     "w = t * 1; w.requires_grad_().register_post_accumulate_grad_hook(p => w.sum())"},
    {"hook on what was made", "w = ones(2).requires_grad_() * 2; w.register_hook(g => w)"},
    {"hook that the tape holds", "w = ones(2).requires_grad_() * 2; v = w * 3; w.register_hook(g => v)"},
    {"hook of a base", "w = ones(4).requires_grad_(); v = w[1:]; w.register_hook(g => v)"},
    {"gradient with a history",
     "w = ones(2).requires_grad_(); w.register_hook(g => w); (w ** 2).sum().backward(create_graph=true)"},
    {"context", "y = Own(ones(2).requires_grad_(), l); l.append(y)"},
    {"context with its result", "y = Keeps(ones(2).requires_grad_(), l); l[1].out = y"},
    {"context, further on", "y = Own(ones(2).requires_grad_(), l); l.append((y * 2).exp() + 1)"},
    {"context under vmap", "y = vmap(x => Own(x, l))(ones(2, 2).requires_grad_()); l.append(y)"},
    {"jit", "l.append(jit(x => (l, x)[1]))"},
    {"jit, called", "f = jit(x => x * l[0].sum() + len(l)); f(ones(300)); l.append(f)"},
    {"jit that calls itself",
     "f = jit(fn(x, n) { if n > 0 { return f(x * 2, n - 1) }; return x }); f(ones(300), 2)"},
    {"jit of an instance",
     "struct S { f = none; w = 1  fn call(self, x) = x * self.w }; s = S(); s.f = jit(s); s.f(t)"},
    {"eager", "l.append(eager(x => l))"},
    {"decorator with a backend", "l.append(jit(backend=g => (l, g)[1]))"},
    {"backend", "l.append(jit(x => x * 2, backend=g => (l, g)[1]))"},
    {"backend, called", "f = jit(x => x * 2, backend=g => (x => (l, g(x))[1])); f(t); l.append(f)"},
};

TEST_CASE_METHOD(Fixture, "cycles through every kind of object end", "[collector]") {
  run(R"(
autograd Own { fn forward(ctx, x, l) { ctx.kept = l; return x * 2 }  fn backward(ctx, g) = g * 2, none }
autograd Keeps { fn forward(ctx, x, l) { l.append(ctx); return x * 2 }  fn backward(ctx, g) = g * 2, none }
t = ones(300)
none)");
  for (const auto& [name, body] : kCycles) {
    INFO(name);
    run(std::string("fn make() { l = [ones(300)]\n") + body + " }\nfor i in range(3) { make() }");
    Collector::collect();
    const std::size_t containers = Collector::live_containers(), nodes = kiln::live_tape_nodes(),
                      bytes = kiln::memory_use(kiln::Device{}).live_bytes;
    run("for i in range(40) { make() }");
    Collector::collect();
    CHECK(Collector::live_containers() == containers);
    CHECK(kiln::live_tape_nodes() == nodes);
    CHECK(kiln::memory_use(kiln::Device{}).live_bytes == bytes);
  }
}

// What host functions hold is released only when nothing else leads to it.
TEST_CASE_METHOD(Fixture, "what is reached through host functions and the tape stays", "[collector]") {
  const std::string result = interpreter.repr(run(R"(
autograd Own { fn forward(ctx, x, l) { ctx.kept = l; return x * 2 }  fn backward(ctx, g) = g * ctx.kept[0], none }
seen = []
fn make(i) {
  l = [float(i)]
  l.append(map(x => x + l[0], [1, 2]))
  w = ones(2).requires_grad_()
  w.register_hook(fn(g) { seen.append(l[0]); return g * l[0] })
  y = Own(w, l)
  l.append(y)
  return w, y, l[1], grad(x => (x * l[0]).sum())
}
made = [make(i) for i in range(50)]
for k in range(20000) { a = []; a.append(a) }
total = 0.0
for w, y, it, g in made {
  y.sum().backward()
  total += w.grad.sum().item() + sum(list(it)) + g(ones(1)).item()
}
(total, len(seen))
)"));
  CHECK(result == "(84675.0, 50)");
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
}  // namespace kiln::interp::collector_test
