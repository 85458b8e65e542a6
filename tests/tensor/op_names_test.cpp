// Other names of ops: each stands for an op, and is none itself.
#include "tensor/op_names.h"

#include <catch2/catch.hpp>

#include "tensor/op.h"

namespace kiln::op_names_test {

TEST_CASE("other names of ops stand for ops and are none themselves", "[table]") {
  for (const auto& [other, own] : other_names()) {
    CAPTURE(other, own);
    CHECK(OpTable::get().find(own) != nullptr);
    CHECK(OpTable::get().find(other) == nullptr);
    CHECK(own_name(other) == own);
    CHECK(own_name(std::string(other) + "_") == std::string(own) + "_");
    CHECK(own_name(own) == own);
  }
  CHECK(own_name("nothing_") == "nothing_");
}

}  // namespace kiln::op_names_test
