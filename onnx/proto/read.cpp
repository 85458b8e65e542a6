// Owns reading a model from the bytes of a file.
#include <protozero/pbf_message.hpp>

#include "onnx/proto/fields.h"
#include "onnx/proto/model.h"
#include "tensor/error.h"

namespace kiln::onnx {
namespace {

using protozero::data_view;
using protozero::pbf_message;

constexpr int kDeepest = 64;  // graphs and types within each other

// Counts a level of graphs or types within each other.
class Level {
 public:
  explicit Level(int& depth) : depth_(depth) {
    if (++depth_ > kDeepest) {
      throw OpError(ErrorKind::Value, "the model has graphs or types within each other beyond " +
                                          std::to_string(kDeepest) + " levels");
    }
  }
  ~Level() { --depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  int& depth_;
};

// A field that the schema repeats is packed, or one value at a time: readers take both.
template <class T, class Message, class One, class Packed>
void append(std::vector<T>& to, Message& message, One one, Packed packed) {
  if (message.wire_type() != protozero::pbf_wire_type::length_delimited) {
    to.push_back(static_cast<T>((message.*one)()));
    return;
  }
  for (const auto value : (message.*packed)()) to.push_back(static_cast<T>(value));
}

class Reader {
 public:
  ModelProto model(data_view bytes) {
    ModelProto to;
    pbf_message<ModelField> in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case ModelField::IrVersion:
          to.ir_version = in.get_int64();
          break;
        case ModelField::Producer:
          to.producer = in.get_string();
          break;
        case ModelField::ProducerVersion:
          to.producer_version = in.get_string();
          break;
        case ModelField::Domain:
          to.domain = in.get_string();
          break;
        case ModelField::Version:
          to.version = in.get_int64();
          break;
        case ModelField::Doc:
          to.doc = in.get_string();
          break;
        case ModelField::Graph:
          to.graph = graph(in.get_view());
          break;
        case ModelField::Opset:
          to.opsets.push_back(opset(in.get_view()));
          break;
        case ModelField::Metadata:
          to.metadata.push_back(pair(in.get_view()));
          break;
        case ModelField::Function:
          to.functions.push_back(function(in.get_view()));
          break;
        default:
          in.skip();
      }
    }
    return to;
  }

  TensorProto tensor(data_view bytes) {
    TensorProto to;
    pbf_message<TensorField> in(bytes);
    using Message = pbf_message<TensorField>;
    while (in.next()) {
      switch (in.tag()) {
        case TensorField::Dims:
          append(to.dims, in, &Message::get_int64, &Message::get_packed_int64);
          break;
        case TensorField::Type:
          to.type = static_cast<ElementType>(in.get_int32());
          break;
        case TensorField::Floats:
          append(to.floats, in, &Message::get_float, &Message::get_packed_float);
          break;
        case TensorField::Int32s:
          append(to.int32s, in, &Message::get_int32, &Message::get_packed_int32);
          break;
        case TensorField::Int64s:
          append(to.int64s, in, &Message::get_int64, &Message::get_packed_int64);
          break;
        case TensorField::Doubles:
          append(to.doubles, in, &Message::get_double, &Message::get_packed_double);
          break;
        case TensorField::UInt64s:
          append(to.uint64s, in, &Message::get_uint64, &Message::get_packed_uint64);
          break;
        case TensorField::Strings:
          to.strings.push_back(in.get_string());
          break;
        case TensorField::Name:
          to.name = in.get_string();
          break;
        case TensorField::Raw:
          to.raw = in.get_string();
          to.has_raw = true;
          break;
        case TensorField::Doc:
          to.doc = in.get_string();
          break;
        case TensorField::External:
          to.external.push_back(pair(in.get_view()));
          break;
        case TensorField::Location:
          to.is_external = in.get_enum() == 1;
          break;
        default:
          in.skip();
      }
    }
    return to;
  }

