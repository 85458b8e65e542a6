// Losses and norms against long double arithmetic, their special cases, and their errors.
#include <catch2/catch.hpp>

#include "tensor/autograd.h"
#include "tensor/cpu/isa.h"
#include "tensor/parallel.h"
#include "tests/tensor/sample_parts.h"
#include "tests/tensor/tensors.h"

namespace kiln::loss_test {

using namespace kiln::testing;

namespace {

using Numbers = std::vector<long double>;

void check_near(const Tensor& x, const Numbers& expected, long double tolerance) {
  INFO(describe(x));
  REQUIRE(x.numel() == static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("element " << i << " should be " << expected[i]);
    CHECK(std::abs(element(x, static_cast<std::int64_t>(i)) - expected[i]) <=
          tolerance * std::max(1.0L, std::abs(expected[i])));
  }
}

long double tolerance_of(DType dtype) {
  return dtype == DType::F64 ? 1e-13L : dtype == DType::F32 ? 2e-5L : dtype == DType::F16 ? 4e-3L : 3e-2L;
}

Tensor classes(const std::vector<int>& values) {
  return make({static_cast<std::int64_t>(values.size())}, DType::I64,
              [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
}

// Minus the log-probability of each target under softmax over the rows of x.
Numbers negative_logs(const Tensor& x, const std::vector<int>& targets) {
  Numbers result;
  const std::int64_t n = x.size(1);
  for (std::int64_t r = 0; r < x.size(0); ++r) {
    long double total = 0;
    for (std::int64_t c = 0; c < n; ++c) total += std::exp(element(x, r * n + c));
    result.push_back(std::log(total) - element(x, r * n + targets[static_cast<std::size_t>(r)]));
  }
  return result;
}

OpError error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const OpError& error) {
    return error;
  }
  FAIL("no error");
  throw;
}

}  // namespace

TEST_CASE("cross_entropy of classes", "[nn]") {
  const std::vector<int> targets{2, 0, 3, 3, 1};
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    const Tensor x = noise({5, 4}, dtype, 1);
    const Tensor weight = noise({4}, dtype, 2, 0.5, 2.0);
    const Numbers each = negative_logs(x, targets);
    const long double close = tolerance_of(dtype);
    const auto run = [&](const Tensor& w, std::vector<NamedAttr> attrs) {
      return call("cross_entropy", {x, classes(targets), w}, attrs)[0];
    };
    check_near(run({}, {{"reduction", text("none")}}), each, close);
    check_near(run({}, {}), {(each[0] + each[1] + each[2] + each[3] + each[4]) / 5}, close);
    check_near(run({}, {{"ignore_index", std::int64_t{3}}}), {(each[0] + each[1] + each[4]) / 3}, close);
    long double total = 0, weights = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      const long double w = element(weight, targets[i]);
      total += w * each[i];
      weights += w;
    }
    check_near(run(weight, {}), {total / weights}, close);
    check_near(run(weight, {{"reduction", text("sum")}}), {total}, close);
  }
}

TEST_CASE("label smoothing is the same as smoothed probabilities", "[nn]") {
  const std::vector<int> targets{2, 0, 3};
  const Tensor x = noise({3, 4}, DType::F64, 3);
  const Tensor smooth = make({3, 4}, DType::F64, [&](std::int64_t i) {
    return (i % 4 == targets[static_cast<std::size_t>(i / 4)] ? 0.8 : 0.0) + 0.2 / 4;
  });
  const Tensor from_classes = call("cross_entropy", {x, classes(targets), {}}, {{"label_smoothing", 0.2}})[0];
  const Tensor from_numbers = call("cross_entropy", {x, smooth, {}})[0];
  check_near(from_classes, elements(from_numbers), 1e-14L);
}

TEST_CASE("cross_entropy over further dimensions equals it over rows", "[nn]") {
  const Tensor x = noise({2, 4, 3}, DType::F64, 4);
  const Tensor target = make({2, 3}, DType::I64, [](std::int64_t i) { return static_cast<double>(i % 4); });
  const Tensor rows = ops::reshape(ops::permute(x, Dims{0, 2, 1}), Dims{6, 4});
  const Tensor flat = ops::reshape(target, Dims{6});
  check_near(call("cross_entropy", {x, target, {}})[0], elements(call("cross_entropy", {rows, flat, {}})[0]),
             1e-14L);
}

