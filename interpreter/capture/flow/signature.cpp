// Checks of annotated signatures: of types when the loop is read, of sizes as guards of its steps.
#include <fmt/format.h>

#include "interpreter/capture/flow/reader.h"
#include "interpreter/capture/signature_sizes.h"
#include "interpreter/vm/signature.h"

namespace kiln::interp::capture {

using Kind = FlowItem::Kind;

// A value of the item's type, and the guard that it stays so.
Value FlowReader::example(const FlowItem& item) {
  switch (item.kind) {
    case Kind::Number:
      return item.dtype == DType::I64   ? Value(std::int64_t{0})
             : item.dtype == DType::F64 ? Value(0.0)
                                        : Value(false);
    case Kind::Tensor:
      return item.tensor;
    case Kind::Tuple:
      return make<Tuple>(std::vector<Value>{});
    case Kind::List:
      return make<List>(std::vector<Value>{});
    case Kind::Struct:
      return make<Instance>(item.known);
    case Kind::Known:
      if (item.known.is(Tag::Instance)) {
        struct_source(item);
      } else {
        inputs_.expect_type(item);
      }
      return item.known;
    default:
      throw Unsupported{text_of(item) + " is checked against an annotation"};
  }
}

void FlowReader::check_annotated(SignatureSizes& sizes, const lang::Annotation& annotation,
                                 const FlowItem& item, std::string_view of) {
  const auto fails = [&] {
    return Unsupported{fmt::format("`{}` is {}, not {}", of, text_of(item), annotation.span.text())};
  };
  const std::string_view written = last_part(annotation.type_name);
  const Value value = example(item);
  if (!annotation.has_dims) {
    if (!has_written_type(written, value)) throw fails();
    return;
  }
  const bool fits = value.is(Tag::Tensor) && fits_written_dtype(written, value.tensor().dtype()) &&
                    fits_rank(annotation, static_cast<std::size_t>(value.tensor().rank()));
  if (!fits) throw fails();
  sizes.add(annotation, value.tensor().sizes());
}

SizeQuestions FlowReader::size_questions() {
  const auto require_zero = [](Dim size) {
    if (size.fixed() != 0) throw Unsupported{"a size is another than the signature says"};
  };
  const auto parameter = [this](std::string_view name) -> std::optional<Dim> {
    for (std::size_t k = 0; k < frame().code->parameters.size(); ++k) {
      if (frame().code->parameters[k].name != name) continue;
      const FlowItem item = forced(frame().registers[k]);
      if (item.is_int()) return notes_.size_of(item);
    }
    return std::nullopt;
  };
  return {[](Dim size) { static_cast<void>(size.fixed()); }, require_zero, parameter};
}

void FlowReader::check_arguments() {
  const Code& code = *frame().code;
  SignatureSizes sizes(size_questions());
  for (std::size_t k = 0; k < code.parameters.size(); ++k) {
    const CodeParameter& parameter = code.parameters[k];
    if (parameter.annotation == nullptr) continue;
    const FlowItem item = forced(frame().registers[k]);
    if (parameter.has_default && item.is_none()) {
      inputs_.expect_same(item);
      continue;
    }
    check_annotated(sizes, *parameter.annotation, item, parameter.name);
  }
  if (!sizes.settle()) throw Unsupported{"a signature cannot be solved for its names"};
  for (const lang::NamedSize& each : code.function->named_sizes) {
    const auto found = sizes.names().find(each.name);
    if (found == sizes.names().end()) continue;
    if (each.binding.place != lang::Place::Local) throw Unsupported{"a closure shares a size of a signature"};
    reg(each.binding.slot) = FlowItem::number(DType::I64, jit::Operand::of_number(found->second));
  }
}

void FlowReader::check_result(const FlowItem& result) {
  SignatureSizes sizes(size_questions());
  for (const lang::NamedSize& each : frame().code->function->named_sizes) {
    const FlowItem size = forced(reg(each.binding.slot));
    if (size.is_int()) sizes.name(each.name, notes_.size_of(size));
  }
  check_annotated(sizes, *frame().code->function->returns, forced(result), "the result");
  if (!sizes.settle()) throw Unsupported{"a signature cannot be solved for its names"};
}

}  // namespace kiln::interp::capture
