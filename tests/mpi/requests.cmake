# SPDX-License-Identifier: BSD-3-Clause
# Requests: shared ones, those of the user, and loops over many.
mpi_program(requests_shared)
mpi_run(one_node requests_shared RZRUN -n 2)
mpi_program(requests_any)
mpi_run(alone requests_any RZRUN -n 1)
mpi_run(one_node requests_any RZRUN -n 3)
mpi_run(nodes requests_any RZRUN -n 3 --nodes 3)
find_program(VALGRIND valgrind)
if(VALGRIND)
  add_test(NAME requests_any_counted
           COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tests/counted.py $<TARGET_FILE:requests_any> *Waitany)
  set_tests_properties(requests_any_counted PROPERTIES LABELS mpi)
endif()
mpi_program(requests_user)
mpi_run(alone requests_user RZRUN -n 1)
mpi_run(one_node requests_user RZRUN -n 4)
mpi_run(nodes requests_user RZRUN -n 4 --nodes 2)
