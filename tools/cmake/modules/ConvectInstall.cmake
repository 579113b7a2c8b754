# cmake --install: the program, its manual page and completion files (printed by the program itself when it is
# installed), licences, and the demo model.
include(GNUInstallDirs)
install(TARGETS convect RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
function(install_output destination file) # standard output of `convect <ARGN>` as destination/file
  set(made ${CMAKE_BINARY_DIR}/texts/${file})
  list(JOIN ARGN " " arguments)
  install(CODE "
    file(MAKE_DIRECTORY \"${CMAKE_BINARY_DIR}/texts\")
    execute_process(COMMAND \"${CMAKE_BINARY_DIR}/convect\" ${arguments} OUTPUT_FILE \"${made}\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${made} DESTINATION ${destination})
endfunction()
install_output(${CMAKE_INSTALL_MANDIR}/man1 convect.1 man)
install_output(${CMAKE_INSTALL_DATADIR}/bash-completion/completions convect completion bash)
install_output(${CMAKE_INSTALL_DATADIR}/zsh/site-functions _convect completion zsh)
install_output(${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d convect.fish completion fish)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tools/licenses DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${CMAKE_SOURCE_DIR}/tools/demo/convect-demo.gguf DESTINATION ${CMAKE_INSTALL_DATADIR}/convect OPTIONAL)
