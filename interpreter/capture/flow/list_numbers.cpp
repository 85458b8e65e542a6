#include "interpreter/capture/flow/list_numbers.h"

#include <algorithm>

#include "interpreter/capture/flow/loop_flow.h"
#include "interpreter/values/utf8.h"
#include "tensor/host_view.h"
#include "tensor/size_scope.h"

namespace kiln::interp::capture {
namespace {

template <class T>
T number_as(const Value& v) {
  if constexpr (std::is_same_v<T, bool>) return v.as_bool();
  if constexpr (std::is_same_v<T, std::int64_t>) return v.as_int();
  if constexpr (std::is_same_v<T, double>) return v.as_float();
}

template <class T>
std::optional<Tensor> numbers_in(const std::vector<Value>& items, std::int64_t room, DType dtype, Tag tag) {
  if (!std::all_of(items.begin(), items.end(), [tag](const Value& each) { return each.is(tag); }))
    return std::nullopt;
  const Tensor made = Tensor::empty(Dims{Dim(room)}, dtype, Device{});
  const WritableHostView elements(made);
  T* to = elements.as<T>();
  for (const Value& each : items) *to++ = number_as<T>(each);
  return made;
}

template <class T>
void put(const Tensor& numbers, std::vector<Value>& items) {
  const HostView elements(numbers);
  const T* from = elements.as<T>();
  for (Value& each : items) each = Value(*from++);
}

}  // namespace

std::optional<Tensor> numbers_of(const Value& v, DType dtype, bool grows) {
  if (!v.is(Tag::List)) return std::nullopt;
  const std::vector<Value>& items = v.as<List>().items;
  const auto size = static_cast<std::int64_t>(items.size());
  if (!grows && size < SizeScope::kLowestSize) return std::nullopt;
  const std::int64_t room = grows ? LoopFlow::room_of(size) : size;
  if (dtype == DType::I64) return numbers_in<std::int64_t>(items, room, dtype, Tag::Int);
  if (dtype == DType::F64) return numbers_in<double>(items, room, dtype, Tag::Float);
  if (dtype == DType::Bool) return numbers_in<bool>(items, room, dtype, Tag::Bool);
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> code_points_of(const Value& v) {
  if (!v.is(Tag::Str)) return std::nullopt;
  const std::string_view text = v.as<Str>().text;
  std::vector<std::int64_t> points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); at += code_point_bytes(text, at)) {
    const bool is_lone_byte = code_point_bytes(text, at) == 1 && static_cast<unsigned char>(text[at]) >= 0x80;
    if (is_lone_byte) return std::nullopt;
    points.push_back(static_cast<std::int64_t>(code_point_at(text, at)));
  }
  return points;
}

bool is_letter(const Value& v) {
  constexpr std::size_t kMostBytes = 4;
  if (!v.is(Tag::Str) || v.as<Str>().text.size() > kMostBytes) return false;
  const auto points = code_points_of(v);
  return points && points->size() == 1;
}

std::optional<Tensor> text_as_tensor(const Value& v) {
  const auto points = code_points_of(v);
  if (!points || static_cast<std::int64_t>(points->size()) < SizeScope::kLowestSize) return std::nullopt;
  const Tensor made =
      Tensor::empty(Dims{Dim(static_cast<std::int64_t>(points->size()))}, DType::I64, Device{});
  std::copy(points->begin(), points->end(), WritableHostView(made).as<std::int64_t>());
  return made;
}

void put_numbers(const Tensor& numbers, List& list) {
  if (numbers.dtype() == DType::I64) return put<std::int64_t>(numbers, list.items);
  if (numbers.dtype() == DType::F64) return put<double>(numbers, list.items);
  put<bool>(numbers, list.items);
}

}  // namespace kiln::interp::capture
