// Recurrent layers, unrolled over their steps: RNN, GRU, LSTM.
#include "onnx/import/call.h"
#include "onnx/import/quantize.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

Tensor activated(Call& call, const Activation& f, const Tensor& x) {
  if (f.name == "Sigmoid") return ops::sigmoid(x);
  if (f.name == "Tanh") return ops::tanh(x);
  if (f.name == "Relu") return ops::relu(x);
  if (f.name == "Affine") return x * f.alpha + f.beta;
  if (f.name == "LeakyRelu") return apply("leaky_relu", {x}, {{"negative_slope", f.alpha}});
  if (f.name == "HardSigmoid") return ops::clamp(x * f.alpha + f.beta, 0, 1);
  if (f.name == "ScaledTanh") return ops::tanh(x * f.beta) * f.alpha;
  if (f.name == "Elu") return apply("elu", {x}, {{"alpha", f.alpha}});
  if (f.name == "Softsign") return x / (ops::abs(x) + 1.0);
  if (f.name == "Softplus") return ops::relu(x) + ops::log1p(ops::exp(-ops::abs(x)));
  call.refuse("has the unknown activation " + f.name);
}

// The numbers that an activation has when the node says none.
Activation with_defaults(const std::string& name) {
  if (name == "LeakyRelu") return {name, static_cast<double>(0.01F), 0};
  if (name == "HardSigmoid") return {name, static_cast<double>(0.2F), 0.5};
  if (name == "Affine" || name == "ScaledTanh" || name == "Elu")
    return {name, 1, name == "ScaledTanh" ? 1.0 : 0.0};
  return {name};
}

std::vector<Activation> activations(Call& call, std::span<const std::string_view> usual,
                                    std::size_t directions) {
  std::vector<std::string> names = call.words("activations");
  if (names.empty()) {
    for (std::size_t d = 0; d < directions; ++d) names.insert(names.end(), usual.begin(), usual.end());
  }
  if (names.size() != usual.size() * directions)
    call.refuse("has other numbers of activations and directions");
  const std::vector<float> alphas = call.reals("activation_alpha").value_or(std::vector<float>());
  const std::vector<float> betas = call.reals("activation_beta").value_or(std::vector<float>());
  std::vector<Activation> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Activation f = with_defaults(names[i]);
    if (i < alphas.size()) f.alpha = static_cast<double>(alphas[i]);
    if (i < betas.size()) f.beta = static_cast<double>(betas[i]);
    all.push_back(f);
  }
  return all;
}

// A matrix [rows, inputs]: floats, or whole numbers of 8 bits less their zero point, as floats, with a scale.
struct Weight {
  Tensor matrix, scale;  // the scale of all rows or of each; absent: floats
};

// One direction of a layer: the gates lie behind each other in the rows of the weights.
struct Layer {
  Weight weight, recurrent;
  Tensor bias, recurrent_bias;  // may be absent
  Tensor peepholes;
  std::span<const Activation> f;
  int gates = 1;
};

struct State {
  Tensor h, c;
};

Tensor gate(const Tensor& all, int k, Dim size) { return ops::narrow(all, 1, k * size, size); }
Tensor rows(const Tensor& all, int first, int count, Dim size) {
  return ops::narrow(all, 0, first * size, count * size);
}
Weight rows(const Weight& all, int first, int count, Dim size) {
  const bool is_each = all.scale && all.scale.rank() == 1;
  return {rows(all.matrix, first, count, size), is_each ? rows(all.scale, first, count, size) : all.scale};
}
Tensor plus(const Tensor& x, const Tensor& bias) { return bias ? x + bias : x; }
// Quantized weights are for x that is quantized by its own elements: products of whole numbers, then scaled.
Tensor times(const Tensor& x, const Weight& weight) {
  const Tensor matrix = ops::transpose(weight.matrix, 0, 1);
  if (!weight.scale) return ops::matmul(x, matrix);
  const DynamicQuantized from = dynamically_quantized(x);
  const Tensor whole = ops::to(from.whole, DType::F32) - ops::to(from.zero, DType::F32);
  return ops::matmul(whole, matrix) * (from.scale * weight.scale);
}

