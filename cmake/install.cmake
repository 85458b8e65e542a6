# Where an installed Kiln lies. In lib/kiln are the program, the language server, the compiler for the CPU, what draws pictures
# and what opens Gloo and MPI beside it, what runs functions in ONNX Runtime, the kernel for Jupyter, and the library for other
# programs, whose header is in include/kiln. In bin is a link to the program. A manual page is made of `kiln --help`; bash, zsh
# and fish have completions. A package is made by scripts/package (cmake/package.cmake).
include(GNUInstallDirs)
install(TARGETS kiln kiln-language-server kiln_llvm kiln_raster kiln_gloo kiln_mpi kiln_functions kiln_ort libkiln
        RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/kiln LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/kiln)
if(TARGET kiln-kernel)
  install(TARGETS kiln-kernel RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/kiln)
endif()
# Debian's zsh looks for completions of packages in a folder of its own.
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  file(MAKE_DIRECTORY \"\${root}/${CMAKE_INSTALL_BINDIR}\")
  file(CREATE_LINK ../${CMAKE_INSTALL_LIBDIR}/kiln/kiln \"\${root}/${CMAKE_INSTALL_BINDIR}/kiln\" SYMBOLIC)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/packaging/manual ${PROJECT_BINARY_DIR}/kiln
                  \"\${root}/${CMAKE_INSTALL_MANDIR}/man1/kiln.1.gz\" COMMAND_ERROR_IS_FATAL ANY)
  set(zsh site-functions)
  if(CMAKE_INSTALL_PREFIX MATCHES \"/usr\$\")
    set(zsh vendor-completions)
  endif()
  file(INSTALL ${PROJECT_SOURCE_DIR}/packaging/_kiln DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${zsh}\")")
install(FILES ${PROJECT_BINARY_DIR}/libkiln_built.a DESTINATION ${CMAKE_INSTALL_LIBDIR}/kiln)
install(FILES ${PROJECT_SOURCE_DIR}/embed/kiln.h ${PROJECT_SOURCE_DIR}/embed/dlpack.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kiln)
install(FILES ${PROJECT_SOURCE_DIR}/ort/kiln_ort.py DESTINATION ${CMAKE_INSTALL_LIBDIR}/kiln)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/kiln.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME kiln)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/kiln.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
include(cmake/package.cmake)
