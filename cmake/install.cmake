# Where an installed Kiln lies: the program, with the language server, its compiler for the CPU, what draws its pictures and what opens Gloo and
# MPI beside it, what runs its functions in ONNX Runtime, its kernel for Jupyter, the library for other programs, in lib/kiln, its header in include/kiln, a link to it in bin, a manual page made of `kiln --help`, and completions for bash and zsh. A package is made by
# scripts/package.
include(GNUInstallDirs)
install(TARGETS kiln kiln-language-server kiln_llvm kiln_raster kiln_gloo kiln_mpi kiln_functions kiln_ort libkiln RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/kiln LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/kiln)
if(TARGET kiln-kernel)
  install(TARGETS kiln-kernel RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/kiln)
endif()
install(CODE "
  file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  file(CREATE_LINK ../${CMAKE_INSTALL_LIBDIR}/kiln/kiln \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/kiln\" SYMBOLIC)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/packaging/manual ${PROJECT_BINARY_DIR}/kiln
                  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1/kiln.1\" COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${PROJECT_BINARY_DIR}/libkiln_built.a DESTINATION ${CMAKE_INSTALL_LIBDIR}/kiln)
install(FILES ${PROJECT_SOURCE_DIR}/embed/kiln.h ${PROJECT_SOURCE_DIR}/embed/dlpack.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kiln)
install(FILES ${PROJECT_SOURCE_DIR}/ort/kiln_ort.py DESTINATION ${CMAKE_INSTALL_LIBDIR}/kiln)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/kiln.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME kiln)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/_kiln DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kiln)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Kiln developers <kiln@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "a language and a prompt for tensor programs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Runs tensor programs eagerly, compiles what is hot, differentiates it, and shows every stage.")
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
include(CPack)
