// The tape as its users see it: what gets a gradient, when, and what is said when it cannot.
#include <cmath>

#include <catch2/catch.hpp>

#include "gradcheck.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/parallel.h"

namespace kiln::test_tape_test {

using namespace kiln::gradients;
using Values = std::vector<double>;

namespace {

OpError error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const OpError& error) {
    return error;
  }
  return OpError(ErrorKind::Internal, "nothing was thrown");
}

}  // namespace

TEST_CASE("gradients of a sum of products", "[tape]") {
  const Tensor a = variable({1, 2, 3});
  const Tensor b = variable({4, 5, 6});
  backward(ops::sum(a * b + a));
  CHECK(values(grad_of(a)) == Values{5, 6, 7});
  CHECK(values(grad_of(b)) == Values{1, 2, 3});
}

TEST_CASE("backward adds into grad, grads leaves it alone", "[tape]") {
  const Tensor a = variable({1, 2});
  backward(ops::sum(a * 3.0));
  const Tensor first = grad_of(a);
  backward(ops::sum(a * a));
  CHECK(values(grad_of(a)) == Values{5, 7});
  CHECK(first.is_same(grad_of(a)));
  CHECK(values(grads({ops::sum(a)}, {a})[0]) == Values{1, 1});
  CHECK(values(grad_of(a)) == Values{5, 7});
  set_grad(a, Tensor());
  CHECK_FALSE(grad_of(a));
}

TEST_CASE("two leaves that get the same gradient do not share it", "[tape]") {
  const Tensor a = variable({1, 2});
  const Tensor b = variable({3, 4});
  const Tensor start = vec({10, 20});
  backward(a + b, start);
  const GradMode off(false);
  ops::add_(grad_of(a), vec({1, 1}));
  CHECK(values(grad_of(a)) == Values{11, 21});
  CHECK(values(grad_of(b)) == Values{10, 20});
  CHECK(values(start) == Values{10, 20});
}

TEST_CASE("a gradient is dense, also when it arrives expanded", "[tape]") {
  const Tensor a = variable({1, 2, 3, 4}, Dims{2, 2});
  backward(ops::sum(a));
  CHECK(grad_of(a).is_contiguous());
  CHECK_FALSE(has_overlap(grad_of(a).layout()));
}

TEST_CASE("a diamond runs each node once, with all that flows into it", "[tape]") {
  const Tensor x = variable({2});
  const Tensor square = x * x;
  int runs = 0;
  add_hook(square, opaque([&](const Tensor& grad) {
             ++runs;
             CHECK(values(grad) == Values{3 + 8});
             return Tensor();
           }));
  backward(ops::sum(square * 3.0 + square * square));
  CHECK(runs == 1);
  CHECK(values(grad_of(x)) == Values{44});
}

TEST_CASE("operands may be the same tensor", "[tape]") {
  const Tensor x = variable({3});
  backward(ops::sum(x * x * x + x));
  CHECK(values(grad_of(x)) == Values{28});
}

TEST_CASE("broadcasting is undone by sums", "[tape]") {
  const Tensor a = variable({1, 2, 3, 4, 5, 6}, Dims{2, 3});
  const Tensor row = variable({1, 2, 3});
  const Tensor column = variable({10, 20}, Dims{2, 1});
  const Tensor single = variable({2}, Dims{});
  backward(ops::sum((a + row) * column * single));
  CHECK(values(grad_of(row)) == Values{60, 60, 60});
  CHECK(values(grad_of(column)) == Values{24, 42});
  CHECK(grad_of(column).sizes() == Dims{2, 1});
  CHECK(grad_of(single).rank() == 0);
  CHECK(values(grad_of(single)) == Values{10 * 12 + 20 * 21});
}

TEST_CASE("gradients have the dtype of what they are taken by", "[tape]") {
  const Tensor half = variable({1, 2}, DType::F16);
  const Tensor single = variable({3, 4}, DType::F32);
  const Tensor wide = variable({5, 6}, DType::F64);
  backward(ops::sum(half * single * wide));
  CHECK(grad_of(half).dtype() == DType::F16);
  CHECK(grad_of(single).dtype() == DType::F32);
  CHECK(grad_of(wide).dtype() == DType::F64);
  CHECK(values(grad_of(half)) == Values{15, 24});
}