Tensor clipped(Call& call, const Tensor& x) {
  const double clip = call.real("clip", 0);
  return clip > 0 ? ops::clamp(x, -clip, clip) : x;
}

State rnn_step(Call& call, const Layer& layer, const Tensor& x, const State& before, Dim) {
  const Tensor sum = plus(x + times(before.h, layer.recurrent), layer.recurrent_bias);
  return {activated(call, layer.f[0], clipped(call, sum)), {}};
}

State gru_step(Call& call, const Layer& layer, const Tensor& x, const State& before, Dim size) {
  const Tensor bias = layer.recurrent_bias;
  const Tensor both =
      plus(times(before.h, rows(layer.recurrent, 0, 2, size)), bias ? rows(bias, 0, 2, size) : Tensor());
  const Tensor z = activated(call, layer.f[0], clipped(call, gate(x, 0, size) + gate(both, 0, size)));
  const Tensor r = activated(call, layer.f[0], clipped(call, gate(x, 1, size) + gate(both, 1, size)));
  const Weight last = rows(layer.recurrent, 2, 1, size);
  const Tensor last_bias = bias ? rows(bias, 2, 1, size) : Tensor();
  const bool is_linear = call.integer("linear_before_reset", 0) != 0;
  const Tensor memory =
      is_linear ? r * plus(times(before.h, last), last_bias) : plus(times(r * before.h, last), last_bias);
  const Tensor made = activated(call, layer.f[1], clipped(call, gate(x, 2, size) + memory));
  return {(1.0 - z) * made + z * before.h, {}};
}

State lstm_step(Call& call, const Layer& layer, const Tensor& x, const State& before, Dim size) {
  const Tensor sum = plus(x + times(before.h, layer.recurrent), layer.recurrent_bias);
  const auto seen = [&](int k, const Tensor& from, const Tensor& cell) {
    if (!layer.peepholes) return from;
    return from + rows(layer.peepholes, k, 1, size) * cell;
  };
  const Tensor i = activated(call, layer.f[0], clipped(call, seen(0, gate(sum, 0, size), before.c)));
  const Tensor f = call.integer("input_forget", 0) != 0
                       ? 1.0 - i
                       : activated(call, layer.f[0], clipped(call, seen(2, gate(sum, 2, size), before.c)));
  const Tensor made = activated(call, layer.f[1], clipped(call, gate(sum, 3, size)));
  const Tensor c = f * before.c + i * made;
  const Tensor o = activated(call, layer.f[0], clipped(call, seen(1, gate(sum, 1, size), c)));
  return {o * activated(call, layer.f[2], c), c};
}

using Step = State (*)(Call&, const Layer&, const Tensor&, const State&, Dim);

// All steps; sequences that have ended keep their state and give zeros. A sequence that is read backward is
// reversed up to its own length.
struct Run {
  std::vector<Tensor> results;
  State last;
};
Run run_direction(Call& call, Step step, const Layer& layer, const Tensor& x, State state,
                  const Tensor& lengths, bool is_backward, Dim size) {
  const std::int64_t count = x.size(0).fixed();
  const Tensor weighed = plus(times(x, layer.weight), layer.bias);
  Run run{std::vector<Tensor>(static_cast<std::size_t>(count)), {}};
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t t = is_backward ? count - 1 - k : k;
    const State next = step(call, layer, ops::select(weighed, 0, t), state, size);
    if (!lengths) {
      state = next;
      run.results[static_cast<std::size_t>(t)] = next.h;
      continue;
    }
    const Tensor goes_on = ops::unsqueeze(ops::gt(lengths, Tensor::number(t)), 1);
    state.h = ops::where(goes_on, next.h, state.h);
    if (next.c) state.c = ops::where(goes_on, next.c, state.c);
    run.results[static_cast<std::size_t>(t)] = ops::where(goes_on, next.h, scalar(0, next.h.dtype()));
  }
  run.last = state;
  return run;
}

// Input `i` of a direction.
using WeightOf = Weight (*)(Call& call, std::size_t i, std::int64_t direction);

