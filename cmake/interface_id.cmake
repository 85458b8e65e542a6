# Writes OUTPUT, a header that names the function of libkiln_llvm.so after the contents of all headers of tensor/ and
# jit/ below ROOT: a program and a library that were built from different ones do not find each other.
file(GLOB_RECURSE headers ${ROOT}/tensor/*.h ${ROOT}/jit/*.h)
list(SORT headers)
include(${CMAKE_CURRENT_LIST_DIR}/contents_id.cmake)
kiln_contents_id(id ${headers})
set(function kiln_compile_with_llvm_${id})
file(WRITE ${OUTPUT} "#define KILN_COMPILE_FUNCTION ${function}\n#define KILN_COMPILE_SYMBOL \"${function}\"\n")
