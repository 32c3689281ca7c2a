# SPDX-License-Identifier: BSD-3-Clause
# rz_optional_package(NAME package): sets NAME_FOUND as the option RZ_NAME says: AUTO (if pkg-config finds it), ON (it must), OFF.
macro(rz_optional_package name package)
  if(RZ_${name} STREQUAL AUTO)
    pkg_check_modules(${name} IMPORTED_TARGET ${package})
  elseif(RZ_${name})
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${package})
  else()
    set(${name}_FOUND FALSE)
  endif()
endmacro()

# Sets FORTRAN_FOUND as the option RZ_FORTRAN says. The modules are for gfortran; a build with sanitizers has none, nor has one for another machine.
macro(rz_optional_fortran)
  set(FORTRAN_FOUND FALSE)
  if(RZ_FORTRAN AND NOT RZ_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
    include(CheckLanguage)
    check_language(Fortran)
    if(CMAKE_Fortran_COMPILER)
      enable_language(Fortran)
      if(CMAKE_Fortran_COMPILER_ID STREQUAL GNU)
        set(FORTRAN_FOUND TRUE)
      endif()
    endif()
  endif()
  if(RZ_FORTRAN AND NOT RZ_FORTRAN STREQUAL AUTO AND NOT FORTRAN_FOUND)
    message(FATAL_ERROR "RZ_FORTRAN is ON, and there is no gfortran for this build (with sanitizers there is none)")
  endif()
endmacro()

# rz_component(NAME SOURCES ... [USES ...]): one component of the tree, a static library rz_NAME that its users link. Headers are
# included as "NAME/header.h"; those of verify/ and lab/ are seen by what links them alone.
function(rz_component name)
  cmake_parse_arguments(COMPONENT "" "" "SOURCES;USES" ${ARGN})
  add_library(rz_${name} STATIC ${COMPONENT_SOURCES})
  target_link_libraries(rz_${name} PUBLIC ${COMPONENT_USES})
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^(${PROJECT_SOURCE_DIR}/(verify|lab))/")
    target_include_directories(rz_${name} PUBLIC ${CMAKE_MATCH_1})
  endif()
endfunction()

# rz_module(NAME FOR component SOURCES ... USES ...): a part of the library rz_component that it loads when first needed, from the folder
# rhizome beside itself, so that nothing else needs what the part links: rhizome-NAME.so. It shows its entry point alone.
function(rz_module name)
  cmake_parse_arguments(MODULE "" "FOR" "SOURCES;USES" ${ARGN})
  add_library(rz_${name}_module MODULE ${MODULE_SOURCES})
  set_target_properties(rz_${name}_module PROPERTIES
    PREFIX "" OUTPUT_NAME rhizome-${name} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/rhizome)
  target_link_libraries(rz_${name}_module PRIVATE ${MODULE_USES})
  target_link_options(rz_${name}_module PRIVATE -Wl,--exclude-libs,ALL)
  add_dependencies(rz_${MODULE_FOR} rz_${name}_module)
  install(TARGETS rz_${name}_module LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/rhizome)
endfunction()

# rz_test(NAME SOURCES ... USES ... [ARGS ...] [LABELS ...] [SERIAL] [SLOW]): a cmocka program run by ctest.
# SERIAL: it loads the machine; nothing runs beside it. The bound against hangs is that of all tests: tests/CMakeLists.txt.
# Unit tests belong to the quick tier (make test) unless they are SLOW: more than about a second of a processor.
# Those of modules without an operating system (base, place, wire, outcome, proto) have the label pure: they run by an emulator, too.
# LABELS say what kind of test it is: unit (the default), sim, fault, ... Unit tests run under the address sanitizer, too, as do
# others labelled asan; those labelled tsan run under the thread sanitizer. There, tools/check builds only the targets
# asan_tests and tsan_tests.
function(rz_test name)
  cmake_parse_arguments(TEST "SERIAL;SLOW" "TIMEOUT" "SOURCES;USES;LABELS;ARGS" ${ARGN})
  if(NOT RZ_TESTS)
    return()
  endif()
  if(TEST_TIMEOUT)
    message(AUTHOR_WARNING "${name}: TIMEOUT is not heeded; the bound of all tests is RZ_TEST_LIMIT_S")
  endif()
  if(NOT TEST_LABELS OR TEST_LABELS STREQUAL tsan)
    list(APPEND TEST_LABELS unit)
  endif()
  if("unit" IN_LIST TEST_LABELS AND NOT "asan" IN_LIST TEST_LABELS)
    list(APPEND TEST_LABELS asan)
  endif()
  if("unit" IN_LIST TEST_LABELS AND NOT TEST_SLOW AND NOT TEST_SERIAL)
    list(APPEND TEST_LABELS quick)
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    if((folder MATCHES "^(base|place|wire|outcome)$" OR EXISTS ${PROJECT_SOURCE_DIR}/src/proto/${folder})
       AND NOT TEST_USES MATCHES "rz_(study|timing|scale|sim)")
      list(APPEND TEST_LABELS pure)
    endif()
  endif()
  add_executable(${name} ${TEST_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${TEST_USES} PkgConfig::CMOCKA m)
  add_test(NAME ${name} COMMAND ${name} ${TEST_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" RUN_SERIAL ${TEST_SERIAL}
                       ENVIRONMENT_MODIFICATION TSAN_OPTIONS=string_append::die_after_fork=0) # its children start threads, too
  foreach(label asan tsan quick pure)
    if(${label} IN_LIST TEST_LABELS)
      rz_test_target(${label} ${name})
    endif()
  endforeach()
endfunction()

# rz_quick(TEST ...): these belong to the quick tier, too: a job of each kind.
function(rz_quick)
  foreach(name ${ARGN})
    set_property(TEST ${name} APPEND PROPERTY LABELS quick)
  endforeach()
endfunction()

# rz_threaded(REGEX): the jobs among this folder's tests whose processes have several threads; tools/sample runs them under the
# thread sanitizer.
function(rz_threaded pattern)
  get_property(tests DIRECTORY PROPERTY TESTS)
  list(FILTER tests INCLUDE REGEX ${pattern})
  foreach(name ${tests})
    set_property(TEST ${name} APPEND PROPERTY LABELS threaded)
  endforeach()
endfunction()

# rz_long(TEST ...): these take minutes under a sanitizer; tools/sample leaves them out where it has less time.
function(rz_long)
  foreach(name ${ARGN})
    set_property(TEST ${name} APPEND PROPERTY LABELS long)
  endforeach()
endfunction()

# rz_test_target(asan|tsan|quick|pure TARGET ...): what tests with this label need; of the quick tier, the unit tests.
function(rz_test_target label)
  if(NOT TARGET ${label}_tests)
    add_custom_target(${label}_tests)
  endif()
  add_dependencies(${label}_tests ${ARGN})
endfunction()
