# libridge, its headers, the command, the manual page, and ridge.pc for those who build against the library.
configure_file(cmake/ridge.pc.in ridge.pc @ONLY)
install(TARGETS libridge ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ridge RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/ridge DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES docs/ridge.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_BINARY_DIR}/ridge.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
