#include "editor/known_types.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace kiln::editor {
namespace {

bool stands_before(const TypedPlace& a, const TypedPlace& b) {
  return std::tuple(a.begin, a.end) < std::tuple(b.begin, b.end);
}

}  // namespace

KnownTypes::KnownTypes(std::vector<TypedPlace> places) : places_(std::move(places)) {
  std::sort(places_.begin(), places_.end(), stands_before);
}

const std::string& KnownTypes::type_of(std::uint32_t begin, std::uint32_t end) const {
  static const std::string kUnknown;
  const auto found =
      std::lower_bound(places_.begin(), places_.end(), TypedPlace{begin, end, {}}, stands_before);
  const bool is_known = found != places_.end() && found->begin == begin && found->end == end;
  return is_known ? found->type : kUnknown;
}

void KnownTypes::edit(std::uint32_t begin, std::uint32_t end, std::uint32_t length) {
  std::erase_if(places_, [&](const TypedPlace& each) { return each.end > begin && each.begin < end; });
  for (TypedPlace& each : places_) {
    if (each.begin < end || each.end <= begin) continue;
    each.begin = each.begin - end + begin + length;
    each.end = each.end - end + begin + length;
  }
}

Json to_json(const std::vector<TypedPlace>& places) {
  Json json = Json::array();
  for (const TypedPlace& each : places) json.push_back({each.begin, each.end, each.type});
  return json;
}

std::vector<TypedPlace> typed_places_from(const Json& json) {
  std::vector<TypedPlace> places;
  for (const Json& each : json) places.push_back({each.at(0), each.at(1), each.at(2)});
  return places;
}

}  // namespace kiln::editor
