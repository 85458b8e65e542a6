// Owns the standard library's source inside of the binary; the definitions are generated from stdlib/*.kiln.
#pragma once

#include <string_view>
#include <vector>

namespace kiln::interp {

// The source of a module ("nn"); empty when there is none.
std::string_view stdlib_source(std::string_view name);
std::vector<std::string_view> stdlib_modules();

// The module that defines a name which belongs to another one: `nn_recurrent` for `LSTM` of `nn`,
// `prelude_order` for `median` of `prelude`, so that none is parsed before one of its names is used; empty
// when none does.
std::string_view stdlib_part(std::string_view whole, std::string_view name);
std::vector<std::string_view> stdlib_part_names(std::string_view whole);

}  // namespace kiln::interp
