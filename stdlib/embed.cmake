# Writes OUTPUT, a C++ file that holds each of SOURCES as text, and which names the prelude's modules define; what
# begins with an underscore is their own.
set(sources_table "")
set(names_table "")
set(texts "")
foreach(source ${SOURCES})
  get_filename_component(module ${source} NAME_WE)
  file(READ ${source} text)
  string(APPEND texts "constexpr std::string_view text_of_${module} = R\"kiln_text(${text})kiln_text\";\n")
  string(APPEND sources_table "    {\"${module}\", text_of_${module}},\n")
  if(module MATCHES "^prelude")
    file(STRINGS ${source} lines REGEX "^((fn|struct|autograd) +)?[A-Za-z][A-Za-z_0-9]*")
    foreach(line IN LISTS lines)
      if(line MATCHES "^(fn|struct|autograd) +([A-Za-z][A-Za-z_0-9]*)")
        string(APPEND names_table "    {\"${CMAKE_MATCH_2}\", \"${module}\"},\n")
      elseif(line MATCHES "^([A-Za-z][A-Za-z_0-9]*) *=[^=>]")
        string(APPEND names_table "    {\"${CMAKE_MATCH_1}\", \"${module}\"},\n")
      endif()
    endforeach()
  endif()
endforeach()
file(WRITE ${OUTPUT} "// Generated from stdlib/*.kiln by stdlib/embed.cmake.
#include \"stdlib/embedded.h\"

#include <span>

namespace kiln::interp {
namespace {

${texts}
struct Row {
  std::string_view name;
  std::string_view value;
};
// Each table ends in an empty row.
constexpr Row sources[] = {
${sources_table}    {}};
constexpr Row prelude_names[] = {
${names_table}    {}};

std::string_view find(std::span<const Row> rows, std::string_view name) {
  for (const Row& row : rows) {
    if (row.name == name) return row.value;
  }
  return {};
}
std::vector<std::string_view> names(std::span<const Row> rows) {
  std::vector<std::string_view> result;
  for (const Row& row : rows.first(rows.size() - 1)) result.push_back(row.name);
  return result;
}

}  // namespace

std::string_view stdlib_source(std::string_view name) { return find(sources, name); }
std::vector<std::string_view> stdlib_modules() { return names(sources); }
std::string_view stdlib_prelude_module(std::string_view name) { return find(prelude_names, name); }
std::vector<std::string_view> stdlib_prelude_names() { return names(prelude_names); }

}  // namespace kiln::interp
")
