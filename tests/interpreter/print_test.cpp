// How values print: containers, cycles, instances, tensors with their summary, columns and elision.
#include <catch2/catch.hpp>
#include <string>

#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"
#include "tensor/functions.h"

namespace kiln::interp::print_test {
namespace {

struct Fixture {
  Interpreter interpreter;
  Value run(const std::string& text) { return interpreter.run("<test>", text).value; }
  std::string repr(const std::string& text) { return interpreter.repr(run(text)); }
  std::string str(const std::string& text) { return interpreter.str(run(text)); }
  std::string values(const std::string& text, PrintOptions options = {}) {
    return tensor_values(run(text).tensor(), options);
  }
};

TEST_CASE_METHOD(Fixture, "containers print as literals") {
  CHECK(repr("[1, 2.0, 'a', none, true, (1,), ()]") == "[1, 2.0, 'a', none, true, (1,), ()]");
  CHECK(repr("{'a': [1], 2: {}}") == "{'a': [1], 2: {}}");
  CHECK(repr("range(0, 6, 2)") == "range(0, 6, 2)");
  CHECK(repr("[f32, int, cpu]") == "[f32, int, device('cpu')]");
  CHECK(str("'a'") == "a");
  CHECK(str("['a']") == "['a']");
}

TEST_CASE_METHOD(Fixture, "cycles and deep nesting end") {
  CHECK(repr("a = [1]; a.append(a); a") == "[1, [...]]");
  CHECK(repr("d = {}; d['d'] = d; d") == "{'d': {...}}");
  CHECK(repr("b = [1]; [b, b]") == "[[1], [1]]");
  CHECK(repr("struct Node { next = none }; n = Node(); n.next = n; n") == "Node(next=Node(...))");
  CHECK_THROWS_AS(repr("x = []; for i in range(5000) { x = [x] }; x"), lang::UserError);
}

TEST_CASE_METHOD(Fixture, "instances print their fields, or as they say") {
  CHECK(repr("struct Point { x; y = 2 }; Point(1)") == "Point(x=1, y=2)");
  CHECK(repr("p = Point(1); setattr(p, 'z', 'a'); p") == "Point(x=1, y=2, z='a')");
  CHECK(repr("struct Named { fn repr(self) = 'me' }; [Named()]") == "[me]");
  CHECK(str("struct Told { fn str(self) = 'told' }; Told()") == "told");
}

TEST_CASE_METHOD(Fixture, "functions print as they were written") {
  CHECK(repr("fn f(x: f32[b, 3], y = 1 + 2, *rest, **named) = x; f") ==
        "fn f(x: f32[b, 3], y=1 + 2, *rest, **named)");
  CHECK(repr("sorted") == "fn sorted(xs, key=none, reverse=false)");
}

TEST_CASE_METHOD(Fixture, "a tensor prints its type and its values") {
  CHECK(repr("tensor([[1, 2], [3, 40]])") == "i64[2, 2] cpu 32 B\n[[ 1,  2],\n [ 3, 40]]");
  CHECK(repr("tensor([1.5, nan, -inf])") == "f32[3] cpu 12 B, 1 nan, 1 inf\n[1.5000,    nan,   -inf]");
  CHECK(repr("tensor(2.5)") == "f32[] cpu 4 B\n2.5");
  CHECK(str("tensor(2.5)") == "2.5");
  CHECK(repr("tensor([1.0], requires_grad=true)") == "f32[1] cpu 4 B, requires grad\n[1.]");
  CHECK(repr("zeros(1024, 256)").substr(0, 26) == "f32[1024, 256] cpu 1 MiB\n[");
  CHECK(repr("[tensor([1, 2]), tensor(1.5), tensor([1], dtype=u8), zeros(100, 3)]") ==
        "[tensor([1, 2]), tensor(1.5), tensor([1], dtype=u8), tensor(f32[100, 3])]");
}

TEST_CASE_METHOD(Fixture, "numbers of a tensor share one format") {
  CHECK(values("tensor([1.0, 20.0, -3.0])") == "[ 1., 20., -3.]");
  CHECK(values("tensor([0.5, 20.0])") == "[ 0.5000, 20.0000]");
  CHECK(values("tensor([1e-5, 1.0])") == "[1.0000e-05, 1.0000e+00]");
  CHECK(values("tensor([1.0, 1e9])") == "[1.0000e+00, 1.0000e+09]");
  CHECK(values("tensor([1.0, 5000.0])") == "[   1., 5000.]");
  CHECK(values("tensor([true, false])") == "[ true, false]");
  CHECK(values("tensor([0.125], dtype=f16)") == "[0.1250]");
  CHECK(values("tensor([0.5])", {2, 3, 1000, 80}) == "[0.50]");
  CHECK(values("zeros(2, 0)") == "[]");
}

TEST_CASE_METHOD(Fixture, "large tensors show their edges") {
  CHECK(values("arange(2000)") == "[   0,    1,    2, …, 1997, 1998, 1999]");
  CHECK(values("arange(16).reshape(4, 4)", {4, 1, 10, 80}) == "[[ 0, …,  3],\n …,\n [12, …, 15]]");
  CHECK(values("arange(8).reshape(2, 2, 2)") == "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]");
  // Only what is shown decides on the format.
  CHECK(values("x = ones(2000); x[1000] = 0.5; x") == "[1., 1., 1., …, 1., 1., 1.]");
}

TEST_CASE_METHOD(Fixture, "rows longer than the line go on below") {
  CHECK(values("arange(10)", {4, 3, 1000, 20}) == "[0, 1, 2, 3, 4, 5,\n 6, 7, 8, 9]");
}

TEST_CASE_METHOD(Fixture, "views print their own elements") {
  CHECK(values("arange(6).reshape(2, 3).t()") == "[[0, 3],\n [1, 4],\n [2, 5]]");
  CHECK(values("arange(10)[2:8:3]") == "[2, 5]");
}

TEST_CASE_METHOD(Fixture, "print writes a lone tensor as a block and others on the line") {
  std::string out;
  Options options;
  options.out = [&](std::string_view text) { out += text; };
  Interpreter own(options);
  own.run("<test>",
          "print(tensor([1, 2])); print('x', tensor([1, 2]), tensor(1.5)); print(f'{tensor([1, 2])} "
          "{tensor(2)}')");
  own.flush();
  CHECK(out == "i64[2] cpu 16 B\n[1, 2]\nx tensor([1, 2]) 1.5\ntensor([1, 2]) 2\n");
}

}  // namespace
}  // namespace kiln::interp::print_test
