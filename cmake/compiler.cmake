# Compiler settings shared by every room. A room calls `kiln_library(name DEPENDS ...)`.

find_package(fmt REQUIRED)
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Compilations that use precompiled headers are cached under these settings only.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# A file's time is spent in the headers that it includes and the templates that it makes, which files of a target have
# in common: eight at a time take a third to a half of it. Names that files of a target keep to themselves differ.
set(CMAKE_UNITY_BUILD ${KILN_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)

# Chooses a file's group by a hash of its name, so that a new file leaves the groups of all the others as they are. A
# target has a power of two groups, of six to twelve files on average: their number changes seldom.
function(kiln_group_sources target)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  set(groups 1)
  while(count GREATER 12)
    math(EXPR groups "${groups} * 2")
    math(EXPR count "(${count} + 1) / 2")
  endwhile()
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${path})
    string(MD5 hash "${name}")
    string(SUBSTRING ${hash} 0 4 digits)
    math(EXPR group "0x${digits} % ${groups}")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${target}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

add_library(kiln_options INTERFACE)
target_include_directories(kiln_options INTERFACE ${PROJECT_SOURCE_DIR})
# Results must not depend on how a loop was compiled: no contraction, no reassociation (architecture: "One body").
target_compile_options(kiln_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -ffp-contract=off -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees an overlap in `"text" + std::string(…)` that is not there (GCC bug 105651), and warns of the library's
  # own code where that is precompiled.
  target_compile_options(kiln_options INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # GCC 12's library calls its own deprecated std::get_temporary_buffer in std::stable_sort.
  target_compile_options(kiln_options INTERFACE -Wno-deprecated-declarations)
endif()
if(KILN_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC takes files that are compiled as one for headers, whose types should have no members of unnamed namespaces.
  target_compile_options(kiln_options INTERFACE -Wno-subobject-linkage)
endif()
if(KILN_WERROR)
  target_compile_options(kiln_options INTERFACE -Werror)
endif()
if(KILN_SANITIZE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Instrumented library code looks uninitialized to GCC 12 (bug 105562).
    target_compile_options(kiln_options INTERFACE -Wno-maybe-uninitialized)
  endif()
  # A target's KILN_NO_SANITIZE names what its own files are compiled without.
  target_compile_options(kiln_options INTERFACE -fsanitize=${KILN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<$<BOOL:$<TARGET_PROPERTY:KILN_NO_SANITIZE>>:-fno-sanitize=$<TARGET_PROPERTY:KILN_NO_SANITIZE>>)
  target_link_options(kiln_options INTERFACE -fsanitize=${KILN_SANITIZE})
endif()

# What nearly every file includes, read once per target: a third to a half of a small file's time is spent in it. That
# each file includes what it uses is a test (tests/layering/check_standard_headers.py).
function(kiln_precompile target)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional>
    <span> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h> ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # or ccache cannot see what is in them
  endif()
endfunction()

# What is linked into the shared library for other programs, too (embed/), can lie anywhere in memory. Functions are
# called and inlined as in a program, since no other library may put its own in their place.
function(kiln_position_independent)
  set_target_properties(${ARGN} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  endforeach()
endfunction()

# One static library per room or part of a room, from the .cpp files of its folder (and SOURCES for others).
# What it DEPENDS on is what it may include.
function(kiln_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS;SOURCES;EXCLUDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(excluded ${arg_EXCLUDE})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${excluded})
  endforeach()
  if(NOT sources AND NOT arg_SOURCES)  # a room of headers
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE kiln_options ${arg_DEPENDS})
    return()
  endif()
  add_library(${name} STATIC ${sources} ${arg_SOURCES})
  kiln_position_independent(${name})
  target_link_libraries(${name} PUBLIC kiln_options ${arg_DEPENDS})
  kiln_precompile(${name})
  kiln_group_sources(${name})
endfunction()
