// Owns the numbers of the fields in ONNX's schema (onnx.proto), by message.
#pragma once

#include <protozero/types.hpp>

namespace kiln::onnx {

enum class ModelField : protozero::pbf_tag_type {
  IrVersion = 1,
  Producer = 2,
  ProducerVersion = 3,
  Domain = 4,
  Version = 5,
  Doc = 6,
  Graph = 7,
  Opset = 8,
  Metadata = 14,
  Function = 25,
};

enum class OpsetField : protozero::pbf_tag_type { Domain = 1, Version = 2 };

enum class PairField : protozero::pbf_tag_type { Key = 1, Value = 2 };

enum class GraphField : protozero::pbf_tag_type {
  Node = 1,
  Name = 2,
  Initializer = 5,
  Doc = 10,
  Input = 11,
  Output = 12,
  Value = 13,
  SparseInitializer = 15,
  Metadata = 16,
};

enum class FunctionField : protozero::pbf_tag_type {
  Name = 1,
  Input = 4,
  Output = 5,
  Attribute = 6,
  Node = 7,
  Doc = 8,
  Opset = 9,
  Domain = 10,
  AttributeWithDefault = 11,
  Value = 12,
  Overload = 13,
  Metadata = 14,
};

enum class NodeField : protozero::pbf_tag_type {
  Input = 1,
  Output = 2,
  Name = 3,
  OpType = 4,
  Attribute = 5,
  Doc = 6,
  Domain = 7,
  Overload = 8,
  Metadata = 9,
};

enum class AttributeField : protozero::pbf_tag_type {
  Name = 1,
  F = 2,
  I = 3,
  S = 4,
  Tensor = 5,
  Graph = 6,
  Floats = 7,
  Ints = 8,
  Strings = 9,
  Tensors = 10,
  Graphs = 11,
  Doc = 13,
  Type = 14,
  Types = 15,
  Kind = 20,
  Reference = 21,
};

enum class TensorField : protozero::pbf_tag_type {
  Dims = 1,
  Type = 2,
  Floats = 4,
  Int32s = 5,
  Strings = 6,
  Int64s = 7,
  Name = 8,
  Raw = 9,
  Doubles = 10,
  UInt64s = 11,
  Doc = 12,
  External = 13,
  Location = 14,
};

enum class ValueField : protozero::pbf_tag_type { Name = 1, Type = 2, Doc = 3 };

enum class TypeField : protozero::pbf_tag_type {
  Tensor = 1,
  Sequence = 4,
  Map = 5,
  SparseTensor = 8,
  Optional = 9,
};
enum class TensorTypeField : protozero::pbf_tag_type { Element = 1, Shape = 2 };
enum class InnerTypeField : protozero::pbf_tag_type { Element = 1 };  // of a sequence, of an optional
enum class ShapeField : protozero::pbf_tag_type { Dimension = 1 };
enum class DimensionField : protozero::pbf_tag_type { Value = 1, Symbol = 2 };

}  // namespace kiln::onnx
