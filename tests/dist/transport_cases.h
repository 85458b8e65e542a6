// Owns what every transport must do: cases that each rank runs, whether ranks are threads or processes.
#pragma once

#include <span>
#include <string_view>

#include "dist/transport/transport.h"

namespace kiln::testing {

/// One case. All ranks run `body` at the same time; it throws std::runtime_error where the transport does
/// wrong.
struct TransportCase {
  std::string_view name;
  void (*body)(dist::Transport&);
};

std::span<const TransportCase> transport_cases();

}  // namespace kiln::testing