 private:
  static std::pair<std::string, std::string> pair(data_view bytes) {
    std::pair<std::string, std::string> to;
    pbf_message<PairField> in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case PairField::Key:
          to.first = in.get_string();
          break;
        case PairField::Value:
          to.second = in.get_string();
          break;
        default:
          in.skip();
      }
    }
    return to;
  }

  static OpsetId opset(data_view bytes) {
    OpsetId to;
    pbf_message<OpsetField> in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case OpsetField::Domain:
          to.domain = in.get_string();
          break;
        case OpsetField::Version:
          to.version = in.get_int64();
          break;
        default:
          in.skip();
      }
    }
    return to;
  }

  GraphProto graph(data_view bytes) {
    const Level level(depth_);
    GraphProto to;
    pbf_message<GraphField> in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case GraphField::Node:
          to.nodes.push_back(node(in.get_view()));
          break;
        case GraphField::Name:
          to.name = in.get_string();
          break;
        case GraphField::Initializer:
          to.initializers.push_back(tensor(in.get_view()));
          break;
        case GraphField::Doc:
          to.doc = in.get_string();
          break;
        case GraphField::Input:
          to.inputs.push_back(value(in.get_view()));
          break;
        case GraphField::Output:
          to.outputs.push_back(value(in.get_view()));
          break;
        case GraphField::Value:
          to.values.push_back(value(in.get_view()));
          break;
        case GraphField::SparseInitializer:
          to.has_sparse_initializers = true;
          in.skip();
          break;
        case GraphField::Metadata:
          to.metadata.push_back(pair(in.get_view()));
          break;
        default:
          in.skip();
      }
    }
    return to;
  }

  FunctionProto function(data_view bytes) {
    FunctionProto to;
    pbf_message<FunctionField> in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case FunctionField::Name:
          to.name = in.get_string();
          break;
        case FunctionField::Domain:
          to.domain = in.get_string();
          break;
        case FunctionField::Overload:
          to.overload = in.get_string();
          break;
        case FunctionField::Input:
          to.inputs.push_back(in.get_string());
          break;
        case FunctionField::Output:
          to.outputs.push_back(in.get_string());
          break;
        case FunctionField::Attribute:
          to.attributes.push_back(in.get_string());
          break;
        case FunctionField::AttributeWithDefault:
          to.attributes_with_default.push_back(attribute(in.get_view()));
          break;
        case FunctionField::Node:
          to.nodes.push_back(node(in.get_view()));
          break;
        case FunctionField::Opset:
          to.opsets.push_back(opset(in.get_view()));
          break;
        case FunctionField::Value:
          to.values.push_back(value(in.get_view()));
          break;
        case FunctionField::Doc:
          to.doc = in.get_string();
          break;
        case FunctionField::Metadata:
          to.metadata.push_back(pair(in.get_view()));
          break;
        default:
          in.skip();
      }
    }
    return to;
  }

  NodeProto node(data_view bytes) {
    NodeProto to;
    pbf_message<NodeField> in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case NodeField::Input:
          to.inputs.push_back(in.get_string());
          break;
        case NodeField::Output:
          to.outputs.push_back(in.get_string());
          break;
        case NodeField::Name:
          to.name = in.get_string();
          break;
        case NodeField::OpType:
          to.op_type = in.get_string();
          break;
        case NodeField::Attribute:
          to.attributes.push_back(attribute(in.get_view()));
          break;
        case NodeField::Doc:
          to.doc = in.get_string();
          break;
        case NodeField::Domain:
          to.domain = in.get_string();
          break;
        case NodeField::Overload:
          to.overload = in.get_string();
          break;
        case NodeField::Metadata:
          to.metadata.push_back(pair(in.get_view()));
          break;
        default:
          in.skip();
      }
    }
    return to;
  }

  AttributeProto attribute(data_view bytes) {
    AttributeProto to;
    pbf_message<AttributeField> in(bytes);
    using Message = pbf_message<AttributeField>;
    while (in.next()) {
      switch (in.tag()) {
        case AttributeField::Name:
          to.name = in.get_string();
          break;
        case AttributeField::Kind:
          to.kind = static_cast<AttributeProto::Kind>(in.get_enum());
          break;
        case AttributeField::Reference:
          to.reference = in.get_string();
          break;
        case AttributeField::F:
          to.f = in.get_float();
          break;
        case AttributeField::I:
          to.i = in.get_int64();
          break;
        case AttributeField::S:
          to.s = in.get_string();
          break;
        case AttributeField::Floats:
          append(to.floats, in, &Message::get_float, &Message::get_packed_float);
          break;
        case AttributeField::Ints:
          append(to.ints, in, &Message::get_int64, &Message::get_packed_int64);
          break;
        case AttributeField::Strings:
          to.strings.push_back(in.get_string());
          break;
        case AttributeField::Tensor:
        case AttributeField::Tensors:
          to.tensors.push_back(tensor(in.get_view()));
          break;
        case AttributeField::Graph:
        case AttributeField::Graphs:
          to.graphs.push_back(graph(in.get_view()));
          break;
        case AttributeField::Type:
        case AttributeField::Types:
          to.types.push_back(type(in.get_view()));
          break;
        case AttributeField::Doc:
          to.doc = in.get_string();
          break;
        default:
          in.skip();
      }
    }
    return to;
  }

  ValueInfo value(data_view bytes) {
    ValueInfo to;
    pbf_message<ValueField> in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case ValueField::Name:
          to.name = in.get_string();
          break;
        case ValueField::Type:
          to.type = type(in.get_view());
          break;
        case ValueField::Doc:
          to.doc = in.get_string();
          break;
        default:
          in.skip();
      }
    }
    return to;
  }

  TypeProto type(data_view bytes) {
    const Level level(depth_);
    TypeProto to;
    pbf_message<TypeField> in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case TypeField::Tensor:
          tensor_type(in.get_view(), to);
          break;
        case TypeField::Sequence:
          inner_type(in.get_view(), TypeProto::Kind::Sequence, to);
          break;
        case TypeField::Optional:
          inner_type(in.get_view(), TypeProto::Kind::Optional, to);
          break;
        default:
          to.kind = TypeProto::Kind::Other;
          in.skip();
      }
    }
    return to;
  }

  static void tensor_type(data_view bytes, TypeProto& to) {
    to.kind = TypeProto::Kind::Tensor;
    pbf_message<TensorTypeField> in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case TensorTypeField::Element:
          to.element = static_cast<ElementType>(in.get_int32());
          break;
        case TensorTypeField::Shape:
          to.shape = shape(in.get_view());
          break;
        default:
          in.skip();
      }
    }
  }

  void inner_type(data_view bytes, TypeProto::Kind kind, TypeProto& to) {
    to.kind = kind;
    pbf_message<InnerTypeField> in(bytes);
    while (in.next()) {
      if (in.tag() == InnerTypeField::Element) {
        to.inner.push_back(type(in.get_view()));
      } else {
        in.skip();
      }
    }
  }

  static std::vector<Dimension> shape(data_view bytes) {
    std::vector<Dimension> to;
    pbf_message<ShapeField> in(bytes);
    while (in.next()) {
      if (in.tag() == ShapeField::Dimension) {
        to.push_back(dimension(in.get_view()));
      } else {
        in.skip();
      }
    }
    return to;
  }

  static Dimension dimension(data_view bytes) {
    Dimension to;
    pbf_message<DimensionField> in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case DimensionField::Value:
          to.value = in.get_int64();
          break;
        case DimensionField::Symbol:
          to.symbol = in.get_string();
          break;
        default:
          in.skip();
      }
    }
    return to;
  }

  int depth_ = 0;
};

template <class Read>
auto read(Read what) {
  try {
    return what();
  } catch (const protozero::exception& error) {
    throw OpError(ErrorKind::Value, std::string("these bytes are no ONNX model: ") + error.what());
  }
}

}  // namespace

ModelProto read_model(std::string_view bytes) {
  return read([&] { return Reader().model(data_view(bytes.data(), bytes.size())); });
}

TensorProto read_tensor(std::string_view bytes) {
  return read([&] { return Reader().tensor(data_view(bytes.data(), bytes.size())); });
}

}  // namespace kiln::onnx
