# SPDX-License-Identifier: BSD-3-Clause
# The file for environment modules, for the build tree and for an installation.
function(modulefile folder to_prefix)
  set(UP ${to_prefix})
  configure_file(${PROJECT_SOURCE_DIR}/packaging/modulefile.in ${folder}/rhizome/${PROJECT_VERSION} @ONLY)
endfunction()
set(installed_modulefile ${PROJECT_BINARY_DIR}/packaging/modulefiles)
set(modulefiles ${CMAKE_INSTALL_DATADIR}/rhizome/modulefiles)
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_DATADIR} AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_BINDIR} AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  file(RELATIVE_PATH modulefile_up /prefix/${modulefiles}/rhizome /prefix)
  modulefile(${installed_modulefile} ${modulefile_up})
  install(DIRECTORY ${installed_modulefile}/ DESTINATION ${modulefiles})
endif()
