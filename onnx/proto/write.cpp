// Owns writing a model as the bytes of a file.
#include <protozero/pbf_builder.hpp>

#include "onnx/proto/fields.h"
#include "onnx/proto/model.h"

namespace kiln::onnx {
namespace {

using protozero::pbf_builder;

// Messages hold each other, and so a template below calls these before they are defined.
void write(pbf_builder<NodeField>& out, const NodeProto& node);
void write(pbf_builder<GraphField>& out, const GraphProto& graph);
void write(pbf_builder<AttributeField>& out, const AttributeProto& attribute);
void write(pbf_builder<FunctionField>& out, const FunctionProto& function);

// A message within another one, written by `fill` to a builder of its fields.
template <class Inner, class Outer, class Fill>
void add_message(pbf_builder<Outer>& out, Outer field, Fill fill) {
  std::string bytes;
  pbf_builder<Inner> inner(bytes);
  fill(inner);
  out.add_message(field, bytes);
}

template <class Field>
void add_text(pbf_builder<Field>& out, Field field, const std::string& text) {
  if (!text.empty()) out.add_string(field, text);
}

// Each of them, also the empty ones: their places count.
template <class Field>
void add_texts(pbf_builder<Field>& out, Field field, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) out.add_string(field, text);
}

template <class Field>
void add_pairs(pbf_builder<Field>& out, Field field, const StringPairs& pairs) {
  for (const auto& [key, value] : pairs) {
    add_message<PairField>(out, field, [&](pbf_builder<PairField>& inner) {
      inner.add_string(PairField::Key, key);
      inner.add_string(PairField::Value, value);
    });
  }
}

void write(pbf_builder<TensorField>& out, const TensorProto& tensor) {
  out.add_packed_int64(TensorField::Dims, tensor.dims.begin(), tensor.dims.end());
  out.add_int32(TensorField::Type, static_cast<std::int32_t>(tensor.type));
  out.add_packed_float(TensorField::Floats, tensor.floats.begin(), tensor.floats.end());
  out.add_packed_int32(TensorField::Int32s, tensor.int32s.begin(), tensor.int32s.end());
  add_texts(out, TensorField::Strings, tensor.strings);
  out.add_packed_int64(TensorField::Int64s, tensor.int64s.begin(), tensor.int64s.end());
  add_text(out, TensorField::Name, tensor.name);
  if (tensor.has_raw) out.add_bytes(TensorField::Raw, tensor.raw);
  out.add_packed_double(TensorField::Doubles, tensor.doubles.begin(), tensor.doubles.end());
  out.add_packed_uint64(TensorField::UInt64s, tensor.uint64s.begin(), tensor.uint64s.end());
  add_text(out, TensorField::Doc, tensor.doc);
  add_pairs(out, TensorField::External, tensor.external);
  if (tensor.is_external) out.add_enum(TensorField::Location, 1);
}

void write(pbf_builder<ShapeField>& out, const std::vector<Dimension>& shape) {
  for (const Dimension& dimension : shape) {
    add_message<DimensionField>(out, ShapeField::Dimension, [&](pbf_builder<DimensionField>& inner) {
      if (dimension.value)
        inner.add_int64(DimensionField::Value, *dimension.value);
      else
        add_text(inner, DimensionField::Symbol, dimension.symbol);
    });
  }
}

void write(pbf_builder<TypeField>& out, const TypeProto& type) {
  if (type.kind == TypeProto::Kind::Tensor) {
    add_message<TensorTypeField>(out, TypeField::Tensor, [&](pbf_builder<TensorTypeField>& inner) {
      inner.add_int32(TensorTypeField::Element, static_cast<std::int32_t>(type.element));
      if (!type.shape) return;
      add_message<ShapeField>(inner, TensorTypeField::Shape,
                              [&](pbf_builder<ShapeField>& shape) { write(shape, *type.shape); });
    });
  } else if (type.kind == TypeProto::Kind::Sequence || type.kind == TypeProto::Kind::Optional) {
    const TypeField field =
        type.kind == TypeProto::Kind::Sequence ? TypeField::Sequence : TypeField::Optional;
    add_message<InnerTypeField>(out, field, [&](pbf_builder<InnerTypeField>& inner) {
      add_message<TypeField>(inner, InnerTypeField::Element,
                             [&](pbf_builder<TypeField>& element) { write(element, type.inner.front()); });
    });
  }
}

void write(pbf_builder<ValueField>& out, const ValueInfo& value) {
  add_text(out, ValueField::Name, value.name);
  add_message<TypeField>(out, ValueField::Type,
                         [&](pbf_builder<TypeField>& type) { write(type, value.type); });
  add_text(out, ValueField::Doc, value.doc);
}

void write(pbf_builder<OpsetField>& out, const OpsetId& opset) {
  add_text(out, OpsetField::Domain, opset.domain);
  out.add_int64(OpsetField::Version, opset.version);
}

// Each of `items` as a message in `field`.
template <class Inner, class Outer, class Items>
void add_all(pbf_builder<Outer>& out, Outer field, const Items& items) {
  for (const auto& item : items) {
    add_message<Inner>(out, field, [&](pbf_builder<Inner>& inner) { write(inner, item); });
  }
}

void write(pbf_builder<AttributeField>& out, const AttributeProto& attribute) {
  using Kind = AttributeProto::Kind;
  add_text(out, AttributeField::Name, attribute.name);
  if (attribute.reference.empty()) {
    if (attribute.kind == Kind::Float) out.add_float(AttributeField::F, attribute.f);
    if (attribute.kind == Kind::Int) out.add_int64(AttributeField::I, attribute.i);
    if (attribute.kind == Kind::String) out.add_bytes(AttributeField::S, attribute.s);
  }
  const bool one_tensor = attribute.kind == Kind::Tensor;
  const bool one_graph = attribute.kind == Kind::Graph;
  const bool one_type = attribute.kind == Kind::Type;
  add_all<TensorField>(out, one_tensor ? AttributeField::Tensor : AttributeField::Tensors, attribute.tensors);
  add_all<GraphField>(out, one_graph ? AttributeField::Graph : AttributeField::Graphs, attribute.graphs);
  // The schema has these three unpacked; readers take both forms.
  out.add_packed_float(AttributeField::Floats, attribute.floats.begin(), attribute.floats.end());
  out.add_packed_int64(AttributeField::Ints, attribute.ints.begin(), attribute.ints.end());
  add_texts(out, AttributeField::Strings, attribute.strings);
  add_text(out, AttributeField::Doc, attribute.doc);
  add_all<TypeField>(out, one_type ? AttributeField::Type : AttributeField::Types, attribute.types);
  out.add_enum(AttributeField::Kind, static_cast<std::int32_t>(attribute.kind));
  add_text(out, AttributeField::Reference, attribute.reference);
}

void write(pbf_builder<NodeField>& out, const NodeProto& node) {
  add_texts(out, NodeField::Input, node.inputs);
  add_texts(out, NodeField::Output, node.outputs);
  add_text(out, NodeField::Name, node.name);
  add_text(out, NodeField::OpType, node.op_type);
  add_all<AttributeField>(out, NodeField::Attribute, node.attributes);
  add_text(out, NodeField::Doc, node.doc);
  add_text(out, NodeField::Domain, node.domain);
  add_text(out, NodeField::Overload, node.overload);
  add_pairs(out, NodeField::Metadata, node.metadata);
}

void write(pbf_builder<GraphField>& out, const GraphProto& graph) {
  add_all<NodeField>(out, GraphField::Node, graph.nodes);
  add_text(out, GraphField::Name, graph.name);
  add_all<TensorField>(out, GraphField::Initializer, graph.initializers);
  add_text(out, GraphField::Doc, graph.doc);
  add_all<ValueField>(out, GraphField::Input, graph.inputs);
  add_all<ValueField>(out, GraphField::Output, graph.outputs);
  add_all<ValueField>(out, GraphField::Value, graph.values);
  add_pairs(out, GraphField::Metadata, graph.metadata);
}

void write(pbf_builder<FunctionField>& out, const FunctionProto& function) {
  add_text(out, FunctionField::Name, function.name);
  add_texts(out, FunctionField::Input, function.inputs);
  add_texts(out, FunctionField::Output, function.outputs);
  add_texts(out, FunctionField::Attribute, function.attributes);
  add_all<NodeField>(out, FunctionField::Node, function.nodes);
  add_text(out, FunctionField::Doc, function.doc);
  add_all<OpsetField>(out, FunctionField::Opset, function.opsets);
  add_text(out, FunctionField::Domain, function.domain);
  add_all<AttributeField>(out, FunctionField::AttributeWithDefault, function.attributes_with_default);
  add_all<ValueField>(out, FunctionField::Value, function.values);
  add_text(out, FunctionField::Overload, function.overload);
  add_pairs(out, FunctionField::Metadata, function.metadata);
}

}  // namespace

std::string write_model(const ModelProto& model) {
  std::string bytes;
  pbf_builder<ModelField> out(bytes);
  out.add_int64(ModelField::IrVersion, model.ir_version);
  add_text(out, ModelField::Producer, model.producer);
  add_text(out, ModelField::ProducerVersion, model.producer_version);
  add_text(out, ModelField::Domain, model.domain);
  if (model.version != 0) out.add_int64(ModelField::Version, model.version);
  add_text(out, ModelField::Doc, model.doc);
  add_message<GraphField>(out, ModelField::Graph,
                          [&](pbf_builder<GraphField>& graph) { write(graph, model.graph); });
  add_all<OpsetField>(out, ModelField::Opset, model.opsets);
  add_pairs(out, ModelField::Metadata, model.metadata);
  add_all<FunctionField>(out, ModelField::Function, model.functions);
  return bytes;
}

}  // namespace kiln::onnx
