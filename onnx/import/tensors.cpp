#include "onnx/import/tensors.h"

#include <charconv>
#include <cstring>
#include <fstream>

#include "onnx/import/call.h"
#include "tensor/error.h"
#include "tensor/host_view.h"

namespace kiln::onnx {
namespace {

std::string spoken(const TensorProto& proto) {
  return proto.name.empty() ? "a tensor of the model" : "the tensor '" + proto.name + "'";
}

std::int64_t element_count(const TensorProto& proto) {
  std::int64_t count = 1;
  for (const std::int64_t each : proto.dims) {
    if (each < 0 || __builtin_mul_overflow(count, each, &count))
      throw OpError(ErrorKind::Value, spoken(proto) + " has no possible size: " + std::to_string(each));
  }
  return count;
}

[[noreturn]] void refuse_count(const TensorProto& proto, std::size_t given, std::size_t expected) {
  throw OpError(ErrorKind::Value, spoken(proto) + " has " + std::to_string(given) +
                                      " bytes or elements, and its sizes ask for " +
                                      std::to_string(expected));
}

template <class From, class To>
void convert(const TensorProto& proto, const std::vector<From>& from, std::byte* to, std::size_t count) {
  if (from.size() != count) refuse_count(proto, from.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const To element = static_cast<To>(from[i]);
    std::memcpy(to + i * sizeof(To), &element, sizeof(To));
  }
}

// From the lists that the schema has for small numbers of elements.
void fill_from_lists(const TensorProto& proto, DType dtype, std::byte* to, std::size_t count) {
  switch (dtype) {
    case DType::F32:
      return convert<float, float>(proto, proto.floats, to, count);
    case DType::F64:
      return convert<double, double>(proto, proto.doubles, to, count);
    case DType::I64:
      return convert<std::int64_t, std::int64_t>(proto, proto.int64s, to, count);
    case DType::I32:
      return convert<std::int32_t, std::int32_t>(proto, proto.int32s, to, count);
    case DType::I16:
    case DType::F16:
    case DType::BF16:
      return convert<std::int32_t, std::uint16_t>(proto, proto.int32s, to, count);
    case DType::I8:
    case DType::U8:
      return convert<std::int32_t, std::uint8_t>(proto, proto.int32s, to, count);
    case DType::Bool:
      return convert<std::int32_t, bool>(proto, proto.int32s, to, count);
    case DType::C64:
    case DType::C128:
      refuse_complex(dtype);  // files with complex numbers were refused when their types were read
  }
}

void make_bools(std::byte* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes[i] = std::byte(bytes[i] != std::byte{0} ? 1 : 0);
}

std::optional<std::string> entry(const TensorProto& proto, std::string_view key) {
  for (const auto& [name, value] : proto.external) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::uint64_t number_entry(const TensorProto& proto, std::string_view key, std::uint64_t otherwise) {
  const std::optional<std::string> text = entry(proto, key);
  if (!text) return otherwise;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size())
    throw OpError(ErrorKind::Value, spoken(proto) + " lies in a file at the " + std::string(key) + " '" +
                                        *text + "', which is no number");
  return number;
}

// The file of a location, which must be below the folder once links are followed.
std::filesystem::path file_of(const TensorProto& proto, const ExternalData& external) {
  namespace fs = std::filesystem;
  const std::string location = entry(proto, "location").value_or("");
  if (external.folder.empty())
    throw OpError(ErrorKind::Value, spoken(proto) + " lies in the file '" + location +
                                        "', and a model that is no file has no folder");
  std::error_code failure;
  const fs::path folder = fs::canonical(external.folder, failure);
  const fs::path file = failure ? fs::path() : fs::canonical(folder / location, failure);
  if (location.empty() || failure)
    throw OpError(ErrorKind::IO, spoken(proto) + " lies in the file '" + location +
                                     "', which is not in the folder of the model");
  const fs::path inside = file.lexically_relative(folder);
  if (fs::path(location).is_absolute() || inside.empty() || *inside.begin() == "..")
    throw OpError(ErrorKind::IO, spoken(proto) + " lies in '" + location +
                                     "', outside of the folder of the model, where nothing is read");
  if (!fs::is_regular_file(file, failure))
    throw OpError(ErrorKind::IO, spoken(proto) + " lies in '" + location + "', which is no file");
  return file;
}

void fill_from_file(const TensorProto& proto, const ExternalData& external, std::byte* to, std::size_t size) {
  const std::filesystem::path path = file_of(proto, external);
  const std::uint64_t offset = number_entry(proto, "offset", 0);
  const std::uint64_t file_size = std::filesystem::file_size(path);
  const std::uint64_t length = number_entry(proto, "length", size);
  if (length != size) refuse_count(proto, length, size);
  if (offset > file_size || file_size - offset < size)
    throw OpError(ErrorKind::IO, spoken(proto) + " needs " + std::to_string(size) + " bytes from byte " +
                                     std::to_string(offset) + " of '" + path.filename().string() +
                                     "', which has " + std::to_string(file_size));
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  if (!file.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(size)))
    throw OpError(ErrorKind::IO, "'" + path.filename().string() + "' cannot be read");
}

// Are there as many elements as the sizes ask for? Asked before memory is taken.
void check_size(const TensorProto& proto, DType dtype, std::size_t count, const ExternalData& external) {
  const std::size_t bytes = count * size_of(dtype);
  if (proto.is_external) {
    const std::uint64_t size = std::filesystem::file_size(file_of(proto, external));
    if (bytes > size) refuse_count(proto, size, bytes);
  } else if (proto.has_raw) {
    if (proto.raw.size() != bytes) refuse_count(proto, proto.raw.size(), bytes);
  } else {
    const std::size_t listed =
        std::max({proto.floats.size(), proto.int32s.size(), proto.int64s.size(), proto.doubles.size()});
    if (listed != count) refuse_count(proto, listed, count);
  }
}

}  // namespace

Tensor to_tensor(const TensorProto& proto, const ExternalData& external) {
  const DType dtype = dtype_of(proto.type);
  const auto count = static_cast<std::size_t>(element_count(proto));
  if (count > std::numeric_limits<std::size_t>::max() / 16) refuse_count(proto, proto.raw.size(), count);
  check_size(proto, dtype, count, external);
  const Dims sizes = to_dims(proto.dims);
  const Tensor made = Tensor::empty(sizes, dtype);
  if (count == 0) return made;
  const WritableHostView memory(made);
  std::byte* const to = memory.bytes();
  if (proto.is_external) {
    fill_from_file(proto, external, to, count * size_of(dtype));
  } else if (proto.has_raw) {
    std::memcpy(to, proto.raw.data(), proto.raw.size());
  } else {
    fill_from_lists(proto, dtype, to, count);
  }
  if (dtype == DType::Bool) make_bools(to, count);
  return made;
}

}  // namespace kiln::onnx
