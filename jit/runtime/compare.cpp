#include "jit/runtime/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <type_traits>

#include "jit/graph/custom.h"
#include "jit/graph/evaluate.h"
#include "tensor/autograd.h"
#include "tensor/error.h"
#include "tensor/functions.h"
#include "tensor/generator_scope.h"
#include "tensor/host_view.h"
#include "tensor/levels/wrapper.h"
#include "tensor/storage.h"
#include "tensor/tape/meta.h"

namespace kiln::jit {

std::vector<Tensor> copies_of(Inputs tensors) {
  std::map<const Storage*, Tensor> memories;  // flat, from the beginning of each
  std::vector<Tensor> copies;
  for (const Tensor& each : tensors) {
    if (levels::wrapper_of(each) != nullptr) return {};
    if (each.is_number()) {
      copies.push_back(each);
      continue;
    }
    const auto [found, fresh] = memories.try_emplace(each.storage().get());
    if (fresh) {
      const auto count = static_cast<std::int64_t>(each.storage()->bytes() / size_of(each.dtype()));
      found->second = Tensor::empty(Dims{count}, each.dtype(), each.device());
      copy_bytes(*found->second.storage()->buffer(), 0, *each.storage()->buffer(), 0,
                 static_cast<std::size_t>(count) * size_of(each.dtype()));
    }
    if (found->second.dtype() != each.dtype()) return {};
    copies.push_back(Tensor::alias(found->second, each.layout()));
  }
  return copies;
}

Outcome run_on(const RunGraph& run, std::vector<Tensor> arguments) {
  const GeneratorScope draws_nothing;
  Outcome outcome;
  try {
    const Tensors results = run(arguments);
    outcome.results.assign(results.begin(), results.end());
  } catch (const OpError& error) {
    outcome.error = error.message();
    outcome.refused = error.kind() == ErrorKind::Capture;
  }
  outcome.arguments = std::move(arguments);
  return outcome;
}

OutcomeNames names_of(const Graph& graph) {
  const std::vector<std::string> values = value_names(graph);
  OutcomeNames names;
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const Operand& each = graph.outputs[k];
    const std::string name = each.is_value() ? " (" + values[static_cast<std::size_t>(each.value)] + ")" : "";
    names.results.push_back(fmt::format("result {}{}", k + 1, name));
  }
  names.arguments.resize(static_cast<std::size_t>(graph.argument_count()));
  const std::vector<int> places = graph.arguments();
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (places[i] >= 0) names.arguments[static_cast<std::size_t>(places[i])] = "argument " + values[i];
    for (std::size_t k = 0; k < graph.inputs[i].members.size(); ++k) {
      names.arguments[static_cast<std::size_t>(graph.inputs[i].members[k])] =
          fmt::format("argument {}.{}", values[i], k);
    }
  }
  return names;
}

namespace {

// Of an element of a tensor that is row by row, by its number.
std::string element_text(const Tensor& x, const HostView& elements, std::int64_t at) {
  return visit_dtype(x.dtype(), [&]<class T>() {
    const T value = elements.as<T>()[at];
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return fmt::format("{}", static_cast<double>(to_float(value)));
    } else if constexpr (std::is_floating_point_v<T>) {
      return fmt::format("{}", static_cast<double>(value));
    } else {
      return fmt::format("{}", value);  // a bool as true or false
    }
  });
}

// "[1, 2]" of an element by its number.
std::string index_text(const IntDims& sizes, std::int64_t at) {
  std::vector<std::int64_t> index(sizes.size());
  for (std::size_t d = sizes.size(); d-- > 0; at /= sizes[d]) index[d] = at % sizes[d];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

bool is_nan_at(const HostView& as_f64, std::int64_t at) { return std::isnan(as_f64.as<double>()[at]); }

std::string tensor_difference(const Tensor& x, const Tensor& y) {
  if (x.is_number() != y.is_number() || x.dtype() != y.dtype() || x.sizes() != y.sizes())
    return fmt::format(" is {}, the interpreter has {}", to_string(x.type()), to_string(y.type()));
  if (is_complex(x.dtype())) {
    const GradMode off(false);
    return tensor_difference(ops::view_as_real(x), ops::view_as_real(y));
  }
  const HostView a(x, x.dtype()), b(y, y.dtype());
  if (std::memcmp(a.bytes(), b.bytes(), a.byte_count()) == 0) return "";
  std::optional<HostView> a_f64, b_f64;
  if (is_float(x.dtype())) {
    a_f64.emplace(x, DType::F64);
    b_f64.emplace(y, DType::F64);
  }
  const std::size_t item = size_of(x.dtype());
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const auto offset = static_cast<std::size_t>(i) * item;
    if (std::memcmp(a.bytes() + offset, b.bytes() + offset, item) == 0) continue;
    if (a_f64 && is_nan_at(*a_f64, i) && is_nan_at(*b_f64, i)) continue;
    const std::string where = x.sizes().empty() ? "" : index_text(x.sizes(), i);
    return fmt::format("{} is {}, the interpreter has {}", where, element_text(x, a, i),
                       element_text(y, b, i));
  }
  return "";
}

// Results first, then arguments.
struct Row {
  const std::string* name;
  const Tensor* compiled;
  const Tensor* interpreted;
};

