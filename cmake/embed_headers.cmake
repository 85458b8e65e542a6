# Writes a C++ source with the text of headers, which kernels on cards are compiled with: -DROOT, -DOUTPUT,
# -DHEADERS (paths below ROOT, with commas between).
string(REPLACE "," ";" headers "${HEADERS}")
set(text "// Made by cmake/embed_headers.cmake.\n#include \"tensor/cuda/kernel_headers.h\"\n\nnamespace kiln::cuda {\n\n")
string(APPEND text "const KernelHeader kKernelHeaders[] = {\n")
foreach(header ${headers})
  file(READ ${ROOT}/${header} content)
  string(APPEND text "    {\"${header}\", R\"kiln(${content})kiln\"},\n")
endforeach()
string(APPEND text "};\nconst std::size_t kKernelHeaderCount = sizeof(kKernelHeaders) / sizeof(kKernelHeaders[0]);\n\n}  // namespace kiln::cuda\n")
file(WRITE ${OUTPUT} "${text}")
