// Generated from the op table: the rules of every row with samples, called directly. Derivatives against
// central differences, batching against loop-and-stack, bodies against kernels, types against results.
#include <catch2/catch.hpp>

#include "tensor/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tests/tensor/samples.h"

namespace kiln::rules_test {

using namespace kiln::testing;

namespace {

constexpr double kStep = 1e-6;

bool is_differentiable(const Tensor& x) { return x && x.dtype() == DType::F64 && !x.is_number(); }
bool has_bit(std::uint32_t bits, std::size_t i) { return ((bits >> std::min<std::size_t>(i, 31)) & 1U) != 0; }

Tensor fresh(const Tensor& x) {
  return make(x.sizes(), x.dtype(), [&](std::int64_t i) { return static_cast<double>(element(x, i)); });
}
// x + step * direction
Tensor moved(const Tensor& x, const Tensor& direction, double step) {
  return make(x.sizes(), x.dtype(), [&](std::int64_t i) {
    return static_cast<double>(element(x, i) + step * element(direction, i));
  });
}
bool near(long double a, long double b) { return std::abs(a - b) <= 2e-6L * std::max(1.0L, std::abs(b)); }

bool near(const Tensor& a, const Tensor& b) {
  if (!a || a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    if (!near(element(a, i), element(b, i))) return false;
  return true;
}
std::string describe_or_absent(const Tensor& x) { return x ? describe(x) : "absent"; }

bool batches_a_mask(const std::vector<Tensor>& inputs, std::span<const bool> batched) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (batched[i] && inputs[i].dtype() == DType::Bool) return true;
  return false;
}

// Runs `f(sample, attrs)` on all samples of all ops that `wanted` accepts.
void each_sample(const std::function<bool(const Op&)>& wanted,
                 const std::function<void(const Op&, const Sample&, const Attrs&)>& f) {
  for (const Op* op : OpTable::get().ops()) {
    if (op->draws() || leaves_elements(*op) || !wanted(*op)) continue;
    int number = 0;
    for (Sample sample : samples_of(*op)) {
      INFO("sample " << number++ << " of " << op->name());
      sample.inputs = sample.in_domain(sample.inputs);
      try {
        f(*op, sample, attrs_of(*op, sample.attrs));
      } catch (const OpError& error) {  // a gradient may be refused, in words
        if (error.kind() != ErrorKind::Autograd) FAIL_CHECK(error.message());
      }
    }
  }
}

// Values without history, as rules get them: only what the row saves.
std::vector<Tensor> kept(const std::vector<Tensor>& values, std::uint32_t bits) {
  std::vector<Tensor> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (has_bit(bits, i)) result[i] = values[i];
  return result;
}
// A direction for input `i`; for one with a domain, where the map into it goes.
Tensor direction_of(const Sample& sample, std::size_t i, const Tensor& direction) {
  if (i > 0 || sample.domain == nullptr) return direction;
  return sample.domain(sample.inputs[0] + direction) - sample.domain(sample.inputs[0]);
}
std::vector<TensorType> types_of(Inputs values) {
  std::vector<TensorType> types;
  for (const Tensor& each : values)
    types.push_back(each ? each.type() : TensorType{DType::Bool, Device{}, {}, true});
  return types;
}

// Directional derivatives of all float outputs by central differences.
std::vector<Tensor> differences(const Op& op, const std::vector<Tensor>& inputs, const Attrs& attrs,
                                const std::vector<Tensor>& directions) {
  std::vector<Tensor> up = inputs, down = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!directions[i]) continue;
    up[i] = moved(inputs[i], directions[i], kStep);
    down[i] = moved(inputs[i], directions[i], -kStep);
  }
  const Tensors high = run_eager(op, up, attrs);
  const Tensors low = run_eager(op, down, attrs);
  std::vector<Tensor> result;
  for (std::size_t k = 0; k < high.size(); ++k) {
    if (!is_differentiable(high[k])) {
      result.emplace_back();
      continue;
    }
    result.push_back(make(high[k].sizes(), DType::F64, [&](std::int64_t i) {
      return static_cast<double>((element(high[k], i) - element(low[k], i)) / (2 * kStep));
    }));
  }
  return result;
}

