// Owns the parts of the table of error codes, one for each hundred or a few.
#pragma once

#include <span>

#include "lang/error_codes.h"

namespace kiln::lang {

std::span<const ErrorCode> syntax_codes();     // K01
std::span<const ErrorCode> names_codes();      // K02
std::span<const ErrorCode> types_codes();      // K03
std::span<const ErrorCode> values_codes();     // K04
std::span<const ErrorCode> tensors_codes();    // K05 to K07
std::span<const ErrorCode> gradients_codes();  // K08 and K09
std::span<const ErrorCode> world_codes();      // from K10 on

}  // namespace kiln::lang
