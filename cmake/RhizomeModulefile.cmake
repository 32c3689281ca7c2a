# SPDX-License-Identifier: BSD-3-Clause
# The file for environment modules, for an installation.
set(modulefiles ${CMAKE_INSTALL_DATADIR}/rhizome/modulefiles)
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_DATADIR} AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_BINDIR} AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(installed_modulefile ${PROJECT_BINARY_DIR}/packaging/modulefiles)
  file(RELATIVE_PATH UP /prefix/${modulefiles}/rhizome /prefix)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/modulefile.in ${installed_modulefile}/rhizome/${PROJECT_VERSION} @ONLY)
  install(DIRECTORY ${installed_modulefile}/ DESTINATION ${modulefiles})
endif()