long double dot(const Tensor& a, const Tensor& b) {
  long double total = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) total += element(a, i) * element(b, i);
  return total;
}

}  // namespace

TEST_CASE("types inferred are the types computed", "[rules]") {
  each_sample([](const Op&) { return true; },
              [](const Op& op, const Sample& sample, const Attrs& attrs) {
                const std::vector<TensorType> inferred = op.infer(types_of(sample.inputs), attrs);
                const Tensors outputs = run_eager(op, sample.inputs, attrs);
                REQUIRE(inferred.size() == outputs.size());
                if (op.outputs > 0) CHECK(static_cast<int>(outputs.size()) == op.outputs);
                for (std::size_t k = 0; k < outputs.size(); ++k) {
                  INFO("output " << k << ": inferred " << to_string(inferred[k]) << ", computed "
                                 << describe(outputs[k]));
                  TensorType type = outputs[k].type();
                  if (op.has(kDataDependent) || op.name() == "index") {
                    for (std::size_t d = 0; d < type.sizes.size(); ++d)
                      if (inferred[k].sizes[d] == -1) type.sizes[d] = -1;  // known only from the data
                  }
                  CHECK(inferred[k] == type);
                }
              });
}

TEST_CASE("kernels give each result memory of its own", "[rules]") {
  // So where nothing is recorded they may stand for a body, whose results are what its ops make.
  each_sample([](const Op& op) { return has_kernel(op); },
              [](const Op& op, const Sample& sample, const Attrs& attrs) {
                for (const DType dtype : {DType::F64, DType::F32}) {
                  std::vector<Tensor> inputs = sample.inputs;
                  for (Tensor& input : inputs)
                    if (input && !input.is_number() && is_float(input.dtype()))
                      input = cpu::contiguous_copy(input, dtype);
                  const Tensors outputs = run_eager(op, inputs, attrs);
                  for (std::size_t k = 0; k < outputs.size(); ++k) {
                    INFO("output " << k);
                    for (const Tensor& input : inputs) CHECK(!(input && shares_storage(outputs[k], input)));
                    for (std::size_t j = 0; j < k; ++j) CHECK(!shares_storage(outputs[k], outputs[j]));
                  }
                }
              });
}

TEST_CASE("inputs in any layout give the same bits", "[rules]") {
  // Views and what undoes them by strides are about layouts.
  each_sample([](const Op& op) { return op.view == nullptr && op.name() != "as_strided_scatter"; },
              [](const Op& op, const Sample& sample, const Attrs& attrs) {
                std::vector<Tensor> scattered, reversed;
                for (const Tensor& each : sample.inputs) {
                  const bool laid_out = each && !each.is_number();
                  scattered.push_back(laid_out ? strided(each) : each);
                  reversed.push_back(laid_out ? backwards(each) : each);
                }
                const Tensors expected = run_eager(op, sample.inputs, attrs);
                const Tensors one = run_eager(op, scattered, attrs);
                const Tensors two = run_eager(op, reversed, attrs);
                for (std::size_t k = 0; k < expected.size(); ++k) {
                  INFO("output " << k << ": " << describe(one[k]) << " and " << describe(two[k]) << ", not "
                                 << describe(expected[k]));
                  CHECK(same_bits(one[k], expected[k]));
                  CHECK(same_bits(two[k], expected[k]));
                }
              });
}

