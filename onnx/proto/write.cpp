// Owns writing a model as the bytes of a file, by the lists of fields in schema.h.
#include <protozero/pbf_writer.hpp>
#include <type_traits>

#include "onnx/proto/schema.h"

namespace kiln::onnx {
namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

class Writer {
 public:
  template <class Record>
  static void message(pbf_writer& out, const Record& from) {
    std::apply([&](const auto&... fields) { (put(out, fields, from), ...); }, Schema<Record>::fields);
  }

  static void message(pbf_writer& out, const TypeProto& from) {
    using Kind = TypeProto::Kind;
    if (from.kind == Kind::Tensor) value(out, kTensorType, TensorTypeProto{from.element, from.shape});
    if (from.kind == Kind::Sequence) value(out, kSequenceType, InnerTypeProto{from.inner});
    if (from.kind == Kind::Optional) value(out, kOptionalType, InnerTypeProto{from.inner});
  }

 private:
  template <class Record, class Member>
  static void put(pbf_writer& out, const Field<Record, Member>& field, const Record& from) {
    const Member& member = from.*field.member;
    if (field.is_written == nullptr ? !is_default(member) : field.is_written(from))
      value(out, field.number, member);
  }
  template <class Record>
  static void put(pbf_writer&, const Presence<Record>&, const Record&) {}

  template <class Member>
  static bool is_default(const Member& member) {
    if constexpr (std::is_arithmetic_v<Member> || std::is_enum_v<Member>)
      return member == Member{};
    else if constexpr (requires { member.has_value(); })
      return !member.has_value();
    else if constexpr (requires { member.empty(); })
      return member.empty();
    else
      return false;
  }

  static void value(pbf_writer& out, pbf_tag_type number, const std::string& from) {
    out.add_string(number, from);
  }
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  static void value(pbf_writer& out, pbf_tag_type number, T from) {
    if constexpr (std::is_same_v<T, float>)
      out.add_float(number, from);
    else if constexpr (std::is_same_v<T, double>)
      out.add_double(number, from);
    else
      out.add_int64(number, static_cast<std::int64_t>(from));
  }
  template <class T>
  static void value(pbf_writer& out, pbf_tag_type number, const std::optional<T>& from) {
    value(out, number, *from);
  }
  // A shape is a message of its own, with its sizes in field 1. It is written by way of its bytes, as is a
  // size: a nested writer leaves out a message without fields, which the shape of a scalar and an unknown
  // size are.
  static void value(pbf_writer& out, pbf_tag_type number, const std::vector<Dimension>& from) {
    std::string bytes;
    pbf_writer shape(bytes);
    for (const Dimension& dimension : from) value(shape, 1, dimension);
    out.add_message(number, bytes);
  }
  template <class T>
  static void value(pbf_writer& out, pbf_tag_type number, const std::vector<T>& from) {
    if constexpr (std::is_same_v<T, float>)
      out.add_packed_float(number, from.begin(), from.end());
    else if constexpr (std::is_same_v<T, double>)
      out.add_packed_double(number, from.begin(), from.end());
    else if constexpr (std::is_same_v<T, std::int32_t>)
      out.add_packed_int32(number, from.begin(), from.end());
    else if constexpr (std::is_same_v<T, std::int64_t>)
      out.add_packed_int64(number, from.begin(), from.end());
    else if constexpr (std::is_same_v<T, std::uint64_t>)
      out.add_packed_uint64(number, from.begin(), from.end());
    else
      for (const T& item : from) value(out, number, item);
  }
  static void value(pbf_writer& out, pbf_tag_type number, const Dimension& from) {
    std::string bytes;
    pbf_writer size(bytes);
    message(size, from);
    out.add_message(number, bytes);
  }
  template <class Record>
    requires std::is_class_v<Record>
  static void value(pbf_writer& out, pbf_tag_type number, const Record& from) {
    pbf_writer inner(out, number);
    message(inner, from);
  }
};

}  // namespace

std::string write_model(const ModelProto& model) {
  std::string bytes;
  pbf_writer out(bytes);
  Writer::message(out, model);
  return bytes;
}

}  // namespace kiln::onnx
