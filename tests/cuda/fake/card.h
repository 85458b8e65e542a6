// Owns what the fake cards are: their attributes.
#pragma once

namespace kiln::fake {

int capability();  // 90 for 9.0
// False for an attribute that the fake driver does not know.
bool card_attribute(int attribute, int& value);

}  // namespace kiln::fake
