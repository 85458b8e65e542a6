#include "lang/invisible.h"

#include <algorithm>
#include <string_view>

#include "lang/utf8.h"

namespace kiln::lang {
namespace {

// Characters from `first` to `last` of one name; of several each has a number, which begins at `number`.
struct Invisible {
  std::uint32_t first, last;
  std::string_view name;
  std::uint32_t number = 0;
};

// By code point. Names are Unicode's.
constexpr Invisible kInvisible[] = {
    {0x0000, 0x0000, "null"},
    {0x0001, 0x0006, "control character"},
    {0x0007, 0x0007, "bell"},
    {0x0008, 0x0008, "backspace"},
    {0x0009, 0x001A, "control character"},
    {0x001B, 0x001B, "escape"},
    {0x001C, 0x001F, "control character"},
    {0x007F, 0x007F, "delete"},
    {0x0080, 0x0084, "control character"},
    {0x0085, 0x0085, "next line"},
    {0x0086, 0x009F, "control character"},
    {0x00A0, 0x00A0, "no-break space"},
    {0x00AD, 0x00AD, "soft hyphen"},
    {0x034F, 0x034F, "combining grapheme joiner"},
    {0x061C, 0x061C, "arabic letter mark"},
    {0x115F, 0x115F, "hangul choseong filler"},
    {0x1160, 0x1160, "hangul jungseong filler"},
    {0x1680, 0x1680, "ogham space mark"},
    {0x17B4, 0x17B4, "khmer vowel inherent aq"},
    {0x17B5, 0x17B5, "khmer vowel inherent aa"},
    {0x180B, 0x180D, "mongolian free variation selector", 1},
    {0x180E, 0x180E, "mongolian vowel separator"},
    {0x180F, 0x180F, "mongolian free variation selector", 4},
    {0x2000, 0x2000, "en quad"},
    {0x2001, 0x2001, "em quad"},
    {0x2002, 0x2002, "en space"},
    {0x2003, 0x2003, "em space"},
    {0x2004, 0x2004, "three-per-em space"},
    {0x2005, 0x2005, "four-per-em space"},
    {0x2006, 0x2006, "six-per-em space"},
    {0x2007, 0x2007, "figure space"},
    {0x2008, 0x2008, "punctuation space"},
    {0x2009, 0x2009, "thin space"},
    {0x200A, 0x200A, "hair space"},
    {0x200B, 0x200B, "zero width space"},
    {0x200C, 0x200C, "zero width non-joiner"},
    {0x200D, 0x200D, "zero width joiner"},
    {0x200E, 0x200E, "left-to-right mark"},
    {0x200F, 0x200F, "right-to-left mark"},
    {0x2028, 0x2028, "line separator"},
    {0x2029, 0x2029, "paragraph separator"},
    {0x202A, 0x202A, "left-to-right embedding"},
    {0x202B, 0x202B, "right-to-left embedding"},
    {0x202C, 0x202C, "pop directional formatting"},
    {0x202D, 0x202D, "left-to-right override"},
    {0x202E, 0x202E, "right-to-left override"},
    {0x202F, 0x202F, "narrow no-break space"},
    {0x205F, 0x205F, "medium mathematical space"},
    {0x2060, 0x2060, "word joiner"},
    {0x2061, 0x2061, "function application"},
    {0x2062, 0x2062, "invisible times"},
    {0x2063, 0x2063, "invisible separator"},
    {0x2064, 0x2064, "invisible plus"},
    {0x2065, 0x2065, "unassigned"},
    {0x2066, 0x2066, "left-to-right isolate"},
    {0x2067, 0x2067, "right-to-left isolate"},
    {0x2068, 0x2068, "first strong isolate"},
    {0x2069, 0x2069, "pop directional isolate"},
    {0x206A, 0x206A, "inhibit symmetric swapping"},
    {0x206B, 0x206B, "activate symmetric swapping"},
    {0x206C, 0x206C, "inhibit arabic form shaping"},
    {0x206D, 0x206D, "activate arabic form shaping"},
    {0x206E, 0x206E, "national digit shapes"},
    {0x206F, 0x206F, "nominal digit shapes"},
    {0x2800, 0x2800, "braille pattern blank"},
    {0x3000, 0x3000, "ideographic space"},
    {0x3164, 0x3164, "hangul filler"},
    {0xFE00, 0xFE0F, "variation selector", 1},
    {0xFEFF, 0xFEFF, "zero width no-break space"},
    {0xFFA0, 0xFFA0, "halfwidth hangul filler"},
    {0xFFF9, 0xFFF9, "interlinear annotation anchor"},
    {0xFFFA, 0xFFFA, "interlinear annotation separator"},
    {0xFFFB, 0xFFFB, "interlinear annotation terminator"},
    {0x1D173, 0x1D17A, "musical formatting character"},
    {0xE0001, 0xE0001, "language tag"},
    {0xE0020, 0xE007F, "tag character"},
    {0xE0100, 0xE01EF, "variation selector", 17},
};

const Invisible* find(std::uint32_t code_point) {
  const Invisible* found =
      std::upper_bound(std::begin(kInvisible), std::end(kInvisible), code_point,
                       [](std::uint32_t value, const Invisible& each) { return value < each.first; });
  if (found == std::begin(kInvisible) || code_point > (--found)->last) return nullptr;
  return found;
}

}  // namespace

std::string invisible_character(std::uint32_t code_point) {
  const Invisible* found = find(code_point);
  if (found == nullptr) return "";
  std::string text(found->name);
  if (found->number > 0) text += " " + std::to_string(code_point - found->first + found->number);
  return text + " (" + code_point_name(code_point) + ")";
}

bool is_foreign_space(std::uint32_t code_point) {
  const Invisible* found = find(code_point);
  return found != nullptr && (found->name.ends_with(" space") || found->name.ends_with(" quad")) &&
         !found->name.starts_with("zero width");
}

}  // namespace kiln::lang
