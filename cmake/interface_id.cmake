# Writes OUTPUT, a header that names the function of libkiln_llvm.so after the contents of all headers of tensor/ and
# jit/ below ROOT: a program and a library that were built from different ones do not find each other.
file(GLOB_RECURSE headers ${ROOT}/tensor/*.h ${ROOT}/jit/*.h)
list(SORT headers)
set(contents "")
foreach(header ${headers})
  file(SHA256 ${header} hash)
  string(APPEND contents ${hash})
endforeach()
string(SHA256 id "${contents}")
string(SUBSTRING ${id} 0 16 id)
set(function kiln_compile_with_llvm_${id})
file(WRITE ${OUTPUT} "#define KILN_COMPILE_FUNCTION ${function}\n#define KILN_COMPILE_SYMBOL \"${function}\"\n")
