#include "interpreter/plot/raster.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "interpreter/values/raise.h"
#include "tensor/own_folder.h"

#define KILN_AS_TEXT_(name) #name
#define KILN_AS_TEXT(name) KILN_AS_TEXT_(name)

namespace kiln::interp::plot {
namespace {

const RasterLibrary* opened() {
  const std::string path = own_library(KILN_RASTER_LIBRARY);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const table = library != nullptr ? dlsym(library, KILN_AS_TEXT(KILN_RASTER_TABLE)) : nullptr;
  if (table == nullptr) {
    const char* const reason = dlerror();
    raise("RuntimeError",
          fmt::format("pictures cannot be drawn as pixels: {}", reason != nullptr ? reason : path),
          "save as .svg, which needs no library; libkiln_raster.so of the same build belongs beside the "
          "program");
  }
  return static_cast<const RasterLibrary*>(table);
}

}  // namespace

const RasterLibrary& raster() {
  static const RasterLibrary* const library = opened();
  return *library;
}

}  // namespace kiln::interp::plot