TEST_CASE("integers and comparisons are constants", "[tape]") {
  const Tensor x = variable({1, 2});
  const Tensor count = vec({2, 3}, DType::I64);
  CHECK_FALSE(requires_grad(ops::gt(x, count)));
  const Tensor y = x * count;
  CHECK(requires_grad(y));
  backward(ops::sum(y));
  CHECK(values(grad_of(x)) == Values{2, 3});
  CHECK_FALSE(grad_of(count));
  const OpError error = error_of([&] { set_requires_grad(count, true); });
  CHECK(error.kind() == ErrorKind::Autograd);
  CHECK(error.message() ==
        "requires_grad: a i64[2] cannot require grad, only floats and complex numbers can");
}

TEST_CASE("leaves and results", "[tape]") {
  const Tensor x = variable({1});
  const Tensor c = vec({1});
  const Tensor y = x * c;
  CHECK(is_leaf(x));
  CHECK(is_leaf(c));
  CHECK_FALSE(is_leaf(y));
  CHECK(grad_fn_name(y) == "MulBackward");
  CHECK(grad_fn_name(x).empty());
  CHECK(error_of([&] { set_requires_grad(y, false); }).help() == "use x.detach()");
  set_requires_grad(x, false);
  CHECK_FALSE(requires_grad(x * c));
}

TEST_CASE("only what needs a gradient is walked", "[tape]") {
  const Tensor a = variable({1, 2});
  const Tensor b = variable({3, 4});
  const Tensor left = ops::exp(a);
  int runs = 0;
  add_hook(left, opaque([&](const Tensor&) {
             ++runs;
             return Tensor();
           }));
  const std::vector<Tensor> result = grads({ops::sum(left * b)}, {b}, {}, true);
  CHECK(runs == 0);
  CHECK(values(result[0]) == values(left));
}

TEST_CASE("gradients by tensors in the middle, and by the output itself", "[tape]") {
  const Tensor x = variable({2});
  const Tensor y = x * x;
  const Tensor z = ops::sum(y * 3.0);
  const std::vector<Tensor> result = grads({z}, {y, x, z});
  CHECK(values(result[0]) == Values{3});
  CHECK(values(result[1]) == Values{12});
  CHECK(values(result[2]) == Values{1});
}

TEST_CASE("several outputs, each with its gradient", "[tape]") {
  const Tensor x = variable({1, 2});
  const std::vector<Tensor> result = grads({x * 2.0, x * x}, {x}, {vec({1, 10}), vec({100, 1000})});
  CHECK(values(result[0]) == Values{202, 4020});
}

TEST_CASE("inputs that were not used", "[tape]") {
  const Tensor a = variable({1});
  const Tensor b = variable({1});
  const OpError error = error_of([&] { grads({ops::sum(a * 2.0)}, {a, b}); });
  CHECK(error.kind() == ErrorKind::Autograd);
  CHECK(error.message() == "grads: input 1, a f64[1], was not used to compute the outputs");
  CHECK(error.help() == "pass allow_unused=true to get none for it");
  const std::vector<Tensor> result = grads({ops::sum(a * 2.0)}, {a, b}, {}, false, false, true);
  CHECK(result[0]);
  CHECK_FALSE(result[1]);
}

TEST_CASE("a second backward needs retain_graph", "[tape]") {
  const Tensor x = variable({3});
  const Tensor y = ops::sum(x * x);
  backward(y);
  const OpError error = error_of([&] { backward(y); });
  CHECK(error.kind() == ErrorKind::Autograd);
  CHECK(error.message() == "backward through mul a second time: the values it saved were freed by the first");
  CHECK(error.help() == "pass retain_graph=true to the first backward");
  const Tensor z = ops::sum(x * x);
  set_grad(x, Tensor());
  backward(z, Tensor(), true);
  backward(z);
  CHECK(values(grad_of(x)) == Values{12});
}

