# Adds to a package what Debian asks of one: who may copy it, what changed, and why some findings of lintian are meant so.
set(root "${CMAKE_INSTALL_PREFIX}")
if(DEFINED CPACK_TEMPORARY_INSTALL_DIRECTORY)
  set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}")
endif()
file(INSTALL ${CPACK_KILN_PACKAGING}/debian/copyright DESTINATION ${root}/share/doc/kiln)
file(INSTALL ${CPACK_KILN_PACKAGING}/debian/overrides DESTINATION ${root}/share/lintian/overrides RENAME kiln)
execute_process(COMMAND gzip -9nc ${CPACK_KILN_PACKAGING}/debian/changelog OUTPUT_FILE ${root}/share/doc/kiln/changelog.gz
                COMMAND_ERROR_IS_FATAL ANY)
