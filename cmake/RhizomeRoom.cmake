# rz_room(NAME SOURCES ... [USES ...]): one room of the house, a static library rz_NAME that its users link.
function(rz_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES" ${ARGN})
  add_library(rz_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(rz_${name} PUBLIC ${ROOM_USES})
endfunction()

# rz_test(NAME SOURCES ... USES ... [TIMEOUT s] [LABELS ...]): a cmocka program run by ctest.
# TIMEOUT is a bound against hangs, not a measure of speed.
function(rz_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;USES;LABELS;ARGS" ${ARGN})
  if(NOT RZ_TESTS)
    return()
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${TEST_USES} PkgConfig::CMOCKA)
  add_test(NAME ${name} COMMAND ${name} ${TEST_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
endfunction()
