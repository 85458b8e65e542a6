// Owns how an element meets the one at the place it is put to.
#pragma once

namespace kiln {

// Integers wrap; the greater and the less of nan is nan.
enum class Put { Write, Add, Multiply, Max, Min };

}  // namespace kiln
