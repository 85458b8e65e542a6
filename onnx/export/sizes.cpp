// Sizes in scopes: ints are constants, symbols are read from shapes, expressions are computed.
#include <algorithm>

#include "onnx/export/model_writer.h"
#include "tensor/host_view.h"
#include "tensor/size_expression.h"

namespace kiln::onnx {
namespace {

Tensor int_tensor(std::span<const std::int64_t> values, bool is_scalar) {
  std::vector<Dim> sizes;
  if (!is_scalar) sizes.emplace_back(values.size());
  Tensor result = Tensor::empty(sizes, DType::I64, Device{});
  const WritableHostView elements(result);
  std::ranges::copy(values, elements.as<std::int64_t>());
  return result;
}

}  // namespace

int Scope::opset() const { return model_.options().opset; }
bool Scope::draws_at_runtime() const { return model_.options().draws_at_runtime; }

void Scope::show_sizes(const std::string& value, const jit::Type& type) {
  for (std::size_t axis = 0; axis < type.sizes.size(); ++axis) {
    const Dim& size = type.sizes[axis];
    if (size.is_known()) continue;
    const std::string text = size.text();
    const auto& terms = terms_of(size);
    const bool is_symbol = constant_of(size) == 0 && terms.size() == 1 && terms[0].coefficient == 1 &&
                           terms[0].factors.size() == 1 &&
                           terms[0].factors[0]->kind == SizeAtom::Kind::Symbol;
    if (is_symbol) symbols_.try_emplace(text, SymbolSource{value, static_cast<int>(axis)});
  }
}

std::string Scope::symbol(const std::string& name) {
  const auto found = symbols_.find(name);
  if (found == symbols_.end()) {
    const std::string value = fresh(name);
    missing_.emplace_back(name, value);
    give_symbol(name, value);
    return value;
  }
  if (found->second.axis < 0) return found->second.value;
  const std::string shape = add("Shape", {found->second.value}, {}, 1)[0];
  const std::int64_t axis = found->second.axis;
  const std::string index = constant(int_tensor({&axis, 1}, true));
  const std::string value = add("Gather", {shape, index}, {{"axis", std::int64_t{0}}}, 1)[0];
  found->second = {value, -1};
  return value;
}

std::string Scope::size(const Dim& size) {
  if (size.is_known()) {
    const std::int64_t value = size.known();
    return constant(int_tensor({&value, 1}, true));
  }
  const std::string text = size.text();
  if (const auto found = sizes_.find(text); found != sizes_.end()) return found->second;
  const std::string value = one_size(size);
  sizes_.emplace(text, value);
  shared_.insert(value);
  return value;
}

// Floor division and remainder of sizes: Div truncates, and Mod has the sign of the divisor.
std::string Scope::one_size(const Dim& whole) {
  const auto atom = [this](const SizeAtom& each) -> std::string {
    switch (each.kind) {
      case SizeAtom::Kind::Symbol:
        return symbol(each.text);
      case SizeAtom::Kind::FloorDiv: {
        const std::string a = size(each.a), b = size(each.b);
        const std::string rest = add("Mod", {a, b}, {}, 1)[0];
        return add("Div", {add("Sub", {a, rest}, {}, 1)[0], b}, {}, 1)[0];
      }
      case SizeAtom::Kind::Mod:
        return add("Mod", {size(each.a), size(each.b)}, {}, 1)[0];
      case SizeAtom::Kind::Min:
        return add("Min", {size(each.a), size(each.b)}, {}, 1)[0];
      case SizeAtom::Kind::Max:
        return add("Max", {size(each.a), size(each.b)}, {}, 1)[0];
    }
    throw InternalError("an atom of a size of no kind");
  };
  std::string sum;
  for (const SizeTerm& term : terms_of(whole)) {
    std::string product;
    for (const SizeAtom* factor : term.factors) {
      const std::string value = atom(*factor);
      product = product.empty() ? value : add("Mul", {product, value}, {}, 1)[0];
    }
    if (term.coefficient != 1) product = add("Mul", {product, size(term.coefficient)}, {}, 1)[0];
    sum = sum.empty() ? product : add("Add", {sum, product}, {}, 1)[0];
  }
  if (constant_of(whole) != 0) sum = add("Add", {sum, size(constant_of(whole))}, {}, 1)[0];
  return sum;
}

std::string Scope::sizes(std::span<const Dim> list) {
  if (std::ranges::all_of(list, [](const Dim& each) { return each.is_known(); })) {
    std::vector<std::int64_t> ints;
    for (const Dim& each : list) ints.push_back(each.known());
    return constant(int_tensor(ints, false));
  }
  std::vector<std::string> parts;
  const std::int64_t one = 1;
  const std::string row = constant(int_tensor({&one, 1}, false));
  for (const Dim& each : list) parts.push_back(add("Reshape", {size(each), row}, {}, 1)[0]);
  return add("Concat", std::move(parts), {{"axis", std::int64_t{0}}}, 1)[0];
}

}  // namespace kiln::onnx
