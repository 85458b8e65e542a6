// Random numbers: each op takes one draw of the process's generator.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/onnx/rules.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/random.h"
#include "tensor/ops/rules.h"

namespace kiln {

void check_probability(double p, std::string_view name) {
  if (p >= 0 && p <= 1) return;
  throw OpError(ErrorKind::Value,
                fmt::format("{}: a probability lies between 0 and 1, {} does not", name, p));
}

void check_rate(double rate, std::string_view name) {
  if (rate >= 0 && rate <= 0x1p53) return;
  throw OpError(ErrorKind::Value, fmt::format("{}: a rate lies between 0 and 2^53, {} does not", name, rate));
}

namespace {

using rules::apply_one;
using rules::device_attr;
using rules::dtype_attr;

constexpr std::string_view kChance = "random numbers do not depend on the values of the input";
constexpr std::string_view kNoExample = "the generator is no example's";
constexpr std::string_view kShuffle = "each example takes a draw of its own";

void need_float(const TensorType& type, const Attrs& attrs) {
  if (is_float(type.dtype)) return;
  throw OpError(ErrorKind::DType,
                fmt::format("{}: expects a float dtype, got {}", spoken_name(*attrs.op()), name(type.dtype)),
                {0});
}

// ---- rand, randn and those like a tensor ----

std::vector<TensorType> sized_infer(std::span<const TensorType>, const Attrs& attrs) {
  count_elements(attrs.get<Dims>("size"));
  const TensorType type{dtype_attr(attrs, default_float()), device_attr(attrs), attrs.get<Dims>("size")};
  need_float(type, attrs);
  return {type};
}

std::vector<TensorType> like_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType type{dtype_attr(attrs, inputs[0].dtype), device_attr(attrs, inputs[0].device),
                        inputs[0].sizes};
  need_float(type, attrs);
  return {type};
}

std::vector<TensorType> float_like_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  need_float(inputs[0], attrs);
  return rules::infer_same(inputs, attrs);
}
std::vector<TensorType> uniform_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const double low = attrs.get<double>("low");
  const double high = attrs.get<double>("high");
  if (!(low <= high)) throw OpError(ErrorKind::Value, fmt::format("uniform: {} is not below {}", low, high));
  return float_like_infer(inputs, attrs);
}
std::vector<TensorType> normal_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  if (!(attrs.get<double>("std") >= 0)) {
    throw OpError(ErrorKind::Value,
                  fmt::format("normal: std must not be negative, it is {}", attrs.get<double>("std")));
  }
  return float_like_infer(inputs, attrs);
}

// ---- Integers ----

std::int64_t low_of(const Attrs& attrs, bool has_low) { return has_low ? attrs.get<std::int64_t>("low") : 0; }
// Up to where a float dtype has every integer.
std::int64_t last_of_all_integers(DType dtype) {
  const int digits = dtype == DType::F16 ? 11 : dtype == DType::BF16 ? 8 : dtype == DType::F32 ? 24 : 53;
  return std::int64_t{1} << digits;
}

// Each integer from `low` to before `high` must be one of the dtype: a rounded one might be `high` itself,
// and would come more often than others.
void check_range(std::int64_t low, std::int64_t high, DType dtype, std::string_view name) {
  for (const std::int64_t bound : {low, high - 1}) {
    if (is_float(dtype)) {
      const std::int64_t all = last_of_all_integers(dtype);
      if (bound <= all && bound >= -all) continue;
      throw OpError(ErrorKind::Overflow,
                    fmt::format("{}: {} does not fit in {}, which has every integer only up to {}", name,
                                bound, kiln::name(dtype), all),
                    {}, fmt::format("draw i64 and convert: `.to({})`", kiln::name(dtype)));
    }
    if (dtype == DType::Bool && (bound < 0 || bound > 1))
      throw OpError(ErrorKind::Overflow, fmt::format("{}: {} does not fit in bool", name, bound));
    rules::check_fits(Tensor::number(bound), dtype, name);
  }
}
template <bool HasLow>
std::vector<TensorType> randint_infer(std::span<const TensorType>, const Attrs& attrs) {
  const std::int64_t low = low_of(attrs, HasLow);
  const std::int64_t high = attrs.get<std::int64_t>("high");
  if (low >= high) {
    throw OpError(ErrorKind::Value,
                  fmt::format("randint: there is no integer from {} to before {}", low, high));
  }
  count_elements(attrs.get<Dims>("size"));
  const DType dtype = dtype_attr(attrs, DType::I64);
  check_range(low, high, dtype, "randint");
  return {{dtype, device_attr(attrs), attrs.get<Dims>("size")}};
}