std::string memory_difference(const std::vector<Row>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = i + 1; k < rows.size(); ++k) {
      const bool compiled = shares_storage(*rows[i].compiled, *rows[k].compiled);
      if (compiled == shares_storage(*rows[i].interpreted, *rows[k].interpreted)) continue;
      return fmt::format("{} and {} {} memory, in the interpreter they {}", *rows[i].name, *rows[k].name,
                         compiled ? "share" : "share no", compiled ? "do not" : "do");
    }
  }
  return "";
}

}  // namespace

std::string first_difference(const Outcome& compiled, const Outcome& interpreted, const OutcomeNames& names) {
  if (compiled.error != interpreted.error) {
    if (interpreted.error.empty()) return "it failed, and in the interpreter it does not: " + compiled.error;
    return "it did not fail as in the interpreter: " + interpreted.error;
  }
  if (!compiled.error.empty()) return "";
  if (compiled.results.size() != interpreted.results.size()) return "it has another number of results";
  std::vector<Row> rows;
  for (std::size_t k = 0; k < compiled.results.size(); ++k)
    rows.push_back({&names.results[k], &compiled.results[k], &interpreted.results[k]});
  for (std::size_t k = 0; k < compiled.arguments.size(); ++k)
    rows.push_back({&names.arguments[k], &compiled.arguments[k], &interpreted.arguments[k]});
  for (const Row& each : rows) {
    const std::string found = tensor_difference(*each.compiled, *each.interpreted);
    if (!found.empty()) return *each.name + found;
  }
  std::erase_if(rows, [](const Row& each) { return each.interpreted->is_number(); });
  return memory_difference(rows);
}

namespace {

// Zeros where a result leads to no argument.
Tensors gradients_of(Inputs results, Inputs arguments, const std::vector<bool>& wanted) {
  std::vector<Tensor> outputs, weights, inputs;
  for (const Tensor& each : results) {
    if (!requires_grad(each)) continue;
    outputs.push_back(each);
    weights.push_back(ops::ones_like(each));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (wanted[i]) inputs.push_back(arguments[i]);
  }
  Tensors gradients;
  std::vector<Tensor> found(inputs.size());
  if (!outputs.empty()) found = grads(outputs, inputs, weights, false, false, true);
  // Copies, so that memory which gradients share makes no difference.
  for (std::size_t i = 0; i < inputs.size(); ++i)
    gradients.push_back(found[i] ? ops::clone(found[i]) : ops::zeros_like(inputs[i]));
  return gradients;
}

}  // namespace

std::string gradient_difference(const Graph& graph, const RunGraph& compiled, Inputs arguments,
                                const std::vector<bool>& wanted) {
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end() || !custom_ops(graph).empty()) return "";
  const auto gradients_by = [&](const RunGraph& run) {
    std::vector<Tensor> leaves = copies_of(arguments);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (wanted[i]) set_requires_grad(leaves[i], true);
    }
    Outcome outcome =
        run_on([&](Inputs given) { return gradients_of(run(given), given, wanted); }, std::move(leaves));
    outcome.arguments.clear();  // what becomes of them is compared elsewhere
    return outcome;
  };
  const Outcome expected = gradients_by([&graph](Inputs given) { return evaluate(graph, given); });
  if (!expected.error.empty()) return "";
  const Outcome found = gradients_by(compiled);
  if (found.refused) return "";
  OutcomeNames names;
  const std::vector<std::string> of = names_of(graph).arguments;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) names.results.push_back("the gradient of " + of[i]);
  }
  return first_difference(found, expected, names);
}

Requiring requiring(Inputs results, Inputs arguments) {
  Requiring found;
  for (const Tensor& each : results) found.results.push_back(each && requires_grad(each));
  for (const Tensor& each : arguments) found.arguments.push_back(each && requires_grad(each));
  return found;
}

std::optional<Requiring> requiring_after(const Graph& graph, const RunGraph& run, Inputs arguments,
                                         const std::vector<bool>& wanted) {
  if (!custom_ops(graph).empty()) return std::nullopt;
  std::vector<Tensor> copies = copies_of(arguments);
  if (copies.size() != arguments.size()) return std::nullopt;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (!wanted[i]) continue;
    const Tensor leaf = copies[i];
    set_requires_grad(leaf, true);
    copies[i] = ops::clone(leaf);  // one that may be written
  }
  const Outcome outcome = run_on(run, std::move(copies));
  if (!outcome.error.empty()) return std::nullopt;
  return requiring(outcome.results, outcome.arguments);
}

std::string requiring_difference(const Requiring& compiled, const Requiring& interpreted,
                                 const OutcomeNames& names) {
  const auto first = [](const std::vector<bool>& a, const std::vector<bool>& b,
                        const std::vector<std::string>& of) {
    for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) {
      if (a[k] != b[k])
        return fmt::format("{} {} a gradient, in the interpreter it does{}", of[k],
                           a[k] ? "requires" : "requires no", a[k] ? " not" : "");
    }
    return std::string();
  };
  const std::string found = first(compiled.results, interpreted.results, names.results);
  return found.empty() ? first(compiled.arguments, interpreted.arguments, names.arguments) : found;
}

}  // namespace kiln::jit
