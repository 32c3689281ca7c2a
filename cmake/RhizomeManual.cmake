# SPDX-License-Identifier: BSD-3-Clause
# rz_manual(COMMAND): its manual page, which the program itself writes from the table of its options. A program of another
# machine runs by CMAKE_CROSSCOMPILING_EMULATOR if that is set; else a program of this machine does it, from a folder with
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
  add_custom_command(TARGET ${command} POST_BUILD COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
                     COMMAND ${writer} --man > ${folder}/${command}.1 VERBATIM)
  install(FILES ${folder}/${command}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endfunction()