std::vector<TensorType> randperm_infer(std::span<const TensorType>, const Attrs& attrs) {
  const Dims sizes{attrs.get<std::int64_t>("n")};
  count_elements(sizes);
  const DType dtype = dtype_attr(attrs, DType::I64);
  if (sizes[0] > 0) check_range(0, sizes[0], dtype, "randperm");
  return {{dtype, device_attr(attrs), sizes}};
}

std::vector<TensorType> skip_infer(std::span<const TensorType>, const Attrs&) {
  return {{DType::I64, default_device(), {}}};
}

// ---- bernoulli, dropout, multinomial ----

std::vector<TensorType> bernoulli_p_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_probability(attrs.get<double>("p"), "bernoulli");
  return rules::infer_same(inputs, attrs);
}

std::vector<TensorType> dropout_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_probability(attrs.get<double>("p"), "dropout");
  need_float(inputs[0], attrs);
  return rules::infer_same(inputs, attrs);
}
// Draws one number for each element of `like`, which has the sizes of x and is x where that is real.
Tensor dropped(const Tensor& x, const Tensor& like, const Attrs& attrs) {
  static const Op& bernoulli = op_named("bernoulli.p");
  const double p = attrs.get<double>("p");
  if (!attrs.get<bool>("training") || p == 0) return x;
  if (p == 1) return x * ops::zeros_like(like);
  const Tensor kept = apply_one(bernoulli, {like}, {1 - p});
  return x * (kept * (1 / (1 - p)));
}
Tensors dropout_body(const Op&, Inputs inputs, const Attrs& attrs) {
  return {dropped(inputs[0], inputs[0], attrs)};
}
// Both parts of an element are kept, or neither is.
Tensors dropout_of_complex(const Op&, Inputs inputs, const Attrs& attrs) {
  check_probability(attrs.get<double>("p"), "dropout");
  return {dropped(inputs[0], ops::real(inputs[0]), attrs)};
}

std::vector<TensorType> multinomial_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType& x = inputs[0];
  need_float(x, attrs);
  if (x.sizes.empty() || x.sizes.size() > 2) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("multinomial: expects a vector or a matrix of weights, got {}", to_string(x)),
                  {0});
  }
  const Dim samples = attrs.get<Dim>("num_samples");
  if (samples < 1)
    throw OpError(ErrorKind::Value,
                  fmt::format("multinomial: num_samples must be positive, it is {}", samples));
  if (!attrs.get<bool>("replacement") && samples > x.sizes.back()) {
    throw OpError(
        ErrorKind::Value,
        fmt::format("multinomial: {} different ones cannot be drawn from {}", samples, x.sizes.back()), {0},
        "`replacement=true` lets one be drawn again");
  }
  Dims sizes = x.sizes;
  sizes.back() = samples;
  return {{DType::I64, x.device, sizes}};
}

// ---- Batching: one draw for the whole batch, as vmap's `randomness="different"` asks ----

Tensors sized_batch(const BatchArgs& args) {
  Attrs attrs = args.attrs;
  attrs.set("size", rules::prepend(args.batch_size, args.attrs.get<Dims>("size")));
  return kiln::bind(args.op, args.inputs, attrs);
}
Tensors like_batch(const BatchArgs& args) {
  const Tensor x = rules::with_batch(args, 0);
  return kiln::bind(args.op, {&x, 1}, args.attrs);
}
Tensors multinomial_batch(const BatchArgs& args) {
  const Tensor x = rules::with_batch(args, 0);
  const Dim classes = x.size(x.rank() - 1);
  Dim count = 1;
  for (int d = 0; d < x.rank() - 1; ++d) count *= x.size(d);
  const Tensor rows = ops::reshape(x, Dims{count, classes});
  Dims sizes = x.sizes();
  sizes.back() = args.attrs.get<Dim>("num_samples");
  return {ops::reshape(kiln::bind(args.op, {&rows, 1}, args.attrs)[0], sizes)};
}

