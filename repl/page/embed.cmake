# Writes OUTPUT, a C++ file that holds the text of each of SOURCES by its name: the page of a call is made of them.
set(texts "")
foreach(source ${SOURCES})
  get_filename_component(name ${source} NAME)
  file(READ ${source} text)
  string(APPEND texts "    {\"${name}\", R\"kiln_text(${text})kiln_text\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from repl/page/assets by repl/page/embed.cmake.
#include \"repl/page/assets.h\"

#include \"tensor/error.h\"

namespace kiln::repl {
namespace {

struct Asset {
  std::string_view name;
  std::string_view text;
};
constexpr Asset kAssets[] = {
${texts}};

}  // namespace

std::string_view page_asset(std::string_view name) {
  for (const Asset& each : kAssets) {
    if (each.name == name) return each.text;
  }
  throw InternalError(\"the page has no part of this name\");
}

}  // namespace kiln::repl
")
