// Generated from the op table: every op under vmap equals a loop over the examples, stacked; for each choice
// of batched inputs and each place of the batch dimension, also one level further in.
#include <catch2/catch.hpp>

#include "tensor/autograd.h"
#include "tensor/levels/batch_level.h"
#include "tensor/levels/dual_level.h"
#include "tensor/levels/grad_level.h"
#include "tensor/random.h"
#include "tensor/warning.h"
#include "tests/tensor/samples.h"

namespace kiln::vmap_test {

using namespace kiln::testing;
using levels::BatchLevel;
using levels::Randomness;

namespace {

constexpr Dim kBatch = 3;

bool near(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const long double x = element(a, i), y = element(b, i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (std::abs(x - y) > 1e-9L * std::max(1.0L, std::abs(y))) return false;
  }
  return true;
}

// Example b of a batch: the elements of x, b places further on, so that examples differ and stay in the
// domain of the op.
Tensor example(const Tensor& x, Dim b) {
  const std::int64_t n = x.numel();
  return make(x.sizes(), x.dtype(),
              [&](std::int64_t i) { return static_cast<double>(element(x, (i + b) % n)); });
}

// Examples with the batch dimension laid out at `place`, then seen with the batch in front.
Tensor batch_of(const std::vector<Tensor>& examples, int place) {
  const Tensor laid_out = ops::stack(examples, place);
  Dims order{place};
  for (int d = 0; d < laid_out.rank(); ++d)
    if (d != place) order.push_back(d);
  return ops::permute(laid_out, order);
}

struct Case {
  const Op& op;
  const Sample& sample;
  Attrs attrs;
  std::uint32_t batched;  // bit i: input i
  int place;              // of the batch dimension, from the front

  bool is_batched(std::size_t i) const { return ((batched >> i) & 1U) != 0; }
  std::vector<Tensor> example_inputs(Dim b) const {
    std::vector<Tensor> inputs = sample.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (is_batched(i)) inputs[i] = example(inputs[i], b);
    return sample.in_domain(inputs);
  }
  std::vector<Tensor> batches() const {
    std::vector<Tensor> inputs = example_inputs(0);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!is_batched(i)) continue;
      std::vector<Tensor> examples;
      for (Dim b = 0; b < kBatch; ++b) examples.push_back(example_inputs(b)[i]);
      inputs[i] = batch_of(examples, std::min(place, inputs[i].rank()));
    }
    return inputs;
  }
};

// What vmap may refuse: examples whose results have different shapes, which batched counts decide too, and
// strides that reach beyond the example they are asked of.
bool may_refuse(const Op& op, const OpError& error) {
  if (op.name() == "as_strided" || op.name() == "as_strided_scatter") return true;
  if (op.has(kDataDependent) && error.message().find("differs from example to example") != std::string::npos)
    return true;
  return error.message().find("mask that differs") != std::string::npos ||
         error.message().find("results of one shape") != std::string::npos;
}

// The outputs of each example alone; empty when the op refuses an example.
std::vector<std::vector<Tensor>> one_by_one(const Case& c) {
  std::vector<std::vector<Tensor>> columns;
  for (Dim b = 0; b < kBatch; ++b) {
    const Tensors outputs = kiln::bind(c.op, c.example_inputs(b), c.attrs);
    columns.resize(outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) columns[k].push_back(outputs[k]);
  }
  return columns;
}

void check_equal(const std::vector<Tensor>& found, const std::vector<std::vector<Tensor>>& columns) {
  REQUIRE(found.size() == columns.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Tensor expected = ops::stack(columns[k], 0);
    INFO("output " << k << ": " << describe(found[k]) << ", not " << describe(expected));
    CHECK(near(found[k], expected));
  }
}

std::vector<Tensor> run_batched(const Case& c, const std::vector<Tensor>& batches) {
  BatchLevel level(kBatch, Randomness::Error);
  std::vector<Tensor> inputs = batches;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (c.is_batched(i)) inputs[i] = level.example_of(inputs[i]);
  std::vector<Tensor> outputs;
  for (const Tensor& each : kiln::bind(c.op, inputs, c.attrs)) outputs.push_back(level.batch_of(each));
  return outputs;
}

