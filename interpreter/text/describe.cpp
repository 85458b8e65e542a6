// The names of types, for messages.
#include <array>

#include "interpreter/values/objects.h"
#include "interpreter/values/unknown.h"
#include "interpreter/values/value.h"

namespace kiln::interp {
namespace {

constexpr std::array kTypeNames = {
    "none",   "bool",   "int",    "float", "dtype", "device",   "ellipsis", "unset",    "str",      "list",
    "tuple",  "dict",   "set",    "range", "slice", "complex",  "function", "function", "function", "type",
    "struct", "struct", "module", "error", "file",  "iterator", "cell",     "graph",    "object",   "tensor",
};
static_assert(kTypeNames.size() == static_cast<std::size_t>(Tag::Tensor) + 1);

std::string counted(std::string_view what, std::size_t count) {
  return std::string(what) + " of " + std::to_string(count);
}

}  // namespace

std::string_view type_name(const Value& v) {
  if (v.is(Tag::Instance)) return v.as<Instance>().struct_type().name;
  if (v.is(Tag::Iterator)) return v.as<Iterator>().name;
  look_at(v);
  if (v.is(Tag::Opaque)) return v.as<Opaque>().name;
  return kTypeNames[static_cast<std::size_t>(v.tag())];
}

std::string describe(const Value& v) {
  switch (v.tag()) {
    case Tag::Tensor:
      return to_string(v.tensor().type());
    case Tag::List:
      return counted("list", v.as<List>().items.size());
    case Tag::Tuple:
      return counted("tuple", v.as<Tuple>().items.size());
    case Tag::Dict:
      return counted("dict", v.as<Dict>().size());
    case Tag::Set:
      return counted("set", v.as<Set>().size());
    case Tag::StructType:
      return "struct " + v.as<StructType>().name;
    case Tag::Module:
      return "module " + v.as<Module>().name;
    default:
      return std::string(type_name(v));
  }
}

}  // namespace kiln::interp