TEST_CASE("what backward refuses", "[tape]") {
  const Tensor x = variable({1, 2});
  CHECK(error_of([&] { backward(x * 2.0); }).message() ==
        "backward: the output is a f64[2], and only an output of one element has a gradient to start from by "
        "itself");
  CHECK(error_of([&] { backward(vec({1})); }).kind() == ErrorKind::Autograd);
  CHECK(error_of([&] { backward(x * 2.0, vec({1, 2, 3})); }).kind() == ErrorKind::Shape);
  CHECK(error_of([&] { backward(x * 2.0, vec({1, 2}, DType::I64)); }).kind() == ErrorKind::DType);
  CHECK(error_of([&] { grads({ops::sum(x)}, {vec({1})}); }).kind() == ErrorKind::Autograd);
  CHECK(error_of([&] { grads({ops::sum(x)}, {x}, {scalar(1), scalar(1)}); }).kind() == ErrorKind::Value);
  CHECK(error_of([&] { set_grad(x, vec({1})); }).kind() == ErrorKind::Autograd);
}

TEST_CASE("nothing is recorded under no_grad", "[tape]") {
  const Tensor x = variable({1});
  {
    const GradMode off(false);
    CHECK_FALSE(grad_enabled());
    CHECK_FALSE(requires_grad(x * 2.0));
    const GradMode on(true);
    CHECK(requires_grad(x * 2.0));
  }
  CHECK(grad_enabled());
  CHECK(requires_grad(x * 2.0));
}

TEST_CASE("detach stops gradients", "[tape]") {
  const Tensor x = variable({3});
  const Tensor y = x * x;
  const Tensor constant = ops::detach(y);
  CHECK_FALSE(requires_grad(constant));
  CHECK(shares_storage(constant, y));
  backward(ops::sum(x * constant));
  CHECK(values(grad_of(x)) == Values{9});
  detach_in_place(y);
  CHECK_FALSE(requires_grad(y));
}

TEST_CASE("hooks on leaves see the whole gradient and may replace it", "[tape][hooks]") {
  const Tensor x = variable({1, 2});
  std::vector<Values> seen;
  const int id = add_hook(x, opaque([&](const Tensor& grad) {
                            seen.push_back(values(grad));
                            return grad * 2.0;
                          }));
  add_hook(x, opaque([&](const Tensor& grad) {
             seen.push_back(values(grad));
             return Tensor();
           }));
  backward(ops::sum(x * x + x));
  CHECK(seen == std::vector<Values>{{3, 5}, {6, 10}});
  CHECK(values(grad_of(x)) == Values{6, 10});
  remove_hook(x, id);
  set_grad(x, Tensor());
  backward(ops::sum(x * 7.0));
  CHECK(values(grad_of(x)) == Values{7, 7});
}

TEST_CASE("hooks on results see and replace what flows on", "[tape][hooks]") {
  const Tensor x = variable({2});
  const Tensor y = x * x;
  const int id = add_hook(y, [](const Tensor& grad) { return grad * 10.0; });
  backward(ops::sum(y), Tensor(), true);
  CHECK(values(grad_of(x)) == Values{40});
  CHECK(values(grads({ops::sum(y * 1.0)}, {y})[0]) == Values{10});
  remove_hook(y, id);
  set_grad(x, Tensor());
  backward(ops::sum(y));
  CHECK(values(grad_of(x)) == Values{4});
}

TEST_CASE("a hook's replacement must be of the same type", "[tape][hooks]") {
  const Tensor x = variable({1, 2});
  add_hook(x, [](const Tensor& grad) { return ops::sum(grad); });
  CHECK(error_of([&] { backward(ops::sum(x)); }).message() ==
        "a hook returned a gradient of type f64[] in place of one of type f64[2]");
}

