// Owns reading a model from the bytes of a file, by the lists of fields in schema.h.
#include <protozero/pbf_reader.hpp>
#include <type_traits>

#include "onnx/proto/schema.h"
#include "tensor/error.h"

namespace kiln::onnx {
namespace {

using protozero::data_view;
using protozero::pbf_reader;

constexpr int kDeepest = 200;  // messages within each other: a graph within a graph is three

class Reader {
 public:
  template <class Record>
  void message(data_view bytes, Record& to) {
    const Level level(depth_);
    pbf_reader in(bytes);
    while (in.next()) {
      if (!std::apply([&](const auto&... fields) { return (take(in, fields, to) || ...); },
                      Schema<Record>::fields))
        in.skip();
    }
  }

  void message(data_view bytes, TypeProto& to) {
    const Level level(depth_);
    pbf_reader in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case kTensorType:
          to.kind = TypeProto::Kind::Tensor;
          tensor_type(bytes_of(in), to);
          break;
        case kSequenceType:
          inner_type(bytes_of(in), TypeProto::Kind::Sequence, to);
          break;
        case kOptionalType:
          inner_type(bytes_of(in), TypeProto::Kind::Optional, to);
          break;
        default:
          to.kind = TypeProto::Kind::Other;
          in.skip();
      }
    }
  }

 private:
  // Counts a message within another one.
  class Level {
   public:
    explicit Level(int& depth) : depth_(depth) {
      if (++depth_ > kDeepest) {
        throw OpError(ErrorKind::Value, "the model has messages within each other beyond " +
                                            std::to_string(kDeepest) + " levels");
      }
    }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& depth_;
  };

  // Reads the field if it is the one that comes next.
  template <class Record, class Member>
  bool take(pbf_reader& in, const Field<Record, Member>& field, Record& to) {
    if (in.tag() != field.number) return false;
    value(in, to.*field.member);
    if (field.was_read != nullptr) to.*field.was_read = true;
    return true;
  }
  template <class Record>
  bool take(pbf_reader& in, const Presence<Record>& field, Record& to) {
    if (in.tag() != field.number) return false;
    to.*field.was_read = true;
    in.skip();
    return true;
  }

  // Protozero trusts that a field has the form in which it is read.
  static void require(const pbf_reader& in, protozero::pbf_wire_type form) {
    if (in.wire_type() != form) throw protozero::unknown_pbf_wire_type_exception();
  }
  static data_view bytes_of(pbf_reader& in) {
    require(in, protozero::pbf_wire_type::length_delimited);
    return in.get_view();
  }

  void value(pbf_reader& in, std::string& to) {
    const data_view bytes = bytes_of(in);
    to.assign(bytes.data(), bytes.size());
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void value(pbf_reader& in, Number& to) {
    using Form = protozero::pbf_wire_type;
    require(in, std::is_same_v<Number, float>    ? Form::fixed32
                : std::is_same_v<Number, double> ? Form::fixed64
                                                 : Form::varint);
    if constexpr (std::is_same_v<Number, float>)
      to = in.get_float();
    else if constexpr (std::is_same_v<Number, double>)
      to = in.get_double();
    else if constexpr (std::is_same_v<Number, bool>)
      to = in.get_int32() == 1;
    else if constexpr (std::is_same_v<Number, std::uint64_t>)
      to = in.get_uint64();
    else
      to = static_cast<Number>(in.get_int64());
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void value(pbf_reader& in, Enum& to) {
    std::int32_t number = 0;
    value(in, number);
    to = static_cast<Enum>(number);
  }
  template <class T>
  void value(pbf_reader& in, std::optional<T>& to) {
    value(in, to.emplace());
  }
  // A shape is a message of its own, with its sizes in field 1.
  void value(pbf_reader& in, std::vector<Dimension>& to) {
    pbf_reader shape(bytes_of(in));
    while (shape.next(1)) message(bytes_of(shape), to.emplace_back());
  }
  template <class T>
  void value(pbf_reader& in, std::vector<T>& to) {
    if constexpr (std::is_arithmetic_v<T>) {
      // Numbers are packed, or one at a time: readers take both.
      if (in.wire_type() != protozero::pbf_wire_type::length_delimited)
        value(in, to.emplace_back());
      else
        for (const T number : packed<T>(in)) to.push_back(number);
    } else {
      value(in, to.emplace_back());
    }
  }
  template <class Record>
    requires std::is_class_v<Record>
  void value(pbf_reader& in, Record& to) {
    message(bytes_of(in), to);
  }

  template <class T>
  static auto packed(pbf_reader& in) {
    if constexpr (std::is_same_v<T, float>)
      return in.get_packed_float();
    else if constexpr (std::is_same_v<T, double>)
      return in.get_packed_double();
    else if constexpr (std::is_same_v<T, std::int32_t>)
      return in.get_packed_int32();
    else if constexpr (std::is_same_v<T, std::uint64_t>)
      return in.get_packed_uint64();
    else
      return in.get_packed_int64();
  }

  void tensor_type(data_view bytes, TypeProto& to) {
    TensorTypeProto tensor;
    message(bytes, tensor);
    to.element = tensor.element;
    to.shape = std::move(tensor.shape);
  }

  void inner_type(data_view bytes, TypeProto::Kind kind, TypeProto& to) {
    to.kind = kind;
    InnerTypeProto inner;
    message(bytes, inner);
    to.inner = std::move(inner.element);
  }

  int depth_ = 0;
};

template <class Record>
Record read(std::string_view bytes) {
  try {
    Record record;
    Reader().message(data_view(bytes.data(), bytes.size()), record);
    return record;
  } catch (const protozero::end_of_buffer_exception&) {
    throw OpError(ErrorKind::Value,
                  "these bytes are no ONNX model: they end within a field, as of a file that was cut short");
  } catch (const protozero::exception&) {
    throw OpError(ErrorKind::Value,
                  "these bytes are no ONNX model: they have a field of a form that protocol buffers lack");
  }
}

}  // namespace

ModelProto read_model(std::string_view bytes) { return read<ModelProto>(bytes); }

TensorProto read_tensor(std::string_view bytes) { return read<TensorProto>(bytes); }

}  // namespace kiln::onnx
