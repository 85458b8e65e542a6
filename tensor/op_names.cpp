#include "tensor/op_names.h"

#include <algorithm>

namespace kiln {
namespace {

constexpr OtherName kOtherNames[] = {
    {"absolute", "abs"},
    {"arccos", "acos"},
    {"arccosh", "acosh"},
    {"arcsin", "asin"},
    {"arcsinh", "asinh"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arctanh", "atanh"},
    {"clip", "clamp"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"divide", "div"},
    {"fix", "trunc"},
    {"floor_divide", "floor_div"},
    {"ger", "outer"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"inverse", "inv"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"logsigmoid", "log_sigmoid"},
    {"moveaxis", "movedim"},
    {"multiply", "mul"},
    {"negative", "neg"},
    {"not_equal", "ne"},
    {"pinverse", "pinv"},
    {"ravel", "flatten"},
    {"subtract", "sub"},
    {"swapaxes", "transpose"},
    {"swapdims", "transpose"},
    {"true_divide", "div"},
};

static_assert(std::ranges::is_sorted(kOtherNames, {}, &OtherName::other));

const OtherName* found(std::string_view name) {
  const auto* const at = std::lower_bound(std::begin(kOtherNames), std::end(kOtherNames), name,
                                          [](const OtherName& a, std::string_view b) { return a.other < b; });
  return at != std::end(kOtherNames) && at->other == name ? at : nullptr;
}

}  // namespace

std::span<const OtherName> other_names() { return kOtherNames; }

std::string own_name(std::string_view name) {
  if (const OtherName* same = found(name)) return std::string(same->own);
  if (!name.ends_with('_')) return std::string(name);
  const OtherName* same = found(name.substr(0, name.size() - 1));
  return same ? std::string(same->own) + '_' : std::string(name);
}

}  // namespace kiln
