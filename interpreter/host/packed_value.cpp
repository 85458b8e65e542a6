#include "interpreter/host/packed_value.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "dist/controller/wire.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/vm/arguments.h"
#include "tensor/host_view.h"

namespace kiln::interp::host {
namespace {

constexpr int kDeepest = 500;

void write(dist::Writer& writer, const Value& v, int depth);

void write_items(dist::Writer& writer, const std::vector<Value>& items, int depth) {
  writer.put(static_cast<std::uint64_t>(items.size()));
  for (const Value& item : items) write(writer, item, depth);
}

void write_entries(dist::Writer& writer, const Dict& dict, int depth) {
  writer.put(static_cast<std::uint64_t>(dict.size()));
  for (const Dict::Entry& entry : dict.entries()) {
    if (!entry.live) continue;
    write(writer, entry.key, depth);
    write(writer, entry.value, depth);
  }
}

void write_tensor(dist::Writer& writer, const kiln::Tensor& x) {
  writer.put(x.dtype());
  writer.put(static_cast<std::uint64_t>(x.rank()));
  for (const kiln::Dim size : x.sizes()) writer.put(size.fixed());
  const kiln::HostView view(x, x.dtype());
  for (std::size_t i = 0; i < view.byte_count(); ++i) writer.put(view.bytes()[i]);
}

void write(dist::Writer& writer, const Value& v, int depth) {
  if (depth > kDeepest) raise("RecursionError", "the value is nested too deeply, or holds itself");
  writer.put(v.tag());
  switch (v.tag()) {
    case Tag::None:
      return;
    case Tag::Bool:
      return writer.put(v.as_bool());
    case Tag::Int:
      return writer.put(v.as_int());
    case Tag::Float:
      return writer.put(v.as_float());
    case Tag::Complex:
      writer.put(complex_of(v).real);
      return writer.put(complex_of(v).imaginary);
    case Tag::DType:
      return writer.put(v.as_dtype());
    case Tag::Str:
      return writer.put(std::string_view(text_of(v)));
    case Tag::Tensor:
      return write_tensor(writer, v.tensor());
    case Tag::List:
    case Tag::Tuple:
      return write_items(writer, *items_of(v), depth + 1);
    case Tag::Dict:
    case Tag::Set:
      return write_entries(writer, v.as<Dict>(), depth + 1);
    default:
      raise("TypeError", fmt::format("{} cannot be sent to other ranks", describe(v)),
            v.is(Tag::Instance) ? "send `vars(x)`, the dict of its fields" : "");
  }
}

kiln::Tensor read_tensor(dist::Reader& reader) {
  const auto dtype = reader.get<kiln::DType>();
  kiln::Dims sizes;
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) sizes.push_back(reader.get<std::int64_t>());
  const kiln::Tensor x = kiln::Tensor::empty(sizes, dtype, kiln::Device{});
  const kiln::WritableHostView view(x);
  for (std::size_t i = 0; i < view.byte_count(); ++i) view.bytes()[i] = reader.get<std::byte>();
  return x;
}

Value read(dist::Reader& reader) {
  const auto read_items = [&] {
    std::vector<Value> items;
    for (auto left = reader.get<std::uint64_t>(); left > 0; --left) items.push_back(read(reader));
    return items;
  };
  const auto read_entries = [&](Value dict) {
    for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
      const Value key = read(reader);
      dict.as<Dict>().set(key, read(reader));
    }
    return dict;
  };
  switch (reader.get<Tag>()) {
    case Tag::Bool:
      return reader.get<bool>();
    case Tag::Int:
      return reader.get<std::int64_t>();
    case Tag::Float:
      return reader.get<double>();
    case Tag::Complex: {
      const auto real = reader.get<double>();
      return complex_value(real, reader.get<double>());
    }
    case Tag::DType:
      return reader.get<kiln::DType>();
    case Tag::Str:
      return Value(reader.text());
    case Tag::Tensor:
      return Value(read_tensor(reader));
    case Tag::List:
      return list_value(read_items());
    case Tag::Tuple:
      return tuple_value(read_items());
    case Tag::Dict:
      return read_entries(make<Dict>());
    case Tag::Set:
      return read_entries(make<Set>());
    default:
      return {};
  }
}

}  // namespace

std::vector<std::byte> packed(const Value& value) {
  dist::Writer writer;
  write(writer, value, 0);
  return writer.take();
}

Value unpacked(std::span<const std::byte> bytes) {
  dist::Reader reader(bytes);
  return read(reader);
}

}  // namespace kiln::interp::host
