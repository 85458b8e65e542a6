#include "tensor/op.h"

namespace kiln {

int Signature::attr_index(std::string_view wanted) const {
  int index = 0;
  for (const Parameter& parameter : parameters) {
    if (parameter.kind <= ArgKind::OptionalTensorList) continue;
    if (parameter.name == wanted) return index;
    ++index;
  }
  throw InternalError("op '" + name + "' has no attribute '" + std::string(wanted) + "'");
}

Attrs::Attrs(const Op& op) : op_(&op) {
  for (const Parameter& parameter : op.signature.parameters) {
    if (parameter.kind > ArgKind::OptionalTensorList) values_.push_back(parameter.default_value);
  }
}

const Attr& Attrs::at(std::string_view name) const {
  if (op_ == nullptr) throw InternalError("attribute '" + std::string(name) + "' asked of no op");
  return values_[static_cast<std::size_t>(op_->signature.attr_index(name))];
}

Attrs& Attrs::set(std::string_view name, Attr value) {
  if (op_ == nullptr) throw InternalError("attribute '" + std::string(name) + "' set of no op");
  values_[static_cast<std::size_t>(op_->signature.attr_index(name))] = std::move(value);
  return *this;
}

bool has_symbols(const Attrs& attrs) {
  return std::any_of(attrs.values().begin(), attrs.values().end(), [](const Attr& each) {
    if (const auto* size = std::get_if<Dim>(&each)) return !size->is_known();
    const auto* sizes = std::get_if<Dims>(&each);
    return sizes != nullptr && has_symbols(*sizes);
  });
}

namespace {

template <class F>
Attrs with_sizes(Attrs attrs, const F& value_of) {
  for (Attr& attr : attrs.values()) {
    if (auto* size = std::get_if<Dim>(&attr)) *size = value_of(*size);
    if (auto* sizes = std::get_if<Dims>(&attr)) {
      for (Dim& each : *sizes) each = value_of(each);
    }
  }
  return attrs;
}

}  // namespace

Attrs evaluate(Attrs attrs, const SymbolValues& values) {
  return with_sizes(std::move(attrs), [&values](Dim size) { return Dim(evaluate(size, values)); });
}
Attrs at_hints(Attrs attrs) {
  return with_sizes(std::move(attrs), [](Dim size) { return Dim(size.hint()); });
}

namespace {

void check_row(const Op& op) {
  const auto refuse = [&op](const char* what) {
    throw InternalError("op '" + std::string(op.name()) + "' states no " + what);
  };
  if (op.name().empty()) throw InternalError("an op has no name");
  if (op.infer == nullptr) refuse("infer rule");
  if (op.call != nullptr)
    throw InternalError("op '" + std::string(op.name()) + "' is a row, which is not called");
  if (op.view != nullptr && !op.undo.stated()) refuse("undo rule of its view");
  const bool by_body =
      op.vjp.missing == kComposite || op.jvp.missing == kComposite || op.batch.missing == kComposite;
  if (by_body && op.decompose == nullptr) refuse("body, which its rules are those of");
  if (!op.vjp.stated()) refuse("vjp rule");
  if (!op.jvp.stated()) refuse("jvp rule");
  if (!op.batch.stated()) refuse("batching rule");
  if (!op.onnx && op.onnx.missing.empty() && op.decompose == nullptr)
    refuse("form in ONNX, nor why there is none");
  if (op.family.empty()) refuse("family");
  if (op.documentation.empty()) refuse("documentation");
}

}  // namespace

namespace {

constexpr std::string_view kFunctional = "_functional";

std::string_view without_ending(std::string_view name) {
  return name.ends_with(kFunctional) ? name.substr(0, name.size() - kFunctional.size()) : name;
}

}  // namespace

std::string inplace_name(const Op& op) { return std::string(without_ending(op.name())) + '_'; }

std::string spoken_name(const Op& op) {
  return std::string(without_ending(op.name().substr(0, op.name().find('.'))));
}

const Op& OpTable::add(Op op) {
  check_row(op);
  if (by_name_.contains(op.name())) throw InternalError("op '" + std::string(op.name()) + "' is there twice");
  op.id = static_cast<int>(ops_.size());
  const auto* row = new Op(std::move(op));  // rows live as long as the process
  ops_.push_back(row);
  by_name_.emplace(row->name(), row);
  return *row;
}

void add_complex_ops(OpTable& table);  // ops/complex.cpp

const OpTable& OpTable::get() {
  static const OpTable* const table = [] {
    auto* built = new OpTable;
    for (const auto add_family :
         {add_create_ops, add_elementwise_ops, add_reduce_ops, add_view_ops, add_shape_ops, add_index_ops,
          add_linalg_ops, add_fourier_ops, add_nn_ops, add_random_ops, add_collective_ops, add_complex_ops}) {
      add_family(*built);
    }
    return built;
  }();
  return *table;
}

const Op* OpTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const Op* OpTable::find_inplace(std::string_view name) const {
  if (!name.ends_with('_')) return nullptr;
  const std::string_view plain = name.substr(0, name.size() - 1);
  const Op* const functional = find(std::string(plain).append(kFunctional));
  return functional != nullptr ? functional : find(plain);
}

const Op& OpTable::at(std::string_view name) const {
  if (const Op* op = find(name)) return *op;
  throw InternalError("there is no op '" + std::string(name) + "'");
}

}  // namespace kiln