TEST_CASE("vjp rules agree with central differences", "[rules]") {
  each_sample(
      [](const Op& op) { return static_cast<bool>(op.vjp); },
      [](const Op& op, const Sample& sample, const Attrs& attrs) {
        const Tensors outputs = run_eager(op, sample.inputs, attrs);
        std::vector<Tensor> grads;
        for (std::size_t k = 0; k < outputs.size(); ++k)
          grads.push_back(is_differentiable(outputs[k])
                              ? noise(outputs[k].sizes(), DType::F64, 900 + static_cast<int>(k))
                              : make(outputs[k].sizes(), outputs[k].dtype(), [](auto) { return 0.0; }));
        const std::vector<Tensor> saved_inputs = kept(sample.inputs, op.saves.inputs);
        const std::vector<Tensor> saved_outputs = kept({outputs.begin(), outputs.end()}, op.saves.outputs);
        const std::vector<TensorType> input_types = types_of(sample.inputs), output_types = types_of(outputs);
        for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
          if (!is_differentiable(sample.inputs[i])) continue;
          const auto needs = std::make_unique<bool[]>(sample.inputs.size());
          needs[i] = true;
          const Tensors found = op.vjp.fn({op,
                                           attrs,
                                           saved_inputs,
                                           saved_outputs,
                                           input_types,
                                           output_types,
                                           grads,
                                           {needs.get(), sample.inputs.size()}});
          REQUIRE(found.size() == sample.inputs.size());
          if (!found[i]) continue;  // stated to have no gradient: its differences must vanish
          CHECK(found[i].type() == sample.inputs[i].type());
          for (std::int64_t e = 0; e < sample.inputs[i].numel(); ++e) {
            std::vector<Tensor> directions(sample.inputs.size());
            directions[i] = direction_of(sample, i,
                                         make(sample.inputs[i].sizes(), DType::F64,
                                              [e](std::int64_t k) { return k == e ? 1.0 : 0.0; }));
            const std::vector<Tensor> slopes = differences(op, sample.inputs, attrs, directions);
            long double expected = 0;
            for (std::size_t k = 0; k < slopes.size(); ++k)
              if (slopes[k]) expected += dot(slopes[k], grads[k]);
            const long double slope = dot(found[i], directions[i]);
            INFO("input " << i << ", element " << e << ": rule " << slope << ", differences " << expected);
            CHECK(near(slope, expected));
          }
        }
      });
}

TEST_CASE("jvp rules agree with central differences", "[rules]") {
  each_sample(
      [](const Op& op) { return static_cast<bool>(op.jvp); },
      [](const Op& op, const Sample& sample, const Attrs& attrs) {
        const Tensors outputs = run_eager(op, sample.inputs, attrs);
        const std::size_t count = sample.inputs.size();
        for (std::size_t i = 0; i <= count; ++i) {  // each tangent alone, then all together
          if (i < count && !is_differentiable(sample.inputs[i])) continue;
          std::vector<Tensor> tangents(count);
          for (std::size_t j = 0; j < count; ++j)
            if ((i == j || i == count) && is_differentiable(sample.inputs[j]))
              tangents[j] = direction_of(
                  sample, j, noise(sample.inputs[j].sizes(), DType::F64, 70 + static_cast<int>(j)));
          if (std::none_of(tangents.begin(), tangents.end(), [](const Tensor& t) { return bool(t); }))
            continue;
          const Tensors found = op.jvp.fn({op, attrs, sample.inputs, outputs, tangents});
          const std::vector<Tensor> expected = differences(op, sample.inputs, attrs, tangents);
          for (std::size_t k = 0; k < expected.size(); ++k) {
            if (!expected[k]) continue;
            INFO("tangent " << i << ", output " << k << ": rule " << describe_or_absent(found[k])
                            << ", differences " << describe(expected[k]));
            CHECK(near(found[k] ? found[k] : make(expected[k].sizes(), DType::F64, [](auto) { return 0.0; }),
                       expected[k]));
          }
        }
      });
}