// Calls `check` on every sample of every op, every choice of inputs and every place of the batch.
void each_case(const std::function<void(const Case&)>& check) {
  set_warning_sink([](const std::string&) {});
  for (const Op* op : OpTable::get().ops()) {
    if (op->draws() || leaves_elements(*op)) continue;
    // Strides count from how an example lies in memory, which is another way where it is alone.
    const bool by_strides = op->name() == "as_strided" || op->name() == "as_strided_scatter";
    int number = -1;
    for (const Sample& sample : samples_of(*op)) {
      ++number;
      const std::size_t count = std::min<std::size_t>(sample.inputs.size(), 4);
      for (std::uint32_t batched = 1; batched < (1U << count); ++batched) {
        bool possible = true;
        int places = 0;
        for (std::size_t i = 0; i < count; ++i) {
          if (((batched >> i) & 1U) == 0) continue;
          possible =
              possible && sample.inputs[i] && !sample.inputs[i].is_number() && sample.inputs[i].numel() > 0;
          if (possible) places = std::max(places, sample.inputs[i].rank());
        }
        for (int place = 0; possible && place <= (by_strides ? 0 : places); ++place) {
          INFO("sample " << number << " of " << op->name() << ", inputs " << batched << " batched at "
                         << place);
          check({*op, sample, attrs_of(*op, sample.attrs), batched, place});
        }
      }
    }
  }
  set_warning_sink({});
}

}  // namespace

TEST_CASE("every op under vmap equals loop and stack", "[vmap]") {
  each_case([](const Case& c) {
    std::vector<Tensor> found;
    try {
      found = run_batched(c, c.batches());
    } catch (const OpError& error) {
      INFO(error.message());
      CHECK(may_refuse(c.op, error));
      return;
    }
    check_equal(found, one_by_one(c));
  });
}

TEST_CASE("every op under vmap inside of grad and jvp gives the same", "[vmap]") {
  each_case([](const Case& c) {
    if (c.place != 0) return;
    try {
      const std::vector<Tensor> batches = c.batches();
      std::vector<Tensor> through_grad, through_dual;
      {
        levels::GradLevel level;
        std::vector<Tensor> inputs = batches;
        for (Tensor& x : inputs)
          if (x && is_float(x.dtype()) && !x.is_number()) x = level.variable(x).inside;
        for (const Tensor& y : run_batched(c, inputs)) through_grad.push_back(levels::value_below(level, y));
      }
      {
        std::vector<Tensor> inputs = batches, tangents;
        for (const Tensor& x : inputs) tangents.push_back(x ? ops::ones_like(x) : x);
        const levels::DualLevel level;
        for (std::size_t i = 0; i < inputs.size(); ++i)
          if (inputs[i] && is_float(inputs[i].dtype()) && !inputs[i].is_number())
            inputs[i] = level.dual(inputs[i], tangents[i]);
        for (const Tensor& y : run_batched(c, inputs)) through_dual.push_back(levels::value_below(level, y));
      }
      const auto expected = one_by_one(c);
      check_equal(through_grad, expected);
      check_equal(through_dual, expected);
    } catch (const OpError& error) {
      INFO(error.message());
      CHECK((may_refuse(c.op, error) || error.kind() == ErrorKind::Autograd));
    }
  });
}

TEST_CASE("every op under vmap of grad and of jvp gives the derivatives of the examples", "[vmap]") {
  // The sum of the float outputs, differentiated by the first float input.
  const auto total = [](const Op& op, const std::vector<Tensor>& inputs, const Attrs& attrs) {
    Tensor sum;
    for (const Tensor& y : kiln::bind(op, inputs, attrs)) {
      if (!is_float(y.dtype())) continue;
      const Tensor part = ops::sum(y * y);
      sum = sum ? sum + part : part;
    }
    return sum;
  };
  const auto derivatives = [&](const Case& c, std::size_t by, std::vector<Tensor> inputs) {
    std::vector<Tensor> found;
    const Tensor x = inputs[by];
    {
      levels::GradLevel level;
      const levels::Variable variable = level.variable(x);
      inputs[by] = variable.inside;
      const Tensor y = total(c.op, inputs, c.attrs);
      const Tensor grad =
          !y ? Tensor() : level.gradients({&y, 1}, std::vector{ops::ones_like(y)}, {&variable, 1}, false)[0];
      found.push_back(grad ? grad : Tensor());
    }
    {
      const Tensor ones = ops::ones_like(x);
      const levels::DualLevel level;
      inputs[by] = level.dual(x, ones);
      const Tensor y = total(c.op, inputs, c.attrs);
      found.push_back(y ? level.tangent_of(y) : Tensor());
    }
    for (Tensor& each : found)
      if (!each) each = ops::zeros_like(ops::sum(x));
    return found;
  };
  each_case([&](const Case& c) {
    if (c.place != 0) return;
    std::size_t by = 0;
    while (by < c.sample.inputs.size() &&
           !(c.is_batched(by) && is_float(c.sample.inputs[by].dtype()) && !c.sample.inputs[by].is_number()))
      ++by;
    if (by == c.sample.inputs.size()) return;
    try {
      std::vector<std::vector<Tensor>> columns(2);
      for (Dim b = 0; b < kBatch; ++b) {
        const std::vector<Tensor> found = derivatives(c, by, c.example_inputs(b));
        for (std::size_t k = 0; k < 2; ++k) columns[k].push_back(found[k]);
      }
      std::vector<Tensor> together;
      {
        BatchLevel level(kBatch, Randomness::Error);
        std::vector<Tensor> inputs = c.batches();
        for (std::size_t i = 0; i < inputs.size(); ++i)
          if (c.is_batched(i)) inputs[i] = level.example_of(inputs[i]);
        for (const Tensor& each : derivatives(c, by, inputs)) together.push_back(level.batch_of(each));
      }
      check_equal(together, columns);
    } catch (const OpError& error) {
      INFO(error.message());
      CHECK((may_refuse(c.op, error) || error.kind() == ErrorKind::Autograd));
    }
  });
}

