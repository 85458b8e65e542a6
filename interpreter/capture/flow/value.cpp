#include "interpreter/capture/flow/value.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interpreter/capture/flow/batched.h"

namespace kiln::interp::capture {

using Kind = FlowItem::Kind;

FlowItem FlowItem::constant(Value value) {
  switch (value.tag()) {
    case Tag::Bool:
      return number(DType::Bool, jit::Operand::of_number(value.as_bool()));
    case Tag::Int:
      return number(DType::I64, jit::Operand::of_number(Dim(value.as_int())));
    case Tag::Float:
      return number(DType::F64, jit::Operand::of_number(value.as_float()));
    default:
      return at(std::move(value), -1);
  }
}

FlowItem FlowItem::dead() { return at(Value::unset(), -2); }

FlowItem FlowItem::at(Value value, SourceId source) {
  FlowItem item;
  item.known = std::move(value);
  item.source = source;
  return item;
}

FlowItem FlowItem::number(DType dtype, jit::Operand operand) {
  FlowItem item;
  item.kind = Kind::Number;
  item.dtype = dtype;
  item.operand = std::move(operand);
  return item;
}

FlowItem FlowItem::letter(const FlowItem& number) {
  FlowItem item = number;
  item.kind = Kind::Letter;
  return item;
}

FlowItem FlowItem::of(Tensor tensor) {
  FlowItem item;
  item.kind = Kind::Tensor;
  item.dtype = tensor.dtype();
  item.tensor = std::move(tensor);
  return item;
}

FlowItem FlowItem::group(Kind kind, std::vector<FlowItem> parts) {
  FlowItem item;
  item.kind = kind;
  item.parts = std::move(parts);
  return item;
}

FlowItem FlowItem::iterator(IteratorForm form, std::vector<FlowItem> parts) {
  FlowItem item = group(Kind::Iterator, std::move(parts));
  item.form = form;
  return item;
}

bool FlowItem::is_literal() const {
  if (kind != Kind::Number || !operand.is_number()) return false;
  const Dim* size = std::get_if<Dim>(&operand.number);
  return size == nullptr || size->is_known();
}

std::optional<std::int64_t> FlowItem::literal_int() const {
  if (!is_int() || !is_literal()) return std::nullopt;
  return std::get<Dim>(operand.number).known();
}

Value FlowItem::literal() const {
  if (dtype == DType::Bool) return std::get<bool>(operand.number);
  if (dtype == DType::F64) return std::get<double>(operand.number);
  return std::get<Dim>(operand.number).known();
}

bool same_item(const FlowItem& a, const FlowItem& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::Known:
      return a.source == b.source && identical(a.known, b.known);
    case Kind::Number:
    case Kind::Letter:
      return a.dtype == b.dtype && a.operand == b.operand;
    case Kind::Tensor:
      return a.tensor.is_same(b.tensor);
    default:
      return a.form == b.form && a.serial == b.serial && identical(a.known, b.known) && a.names == b.names &&
             std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), same_item);
  }
}

std::string signature_of(const FlowItem& item) {
  switch (item.kind) {
    case Kind::Known: {
      if (item.known.is_number()) return signature_of(FlowItem::constant(item.known));
      if (item.known.is(Tag::Tensor)) return signature_of(FlowItem::of(item.known.as_tensor()));
      return fmt::format("={}:{}", static_cast<int>(item.known.tag()),
                         item.known.is_none() ? 0 : item.known.as_int());
    }
    case Kind::Number:
      return std::string(name(item.dtype));
    case Kind::Letter:
      return "letter";
    case Kind::Tensor: {
      const Tensor plain = levels::innermost(item.tensor);
      return fmt::format("{}^{}{}{}", name(plain.dtype()), plain.rank(),
                         is_row_major(plain.layout()) ? "" : "s", fmt::join(levels_of(item.tensor), "@"));
    }
    default: {
      std::string text = fmt::format("{}:{}(", static_cast<int>(item.kind), static_cast<int>(item.form));
      if (item.is(Kind::Struct))
        text += fmt::format("{}:{};", item.known.as<StructType>().id, fmt::join(item.names, ","));
      for (const FlowItem& part : item.parts) text += signature_of(part) + ",";
      return text + ")";
    }
  }
}

std::string text_of(const FlowItem& item) {
  switch (item.kind) {
    case Kind::Known:
      return describe(item.known);
    case Kind::Number:
      return item.dtype == DType::I64 ? "an int" : item.dtype == DType::F64 ? "a float" : "a bool";
    case Kind::Tensor:
      return std::string(name(item.tensor.dtype())) + kiln::text_of(item.tensor.sizes());
    case Kind::Tuple:
      return fmt::format("a tuple of {}", item.parts.size());
    case Kind::List:
      return fmt::format("a list of {}", item.parts.size());
    case Kind::Letter:
      return "a letter";
    case Kind::Slice:
      return "a slice";
    case Kind::Iterator:
      return "an iterator";
    case Kind::Struct:
      return item.known.as<StructType>().name;
    default:
      return "a range";
  }
}

}  // namespace kiln::interp::capture
