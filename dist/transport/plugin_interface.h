// Owns what the program and the libraries around Gloo and MPI have in common. Such a library has its own copy
// of the code of `transport.cpp`; calls go through the virtual functions of what it makes.
#pragma once

#include <chrono>
#include <string>

#include "dist/transport/store.h"
#include "dist/transport/transport.h"

// The names of a library's function hold a hash of these headers (KILN_PLUGIN_ID): what was built from others
// is not found.
#define KILN_PLUGIN_JOIN(name, id) kiln_##name##_##id
#define KILN_PLUGIN_SYMBOL_OF(name, id) KILN_PLUGIN_JOIN(name, id)
#define KILN_PLUGIN_SYMBOL(name) KILN_PLUGIN_SYMBOL_OF(name, KILN_PLUGIN_ID)
#define KILN_PLUGIN_TEXT(text) #text
#define KILN_PLUGIN_TEXT_OF(text) KILN_PLUGIN_TEXT(text)
#define KILN_PLUGIN_NAME(name) KILN_PLUGIN_TEXT_OF(KILN_PLUGIN_SYMBOL(name))

namespace kiln::dist {

struct GlooOptions {
  Store& store;
  std::string scope;
  int rank, size;
  std::string host;
  std::chrono::milliseconds limit;
};
using MakeGloo = Transport*(const GlooOptions&);
using MakeMpi = Transport*();

}  // namespace kiln::dist
