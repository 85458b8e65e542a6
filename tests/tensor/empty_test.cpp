// Generated from the op table: every sample with dimensions of size 0, and under vmap with no examples. An op
// refuses what has no result, in words, or gives tensors of the types it says, forward, backward and in every
// transform.
#include <catch2/catch.hpp>

#include <set>

#include "tensor/autograd.h"
#include "tensor/levels/batch_level.h"
#include "tensor/levels/dual_level.h"
#include "tensor/levels/grad_level.h"
#include "tensor/warning.h"
#include "tests/tensor/samples.h"

namespace kiln::empty_test {

using namespace kiln::testing;
using levels::BatchLevel;
using levels::Randomness;

namespace {

using Inputs_ = std::vector<Tensor>;

bool is_differentiable(const Tensor& x) { return x && is_float(x.dtype()) && !x.is_number(); }

std::string described(const Inputs_& inputs) {
  std::string text;
  for (const Tensor& x : inputs) text += (x ? to_string(x.type()) : "absent") + " ";
  return text;
}

std::vector<TensorType> types_of(const Inputs_& inputs) {
  std::vector<TensorType> types;
  for (const Tensor& x : inputs) types.push_back(x ? x.type() : TensorType{DType::Bool, Device{}, {}, true});
  return types;
}

Tensor emptied(const Tensor& x, const std::function<bool(std::size_t d)>& is_empty) {
  if (!x || x.is_number()) return x;
  Dims sizes = x.sizes();
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (is_empty(d)) sizes[d] = 0;
  if (sizes == x.sizes()) return x;
  return Tensor::empty(sizes, x.dtype());
}

// Each dimension of each input alone, and all dimensions of one size together, as those that an op joins.
std::vector<Inputs_> without_elements(const Inputs_& inputs) {
  std::vector<Inputs_> result;
  std::set<Dim> sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || inputs[i].is_number()) continue;
    for (int d = 0; d < inputs[i].rank(); ++d) {
      sizes.insert(inputs[i].size(d));
      result.push_back(inputs);
      result.back()[i] =
          emptied(inputs[i], [&](std::size_t at) { return at == static_cast<std::size_t>(d); });
    }
  }
  for (const Dim size : sizes) {
    result.emplace_back();
    for (const Tensor& x : inputs)
      result.back().push_back(emptied(x, [&](std::size_t d) { return x.sizes()[d] == size; }));
  }
  return result;
}

// The first dimension of all that have one, or all dimensions; alone or not: what a batch of none is made of.
void each_case(const std::function<void(const Op&, const Inputs_&, const Attrs&)>& f) {
  set_warning_sink([](const std::string&) {});
  for (const Op* op : OpTable::get().ops()) {
    if (leaves_elements(*op)) continue;
    for (const Sample& sample : samples_of(*op)) {
      const Attrs attrs = attrs_of(*op, sample.attrs);
      for (const Inputs_& inputs : without_elements(sample.inputs)) {
        INFO(op->name() << " of " << described(inputs));
        f(*op, inputs, attrs);
      }
    }
  }
  set_warning_sink({});
}

// Does it give what it says? Sizes that depend on data are not said.
void check_types(const Tensors& outputs, const std::vector<TensorType>& inferred) {
  REQUIRE(outputs.size() == inferred.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    CHECK(outputs[k].dtype() == inferred[k].dtype);
    const Dims& said = inferred[k].sizes;
    if (std::find(said.begin(), said.end(), -1) == said.end()) CHECK(outputs[k].sizes() == said);
  }
}

Tensor total(const Tensors& outputs) {
  Tensor sum;
  for (const Tensor& y : outputs) {
    if (!is_float(y.dtype())) continue;
    const Tensor part = ops::sum(y * y);
    sum = sum ? sum + part : part;
  }
  return sum;
}

// Whether the op has a result at all, or says why not.
bool runs(const Op& op, const Inputs_& inputs, const Attrs& attrs) {
  try {
    kiln::bind(op, inputs, attrs);
    return true;
  } catch (const OpError& error) {
    CHECK(!error.message().empty());
    return false;
  }
}

template <class F>
void unless_refused(const F& f) {
  try {
    f();
  } catch (const OpError& error) {
    CHECK(!error.message().empty());
  }
}

}  // namespace

TEST_CASE("ops of no elements give the types they say", "[empty]") {
  each_case([](const Op& op, const Inputs_& inputs, const Attrs& attrs) {
    unless_refused([&] {
      const Tensors outputs = kiln::bind(op, inputs, attrs);
      check_types(outputs, op.infer(types_of(inputs), attrs));
    });
  });
}

TEST_CASE("derivatives of ops of no elements have the sizes of what they are of", "[empty]") {
  each_case([](const Op& op, const Inputs_& inputs, const Attrs& attrs) {
    if (!runs(op, inputs, attrs)) return;
    unless_refused([&] {
      levels::GradLevel level;
      std::vector<levels::Variable> variables;
      Inputs_ inside = inputs;
      for (Tensor& x : inside) {
        if (!is_differentiable(x)) continue;
        variables.push_back(level.variable(x));
        x = variables.back().inside;
      }
      const Tensor y = total(kiln::bind(op, inside, attrs));
      if (!y || variables.empty()) return;
      const std::vector<Tensor> found =
          level.gradients({&y, 1}, std::vector{ops::ones_like(y)}, variables, false);
      for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i]) CHECK(found[i].sizes() == variables[i].inside.sizes());
    });
    unless_refused([&] {
      Inputs_ inside = inputs, tangents;
      for (const Tensor& x : inputs) tangents.push_back(is_differentiable(x) ? ops::ones_like(x) : Tensor());
      const levels::DualLevel level;
      for (std::size_t i = 0; i < inside.size(); ++i)
        if (tangents[i]) inside[i] = level.dual(inside[i], tangents[i]);
      for (const Tensor& y : kiln::bind(op, inside, attrs)) {
        const Tensor tangent = level.tangent_of(y);
        if (tangent) CHECK(tangent.sizes() == y.sizes());
      }
    });
  });
}