// ---- Rows ----

using Kind = Distribution::Kind;

Distribution unit_uniform(const Attrs&) { return {Kind::Uniform, 0, 1}; }
Distribution unit_normal(const Attrs&) { return {Kind::Normal, 0, 1}; }
Distribution given_uniform(const Attrs& attrs) {
  return {Kind::Uniform, attrs.get<double>("low"), attrs.get<double>("high")};
}
Distribution given_normal(const Attrs& attrs) {
  return {Kind::Normal, attrs.get<double>("mean"), attrs.get<double>("std")};
}
Distribution given_bernoulli(const Attrs& attrs) { return {Kind::Bernoulli, attrs.get<double>("p"), 0}; }

// `lowering`: how each element is drawn, where that is from one draw.
Op random_row(std::string_view signature, std::string_view documentation, std::string_view example,
              InferFn infer, Rule<BatchFn> batch, Lowering lowering, std::uint32_t traits = 0,
              OnnxRule onnx = {}, std::uint32_t effects = kDraws) {
  return {.signature = Signature::parse(signature),
          .family = "random",
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .vjp = Rule<VjpFn>::none(kChance),
          .jvp = Rule<JvpFn>::none(kChance),
          .batch = batch,
          .lowering = lowering,
          .traits = kStopsGradient | traits,
          .effects = effects,
          .onnx = onnx};
}

Op with_parts(Op row, BodyFn complex) {
  row.complex = complex;
  return row;
}

void add_floats(OpTable& table) {
  table.add(
      with_parts(random_row("rand(size: ints, *, dtype: dtype? = none, device: device? = none)",
                            "Numbers drawn evenly from 0 to before 1.", ">>> rand(2, 3).shape\n(2, 3)",
                            sized_infer, sized_batch, lowering::Draw{unit_uniform}, 0, onnx_rules::draw),
                 complex_rules::uniform_parts));
  table.add(with_parts(random_row("randn(size: ints, *, dtype: dtype? = none, device: device? = none)",
                                  "Numbers from the normal distribution with mean 0 and variance 1.",
                                  ">>> randn(2, 3).shape\n(2, 3)", sized_infer, sized_batch,
                                  lowering::Draw{unit_normal}, 0, onnx_rules::draw),
                       complex_rules::normal_parts));
  table.add(
      with_parts(random_row("rand_like(x: tensor, *, dtype: dtype? = none, device: device? = none)",
                            "`rand` with the type and shape of `x`.", ">>> rand_like(zeros(2)).shape\n(2,)",
                            like_infer, like_batch, lowering::Draw{unit_uniform}, 0, onnx_rules::draw),
                 complex_rules::uniform_parts));
  table.add(
      with_parts(random_row("randn_like(x: tensor, *, dtype: dtype? = none, device: device? = none)",
                            "`randn` with the type and shape of `x`.", ">>> randn_like(zeros(2)).shape\n(2,)",
                            like_infer, like_batch, lowering::Draw{unit_normal}, 0, onnx_rules::draw),
                 complex_rules::normal_parts));
  table.add(random_row("uniform(x: tensor, low: float = 0, high: float = 1)",
                       "Numbers drawn evenly from `low` to before `high`, with the type and shape of `x`; "
                       "`uniform_` fills `x`.",
                       ">>> zeros(2).uniform_(3, 3).tolist()\n[3.0, 3.0]", uniform_infer, like_batch,
                       lowering::Draw{given_uniform}, kInplace, onnx_rules::draw));
  table.add(random_row(
      "normal_functional(x: tensor, mean: float = 0, std: float = 1)",
      "Normal numbers with the type and shape of `x`: what `normal_` fills x with. `normal` takes means "
      "and deviations as tensors.",
      ">>> zeros(2).normal_(3, 0).tolist()\n[3.0, 3.0]", normal_infer, like_batch,
      lowering::Draw{given_normal}, kInplace, onnx_rules::draw));
}

