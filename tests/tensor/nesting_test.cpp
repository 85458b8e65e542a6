// Derivatives of derivatives through levels, forward and reverse in every order, against central differences
// to the third order; in place, through views, and under vmap.
#include <catch2/catch.hpp>

#include <functional>

#include "tensor/levels/batch_level.h"
#include "tensor/levels/dual_level.h"
#include "tensor/levels/grad_level.h"
#include "tests/tensor/ops_by_name.h"
#include "tests/tensor/tensors.h"

namespace kiln::nesting_test {

using namespace kiln::testing;

namespace {

using Function = std::function<Tensor(const Tensor&)>;  // one vector to one element

// The derivative along the ones, in either mode: again a function of one vector to one element.
Function reverse(const Function& f) {
  return [f](const Tensor& x) {
    std::vector<Tensor> found;
    {
      levels::GradLevel level;
      const levels::Variable variable = level.variable(x);
      const Tensor y = f(variable.inside);
      found = level.gradients({&y, 1}, Tensors{ops::ones_like(y)}, {&variable, 1}, false);
    }
    return ops::sum(found[0] ? found[0] : ops::zeros_like(x));
  };
}
Function forward(const Function& f) {
  return [f](const Tensor& x) {
    const Tensor ones = ops::ones_like(x);
    const levels::DualLevel level;
    const Tensor y = f(level.dual(x, ones));
    const Tensor tangent = level.tangent_of(y);
    const Tensor value = levels::value_below(level, y);
    const levels::Below below(level);
    return tangent ? tangent : ops::zeros_like(value);
  };
}
// A detour over a batch of copies.
Function batched(const Function& f) {
  return [f](const Tensor& x) {
    const Tensor copies = ops::stack(Tensors{x, x, x}, 0);
    Tensor all;
    {
      levels::BatchLevel level(3, levels::Randomness::Error);
      all = level.batch_of(f(level.example_of(copies)));
    }
    return ops::select(all, 0, 1);
  };
}

long double at(const Function& f, const std::vector<double>& x) {
  return element(f(make({static_cast<Dim>(x.size())}, DType::F64,
                        [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; })),
                 0);
}

// The n-th derivative of t -> f(x + t) by central differences.
long double differences(const Function& f, const std::vector<double>& x, int order) {
  const double step = order == 1 ? 1e-5 : order == 2 ? 1e-3 : 8e-3;
  const auto moved = [&](double steps) {
    std::vector<double> there = x;
    for (double& each : there) each += steps * step;
    return at(f, there);
  };
  if (order == 1) return (moved(1) - moved(-1)) / (2 * step);
  if (order == 2)
    return (-moved(2) + 16 * moved(1) - 30 * moved(0) + 16 * moved(-1) - moved(-2)) / (12 * step * step);
  return (-moved(3) + 8 * moved(2) - 13 * moved(1) + 13 * moved(-1) - 8 * moved(-2) + moved(-3)) /
         (8 * step * step * step);
}

struct NamedFunction {
  const char* name;
  Function f;
};

const std::vector<NamedFunction>& functions() {
  using gradients::write;
  static const std::vector<NamedFunction> all = {
      {"a composition", [](const Tensor& x) { return ops::sum(ops::exp(ops::sin(x)) * x); }},
      {"a matrix product",
       [](const Tensor& x) {
         const Tensor m = ops::outer(x, ops::cos(x));
         return ops::sum(ops::matmul(m, ops::matmul(m, x)));
       }},
      {"a softmax", [](const Tensor& x) { return ops::sum(ops::softmax(x * x, 0) * ops::log(x)); }},
      {"indexing",
       [](const Tensor& x) {
         const Tensor i = make({4}, DType::I64, [](std::int64_t k) { return static_cast<double>(k % 3); });
         return ops::sum(ops::index_select(x * x, 0, i) * ops::gather(ops::exp(x), 0, i));
       }},
      {"a write",
       [](const Tensor& x) {
         const Tensor y = ops::clone(x);
         write("mul", {y, ops::sin(x)});
         write("exp", {y});
         return ops::sum(y * y);
       }},
      {"a write through a view of what had no derivative",
       [](const Tensor& x) {
         const Tensor y = ops::zeros_like(ops::stack(Tensors{x, x}, 0));
         const Tensor row = ops::select(y, 0, 1);
         const Tensor turned = ops::transpose(y, 0, 1);
         ops::copy_(row, x * x);
         write("add", {ops::select(turned, 0, 2), ops::sum(ops::sin(x))});
         return ops::sum(y * ops::exp(y));
       }},
      {"a base written under its views",
       [](const Tensor& x) {
         const Tensor y = x * x;
         const Tensor tail = ops::slice(y, 0, 1, 3);
         write("mul", {y, x});
         write("sin", {tail});
         return ops::sum(y * y) + ops::sum(tail * ops::slice(x, 0, 0, 2));
       }},
      {"a tensor turned in place",
       [](const Tensor& x) {
         const Tensor y = ops::outer(x, x * x);
         const Tensor first = ops::select(y, 0, 0);
         write("t", {y});
         write("mul", {ops::select(y, 0, 1), x});
         return ops::sum(ops::matmul(y, x)) + ops::sum(first * first);
       }},
      {"a loop over values",
       [](const Tensor& x) {
         Tensor y = ops::sum(x);
         while (y.item_float() < 40) y = y * ops::sum(x * x);
         return y;
       }},
      {"strides of its own",
       [](const Tensor& x) {
         const Tensor windows = ops::as_strided(ops::clone(x * x), Dims{2, 2}, Dims{1, 1}, 0);
         return ops::sum(windows * windows * ops::sum(x));
       }},
  };
  return all;
}

const std::vector<double> kPoint = {0.7, 1.1, 1.6};

void check_all(const std::string& way, const Function& derivative, const NamedFunction& named, int order) {
  INFO(way << " of " << named.name);
  const long double found = at(derivative, kPoint), expected = differences(named.f, kPoint, order);
  CHECK(std::abs(found - expected) <= (order == 3 ? 2e-3L : 1e-6L) * std::max(1.0L, std::abs(expected)));
}

}  // namespace

TEST_CASE("forward and reverse nest in every order, to the third", "[levels]") {
  struct Way {
    std::string name;
    std::function<Function(const Function&)> step;
  };
  const std::vector<Way> modes = {{"reverse", reverse}, {"forward", forward}};
  for (const NamedFunction& named : functions()) {
    for (const Way& a : modes) {
      check_all(a.name, a.step(named.f), named, 1);
      for (const Way& b : modes) {
        check_all(b.name + " over " + a.name, b.step(a.step(named.f)), named, 2);
        for (const Way& c : modes)
          check_all(c.name + " over " + b.name + " over " + a.name, c.step(b.step(a.step(named.f))), named,
                    3);
      }
    }
  }
}

TEST_CASE("derivatives pass through a batch at any depth", "[levels]") {
  for (const NamedFunction& named : functions()) {
    if (std::string(named.name) == "a loop over values") continue;  // reads what differs between examples
    for (const auto& mode : {reverse, forward}) {
      check_all("a batch within", mode(batched(named.f)), named, 1);
      check_all("a batch around", batched(mode(named.f)), named, 1);
      check_all("a batch between", mode(batched(reverse(named.f))), named, 2);
      check_all("a batch innermost", forward(mode(batched(named.f))), named, 2);
      check_all("batches everywhere", batched(mode(batched(forward(batched(named.f))))), named, 2);
    }
  }
}

TEST_CASE("nothing stays behind when a level ends", "[levels]") {
  const std::size_t nodes = live_tape_nodes();
  for (const NamedFunction& named : functions()) at(reverse(forward(reverse(named.f))), kPoint);
  CHECK(live_tape_nodes() == nodes);
  CHECK(levels::top == nullptr);
  const Function fails = [](const Tensor& x) -> Tensor { return x + ops::ones(Dims{7}); };
  CHECK_THROWS_AS(at(reverse(forward(batched(fails))), kPoint), OpError);
  CHECK(levels::top == nullptr);
  CHECK(grad_enabled());
}

}  // namespace kiln::nesting_test
