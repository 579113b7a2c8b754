# cmake --install: the program, its generated manual page and completion files, licences, and the demo model.
include(GNUInstallDirs)
install(TARGETS convect RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tools/licenses DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${CMAKE_SOURCE_DIR}/tools/demo/convect-demo.gguf DESTINATION ${CMAKE_INSTALL_DATADIR}/convect OPTIONAL)
