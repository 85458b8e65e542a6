// Owns the texts that are made from tables and kept in the repository.
#pragma once

#include <string>

namespace kiln::testing {

// docs/ops.md: what a user can know of each op.
std::string op_reference();
// docs/error_codes.md: what each code of an error means.
std::string error_code_reference();
// tests/documents/rules.txt: every rule that a row does not have, with the reason that it gives.
std::string missing_rules();
// editor/textmate/syntaxes/kiln.tmLanguage.json and editor/vim/syntax/kiln.vim: colours of programs.
std::string textmate_grammar();
std::string vim_syntax();

}  // namespace kiln::testing
