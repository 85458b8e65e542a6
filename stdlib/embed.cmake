# Writes OUTPUT, a C++ file that holds each of SOURCES as text, and which names its parts add to a module: what
# `nn_recurrent.kiln` defines is `nn`'s, what `prelude_order.kiln` defines is known everywhere. What begins with an
# underscore is a part's own.
set(sources_table "")
set(names_table "")
set(texts "")
foreach(source ${SOURCES})
  get_filename_component(module ${source} NAME_WE)
  file(READ ${source} text)
  string(APPEND texts "constexpr std::string_view text_of_${module} = R\"kiln_text(${text})kiln_text\";\n")
  string(APPEND sources_table "    {\"${module}\", text_of_${module}},\n")
  if(module MATCHES "^([a-z]+)_")
    set(whole ${CMAKE_MATCH_1})
    file(STRINGS ${source} lines REGEX "^((fn|struct|autograd) +)?[A-Za-z][A-Za-z_0-9]*")
    foreach(line IN LISTS lines)
      if(line MATCHES "^(fn|struct|autograd) +([A-Za-z][A-Za-z_0-9]*)")
        string(APPEND names_table "    {\"${whole}\", \"${CMAKE_MATCH_2}\", \"${module}\"},\n")
      elseif(line MATCHES "^([A-Za-z][A-Za-z_0-9]*) *=[^=>]")
        string(APPEND names_table "    {\"${whole}\", \"${CMAKE_MATCH_1}\", \"${module}\"},\n")
      endif()
    endforeach()
  endif()
endforeach()
file(WRITE ${OUTPUT} "// Generated from stdlib/*.kiln by stdlib/embed.cmake.
#include \"stdlib/embedded.h\"

namespace kiln::interp {
namespace {

${texts}
struct Source {
  std::string_view name;
  std::string_view text;
};
struct PartName {
  std::string_view whole;
  std::string_view name;
  std::string_view part;
};
constexpr Source sources[] = {
${sources_table}};
constexpr PartName part_names[] = {
${names_table}};

}  // namespace

std::string_view stdlib_source(std::string_view name) {
  for (const Source& source : sources) {
    if (source.name == name) return source.text;
  }
  return {};
}
std::vector<std::string_view> stdlib_modules() {
  std::vector<std::string_view> result;
  for (const Source& source : sources) result.push_back(source.name);
  return result;
}
std::string_view stdlib_part(std::string_view whole, std::string_view name) {
  for (const PartName& each : part_names) {
    if (each.name == name && each.whole == whole) return each.part;
  }
  return {};
}
std::vector<std::string_view> stdlib_part_names(std::string_view whole) {
  std::vector<std::string_view> result;
  for (const PartName& each : part_names) {
    if (each.whole == whole) result.push_back(each.name);
  }
  return result;
}

}  // namespace kiln::interp
")