TEST_CASE("losses between numbers", "[nn]") {
  const Tensor x = make({4}, DType::F64, [](std::int64_t i) { return i - 1.5; });  // -1.5 -0.5 0.5 1.5
  const Tensor zero = make({4}, DType::F64, [](std::int64_t) { return 0.0; });
  const NamedAttr none{"reduction", text("none")};
  check_near(call("mse_loss", {x, zero, {}}, {none})[0], {2.25, 0.25, 0.25, 2.25}, 0);
  check_near(call("mse_loss", {x, zero, {}})[0], {1.25}, 0);
  check_near(call("l1_loss", {x, zero, {}}, {{"reduction", text("sum")}})[0], {4}, 0);
  check_near(call("smooth_l1_loss", {x, zero}, {none})[0], {1, 0.125, 0.125, 1}, 1e-15L);
  check_near(call("smooth_l1_loss", {x, zero}, {none, {"beta", 0.0}})[0], {1.5, 0.5, 0.5, 1.5}, 0);
  check_near(call("huber_loss", {x, zero, {}}, {none, {"delta", 0.5}})[0], {0.625, 0.125, 0.125, 0.625},
             1e-15L);
}

TEST_CASE("binary cross entropy stays finite where probabilities are certain", "[nn]") {
  const Tensor p = make({4}, DType::F32, [](std::int64_t i) { return static_cast<double>(i / 2); });
  const Tensor y = make({4}, DType::F32, [](std::int64_t i) { return static_cast<double>(i % 2); });
  const Tensor each = call("binary_cross_entropy", {p, y, {}}, {{"reduction", text("none")}})[0];
  check_near(each, {0, 100, 100, 0}, 0);
  const Tensor leaf = ops::clone(p);
  set_requires_grad(leaf, true);
  const Op& op = OpTable::get().at("binary_cross_entropy");
  const Tensor inputs[] = {leaf, y, Tensor()};
  backward(bind(op, inputs, Attrs(op))[0]);
  for (const long double g : elements(grad_of(leaf))) CHECK(std::isfinite(g));
}

TEST_CASE("logits and probabilities agree", "[nn]") {
  const Tensor x = noise({3, 4}, DType::F64, 5);
  const Tensor y = noise({3, 4}, DType::F64, 6, 0.0, 1.0);
  const Tensor w = noise({4}, DType::F64, 7, 0.5, 2.0);
  const Tensor p = ops::sigmoid(x);
  check_near(call("binary_cross_entropy_with_logits", {x, y, w, {}})[0],
             elements(call("binary_cross_entropy", {p, y, w})[0]), 1e-13L);
  const Tensor far = make({2}, DType::F64, [](std::int64_t i) { return i == 0 ? 800.0 : -800.0; });
  const Tensor one = make({2}, DType::F64, [](std::int64_t) { return 1.0; });
  check_near(call("binary_cross_entropy_with_logits", {far, one, {}, {}}, {{"reduction", text("none")}})[0],
             {0, 800}, 0);
}

TEST_CASE("kl_div is zero between equals and counts zeros as nothing", "[nn]") {
  const Tensor p = make({2, 2}, DType::F64, [](std::int64_t i) { return i == 0 ? 0.0 : i == 1 ? 1.0 : 0.5; });
  const Tensor q = make({2, 2}, DType::F64, [](std::int64_t) { return std::log(0.5); });
  check_near(call("kl_div", {q, p}, {{"reduction", text("none")}})[0], {0, std::log(2.0L), 0, 0}, 1e-15L);
  check_near(call("kl_div", {q, p}, {{"reduction", text("batchmean")}})[0], {std::log(2.0L) / 2}, 1e-15L);
  check_near(call("kl_div", {q, q}, {{"log_target", true}})[0], {0}, 0);
}

