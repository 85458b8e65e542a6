#include "dist/transport/plugins.h"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "dist/transport/plugin_interface.h"
#include "tensor/own_folder.h"

namespace kiln::dist {
namespace {

struct Plugin {
  const char* name;
  const char* file;     // where it was built
  const char* symbol;   // its function
  const char* package;  // Debian's, of the library that it needs
};

constexpr Plugin kGloo{"gloo", KILN_GLOO_LIBRARY, KILN_PLUGIN_NAME(gloo), "libgloo0"};
constexpr Plugin kMpi{"mpi", KILN_MPI_LIBRARY, KILN_PLUGIN_NAME(mpi), "libopenmpi3"};

// Null where it cannot be opened; dlerror says why.
void* function_of(const Plugin& plugin) {
  void* const library = dlopen(own_library(plugin.file).c_str(), RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : dlsym(library, plugin.symbol);
}

template <class Function>
Function* open(const Plugin& plugin) {
  if (void* const function = function_of(plugin)) return reinterpret_cast<Function*>(function);
  const char* const why = dlerror();
  const std::filesystem::path file = own_library(plugin.file);
  if (std::error_code ignored; !std::filesystem::exists(file, ignored))
    throw std::runtime_error("the transport `" + std::string(plugin.name) +
                             "` is no part of this installation: " + file.filename().string() +
                             " is not beside the program");
  throw std::runtime_error("the transport `" + std::string(plugin.name) +
                           "` cannot be opened; Debian's package " + plugin.package +
                           " has the library that it needs: " + (why == nullptr ? "" : why));
}

}  // namespace

std::unique_ptr<Transport> make_gloo_transport(Store& store, const std::string& scope, int rank, int size,
                                               const std::string& host, std::chrono::milliseconds limit) {
  static MakeGloo* const make = open<MakeGloo>(kGloo);
  return std::unique_ptr<Transport>(make({store, scope, rank, size, host, limit}));
}

std::unique_ptr<Transport> make_mpi_transport() {
  static MakeMpi* const make = open<MakeMpi>(kMpi);
  return std::unique_ptr<Transport>(make());
}

bool has_plugin(const std::string& name) {
  for (const Plugin& plugin : {kGloo, kMpi})
    if (name == plugin.name) return function_of(plugin) != nullptr;
  return false;
}

}  // namespace kiln::dist
