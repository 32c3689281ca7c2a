# SPDX-License-Identifier: BSD-3-Clause
# rz_manual(COMMAND): its manual page, and what completes its command lines in bash and zsh, which the program itself writes from the table
# of its options. A program of another machine runs by CMAKE_CROSSCOMPILING_EMULATOR if that is set; else a program of this machine does it, from a folder with
# a build of the same version: RZ_HOST_TOOLS; without either there are no manual pages.
set(RZ_HOST_TOOLS "" CACHE PATH "When cross-compiling: the bin folder of a build for this machine, whose commands write the manual pages")
function(rz_manual command)
  set(writer ${command})
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    set(writer ${RZ_HOST_TOOLS}/${command})
    if(NOT RZ_HOST_TOOLS)
      message(STATUS "No manual page of ${command}: RZ_HOST_TOOLS and CMAKE_CROSSCOMPILING_EMULATOR are not set")
      return()
    elseif(NOT EXISTS ${writer})
      message(FATAL_ERROR "RZ_HOST_TOOLS: there is no ${writer}")
    endif()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/share/man/man1)
  set(bash bash-completion/completions)
  set(zsh zsh/site-functions)
  set(share ${PROJECT_BINARY_DIR}/share)
  add_custom_command(TARGET ${command} POST_BUILD COMMAND ${CMAKE_COMMAND} -E make_directory ${folder} ${share}/${bash} ${share}/${zsh}
                     COMMAND ${writer} --man > ${folder}/${command}.1
                     COMMAND ${writer} --completion bash > ${share}/${bash}/${command}
                     COMMAND ${writer} --completion zsh > ${share}/${zsh}/_${command} VERBATIM)
  install(FILES ${folder}/${command}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${share}/${bash}/${command} DESTINATION ${CMAKE_INSTALL_DATADIR}/${bash})
  install(FILES ${share}/${zsh}/_${command} DESTINATION ${CMAKE_INSTALL_DATADIR}/${zsh})
endfunction()
