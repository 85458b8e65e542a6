// Owns the texts that are made from the op table and kept in the repository.
#pragma once

#include <string>

namespace kiln::testing {

// docs/ops.md: what a user can know of each op.
std::string op_reference();
// tests/documents/rules.txt: every rule that a row does not have, with the reason that it gives.
std::string missing_rules();

}  // namespace kiln::testing