TEST_CASE("random ops under vmap draw as their mode says", "[vmap]") {
  const auto draw = [](std::string_view name, const std::vector<Tensor>& inputs, Attrs attrs) {
    return kiln::bind(OpTable::get().at(name), inputs, attrs)[0];
  };
  const Op& rand = OpTable::get().at("rand");
  Attrs sizes(rand);
  sizes.set("size", Dims{4});
  Attrs whole(rand);
  whole.set("size", Dims{kBatch, 4});
  const Attrs chance(OpTable::get().at("bernoulli"));
  const Tensor p = make({kBatch, 4}, DType::F32, [](auto i) { return static_cast<double>(i) / 12; });

  seed(7);
  const Tensor expected = draw("rand", {}, whole);
  const Tensor expected_chance = draw("bernoulli", {p}, chance);
  seed(7);
  {
    BatchLevel level(kBatch, Randomness::Different);
    CHECK(same_bits(level.batch_of(draw("rand", {}, sizes)), expected));
    CHECK(same_bits(level.batch_of(draw("bernoulli", {level.example_of(p)}, chance)), expected_chance));
  }
  seed(7);
  const Tensor alone = draw("rand", {}, sizes);
  const Generator before = generator();
  std::vector<Tensor> alike;
  for (Dim b = 0; b < kBatch; ++b) {
    generator() = before;
    alike.push_back(draw("bernoulli", {ops::select(p, 0, b)}, chance));
  }
  seed(7);
  {
    BatchLevel level(kBatch, Randomness::Same);
    const Tensor found = level.batch_of(draw("rand", {}, sizes));
    for (Dim b = 0; b < kBatch; ++b) CHECK(same_bits(ops::select(found, 0, b), alone));
    CHECK(same_bits(level.batch_of(draw("bernoulli", {level.example_of(p)}, chance)), ops::stack(alike, 0)));
  }
  const BatchLevel level(kBatch, Randomness::Error);
  CHECK_THROWS_AS(draw("rand", {}, sizes), OpError);
}

TEST_CASE("an op without a batching rule loops and warns once", "[vmap]") {
  const Op* looping = nullptr;
  for (const Op* op : OpTable::get().ops()) {
    const bool plain = !op->batch && op->batch.missing != kComposite && !op->draws() &&
                       !op->has(kDataDependent) && op->signature.inputs > 0;
    if (plain && !samples_of(*op).empty()) looping = op;
  }
  if (looping == nullptr) return;  // every row has a rule
  std::vector<std::string> warnings;
  set_warning_sink([&](const std::string& sentence) { warnings.push_back(sentence); });
  const Sample sample = samples_of(*looping).front();
  const Case c{*looping, sample, attrs_of(*looping, sample.attrs), 1, 0};
  for (int i = 0; i < 2; ++i) {
    try {
      run_batched(c, c.batches());
    } catch (const OpError&) {
    }
  }
  set_warning_sink({});
  CHECK(warnings.size() <= 1);
  for (const std::string& sentence : warnings) CHECK(sentence.find(looping->name()) != std::string::npos);
}

}  // namespace kiln::vmap_test
