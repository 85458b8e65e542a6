// safetensors: eight bytes of header length, the header in JSON, then the elements of all tensors.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "interpreter/files/formats.h"
#include "interpreter/interpreter.h"
#include "tensor/error.h"
#include "tensor/functions.h"

namespace kiln::interp::files {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostHeader = 100U << 20U;  // as the format's own reader
constexpr std::string_view kMetadata = "__metadata__";

struct NamedType {
  std::string_view name;
  kiln::DType dtype;
};
constexpr std::array<NamedType, 11> kTypes{{{"BOOL", kiln::DType::Bool},
                                            {"U8", kiln::DType::U8},
                                            {"I8", kiln::DType::I8},
                                            {"I16", kiln::DType::I16},
                                            {"I32", kiln::DType::I32},
                                            {"I64", kiln::DType::I64},
                                            {"F16", kiln::DType::F16},
                                            {"BF16", kiln::DType::BF16},
                                            {"F32", kiln::DType::F32},
                                            {"F64", kiln::DType::F64},
                                            {"C64", kiln::DType::C64}}};

struct Entry {
  std::string name;
  kiln::DType dtype;
  kiln::Dims sizes;
  std::uint64_t begin, end;
};

kiln::DType dtype_of(const std::string& name, const std::string& tensor) {
  for (const NamedType& type : kTypes) {
    if (type.name == name) return type.dtype;
  }
  throw DamagedFile(
      fmt::format("tensor '{}' has the element type '{}', which is not supported", tensor, name));
}

std::string_view name_of(kiln::DType dtype) {
  for (const NamedType& type : kTypes) {
    if (type.dtype == dtype) return type.name;
  }
  raise("ValueError", fmt::format("the .safetensors format has no {}", kiln::name(dtype)),
        "convert with `z.to(c64)`, or save as .npz");
}

Entry entry_of(const std::string& name, const Json& item) {
  Entry entry{name, dtype_of(item.at("dtype").get<std::string>(), name), {}, 0, 0};
  for (const Json& size : item.at("shape")) {
    if (!size.is_number_integer() || entry.sizes.size() == static_cast<std::size_t>(kiln::kMaxRank)) {
      throw DamagedFile(fmt::format("tensor '{}' has no valid shape", name));
    }
    entry.sizes.push_back(size.get<std::int64_t>());
  }
  const Json& place = item.at("data_offsets");
  if (!place.is_array() || place.size() != 2 || !place[0].is_number_unsigned() ||
      !place[1].is_number_unsigned()) {
    throw DamagedFile(fmt::format("tensor '{}' has no valid place", name));
  }
  entry.begin = place[0].get<std::uint64_t>();
  entry.end = place[1].get<std::uint64_t>();
  const std::uint64_t bytes = byte_count(entry.sizes, kiln::size_of(entry.dtype));
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    throw DamagedFile(fmt::format("tensor '{}' is a {} but has {} bytes", name,
                                  kiln::type_string(entry.dtype, entry.sizes),
                                  static_cast<std::int64_t>(entry.end - entry.begin)));
  }
  return entry;
}

// Takes each tensor's part as the parser reaches its end, so that the order of the file is kept and the
// header costs what it is long; a name that comes twice is an error, which a parser's own objects would hide.
class HeaderReader {
 public:
  std::vector<Entry> run(const std::string& text) {
    const Json header = Json::parse(
        text, [&](int depth, Json::parse_event_t event, Json& parsed) { return take(depth, event, parsed); });
    if (!header.is_object()) throw DamagedFile("its header is not an object");
    return std::move(entries_);
  }

 private:
  // False drops what was parsed: it is in an entry by then.
  bool take(int depth, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (depth == 1) {
        if (!names_.insert(key).second)
          throw DamagedFile(fmt::format("two of its tensors have the name '{}'", key));
        name_ = key;
        fields_.clear();
      } else if (depth == 2 && !fields_.insert(key).second) {
        throw DamagedFile(fmt::format("tensor '{}' has two fields '{}'", name_, key));
      }
    }
    const bool is_end = event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end ||
                        event == Json::parse_event_t::value;
    if (depth != 1 || !is_end || names_.empty()) return true;
    if (name_ != kMetadata) entries_.push_back(entry_of(name_, parsed));
    return false;
  }

  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_, fields_;
  std::string name_;
};

std::vector<Entry> read_header(Source& source) {
  const auto length = source.little<std::uint64_t>();
  if (length > std::min(kMostHeader, source.most_left()))
    throw DamagedFile(fmt::format("its header claims {} bytes", length));
  try {
    return HeaderReader().run(source.text(length));
  } catch (const Json::exception&) {
    throw DamagedFile("its header is not that of a .safetensors file");
  }
}

}  // namespace

// The data is read in order of place; the format allows neither gaps nor overlaps.
NamedTensors read_safetensors(Source& source) {
  const std::vector<Entry> entries = read_header(source);
  std::vector<std::size_t> order(entries.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(entries[a].begin, entries[a].end) < std::pair(entries[b].begin, entries[b].end);
  });
  NamedTensors tensors(entries.size());
  std::uint64_t at = 0;
  for (const std::size_t i : order) {
    if (entries[i].begin != at)
      throw DamagedFile(fmt::format("tensor '{}' does not follow the one before", entries[i].name));
    tensors[i] = {entries[i].name, source.tensor(entries[i].sizes, entries[i].dtype)};
    at = entries[i].end;
  }
  return tensors;
}

namespace {

std::string quoted(const std::string& name) {
  try {
    return Json(name).dump();
  } catch (const Json::exception&) {
    raise("ValueError", "save: a name is not UTF-8 text, which a .safetensors file cannot keep",
          "its readable part is '" + Json(name).dump(-1, ' ', true, Json::error_handler_t::ignore) + "'");
  }
}

// In the order of the tensors. Padded with blanks, so that the elements begin at a multiple of 8.
std::string header_of(const NamedTensors& tensors) {
  std::string text = "{";
  std::uint64_t at = 0;
  for (const auto& [name, x] : tensors) {
    if (name == kMetadata)
      raise("ValueError", fmt::format("save: a .safetensors file keeps the name '{}' for itself", kMetadata));
    const std::uint64_t bytes = static_cast<std::uint64_t>(x.numel()) * kiln::size_of(x.dtype());
    text += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        text.size() > 1 ? "," : "", quoted(name), name_of(x.dtype()),
                        fmt::join(x.sizes(), ","), at, at + bytes);
    at += bytes;
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

void write_safetensors(Sink& sink, const NamedTensors& tensors) {
  const std::string text = header_of(tensors);
  std::array<std::uint8_t, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<std::uint8_t>(text.size() >> (8 * i));
  sink.write(length.data(), length.size());
  sink.text(text);
  for (const auto& [name, tensor] : tensors) sink.elements(kiln::ops::contiguous(kiln::ops::detach(tensor)));
}

}  // namespace kiln::interp::files