void add_discrete(OpTable& table) {
  table.add(random_row("randint(high: int, size: ints, *, dtype: dtype? = none, device: device? = none)",
                       "Integers drawn evenly from 0 to before `high`.",
                       ">>> randint(1, [3]).tolist()\n[0, 0, 0]", randint_infer<false>, sized_batch,
                       Lowering::Create, 0, onnx_rules::draw));
  table.add(random_row(
      "randint.low(low: int, high: int, size: ints, *, dtype: dtype? = none, device: device? = none)",
      "Integers drawn evenly from `low` to before `high`.", ">>> randint(5, 6, [3]).tolist()\n[5, 5, 5]",
      randint_infer<true>, sized_batch, Lowering::Create, 0, onnx_rules::draw));
  table.add(random_row("randperm(n: int, *, dtype: dtype? = none, device: device? = none)",
                       "The integers from 0 to before `n` in random order.",
                       ">>> randperm(4).sort()[0].tolist()\n[0, 1, 2, 3]", randperm_infer,
                       Rule<BatchFn>::none(kShuffle), Lowering::Create, 0,
                       OnnxRule::none("a shuffle depends on one draw after the other")));
  table.add(random_row(
      "skip_draws(count: int)",
      "Sets the generator ahead by `count` draws, or back when it is negative; gives `count`. In graphs of "
      "`vmap` it stands where examples draw alike, or only a part of them draws.",
      ">>> a = rand(2)\n>>> b = skip_draws(-1)\n>>> equal(a, rand(2))\ntrue", skip_infer,
      Rule<BatchFn>::none(kNoExample), Lowering::Create, kFixesNumbers,
      OnnxRule::none("a model keeps no generator")));
  table.add(random_row("bernoulli(x: tensor)",
                       "1 with the probability that each element of `x` gives, else 0.",
                       ">>> bernoulli(tensor([0.0, 1.0])).tolist()\n[0.0, 1.0]", float_like_infer, like_batch,
                       Lowering::Create, 0, onnx_rules::draw, kDraws | kMayFail));
  table.add(
      random_row("bernoulli.p(x: tensor, p: float = 0.5)",
                 "1 with probability `p`, else 0, with the type and shape of `x`; `bernoulli_` fills `x`.",
                 ">>> zeros(2).bernoulli_(1.0).tolist()\n[1.0, 1.0]", bernoulli_p_infer, like_batch,
                 lowering::Draw{given_bernoulli}, kInplace, onnx_rules::draw));
  table.add(
      random_row("poisson(x: tensor)",
                 "Numbers of events from Poisson distributions with the rates that the elements of `x` are.",
                 ">>> poisson(tensor([0.0])).tolist()\n[0.0]", float_like_infer, like_batch, Lowering::Create,
                 0, OnnxRule::none("no operator of ONNX draws numbers of events"), kDraws | kMayFail));
  table.add(random_row("multinomial(x: tensor, num_samples: int, replacement: bool = false)",
                       "Indices drawn with the weights in the last dimension.",
                       ">>> multinomial(tensor([0.0, 3.0]), 1).tolist()\n[1]", multinomial_infer,
                       multinomial_batch, Lowering::Create, 0,
                       OnnxRule::none("choices depend on the weights one after the other"),
                       kDraws | kMayFail));
  Op dropout = random_row(
      "dropout(x: tensor, p: float = 0.5, training: bool = true)",
      "Zeros each element with probability `p` and scales the others by 1 / (1 - p); `x` itself when not "
      "training.",
      ">>> dropout(ones(2), 0.5, training=false).tolist()\n[1.0, 1.0]", dropout_infer,
      Rule<BatchFn>::none(kComposite), Lowering::Composite, 0);
  dropout.vjp = Rule<VjpFn>::none(kComposite);
  dropout.jvp = Rule<JvpFn>::none(kComposite);
  dropout.traits = 0;
  dropout.decompose = dropout_body;
  dropout.complex = dropout_of_complex;
  table.add(std::move(dropout));
}

}  // namespace

void add_random_ops(OpTable& table) {
  add_floats(table);
  add_discrete(table);
}

}  // namespace kiln