Weight floats(Call& call, std::size_t i, std::int64_t direction) {
  return {ops::select(call.x(i), 0, direction), {}};
}
// Columns of whole numbers; scales and zero points of W and R are inputs from 8 on.
Weight quantized(Call& call, std::size_t i, std::int64_t direction) {
  const std::size_t scales = i == 1 ? 8 : 10;
  Tensor whole = ops::to(ops::select(call.x(i), 0, direction), DType::F32);
  if (call.has(scales + 1))
    whole = whole - ops::to(ops::select(call.x(scales + 1), 0, direction), DType::F32);
  return {ops::transpose(whole, 0, 1), ops::select(call.x(scales), 0, direction)};
}

Values recurrent(Call& call, Step step, int gates, std::span<const std::string_view> usual, bool has_cell,
                 WeightOf weight_of = floats) {
  const bool is_batch_first = call.integer("layout", 0) != 0;
  Tensor x = call.x(0);
  if (is_batch_first) x = ops::transpose(x, 0, 1);
  const Tensor weight = call.x(1), recurrence = call.x(2);
  const std::string direction = call.word("direction", "forward");
  const std::size_t directions = direction == "bidirectional" ? 2 : 1;
  if (weight.size(0) != static_cast<std::int64_t>(directions))
    call.refuse("has weights of other numbers of directions");
  if (x.size(0).fixed() < 1) call.refuse("has no step");
  const Dim size = recurrence.size(weight_of == floats ? 2 : 1);
  const std::vector<Activation> f = activations(call, usual, directions);
  std::vector<Tensor> results, last_h, last_c;
  for (std::size_t d = 0; d < directions; ++d) {
    const auto at = static_cast<std::int64_t>(d);
    Layer layer{weight_of(call, 1, at), weight_of(call, 2, at), {}, {}, {}, {}, gates};
    layer.f = std::span(f).subspan(d * usual.size(), usual.size());
    if (call.has(3)) {
      const Tensor both = ops::select(call.x(3), 0, at);
      layer.bias = rows(both, 0, gates, size);
      layer.recurrent_bias = rows(both, gates, gates, size);
    }
    if (has_cell && call.has(7)) layer.peepholes = ops::select(call.x(7), 0, at);
    const auto initial = [&](std::size_t input) {
      if (!call.has(input)) return ops::zeros(Dims{x.size(1), size}, x.dtype());
      const Tensor given = is_batch_first ? ops::transpose(call.x(input), 0, 1) : call.x(input);
      return ops::select(given, 0, at);
    };
    State state{initial(5), has_cell ? initial(6) : Tensor()};
    Run run =
        run_direction(call, step, layer, x, state, call.maybe(4), direction == "reverse" || d == 1, size);
    results.push_back(ops::stack(run.results, 0));
    last_h.push_back(run.last.h);
    if (has_cell) last_c.push_back(run.last.c);
  }
  Tensor y = ops::stack(results, 1);  // [steps, directions, n, size]
  if (is_batch_first) y = ops::permute(y, Dims{2, 0, 1, 3});
  const int stacked = is_batch_first ? 1 : 0;
  return {y, ops::stack(last_h, stacked), has_cell ? Value(ops::stack(last_c, stacked)) : Value()};
}

Values rnn(Call& call) {
  constexpr std::string_view usual[] = {"Tanh"};
  return recurrent(call, rnn_step, 1, usual, false);
}
Values gru(Call& call) {
  constexpr std::string_view usual[] = {"Sigmoid", "Tanh"};
  return recurrent(call, gru_step, 3, usual, false);
}
Values lstm(Call& call) {
  constexpr std::string_view usual[] = {"Sigmoid", "Tanh", "Tanh"};
  return recurrent(call, lstm_step, 4, usual, true);
}

Values quantized_lstm(Call& call) {
  constexpr std::string_view usual[] = {"Sigmoid", "Tanh", "Tanh"};
  return recurrent(call, lstm_step, 4, usual, true, quantized);
}

constexpr Operator kRecurrentOperators[] = {
    {"DynamicQuantizeLSTM", quantized_lstm, "com.microsoft"},
    {"GRU", gru},
    {"LSTM", lstm},
    {"RNN", rnn},
};

}  // namespace

std::span<const Operator> recurrent_operators() { return kRecurrentOperators; }

}  // namespace kiln::onnx
