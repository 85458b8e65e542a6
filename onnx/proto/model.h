// Owns the form of an ONNX model in memory: the messages of the format's schema (onnx.proto) as plain
// records.
//
// A record has the fields that Kiln reads or writes; names are the schema's. Fields that are not here are
// skipped when a file is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::onnx {

// The domain of ops that Kiln's exports write as their bodies, and of their generator.
inline constexpr std::string_view kOpsDomain = "kiln.ops";

// Element types by the numbers of the schema.
enum class ElementType : std::int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  // 17 to 23: floats of 8 bits and elements of 4 bits, which Kiln has no dtype for.
};

using StringPairs = std::vector<std::pair<std::string, std::string>>;

struct TensorProto {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::vector<std::int64_t> dims;
  // Elements are in `raw` (little endian), or in the list that the schema has for the type, or elsewhere.
  std::string raw;
  std::vector<float> floats;         // also complex64: pairs
  std::vector<std::int32_t> int32s;  // also int8 … uint16, bool, and the bits of halves
  std::vector<std::int64_t> int64s;
  std::vector<double> doubles;         // also complex128: pairs
  std::vector<std::uint64_t> uint64s;  // also uint32
  std::vector<std::string> strings;
  bool has_raw = false;
  bool is_external = false;
  StringPairs external;  // location, offset, length, checksum
  std::string doc;
};

struct Dimension {
  std::optional<std::int64_t> value;
  std::string symbol;  // `dim_param`; with no value and no symbol the size is not known
};

struct TypeProto {
  enum class Kind : std::uint8_t { None, Tensor, Sequence, Optional, Other };
  Kind kind = Kind::None;
  ElementType element = ElementType::Undefined;  // of a tensor
  std::optional<std::vector<Dimension>> shape;   // of a tensor; absent: not even the rank is known
  std::vector<TypeProto> inner;                  // of a sequence or an optional: one
};

struct ValueInfo {
  std::string name;
  TypeProto type;
  std::string doc;
};

struct GraphProto;

struct AttributeProto {
  // By the numbers of the schema.
  enum class Kind : std::int32_t {
    Undefined = 0,
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Tensors = 9,
    Graphs = 10,
    SparseTensor = 11,
    SparseTensors = 12,
    Type = 13,
    Types = 14,
  };
  std::string name;
  Kind kind = Kind::Undefined;
  std::string reference;  // within a function: the attribute of the function that this one stands for
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  std::vector<TensorProto> tensors;  // one for Kind::Tensor
  std::vector<GraphProto> graphs;    // one for Kind::Graph
  std::vector<TypeProto> types;      // one for Kind::Type
  std::string doc;

  static AttributeProto of(std::string name, std::int64_t value);
  static AttributeProto of(std::string name, float value);
  static AttributeProto of(std::string name, std::string value);
  static AttributeProto of(std::string name, std::vector<std::int64_t> values);
  static AttributeProto of(std::string name, std::vector<float> values);
  static AttributeProto of(std::string name, std::vector<std::string> values);
  static AttributeProto of(std::string name, TensorProto value);
  static AttributeProto of(std::string name, GraphProto value);
};

struct NodeProto {
  std::string op_type;
  std::string domain;  // "" is the standard's
  std::string overload;
  std::string name;
  std::vector<std::string> inputs;   // "" where an optional one is left out
  std::vector<std::string> outputs;  // "" where one is not wanted
  std::vector<AttributeProto> attributes;
  std::string doc;
  StringPairs metadata;

  const AttributeProto* find(std::string_view attribute) const;  // null when it is not given
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> values;  // types of what is between
  std::string doc;
  StringPairs metadata;
  bool has_sparse_initializers = false;
};

struct OpsetId {
  std::string domain;
  std::int64_t version = 0;
};

struct FunctionProto {
  std::string name;
  std::string domain;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;  // that a node must give
  std::vector<AttributeProto> attributes_with_default;
  std::vector<NodeProto> nodes;
  std::vector<OpsetId> opsets;
  std::vector<ValueInfo> values;
  std::string doc;
  StringPairs metadata;
};

struct ModelProto {
  std::int64_t ir_version = 0;
  std::vector<OpsetId> opsets;
  std::string producer;
  std::string producer_version;
  std::string domain;
  std::int64_t version = 0;
  std::string doc;
  GraphProto graph;
  StringPairs metadata;
  std::vector<FunctionProto> functions;

  // The version of the operators of a domain that the model asks for; nothing when it names no such domain.
  std::optional<std::int64_t> opset(std::string_view of_domain) const;
};

// Reads a model from the bytes of a file. Throws OpError (Value) with the place in the message where the
// bytes are no model: cut short, no protocol buffer, messages within each other beyond 200 levels.
// Memory is bounded by a small multiple of the bytes.
ModelProto read_model(std::string_view bytes);
TensorProto read_tensor(std::string_view bytes);  // a file of one tensor, as ONNX's tests have them

// The bytes of a model. Fields of default value are left out, as protocol buffers have it.
std::string write_model(const ModelProto& model);

}  // namespace kiln::onnx
