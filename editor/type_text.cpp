#include "editor/type_text.h"

#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace kiln::editor {
namespace {

constexpr std::string_view kOr = " or ";
constexpr std::string_view kOf = " of ";
constexpr std::size_t kMostAlternatives = 3;

std::vector<std::string_view> split(std::string_view text, std::string_view at) {
  std::vector<std::string_view> parts;
  for (std::size_t end; (end = text.find(at)) != std::string_view::npos; text.remove_prefix(end + at.size()))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

// "f32" and "3, 4" of "f32[3, 4]"; no sizes of anything else.
bool take_apart(std::string_view type, std::string_view& dtype, std::string_view& sizes) {
  const std::size_t open = type.find('[');
  if (open == std::string_view::npos || type.back() != ']') return false;
  dtype = type.substr(0, open);
  sizes = type.substr(open + 1, type.size() - open - 2);
  return true;
}

// What a size follows from, "b", "2*d", "b*t", "t - 1"; the number itself for every other size.
std::string size_text(std::int64_t size, const std::map<std::int64_t, std::string>& names) {
  constexpr std::int64_t kMostTimes = 4096, kMostApart = 16;
  const auto known = names.find(size);
  if (known != names.end()) return known->second;
  for (const auto& [number, name] : names) {
    const std::int64_t times = size / number, apart = size - number;
    const auto other = names.find(times);
    if (size % number == 0 && other != names.end()) return name + "*" + other->second;
    if (size > 0 && size % number == 0 && times <= kMostTimes) return std::to_string(times) + "*" + name;
    if (apart != 0 && std::abs(apart) <= kMostApart)
      return name + (apart > 0 ? " + " : " - ") + std::to_string(std::abs(apart));
  }
  return size >= names.begin()->first ? "_" : std::to_string(size);
}

std::string joined_tensors(std::string_view dtype, std::string_view a, std::string_view b) {
  const std::vector<std::string_view> left = split(a, ", "), right = split(b, ", ");
  if (left.size() != right.size() || a.empty() != b.empty()) return std::string(dtype) + "[...]";
  std::string sizes;
  for (std::size_t i = 0; i < left.size(); ++i)
    sizes += (i == 0 ? "" : ", ") + std::string(left[i] == right[i] ? left[i] : "_");
  return std::string(dtype) + "[" + sizes + "]";
}

}  // namespace

std::string type_text(const interp::Value& value) { return interp::describe(value); }

std::string type_text(const interp::Value& value, const interp::check::SupposedCall& call) {
  if (!value.is(interp::Tag::Tensor)) return type_text(value);
  const kiln::Tensor& tensor = value.tensor();
  std::string sizes;
  for (const kiln::Dim size : tensor.sizes())
    sizes += (sizes.empty() ? "" : ", ") + size_text(static_cast<std::int64_t>(size), call.sizes);
  return std::string(kiln::name(tensor.dtype())) + "[" + sizes + "]";
}

std::string joined_types(const std::string& a, const std::string& b) {
  if (a == b || a.empty()) return a;
  std::string_view dtype, sizes, other_dtype, other_sizes;
  if (take_apart(a, dtype, sizes) && take_apart(b, other_dtype, other_sizes) && dtype == other_dtype)
    return joined_tensors(dtype, sizes, other_sizes);
  const std::string_view word = std::string_view(a).substr(0, a.find(kOf));
  if (word == std::string_view(b).substr(0, b.find(kOf))) return std::string(word);
  const std::vector<std::string_view> alternatives = split(a, kOr);
  for (const std::string_view each : alternatives) {
    if (each == b) return a;
  }
  return alternatives.size() < kMostAlternatives ? a + std::string(kOr) + b : "";
}

}  // namespace kiln::editor