TEST_CASE("under vmap the examples may have no elements", "[empty]") {
  each_case([](const Op& op, const Inputs_& inputs, const Attrs& attrs) {
    if (op.draws() || !runs(op, inputs, attrs)) return;
    unless_refused([&] {
      BatchLevel level(2, Randomness::Error);
      Inputs_ inside = inputs;
      for (Tensor& x : inside)
        if (x && !x.is_number()) x = level.example_of(ops::stack(std::vector{x, x}, 0));
      for (const Tensor& y : kiln::bind(op, inside, attrs)) CHECK(level.batch_of(y).size(0) == 2);
    });
  });
}

// Of inputs that are all batched or each alone; also differentiated, inside and outside.
TEST_CASE("under vmap there may be no examples", "[empty]") {
  set_warning_sink([](const std::string&) {});
  for (const Op* op : OpTable::get().ops()) {
    if (leaves_elements(*op)) continue;
    for (const Sample& sample : samples_of(*op)) {
      const Attrs attrs = attrs_of(*op, sample.attrs);
      const Inputs_ one = sample.in_domain(sample.inputs);
      const std::vector<TensorType> inferred = op->infer(types_of(one), attrs);
      for (std::size_t alone = 0; alone <= one.size(); ++alone) {
        const auto batched = [&](std::size_t i) {
          return one[i] && !one[i].is_number() && (alone == one.size() || alone == i);
        };
        const auto none_of = [&](const BatchLevel& level) {
          Inputs_ inside = one;
          for (std::size_t i = 0; i < one.size(); ++i) {
            Dims sizes{0};
            if (batched(i)) {
              sizes.append(one[i].sizes().begin(), one[i].sizes().end());
              inside[i] = level.example_of(Tensor::empty(sizes, one[i].dtype()));
            }
          }
          return inside;
        };
        INFO(op->name() << " of " << described(one) << ", batched " << alone);
        for (const Randomness randomness : {Randomness::Error, Randomness::Same, Randomness::Different}) {
          unless_refused([&] {
            BatchLevel level(0, randomness);
            const Tensors outputs = kiln::bind(*op, none_of(level), attrs);
            check_types(outputs, inferred);
            for (const Tensor& y : outputs) CHECK(level.batch_of(y).size(0) == 0);
          });
          if (!op->draws()) break;
        }
        unless_refused([&] {
          BatchLevel level(0, Randomness::Same);
          levels::GradLevel grads;
          std::vector<levels::Variable> variables;
          Inputs_ inside = none_of(level);
          for (Tensor& x : inside) {
            if (!is_differentiable(x)) continue;
            variables.push_back(grads.variable(x));
            x = variables.back().inside;
          }
          const Tensor y = total(kiln::bind(*op, inside, attrs));
          if (y && !variables.empty())
            grads.gradients({&y, 1}, std::vector{ops::ones_like(y)}, variables, false);
        });
        unless_refused([&] {
          BatchLevel level(0, Randomness::Same);
          Inputs_ inside = none_of(level), tangents;
          for (const Tensor& x : inside)
            tangents.push_back(is_differentiable(x) ? ops::ones_like(x) : Tensor());
          const levels::DualLevel duals;
          for (std::size_t i = 0; i < inside.size(); ++i)
            if (tangents[i]) inside[i] = duals.dual(inside[i], tangents[i]);
          for (const Tensor& y : kiln::bind(*op, inside, attrs)) duals.tangent_of(y);
        });
      }
    }
  }
  set_warning_sink({});
}

// jacrev of what has no elements: no cotangents, a batch of pullbacks.
TEST_CASE("a pullback of no cotangents", "[empty]") {
  set_warning_sink([](const std::string&) {});
  for (const Op* op : OpTable::get().ops()) {
    if (leaves_elements(*op) || op->draws()) continue;
    for (const Sample& sample : samples_of(*op)) {
      const Attrs attrs = attrs_of(*op, sample.attrs);
      INFO(op->name());
      unless_refused([&] {
        std::vector<levels::Variable> variables;
        Tensors outputs;
        LevelId id = 0;
        {
          levels::GradLevel level;
          id = level.id();
          Inputs_ inside = sample.in_domain(sample.inputs);
          for (Tensor& x : inside) {
            if (!is_differentiable(x)) continue;
            variables.push_back(level.variable(x));
            x = variables.back().inside;
          }
          if (variables.empty()) return;
          outputs = kiln::bind(*op, inside, attrs);
        }
        BatchLevel batch(0, Randomness::Same);
        std::vector<Tensor> cotangents;
        for (const Tensor& y : outputs) {
          Dims sizes{0};
          sizes.append(y.sizes().begin(), y.sizes().end());
          cotangents.push_back(is_float(y.dtype()) ? batch.example_of(Tensor::empty(sizes, y.dtype()))
                                                   : Tensor());
        }
        levels::GradLevel again(id);
        const std::vector<Tensor> gradients = again.gradients(outputs, cotangents, variables, true);
        CHECK(gradients.size() == variables.size());
      });
    }
  }
  set_warning_sink({});
}

}  // namespace kiln::empty_test
