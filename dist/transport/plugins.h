// Owns the transports that stand behind libraries of their own, which are opened when one is first asked for.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "dist/transport/store.h"
#include "dist/transport/transport.h"

namespace kiln::dist {

/// Connects `size` ranks by Gloo over TCP, which all call it; `host` is this rank's address as others reach
/// it, `scope` the beginning of the keys that are used. Throws PeerLost where some rank does not come within
/// the limit, and std::runtime_error where there is no Gloo.
std::unique_ptr<Transport> make_gloo_transport(Store& store, const std::string& scope, int rank, int size,
                                               const std::string& host, std::chrono::milliseconds limit);

/// Connects the processes that `mpirun` started, by MPI, once in a process. Throws std::runtime_error where
/// there is no MPI.
std::unique_ptr<Transport> make_mpi_transport();

/// Can the library of a transport be opened?
bool has_plugin(const std::string& name);

}  // namespace kiln::dist
