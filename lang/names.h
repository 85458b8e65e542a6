// Owns what a name may hold beyond ASCII, and which spellings are one name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::lang {

// Whether a code point beyond ASCII may be part of a name: letters, marks and digits as in Python, and
// subscript digits; nothing that cannot be seen.
bool is_name_code_point(std::uint32_t code_point);
// Likewise at its beginning: no marks and no digits.
bool begins_name(std::uint32_t code_point);

// The name that a spelling stands for. Composed and decomposed letters are one, as are letters in other forms
// (`ﬁ` and `fi`): Unicode's form NFKC, as in Python. Subscript digits, which Python has not, stay what they
// are.
std::string normalized_name(std::string_view spelling);

}  // namespace kiln::lang
