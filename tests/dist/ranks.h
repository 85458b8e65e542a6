// Owns running one body on every rank of a job whose ranks are threads.
#pragma once

#include <functional>

#include "dist/transport/transport.h"

namespace kiln::testing {

/// Runs `body` once for each of n ranks, all at the same time. What the first of them threw is thrown again.
void on_ranks(int n, const std::function<void(dist::Transport&)>& body);

}  // namespace kiln::testing
