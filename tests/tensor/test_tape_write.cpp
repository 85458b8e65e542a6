// Writes: in place, through views, to bases that have views; what was saved stays what it was.
#include <catch2/catch.hpp>

#include "gradcheck.h"
#include "ops_by_name.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/view.h"

namespace kiln::test_tape_write_test {

using namespace kiln::gradients;
using Values = std::vector<double>;

namespace {

ErrorKind kind_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const OpError& error) {
    return error.kind();
  }
  return ErrorKind::Internal;
}

Tensor mul_(const Tensor& x, const Tensor& y) { return write("mul", {x, y}); }
Tensor mul_(const Tensor& x, double y) { return write("mul", {x, Tensor::number(y)}); }
Tensor exp_(const Tensor& x) { return write("exp", {x}); }

// Programs that write; x and w are leaves, f64[2, 3] and f64[3].
struct Program {
  const char* name;
  std::function<Tensor(const Tensor& x, const Tensor& w)> run;
};

const std::vector<Program>& programs() {
  using ops::clone;
  using ops::select;
  static const std::vector<Program> all = {
      {"x += w", [](auto& x, auto& w) { return ops::add_(clone(x), w); }},
      {"x *= w", [](auto& x, auto& w) { return mul_(clone(x), w); }},
      {"x *= x",
       [](auto& x, auto&) {
         const Tensor y = clone(x);
         return mul_(y, y);
       }},
      {"exp_, whose result is saved", [](auto& x, auto&) { return exp_(clone(x)); }},
      {"a chain of writes", [](auto& x, auto& w) { return ops::add_(exp_(mul_(clone(x), w)), x); }},
      {"a constant times w", [](auto&, auto& w) { return mul_(scattered(Dims{2, 3}), w); }},
      {"saved, then overwritten",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         const Tensor z = y * w;
         exp_(y);
         return z + y;
       }},
      {"saved result, then overwritten",
       [](auto& x, auto&) {
         const Tensor y = clone(x);
         const Tensor z = ops::exp(y);
         mul_(z, 3.0);
         return z * y;
       }},
      {"x[0] += w",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         ops::add_(select(y, 0, 0), w);
         return y * y;
       }},
      {"x[0] *= w",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         mul_(select(y, 0, 0), w);
         return y * y;
       }},
      {"x[0] = w",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         ops::copy_(select(y, 0, 0), w);
         return y * x;
       }},
      {"x[0] = 2",
       [](auto& x, auto&) {
         const Tensor y = clone(x);
         ops::fill_(select(y, 0, 0), Tensor::number(2.0));
         return y * x;
       }},
      {"x[:, 1:] *= 2, then exp",
       [](auto& x, auto&) {
         const Tensor y = clone(x);
         exp_(mul_(ops::slice(y, 1, 1, 3), 2.0));
         return y * y;
       }},
      {"a view of a view",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         const Tensor view = ops::slice(ops::transpose(y, 0, 1), 0, 1, 3);
         mul_(select(view, 1, 0), ops::slice(w, 0, 0, 2));
         return y * static_cast<double>(view.size(0)) + y;
       }},
      {"another view of the same elements sees the write",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         const Tensor one = select(y, 0, 0);
         const Tensor other = ops::reshape(y, Dims{6});
         mul_(one, w);
         return other * other;
       }},
      {"overlapping views, written in turn",
       [](auto& x, auto& w) {
         const Tensor y = ops::reshape(clone(x), Dims{6});
         const Tensor left = ops::slice(y, 0, 0, 4);
         const Tensor right = ops::slice(y, 0, 2, 6);
         exp_(left);
         mul_(right, 2.0);
         ops::add_(ops::slice(left, 0, 1, 4), w);
         return ops::cat(std::vector<Tensor>{left, right});
       }},
      {"a view follows a write to its base",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         const Tensor view = ops::transpose(y, 0, 1);
         mul_(y, w);
         return view * view;
       }},
      {"a view of a constant follows a write to its base",
       [](auto& x, auto& w) {
         const Tensor y = scattered(Dims{2, 3});
         const Tensor view = select(y, 1, 2);
         CHECK_FALSE(requires_grad(view));
         mul_(y, x * w);
         CHECK(requires_grad(view));
         return view;
       }},
      {"a value read before a write to its base",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         const Tensor before = select(y, 0, 1) * w;
         exp_(y);
         return before + select(y, 0, 1);
       }},
      {"a write from one part to another",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         mul_(select(y, 0, 0), select(y, 0, 1));
         ops::add_(select(y, 0, 1), select(y, 0, 0) * w);
         return y;
       }},
      {"y += y[0]",
       [](auto& x, auto&) {
         const Tensor y = clone(x);
         return ops::add_(y, select(y, 0, 0));
       }},
      {"a diagonal",
       [](auto& x, auto& w) {
         const Tensor y = clone(ops::transpose(x, 0, 1));
         mul_(ops::diagonal(y), ops::slice(w, 0, 1, 3));
         return y * y;
       }},
      {"through as_strided",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         mul_(ops::as_strided(y, Dims{3}, Dims{2}, 0), w);
         return y * y;
       }},
      {"reading overlapping windows after a write",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         const Tensor windows = ops::unfold(ops::reshape(y, Dims{6}), 0, 3, 1);
         mul_(select(y, 0, 1), w);
         return windows * windows;
       }},
      {"pieces of a split",
       [](auto& x, auto& w) {
         const Tensor y = clone(x);
         const Tensors pieces = call_all("unbind", {y});
         mul_(pieces[0], w);
         exp_(pieces[1]);
         return pieces[0] * pieces[1] + y;
       }},
      {"indexed by integers",
       [](auto& x, auto& w) {
         const Tensor y = ops::clone(x);
         const Tensor rows = vec({1, 0}, DType::I64);
         write("index_put", {y, w, rows});
         return y * y;
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("programs that write have the gradients of what they compute", "[tape][write]") {
  for (const Program& program : programs()) {
    INFO(program.name);
    CHECK(compare_gradients(
              [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{program.run(in[0], in[1])}; },
              {scattered(Dims{2, 3}, 0.5, 1.5), scattered(Dims{3}, 0.5, 1.5, 2)}) == "");
  }
}

TEST_CASE("a write through a view gives the gradient to what the base was", "[tape][write]") {
  const Tensor root = variable({1, 2, 3, 4}, Dims{2, 2});
  const Tensor x = ops::clone(root);
  const Tensor first = ops::narrow(x, 0, 0, 1);
  const Tensor other = ops::narrow(x, 0, 0, 1);
  mul_(first, 2.0);
  SECTION("by the base") {
    backward(ops::sum(x));
    CHECK(values(grad_of(root)) == Values{2, 2, 1, 1});
  }
  SECTION("by the other view") {
    backward(ops::sum(other));
    CHECK(values(grad_of(root)) == Values{2, 2, 0, 0});
  }
  SECTION("by a part of the view, written again") {
    mul_(ops::narrow(first, 1, 1, 1), 2.0);
    backward(ops::sum(x));
    CHECK(values(grad_of(root)) == Values{2, 4, 1, 1});
  }
}

TEST_CASE("a constant that is written becomes part of the history", "[tape][write]") {
  const Tensor x = vec({1, 2, 3, 4, 5});
  const Tensor y = variable({10});
  const Tensor z = variable({100});
  ops::copy_(ops::slice(x, 0, 0, 1), y);
  ops::copy_(ops::slice(x, 0, 1, 2), z * 2.0);
  CHECK(requires_grad(x));
  CHECK(grad_fn_name(x) == "WriteThroughViewBackward");
  backward(ops::sum(x));
  CHECK(values(grad_of(y)) == Values{1});
  CHECK(values(grad_of(z)) == Values{2});
  CHECK(values(x) == Values{10, 200, 3, 4, 5});
}

TEST_CASE("integers have no history, whatever is written into them", "[tape][write]") {
  const Tensor x = ops::ones(Dims{3}, DType::F64);
  set_requires_grad(x, true);
  const Tensor counts = ops::zeros(Dims{3}, DType::I64);
  ops::copy_(counts, x * 2.0);
  CHECK_FALSE(requires_grad(counts));
  CHECK(ops::sum(counts).item_int() == 6);
}

TEST_CASE("a leaf cannot be written while recording", "[tape][write]") {
  const Tensor x = variable({1, 2});
  CHECK(kind_of([&] { mul_(x, 2.0); }) == ErrorKind::Autograd);
  CHECK(kind_of([&] { mul_(ops::select(x, 0, 0), 2.0); }) == ErrorKind::Autograd);
  CHECK(kind_of([&] { write("t", {x}); }) == ErrorKind::Autograd);
  CHECK(values(x) == Values{1, 2});
  try {
    mul_(x, 2.0);
  } catch (const OpError& error) {
    CHECK(error.message() ==
          "mul_: this f64[2] is a leaf that requires grad, and a write would lose what its gradient is taken "
          "of");
    CHECK(error.help() == "write under `with no_grad() { … }`, or to a copy: x.clone()");
  }
  {
    const GradMode off(false);
    mul_(ops::select(x, 0, 0), 5.0);
  }
  CHECK(values(x) == Values{5, 2});
  CHECK(is_leaf(x));
  backward(ops::sum(x * x));
  CHECK(values(grad_of(x)) == Values{10, 4});
}

TEST_CASE("elements that share memory cannot be written", "[tape][write]") {
  const Tensor x = variable({1});
  const Tensor wide = ops::expand(ops::clone(x), Dims{3});
  CHECK(kind_of([&] { mul_(wide, 2.0); }) == ErrorKind::Value);
  CHECK(values(wide) == Values{1, 1, 1});
}

TEST_CASE("a write to a detached alias changes data, not history", "[tape][write]") {
  const Tensor x = variable({2, 3});
  const Tensor y = x * x;
  const Tensor z = y * y;
  mul_(ops::detach(y), 10.0);
  CHECK(values(y) == Values{40, 90});
  backward(ops::sum(z), Tensor(), true);
  CHECK(values(grad_of(x)) == Values{4 * 8, 4 * 27});
  set_grad(x, Tensor());
  backward(ops::sum(y));
  CHECK(values(grad_of(x)) == Values{4, 6});
}

TEST_CASE("a write under no_grad changes data, not history", "[tape][write]") {
  const Tensor x = variable({2, 3});
  const Tensor y = x * 3.0;
  const Tensor view = ops::select(y, 0, 1);
  {
    const GradMode off(false);
    mul_(y, 10.0);
    mul_(view, 2.0);
  }
  CHECK(values(y) == Values{60, 180});
  backward(ops::sum(y) + view);
  CHECK(values(grad_of(x)) == Values{3, 6});
}

TEST_CASE("a detached alias of a view has a history of its own", "[tape][write]") {
  const Tensor x = vec({1, 2, 3});
  const Tensor w = variable({5});
  const Tensor alias = ops::detach(ops::slice(x, 0, 0, 1));
  mul_(alias, w);
  CHECK(values(x) == Values{5, 2, 3});
  CHECK(requires_grad(alias));
  CHECK_FALSE(requires_grad(x));
}

TEST_CASE("a value overwritten by a constant has no history", "[tape][write]") {
  const Tensor x = variable({2});
  const Tensor y = x * x;
  ops::fill_(y, Tensor::number(1.0));
  const Tensor total = ops::sum(y + x);
  backward(total);
  CHECK(values(grad_of(x)) == Values{1});
}

TEST_CASE("in-place results keep their dtype, gradients theirs", "[tape][write]") {
  const Tensor x = variable({1, 2}, DType::F16);
  const Tensor w = variable({3, 4}, DType::F32);
  const Tensor y = ops::clone(x);
  CHECK(mul_(y, w).dtype() == DType::F16);
  backward(ops::sum(y));
  CHECK(grad_of(x).dtype() == DType::F16);
  CHECK(values(grad_of(x)) == Values{3, 4});
  CHECK(grad_of(w).dtype() == DType::F32);
  CHECK(values(grad_of(w)) == Values{1, 2});
}

TEST_CASE("a comparison written in place ends the history", "[tape][write]") {
  const Tensor x = variable({-1, 2});
  const Tensor y = x * 2.0;
  write("ge", {y, Tensor::number(0.0)});
  CHECK(values(y) == Values{0, 1});
  CHECK(y.dtype() == DType::F64);
  CHECK_FALSE(requires_grad(y));
}

TEST_CASE("metadata writes keep views and histories in step", "[tape][write]") {
  const Tensor x = variable({1, 2, 3, 4, 5, 6}, Dims{2, 3});
  const Tensor y = ops::clone(x);
  const Tensor row = ops::select(y, 0, 0);
  write("t", {y});
  CHECK(y.sizes() == Dims{3, 2});
  CHECK_FALSE(is_view(y));
  mul_(ops::select(y, 1, 1), 10.0);  // the second row of x
  mul_(row, 100.0);                  // the first
  CHECK(values(y) == Values{100, 40, 200, 50, 300, 60});
  backward(ops::sum(y * make({1, 2, 3, 4, 5, 6}, Dims{3, 2})));
  CHECK(values(grad_of(x)) == Values{100, 300, 500, 20, 40, 60});
}

TEST_CASE("hooks stay with the value they were put on", "[tape][write][hooks]") {
  const Tensor x = variable({3});
  const Tensor y = x * 2.0;
  Values seen;
  add_hook(y, opaque([&](const Tensor& grad) {
             seen = values(grad);
             return Tensor();
           }));
  mul_(y, 5.0);
  backward(ops::sum(y));
  CHECK(seen == Values{5});
}

TEST_CASE("a view made under no_grad is written while recording", "[tape][write]") {
  const Tensor x = variable({1, 2, 3});
  const Tensor w = variable({4});
  const Tensor y = x * 2.0;
  Tensor view;
  {
    const GradMode off(false);
    view = ops::slice(y, 0, 0, 1);
  }
  CHECK_FALSE(requires_grad(view));
  mul_(view, w);
  backward(ops::sum(y));
  CHECK(values(grad_of(x)) == Values{0, 2, 2});
  CHECK(values(grad_of(w)) == Values{2});
}

}  // namespace kiln::test_tape_write_test
