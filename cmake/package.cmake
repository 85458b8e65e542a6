# What scripts/package makes of an installed Kiln by CPack: a package of Debian. lintian finds no error in it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kiln)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Kiln developers <kiln@kiln.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "language and prompt for tensor programs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Kiln runs tensor programs eagerly, compiles what is hot, differentiates it,
and shows every stage. Beside the prompt there are a language server for
editors, a kernel for Jupyter, and a library for programs of C and Python.")
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Opened at run time, so that no file says so: convolutions and linear algebra. Then what `kiln build` links with, and what
# draws graphs.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libdnnl2, libopenblas0")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, libfmt-dev, graphviz, jupyter-notebook")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)
set(CPACK_KILN_PACKAGING ${PROJECT_SOURCE_DIR}/packaging)
include(CPack)
