// Owns the text of complex numbers as source code would have them.
#pragma once

#include <string>

#include "tensor/complex.h"

namespace kiln::interp {

// As Python's repr: `2j`, `(1+2j)`, each part with the fewest digits that read back.
std::string repr_of_complex(kiln::Complex<double> z);
std::string repr_of_complex(kiln::Complex<float> z);

}  // namespace kiln::interp
