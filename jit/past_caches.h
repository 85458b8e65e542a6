// Owns which results of kernels go to memory past the caches: those that outgrow the last one, and that
// nothing in the graph reads. They need not be fetched before they are written, and push out nothing else.
#pragma once

#include "jit/lower.h"

namespace kiln::jit {

// Marks the stores of a kernel that may do so. `read_later`: by output, whether the graph reads it. `hints`:
// a kernel that is made for small results keeps the plain code.
void mark_past_caches(Lowered& kernel, const std::vector<bool>& read_later, const SymbolValues& hints);

// Do those stores go past the caches, for these results, by output?
bool go_past_caches(const Lowered& kernel, Inputs results);

// Before another thread reads what this one has stored so.
void settle_past_caches();

}  // namespace kiln::jit
