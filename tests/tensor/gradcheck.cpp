#include "gradcheck.h"

#include <cmath>
#include <sstream>

#include "tensor/autograd.h"
#include "tensor/functions.h"

namespace kiln::gradients {
namespace {

template <class T>
double read(T value) {
  if constexpr (requires { to_float(value); }) {
    return static_cast<double>(to_float(value));
  } else {
    return static_cast<double>(value);
  }
}
template <class T>
T written(double value) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_half(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return static_cast<T>(value);
  }
}

bool takes_part(const Tensor& x) { return x && is_float(x.dtype()) && !x.is_number(); }

// The inputs as new leaves of equal values and layouts.
std::vector<Tensor> leaves(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) {
    result.push_back(takes_part(input) ? ops::clone(ops::detach(input)) : input);
    if (takes_part(input)) set_requires_grad(result.back(), true);
  }
  return result;
}

// A combination of the float tensors with fixed weights: one number that depends on all of them.
Tensor combine(const std::vector<Tensor>& tensors, int seed) {
  Tensor total;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!takes_part(tensors[i])) continue;
    const Tensor weights =
        scattered(tensors[i].sizes(), 0.5, 1.5, seed + static_cast<int>(i), tensors[i].dtype());
    const Tensor part = ops::sum(tensors[i] * weights);
    total = total ? total + part : part;
  }
  return total;
}

std::vector<Tensor> selected(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) {
    if (takes_part(input)) result.push_back(input);
  }
  return result;
}

std::vector<Tensor> tape_gradients(const Function& f, const std::vector<Tensor>& inputs, int seed,
                                   bool create_graph) {
  const std::vector<Tensor> wanted = selected(inputs);
  const Tensor total = combine(f(inputs), seed);
  if (!total || !requires_grad(total)) return std::vector<Tensor>(wanted.size());
  return grads({total}, wanted, {}, create_graph, create_graph, true);
}

double value_of(const Function& f, const std::vector<Tensor>& inputs, int seed) {
  const Tensor total = combine(f(leaves(inputs)), seed);
  return total ? total.item_float() : 0.0;
}

// d value_of / d inputs[which][element]
double difference(const Function& f, const std::vector<Tensor>& inputs, std::size_t which,
                  std::size_t element, int seed, double step) {
  const auto moved = [&](double by) {
    std::vector<double> elements = values(inputs[which]);
    elements[element] += by;
    std::vector<Tensor> result = inputs;
    result[which] = make(elements, inputs[which].sizes(), inputs[which].dtype());
    return value_of(f, result, seed);
  };
  return (moved(step) - moved(-step)) / (2 * step);
}

std::string compare(const Function& f, const std::vector<Tensor>& inputs, int seed, Tolerance tolerance,
                    const char* order) {
  const std::vector<Tensor> variables = leaves(inputs);
  const std::vector<Tensor> computed = tape_gradients(f, variables, seed, false);
  std::ostringstream text;
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!takes_part(inputs[i])) continue;
    const Tensor& grad = computed[next++];
    if (grad && grad.type() != inputs[i].type()) {
      text << order << " gradient of input " << i << " is a " << to_string(grad.type()) << "\n";
      continue;
    }
    const std::vector<double> got =
        grad ? values(grad) : std::vector<double>(static_cast<std::size_t>(inputs[i].numel()));
    for (std::size_t k = 0; k < got.size(); ++k) {
      const double wanted = difference(f, inputs, i, k, seed, tolerance.step);
      if (std::abs(got[k] - wanted) <= tolerance.relative * std::max(1.0, std::abs(wanted))) continue;
      text << order << " gradient of input " << i << " at element " << k << ": tape " << got[k]
           << ", differences " << wanted << "\n";
    }
  }
  return text.str();
}

}  // namespace

Tensor make(const std::vector<double>& elements, const Dims& sizes, DType dtype) {
  Tensor x = Tensor::empty(sizes, dtype, Device{});
  visit_dtype(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < elements.size(); ++i) x.writable<T>()[i] = written<T>(elements[i]);
  });
  return x;
}
Tensor vec(const std::vector<double>& elements, DType dtype) {
  return make(elements, Dims{static_cast<Dim>(elements.size())}, dtype);
}
Tensor scalar(double value, DType dtype) { return make({value}, Dims{}, dtype); }
Tensor variable(const std::vector<double>& elements, const Dims& sizes, DType dtype) {
  Tensor x = make(elements, sizes, dtype);
  set_requires_grad(x, true);
  return x;
}
Tensor variable(const std::vector<double>& elements, DType dtype) {
  return variable(elements, Dims{static_cast<Dim>(elements.size())}, dtype);
}

Tensor scattered(const Dims& sizes, double low, double high, int seed, DType dtype) {
  std::vector<double> elements;
  auto state = static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15ULL + 1;
  for (std::int64_t i = count_elements(sizes); i > 0; --i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    elements.push_back(low + (high - low) * static_cast<double>(state >> 11) / 0x1p53);
  }
  return make(elements, sizes, dtype);
}

std::vector<double> values(const Tensor& x) {
  const GradMode off(false);
  const Tensor dense = ops::contiguous(x);
  std::vector<double> result;
  visit_dtype(x.dtype(), [&]<class T>() {
    for (std::int64_t i = 0; i < dense.numel(); ++i) result.push_back(read(dense.data<T>()[i]));
  });
  return result;
}

std::string compare_gradients(const Function& f, const std::vector<Tensor>& inputs, int orders,
                              Tolerance tolerance) {
  std::string found = compare(f, inputs, 1, tolerance, "first");
  if (orders < 2) return found;
  const Function gradient = [&f](const std::vector<Tensor>& variables) {
    return tape_gradients(f, variables, 1, true);
  };
  return found + compare(gradient, inputs, 40, tolerance, "second");
}

}  // namespace kiln::gradients