TEST_CASE("batching rules agree with loop and stack", "[rules]") {
  each_sample([](const Op& op) { return static_cast<bool>(op.batch); },
              [](const Op& op, const Sample& sample, const Attrs& attrs) {
                constexpr std::int64_t kBatch = 3;
                const std::size_t count = sample.inputs.size();
                for (std::uint32_t subset = 1; subset < (1U << std::min<std::size_t>(count, 4)); ++subset) {
                  // Example b has the elements of the sample, b places further on.
                  std::vector<Tensor> inputs = sample.inputs;
                  std::vector<std::vector<Tensor>> examples(kBatch, sample.inputs);
                  const auto batched = std::make_unique<bool[]>(count);
                  bool possible = true;
                  for (std::size_t i = 0; i < count; ++i) {
                    if (!has_bit(subset, i)) continue;
                    // Numbers are not batched: they are the same in every example.
                    if (!(possible = possible && sample.inputs[i] && !sample.inputs[i].is_number())) break;
                    batched[i] = true;
                    const Tensor& x = sample.inputs[i];
                    const std::int64_t n = x.numel();
                    Dims sizes = x.sizes();
                    sizes.insert(sizes.begin(), kBatch);
                    const auto at = [&](std::int64_t b, std::int64_t e) {
                      return static_cast<double>(element(x, (e + b) % n));
                    };
                    inputs[i] = make(sizes, x.dtype(), [&](std::int64_t e) { return at(e / n, e % n); });
                    for (Dim b = 0; b < kBatch; ++b)
                      examples[static_cast<std::size_t>(b)][i] =
                          make(x.sizes(), x.dtype(), [&](std::int64_t e) { return at(b, e); });
                  }
                  if (!possible) continue;
                  inputs = sample.in_domain(inputs);
                  for (std::vector<Tensor>& example : examples) example = sample.in_domain(example);
                  Tensors together;
                  try {
                    together = op.batch.fn({op, attrs, inputs, {batched.get(), count}, kBatch});
                  } catch (const OpError& refusal) {  // only masks that pick another count in each example
                    INFO(refusal.message());
                    CHECK(batches_a_mask(inputs, {batched.get(), count}));
                    continue;
                  }
                  for (Dim b = 0; b < kBatch; ++b) {
                    const Tensors alone = run_eager(op, examples[static_cast<std::size_t>(b)], attrs);
                    REQUIRE(together.size() == alone.size());
                    for (std::size_t k = 0; k < alone.size(); ++k) {
                      Dims sizes = alone[k].sizes();
                      sizes.insert(sizes.begin(), kBatch);
                      INFO("inputs batched: " << subset << ", output " << k << ": " << describe(together[k])
                                              << ", example " << b << " " << describe(alone[k]));
                      REQUIRE(together[k].sizes() == sizes);
                      const std::int64_t n = alone[k].numel();
                      const Tensor part = make(alone[k].sizes(), together[k].dtype(), [&](std::int64_t e) {
                        return static_cast<double>(element(together[k], b * n + e));
                      });
                      CHECK(near(part, alone[k]));
                    }
                  }
                }
              });
}

TEST_CASE("a body over smaller ops gives the bits of the kernel", "[rules]") {
  each_sample([](const Op& op) { return op.decompose != nullptr && has_kernel(op); },
              [](const Op& op, const Sample& sample, const Attrs& attrs) {
                for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
                  std::vector<Tensor> inputs;
                  for (const Tensor& each : sample.inputs)
                    inputs.push_back(is_differentiable(each) ? ops::to(fresh(each), dtype) : each);
                  const Tensors fused = run_eager(op, inputs, attrs);
                  const Tensors body = op.decompose(op, inputs, attrs);
                  REQUIRE(fused.size() == body.size());
                  for (std::size_t k = 0; k < fused.size(); ++k) {
                    INFO(name(dtype) << " output " << k << ": kernel " << describe(fused[k]) << ", body "
                                     << describe(body[k]));
                    CHECK(same_bits(fused[k], body[k]));
                  }
                }
              });
}

}  // namespace kiln::rules_test
