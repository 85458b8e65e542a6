// How calls of ops are bound: positions, names, defaults, spread sizes, overloads, host numbers; and every
// refusal.
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"
#include "tensor/functions.h"

namespace kiln::interp::op_call_test {
namespace {

using NamedArguments = std::vector<std::pair<std::string_view, Value>>;

struct Fixture {
  Interpreter interpreter;
  Value x = tensor("[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");

  Value tensor(const std::string& text) { return interpreter.run("<test>", "tensor(" + text + ")").value; }
  Value call(std::string_view op, std::vector<Value> arguments, const NamedArguments& named = {}) {
    return call_op(interpreter, op, arguments, named);
  }
  std::string text(const Value& v) { return interpreter.repr(make<List>(std::vector<Value>{v})); }
  std::string called(std::string_view op, std::vector<Value> arguments, const NamedArguments& named = {}) {
    return text(call(op, std::move(arguments), named));
  }
  // The refusal: kind, message, help, and the arguments it speaks of.
  kiln::OpError refusal(std::string_view op, std::vector<Value> arguments, const NamedArguments& named = {}) {
    try {
      call(op, std::move(arguments), named);
    } catch (const kiln::OpError& error) {
      return error;
    }
    FAIL("the call of " << op << " was taken");
    return {kiln::ErrorKind::Internal, ""};
  }
};

Value ints(std::vector<std::int64_t> numbers) {
  return make<Tuple>(std::vector<Value>(numbers.begin(), numbers.end()));
}

TEST_CASE_METHOD(Fixture, "arguments go by position, then by name, then by default") {
  CHECK(called("sum", {x}) == "[tensor(21.0)]");
  CHECK(called("sum", {x, Value(0)}) == "[tensor([5., 7., 9.])]");
  CHECK(called("sum", {x}, {{"dim", Value(1)}, {"keepdim", Value(true)}}) == "[tensor([[6.], [15.]])]");
  CHECK(called("sum", {}, {{"x", x}}) == "[tensor(21.0)]");
  CHECK(called("sum", {x}, {{"dim", ints({0, 1})}}) == "[tensor(21.0)]");
  CHECK(called("sum", {x}, {{"dim", Value()}}) == "[tensor(21.0)]");
  CHECK(called("sum", {x}, {{"dtype", Value(kiln::DType::F64)}}) == "[tensor(21.0, dtype=f64)]");
}

TEST_CASE_METHOD(Fixture, "sizes may be one list, one tuple or spread") {
  for (const auto& sizes : {std::vector<Value>{Value(3), Value(2)},
                            {ints({3, 2})},
                            {make<List>(std::vector<Value>{Value(3), Value(2)})}}) {
    std::vector<Value> arguments{x};
    arguments.insert(arguments.end(), sizes.begin(), sizes.end());
    CHECK(call("reshape", arguments).tensor().sizes() == kiln::Dims{3, 2});
    CHECK(call("zeros", sizes).tensor().sizes() == kiln::Dims{3, 2});
  }
  CHECK(call("zeros", {Value(2), Value(3)}, {{"dtype", Value("i32")}}).tensor().dtype() == kiln::DType::I32);
  CHECK(call("full", {ints({2}), Value(7)}).tensor().sizes() == kiln::Dims{2});
  CHECK(call("permute", {x, Value(1), Value(0)}).tensor().sizes() == kiln::Dims{3, 2});
}

TEST_CASE_METHOD(Fixture, "tensors of a list may be spread") {
  const Value list = make<List>(std::vector<Value>{x, x});
  CHECK(call("cat", {list}).tensor().sizes() == kiln::Dims{4, 3});
  CHECK(call("cat", {x, x, Value(1)}).tensor().sizes() == kiln::Dims{2, 6});
  CHECK(call("stack", {list}, {{"dim", Value(-1)}}).tensor().sizes() == kiln::Dims{2, 3, 2});
}

TEST_CASE_METHOD(Fixture, "one name has several forms") {
  CHECK(called("max", {x}) == "[tensor(6.0)]");
  CHECK(called("max", {x, Value(1)}) == "[(tensor([3., 6.]), tensor([2, 2]))]");
  CHECK(called("max", {x}, {{"dim", Value(0)}}) == "[(tensor([4., 5., 6.]), tensor([1, 1, 1]))]");
  CHECK(called("max", {tensor("[1, 5]"), tensor("[4, 2]")}) == "[tensor([4, 5])]");
}

TEST_CASE_METHOD(Fixture, "host numbers stand for tensors without raising the dtype") {
  CHECK(called("add", {tensor("[1, 2]"), Value(3)}) == "[tensor([4, 5])]");
  CHECK(called("mul", {tensor("[1.0, 2.0]"), Value(0.5)}) == "[tensor([0.5000, 1.0000])]");
  CHECK(called("mul", {tensor("[1, 2]"), Value(0.5)}) == "[tensor([0.5000, 1.0000])]");
  CHECK(called("maximum", {Value(2), tensor("[1, 3]")}) == "[tensor([2, 3])]");
}

TEST_CASE_METHOD(Fixture, "numbers kept from earlier calls do not change results") {
  for (int round = 0; round < 3; ++round) {
    for (int i = -100; i < 100; ++i) {
      const Value sum = call("add", {tensor("[0]"), Value(i)});
      REQUIRE(sum.tensor().item_int() == i);
      const Value product = call("mul", {tensor("[1.0]"), Value(i / 8.0)});
      REQUIRE(product.tensor().item_float() == i / 8.0);
    }
    REQUIRE(call("add", {tensor("[true]"), Value(true)}).tensor().dtype() == kiln::DType::Bool);
    REQUIRE(call("add", {tensor("[1]"), Value(1)}).tensor().dtype() == kiln::DType::I64);
  }
  CHECK(cached_numbers() <= 64);
}

TEST_CASE_METHOD(Fixture, "elementwise ops of host numbers give host numbers") {
  CHECK(called("sin", {Value(0.0)}) == "[0.0]");
  CHECK(called("sqrt", {Value(2)}) == "[1.4142135623730951]");
  CHECK(called("floor", {Value(-2.5)}) == "[-3]");
  CHECK(called("maximum", {Value(2), Value(3)}) == "[3]");
  CHECK(called("div", {Value(7), Value(2)}) == "[3.5]");
  CHECK(called("lt", {Value(1), Value(2)}) == "[true]");
  CHECK(called("clamp", {Value(5)}, {{"max", Value(3)}}) == "[3]");
  CHECK(call("full", {ints({}), Value(2.0)}).is(Tag::Tensor));
}

TEST_CASE_METHOD(Fixture, "names ending in _ write into their first argument") {
  const Value result = call("add_", {x, Value(1)});
  CHECK(identical(result, x));
  CHECK(called("sum", {x}) == "[tensor(27.0)]");
  CHECK(refusal("add_", {Value(1), x}).message() ==
        "add_ writes into its first argument, which must be a tensor");
  CHECK(!is_op("sum_"));
  CHECK(!is_op("no_such_op"));
}

TEST_CASE_METHOD(Fixture, "dtypes and devices tell themselves apart") {
  CHECK(call("to", {x, Value("f64")}).tensor().dtype() == kiln::DType::F64);
  CHECK(call("to", {x, Value("cpu")}).tensor().dtype() == kiln::DType::F32);
  CHECK(call("to", {x, Value("cpu"), Value(kiln::DType::F16)}).tensor().dtype() == kiln::DType::F16);
  CHECK(call("to", {x, tensor("[1]")}).tensor().dtype() == kiln::DType::I64);
}

TEST_CASE_METHOD(Fixture, "refusals name op, argument and rule") {
  const auto unknown = refusal("sum", {x}, {{"axis", Value(0)}});
  CHECK(unknown.kind() == kiln::ErrorKind::Type);
  CHECK(unknown.message() == "sum has no argument `axis`");
  CHECK(unknown.help() == "did you mean `dim`?");
  CHECK(unknown.operands() == std::vector<int>{1});
  CHECK(refusal("sum", {x}, {{"keepdin", Value(true)}}).help() == "did you mean `keepdim`?");
  CHECK(refusal("sum", {x, Value(0)}, {{"dim", Value(0)}}).message() == "sum got `dim` twice");
  CHECK(refusal("sum", {x}, {{"keepdim", Value(1)}}).message() ==
        "sum: `keepdim` must be true or false, got int");
  CHECK(refusal("sum", {}).message() == "sum needs its argument `x`");
  CHECK(refusal("relu", {x, x}).message() == "relu takes at most 1 argument by position, got 2");
  CHECK(refusal("reshape", {x, Value("a")}).operands() == std::vector<int>{1});
  const auto list = refusal("sin", {make<List>()});
  CHECK(list.message() == "sin: `x` must be a tensor or a number, got list of 0");
  CHECK(list.help() == "make a tensor of it with `tensor(…)`");
  CHECK(refusal("cat", {make<List>(std::vector<Value>{x, Value("a")})}).message() ==
        "cat: item 1 of `tensors` must be a tensor, got str");
}

TEST_CASE_METHOD(Fixture, "errors of an op speak of the call's arguments") {
  const auto shapes = refusal("add", {x, tensor("[1, 2]")});
  CHECK(shapes.kind() == kiln::ErrorKind::Shape);
  CHECK(shapes.operands() == std::vector<int>{0, 1});
  const auto named = refusal("matmul", {x}, {{"b", x}});
  CHECK(named.operands() == std::vector<int>{0, 1});
}

}  // namespace
}  // namespace kiln::interp::op_call_test
