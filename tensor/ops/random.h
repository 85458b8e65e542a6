// Owns what the kernels of the random family ask of its rows.
#pragma once

#include <string_view>

namespace kiln {

// Throws OpError (Value), naming the op, unless p is in [0, 1].
void check_probability(double p, std::string_view name);

// Throws OpError (Value) unless numbers of events can be drawn by the rate: from 0 to 2^53.
void check_rate(double rate, std::string_view name);

}  // namespace kiln
