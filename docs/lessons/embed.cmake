# Writes OUTPUT, a C++ file that holds each of SOURCES as text: the lessons of the prompt, in the order of their
# file names.
set(texts "")
set(rows "")
foreach(source ${SOURCES})
  get_filename_component(name ${source} NAME_WE)
  string(MAKE_C_IDENTIFIER "lesson_${name}" identifier)
  file(READ ${source} text)
  string(APPEND texts "constexpr std::string_view ${identifier} = R\"kiln_text(${text})kiln_text\";\n")
  string(APPEND rows "    ${identifier},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from docs/lessons/*.md by docs/lessons/embed.cmake.
#include \"repl/lesson.h\"

namespace kiln::repl {
namespace {

${texts}
constexpr std::string_view kTexts[] = {
${rows}};

}  // namespace

std::span<const std::string_view> lesson_texts() { return kTexts; }

}  // namespace kiln::repl
")