TEST_CASE("layer_norm and rms_norm agree with long double arithmetic", "[nn]") {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    for (const std::int64_t n : {std::int64_t{7}, std::int64_t{64}, std::int64_t{5000}}) {
      const Tensor x = noise({3, n}, dtype, 8);
      const Tensor w = noise({n}, dtype, 9, 0.5, 1.5), b = noise({n}, dtype, 10);
      Numbers layered, rooted;
      for (std::int64_t r = 0; r < 3; ++r) {
        long double mean = 0, squares = 0, plain = 0;
        for (std::int64_t i = 0; i < n; ++i) mean += element(x, r * n + i) / n;
        for (std::int64_t i = 0; i < n; ++i) {
          const long double v = element(x, r * n + i);
          squares += (v - mean) * (v - mean) / n;
          plain += v * v / n;
        }
        for (std::int64_t i = 0; i < n; ++i) {
          const long double v = element(x, r * n + i);
          layered.push_back((v - mean) / std::sqrt(squares + 1e-5L) * element(w, i) + element(b, i));
          rooted.push_back(v / std::sqrt(plain + 1e-5L) * element(w, i));
        }
      }
      const Attr shape = Dims{n};
      check_near(call("layer_norm", {x, w, b}, {{"normalized_shape", shape}})[0], layered,
                 tolerance_of(dtype));
      check_near(call("rms_norm", {x, w}, {{"normalized_shape", shape}, {"eps", 1e-5}})[0], rooted,
                 tolerance_of(dtype));
    }
  }
}

TEST_CASE("batch_norm normalizes channels and moves the running statistics", "[nn]") {
  const Tensor x = noise({4, 2, 3}, DType::F64, 11);
  const Tensor mean = make({2}, DType::F64, [](std::int64_t) { return 0.0; });
  const Tensor var = make({2}, DType::F64, [](std::int64_t) { return 1.0; });
  const Tensor y = call("batch_norm", {x, mean, var, {}, {}}, {{"training", true}, {"momentum", 0.25}})[0];
  for (std::int64_t c = 0; c < 2; ++c) {
    Numbers values, normal;
    for (std::int64_t i = 0; i < 24; ++i) {
      if (i / 3 % 2 != c) continue;
      values.push_back(element(x, i));
      normal.push_back(element(y, i));
    }
    long double m = 0, v = 0, normal_mean = 0, normal_var = 0;
    for (std::size_t i = 0; i < 12; ++i) m += values[i] / 12;
    for (std::size_t i = 0; i < 12; ++i) v += (values[i] - m) * (values[i] - m) / 11;
    for (std::size_t i = 0; i < 12; ++i) normal_mean += normal[i] / 12;
    for (std::size_t i = 0; i < 12; ++i) normal_var += normal[i] * normal[i] / 12;
    CHECK(std::abs(normal_mean) < 1e-12L);
    CHECK(static_cast<double>(normal_var) == Approx(1.0).epsilon(1e-4));
    CHECK(static_cast<double>(element(mean, c)) == Approx(static_cast<double>(0.25L * m)));
    CHECK(static_cast<double>(element(var, c)) == Approx(static_cast<double>(0.75L + 0.25L * v)));
  }
  const Tensor used = call("batch_norm", {x, mean, var, {}, {}})[0];
  const long double expected = (element(x, 0) - element(mean, 0)) / std::sqrt(element(var, 0) + 1e-5L);
  CHECK(static_cast<double>(element(used, 0)) == Approx(static_cast<double>(expected)));
}

TEST_CASE("group_norm of one group is layer_norm over all channels", "[nn]") {
  const Tensor x = noise({2, 4, 3}, DType::F32, 12);
  const Tensor grouped = call("group_norm", {x, {}, {}}, {{"num_groups", std::int64_t{1}}})[0];
  const Tensor layered = call("layer_norm", {x, {}, {}}, {{"normalized_shape", Dims{4, 3}}})[0];
  CHECK(same_bits(grouped, layered));
}

TEST_CASE("a training step through cross_entropy is two nodes of the tape", "[nn]") {
  const Tensor x = noise({128, 10}, DType::F32, 13);
  set_requires_grad(x, true);
  const std::size_t before = live_tape_nodes();
  const Op& op = OpTable::get().at("cross_entropy");
  const Tensor inputs[] = {x, make({128}, DType::I64, [](std::int64_t i) { return i % 10; }), Tensor()};
  const Tensor loss = bind(op, inputs, Attrs(op))[0];
  CHECK(live_tape_nodes() - before <= 3);  // log_softmax, nll_loss, and the leaf's own
  backward(loss);
  // d loss / d x = (softmax(x) - one_hot) / n
  const Tensor p = call("softmax", {ops::detach(x)}, {{"dim", std::int64_t{1}}})[0];
  for (std::int64_t i = 0; i < 1280; ++i) {
    const long double expected = (element(p, i) - (i % 10 == i / 10 % 10 ? 1 : 0)) / 128;
    CHECK(std::abs(element(grad_of(x), i) - expected) < 1e-8L);
  }
}