TEST_CASE("hooks after accumulation", "[tape][hooks]") {
  const Tensor x = variable({1, 2});
  int runs = 0;
  const int id = add_post_accumulate_hook(x, opaque([&](const Tensor& leaf) {
                                            ++runs;
                                            CHECK(leaf.is_same(x));
                                            CHECK(values(grad_of(leaf)) == Values{3, 3});
                                            set_grad(leaf, Tensor());
                                          }));
  backward(ops::sum(x * 3.0));
  CHECK(runs == 1);
  CHECK_FALSE(grad_of(x));
  remove_hook(x, id);
  backward(ops::sum(x * 3.0));
  CHECK(runs == 1);
  CHECK(error_of([&] { add_post_accumulate_hook(x * 1.0, [](const Tensor&) {}); }).kind() ==
        ErrorKind::Autograd);
  CHECK(error_of([&] { add_hook(vec({1}), [](const Tensor&) { return Tensor(); }); }).kind() ==
        ErrorKind::Autograd);
}

TEST_CASE("the gradient of a result can be kept", "[tape][hooks]") {
  const Tensor x = variable({2});
  const Tensor y = x * x;
  retain_grad(y);
  CHECK_FALSE(grad_of(y));
  backward(ops::sum(y * 5.0), Tensor(), true);
  CHECK(values(grad_of(y)) == Values{5});
}

TEST_CASE("a backward inside of a hook", "[tape][hooks]") {
  const Tensor x = variable({2});
  const Tensor z = variable({3});
  add_hook(x, opaque([&](const Tensor&) {
             const GradMode on(true);
             backward(ops::sum(z * z));
             return Tensor();
           }));
  backward(ops::sum(x * x));
  CHECK(values(grad_of(x)) == Values{4});
  CHECK(values(grad_of(z)) == Values{6});
}

TEST_CASE("gradients of gradients", "[tape][double]") {
  const Tensor x = variable({2});
  const Tensor y = ops::sum(x * x * x * x);
  const Tensor first = grads({y}, {x}, {}, false, true)[0];
  CHECK(values(first) == Values{32});
  const Tensor second = grads({ops::sum(first)}, {x}, {}, false, true)[0];
  CHECK(values(second) == Values{48});
  const Tensor third = grads({ops::sum(second)}, {x}, {}, false, true)[0];
  CHECK(values(third) == Values{48});
  CHECK(values(grads({ops::sum(third)}, {x})[0]) == Values{24});
}

TEST_CASE("gradients of gradients through a saved result", "[tape][double]") {
  const Tensor x = variable({0.5});
  const Tensor first = grads({ops::exp(x * 2.0)}, {x}, {}, false, true)[0];
  CHECK(requires_grad(first));
  const Tensor second = grads({first}, {x})[0];
  CHECK(second.item_float() == Approx(4 * std::exp(1.0)));
}

TEST_CASE("a gradient made with create_graph takes part in a loss", "[tape][double]") {
  const Tensor x = variable({1, 2});
  const Tensor w = variable({3, 4});
  backward(ops::sum(w * x * x), Tensor(), false, true);
  const Tensor penalty = ops::sum(grad_of(x) * grad_of(x));  // (2wx)^2
  set_grad(w, Tensor());
  backward(penalty);
  CHECK(values(grad_of(w)) == Values{8 * 3 * 1, 8 * 4 * 4});
}

TEST_CASE("a gradient without create_graph is a constant", "[tape][double]") {
  const Tensor x = variable({1});
  CHECK_FALSE(requires_grad(grads({x * x}, {x})[0]));
}

TEST_CASE("an interrupt stops a backward", "[tape]") {
  const Tensor x = variable({1});
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = y * 2.0;
  add_hook(x * 1.0, [](const Tensor&) { return Tensor(); });
  add_hook(y, [](const Tensor&) {
    interrupt_requested = true;
    return Tensor();
  });
  CHECK(error_of([&] { backward(y); }).kind() == ErrorKind::Interrupted);
  interrupt_requested = false;
  CHECK_FALSE(grad_of(x));
}

}  // namespace kiln::test_tape_test
