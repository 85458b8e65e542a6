// Owns the types that a check found for the expressions of a text, while the text goes on changing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "editor/message_stream.h"

namespace kiln::editor {

// The type of an expression or a parameter: "f32[32, 10]", "int", "list of 3"; where it was several, what
// they have in common, "f32[_, 10]".
struct TypedPlace {
  std::uint32_t begin;
  std::uint32_t end;
  std::string type;
};

class KnownTypes {
 public:
  KnownTypes() = default;
  explicit KnownTypes(std::vector<TypedPlace> places);  // in any order

  // Of exactly this text; "" when it is not known.
  const std::string& type_of(std::uint32_t begin, std::uint32_t end) const;
  // The text [begin, end) became one of another length: places in it are forgotten, those behind it move.
  void edit(std::uint32_t begin, std::uint32_t end, std::uint32_t length);
  void clear() { places_.clear(); }

 private:
  std::vector<TypedPlace> places_;  // by place
};

Json to_json(const std::vector<TypedPlace>& places);
std::vector<TypedPlace> typed_places_from(const Json& json);

}  // namespace kiln::editor
