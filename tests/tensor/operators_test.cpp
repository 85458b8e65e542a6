// Operators of the language: each spelling is one op, and each of them takes as many tensors as it has
// operands.
#include "tensor/operators.h"

#include <catch2/catch.hpp>
#include <set>

namespace kiln::operators_test {

TEST_CASE("operators stand for ops of as many operands", "[table]") {
  std::set<const Op*> seen;
  for (const char* text : {"+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>",
                           "==", "!=", "<", "<=", ">", ">="}) {
    CAPTURE(text);
    const Op* const op = operator_on_tensors(text, 2);
    REQUIRE(op != nullptr);
    CHECK(op->signature.inputs == 2);
    CHECK(seen.insert(op).second);
  }
  for (const char* text : {"-", "~"}) {
    CAPTURE(text);
    const Op* const op = operator_on_tensors(text, 1);
    REQUIRE(op != nullptr);
    CHECK(op->signature.inputs == 1);
    CHECK(seen.insert(op).second);
  }
  for (const char* text : {"in", "not in", "is", "and", "not", "+"})
    CHECK(operator_on_tensors(text, 1) == nullptr);
}

}  // namespace kiln::operators_test
