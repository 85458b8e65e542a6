# Adds to a package what Debian asks of one: who may copy it, what changed, and why some findings of lintian are meant so.
# CPack runs it with DESTDIR, which `file(INSTALL)` puts before the paths.
set(documents ${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/kiln)
file(INSTALL ${CPACK_KILN_PACKAGING}/debian/copyright DESTINATION ${documents})
file(INSTALL ${CPACK_KILN_PACKAGING}/debian/overrides DESTINATION ${CPACK_PACKAGING_INSTALL_PREFIX}/share/lintian/overrides RENAME kiln)
execute_process(COMMAND gzip -9nc ${CPACK_KILN_PACKAGING}/debian/changelog OUTPUT_FILE $ENV{DESTDIR}${documents}/changelog.gz
                COMMAND_ERROR_IS_FATAL ANY)