TEST_CASE("losses and norms say what is wrong and what to do", "[nn]") {
  const Tensor x = noise({3, 4}, DType::F32, 14);
  const OpError wrong_class = error_of([&] { call("cross_entropy", {x, classes({0, 4, 1}), {}}); });
  CHECK(wrong_class.kind() == ErrorKind::Index);
  CHECK(wrong_class.message() == "target 4 is no class: there are 4 classes, 0 to 3");
  CHECK(wrong_class.operands() == std::vector<int>{1});
  const OpError count = error_of([&] { call("cross_entropy", {x, classes({0, 1}), {}}); });
  CHECK(count.kind() == ErrorKind::Shape);
  CHECK(count.message() ==
        "cross_entropy: an input of f32[3, 4] has classes in dimension 1 and needs targets of shape [3], not "
        "i64[2]");
  const OpError reduction = error_of([&] { call("mse_loss", {x, x, {}}, {{"reduction", text("avg")}}); });
  CHECK(reduction.message() == "mse_loss knows no reduction \"avg\"");
  CHECK(reduction.help() == "reduction is \"mean\", \"sum\" or \"none\"");
  const OpError shape = error_of([&] { call("layer_norm", {x, {}, {}}, {{"normalized_shape", Dims{3}}}); });
  CHECK(shape.message() == "layer_norm: normalized_shape [3] is not how the shape of f32[3, 4] ends");
  const OpError weight = error_of([&] { call("layer_norm", {x, x, {}}, {{"normalized_shape", Dims{4}}}); });
  CHECK(weight.message() == "layer_norm: the weight is f32[3, 4] and needs shape [4]");
  CHECK(error_of([&] { call("group_norm", {x, {}, {}}, {{"num_groups", std::int64_t{3}}}); }).kind() ==
        ErrorKind::Shape);
  CHECK(error_of([&] { call("binary_cross_entropy", {x, noise({4}, DType::F32, 1), {}}); }).kind() ==
        ErrorKind::Shape);
}

namespace {

void check_channel_kernels(const Dims& sizes, DType dtype) {
  const Dims channels{sizes[1]};
  const Tensor x = noise(sizes, dtype, 1), g = noise(sizes, dtype, 2);
  const Tensor a = noise(channels, dtype, 3), b = noise(channels, dtype, 4);
  const auto same = [&](const char* name, const std::vector<Tensor>& in) {
    const Op& op = OpTable::get().at(name);
    Attrs attrs(op);
    if (name[0] == 'g') attrs.set("num_groups", std::int64_t{sizes[1] % 3 == 0 ? 3 : 1});
    const Tensors kernel = run_eager(op, in, attrs), body = op.decompose(op, in, attrs);
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      INFO(name << " of " << to_string(x.type()) << ", output " << i);
      CHECK(same_bits(kernel[i], body[i]));
    }
  };
  same("batch_norm_with_statistics", {x, a, b});
  same("batch_norm_with_statistics", {x, {}, {}});
  same("batch_norm_backward", {g, x, a, {}, {}, {}, {}});
  const Op& forward = OpTable::get().at("batch_norm_with_statistics");
  const Tensors known = run_eager(forward, std::vector<Tensor>{x, a, b}, Attrs(forward));
  same("batch_norm_backward", {g, x, a, b, b, known[1], known[2]});
  same("channel_affine", {x, a, b});
  same("channel_affine_backward", {g, x, a});
  same("group_norm", {x, a, b});
  same("group_norm", {x, {}, {}});
  same("group_norm_backward", {g, x, a});
  same("group_norm_backward", {g, x, {}});
}

}  // namespace

TEST_CASE("kernels over channels have the bits of their bodies at sizes that fill no block", "[nn]") {
  const int threads = num_threads();
  const cpu::Isa best = cpu::isa();
  for (const int count : {1, 3}) {
    for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
      if (!cpu::has_kernels(isa)) continue;
      set_num_threads(count);
      cpu::set_isa(isa);
      for (const Dims& sizes : {Dims{37, 45}, Dims{5000, 3}, Dims{3, 19, 5}, Dims{2, 18, 7, 9}})
        for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) check_channel_kernels(sizes, dtype);
    }
  }
  set_num_threads(threads);
  cpu::set_isa(best);
}

}  // namespace kiln::loss_test
