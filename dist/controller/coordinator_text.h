// Owns sentences about collectives that cannot go on.
#pragma once

#include <string>
#include <vector>

#include "dist/controller/agreement.h"

namespace kiln::dist {

inline constexpr const char* kJoinName = "dist.join";  // the base of the name of every `join`

/// "allreduce `fc1.weight` (train.kiln:41)", "barrier train.kiln:7 (call 3)"
std::string described(const Name& name, const Signature& signature);
/// Of a collective whose ranks `ended` can no longer call it.
Refusal ended_refusal(const Name& name, const Signature& first, const std::vector<int>& ended);
/// May the two be reduced in one buffer?
bool can_share_buffer(const Agreement& a, const Agreement& b);

}  // namespace kiln::dist
