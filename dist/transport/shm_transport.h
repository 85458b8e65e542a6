// Owns the transport between ranks of one host, by memory that they share.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "dist/transport/store.h"
#include "dist/transport/transport.h"

namespace kiln::dist {

/// Connects `size` ranks of one host, which all call it; `scope` is the beginning of the keys that they use.
/// A rank that is killed says nothing here: the launcher tells (`Transport::lose`). Throws PeerLost where
/// some rank does not come within the limit, std::runtime_error where there is no memory.
std::unique_ptr<Transport> make_shm_transport(Store& store, const std::string& scope, int rank, int size,
                                              std::chrono::milliseconds limit);

}  // namespace kiln::dist
