// Owns the fields of ONNX's messages (onnx.proto): each with its number and the member of a record that has
// its value. Reading and writing both go by these lists.
//
// What a field is on the wire follows from the type of its member: texts and records are length-delimited,
// numbers and enumerations are varints or fixed, vectors are repeated.
#pragma once

#include <protozero/types.hpp>
#include <tuple>

#include "onnx/proto/model.h"

namespace kiln::onnx {

template <class Record, class Member>
struct Field {
  protozero::pbf_tag_type number;
  Member Record::* member;
  // Is it written? Null: where the value is not that of an empty record.
  bool (*is_written)(const Record&) = nullptr;
  // Set when the field is read; null: its presence says no more than its value.
  bool Record::* was_read = nullptr;
};
template <class Record, class Member>
constexpr Field<Record, Member> field(protozero::pbf_tag_type number, Member Record::* member,
                                      bool (*is_written)(const Record&) = nullptr,
                                      bool Record::* was_read = nullptr) {
  return {number, member, is_written, was_read};
}

// A message that is skipped: only that it was there is kept.
template <class Record>
struct Presence {
  protozero::pbf_tag_type number;
  bool Record::* was_read;
};
template <class Record>
constexpr Presence<Record> presence(protozero::pbf_tag_type number, bool Record::* was_read) {
  return {number, was_read};
}

// Specialized for each message: its `fields` in the order in which they are written.
template <class Record>
struct Schema;

template <>
struct Schema<OpsetId> {
  static constexpr auto fields = std::tuple{field(1, &OpsetId::domain), field(2, &OpsetId::version)};
};

template <>
struct Schema<StringPairs::value_type> {
  using Pair = StringPairs::value_type;
  static constexpr auto fields = std::tuple{field(1, &Pair::first), field(2, &Pair::second)};
};

template <>
struct Schema<TensorProto> {
  static constexpr bool has_raw(const TensorProto& tensor) { return tensor.has_raw; }
  static constexpr auto fields = std::tuple{
      field(1, &TensorProto::dims),         field(2, &TensorProto::type),
      field(4, &TensorProto::floats),       field(5, &TensorProto::int32s),
      field(6, &TensorProto::strings),      field(7, &TensorProto::int64s),
      field(8, &TensorProto::name),         field(9, &TensorProto::raw, &has_raw, &TensorProto::has_raw),
      field(10, &TensorProto::doubles),     field(11, &TensorProto::uint64s),
      field(12, &TensorProto::doc),         field(13, &TensorProto::external),
      field(14, &TensorProto::is_external),  // an enumeration: 1 is EXTERNAL
  };
};

template <>
struct Schema<Dimension> {
  static constexpr bool has_symbol(const Dimension& size) { return !size.value && !size.symbol.empty(); }
  static constexpr auto fields =
      std::tuple{field(1, &Dimension::value), field(2, &Dimension::symbol, &has_symbol)};
};

template <>
struct Schema<ValueInfo> {
  static constexpr auto fields =
      std::tuple{field(1, &ValueInfo::name), field(2, &ValueInfo::type), field(3, &ValueInfo::doc)};
};

template <>
struct Schema<AttributeProto> {
  // One value is told from a list of one by the kind alone. A number is written where it is zero, too:
  // readers ask for a value.
  template <AttributeProto::Kind kind>
  static constexpr bool is(const AttributeProto& attribute) {
    return attribute.kind == kind && attribute.reference.empty();
  }
  template <AttributeProto::Kind kind>
  static constexpr bool is_not(const AttributeProto& attribute) {
    return attribute.kind != kind;
  }
  using Kind = AttributeProto::Kind;
  static constexpr auto fields = std::tuple{
      field(1, &AttributeProto::name),
      field(2, &AttributeProto::f, &is<Kind::Float>),
      field(3, &AttributeProto::i, &is<Kind::Int>),
      field(4, &AttributeProto::s, &is<Kind::String>),
      field(5, &AttributeProto::tensors, &is<Kind::Tensor>),
      field(6, &AttributeProto::graphs, &is<Kind::Graph>),
      field(7, &AttributeProto::floats),
      field(8, &AttributeProto::ints),
      field(9, &AttributeProto::strings),
      field(10, &AttributeProto::tensors, &is_not<Kind::Tensor>),
      field(11, &AttributeProto::graphs, &is_not<Kind::Graph>),
      field(13, &AttributeProto::doc),
      field(14, &AttributeProto::types, &is<Kind::Type>),
      field(15, &AttributeProto::types, &is_not<Kind::Type>),
      field(20, &AttributeProto::kind),
      field(21, &AttributeProto::reference),
  };
};

template <>
struct Schema<NodeProto> {
  static constexpr auto fields = std::tuple{
      field(1, &NodeProto::inputs),  field(2, &NodeProto::outputs),    field(3, &NodeProto::name),
      field(4, &NodeProto::op_type), field(5, &NodeProto::attributes), field(6, &NodeProto::doc),
      field(7, &NodeProto::domain),  field(8, &NodeProto::overload),   field(9, &NodeProto::metadata),
  };
};

template <>
struct Schema<GraphProto> {
  static constexpr auto fields = std::tuple{
      field(1, &GraphProto::nodes),        field(2, &GraphProto::name),
      field(5, &GraphProto::initializers), field(10, &GraphProto::doc),
      field(11, &GraphProto::inputs),      field(12, &GraphProto::outputs),
      field(13, &GraphProto::values),      presence(15, &GraphProto::has_sparse_initializers),
      field(16, &GraphProto::metadata),
  };
};

template <>
struct Schema<FunctionProto> {
  static constexpr auto fields = std::tuple{
      field(1, &FunctionProto::name),
      field(4, &FunctionProto::inputs),
      field(5, &FunctionProto::outputs),
      field(6, &FunctionProto::attributes),
      field(7, &FunctionProto::nodes),
      field(8, &FunctionProto::doc),
      field(9, &FunctionProto::opsets),
      field(10, &FunctionProto::domain),
      field(11, &FunctionProto::attributes_with_default),
      field(12, &FunctionProto::values),
      field(13, &FunctionProto::overload),
      field(14, &FunctionProto::metadata),
  };
};

template <>
struct Schema<ModelProto> {
  static constexpr auto fields = std::tuple{
      field(1, &ModelProto::ir_version),
      field(2, &ModelProto::producer),
      field(3, &ModelProto::producer_version),
      field(4, &ModelProto::domain),
      field(5, &ModelProto::version),
      field(6, &ModelProto::doc),
      field(7, &ModelProto::graph),
      field(8, &ModelProto::opsets),
      field(14, &ModelProto::metadata),
      field(25, &ModelProto::functions),
  };
};

// TypeProto sets one of several messages, and the shape of a tensor stands in a message within it.
struct TensorTypeProto {
  ElementType element = ElementType::Undefined;
  std::optional<std::vector<Dimension>> shape;
};
struct InnerTypeProto {  // of a sequence, of an optional
  std::vector<TypeProto> element;
};

template <>
struct Schema<TensorTypeProto> {
  static constexpr auto fields =
      std::tuple{field(1, &TensorTypeProto::element), field(2, &TensorTypeProto::shape)};
};

template <>
struct Schema<InnerTypeProto> {
  static constexpr auto fields = std::tuple{field(1, &InnerTypeProto::element)};
};

inline constexpr protozero::pbf_tag_type kTensorType = 1;
inline constexpr protozero::pbf_tag_type kSequenceType = 4;
inline constexpr protozero::pbf_tag_type kOptionalType = 9;

}  // namespace kiln::onnx
