# SPDX-License-Identifier: BSD-3-Clause
# Files: access through random views, against a model; the other calls; threads; a roll-back. Failures: kill_matrix_file.c.
foreach(program file_model file_calls file_threads)
  mpi_program(${program})
  mpi_run(alone ${program} RZRUN -n 1)
  mpi_run(one_node ${program} RZRUN -n 4)
  mpi_run(nodes ${program} RZRUN -n 6 --nodes 3)
endforeach()
target_sources(file_model PRIVATE type_map.c type_draw.c)
mpi_program(file_reinit)
mpi_run(one_node file_reinit RZRUN -n 4 -x RZ_TEST_NAME=one_node ARGS 1)
mpi_run(nodes file_reinit RZRUN -n 6 --nodes 3 -x RZ_TEST_NAME=nodes ARGS 2)
mpi_tsan(file_threads one_node)

rz_quick(file_model_one_node file_model_nodes file_calls_one_node)
rz_test_target(quick file_model file_calls)
