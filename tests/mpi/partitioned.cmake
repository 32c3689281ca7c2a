# SPDX-License-Identifier: BSD-3-Clause
# Partitioned communication: results under random partitions, threads that make them ready, rules and failures.
foreach(program partitioned_any partitioned_threads partitioned_rules)
  mpi_program(${program})
endforeach()
mpi_run(alone partitioned_any RZRUN -n 1 ARGS 1 100)
mpi_run(one_node partitioned_any RZRUN -n 3 ARGS 2 60)
mpi_run(nodes partitioned_any RZRUN -n 5 --nodes 2 ARGS 3 40)
mpi_run(copies partitioned_any RZRUN -n 2 -x RZ_SHM_CMA=0 ARGS 4 60)
mpi_run(one_node partitioned_threads RZRUN -n 3)
mpi_run(nodes partitioned_threads RZRUN -n 4 --nodes 2)
mpi_tsan(partitioned_threads one_node nodes)
mpi_fails(one_node partitioned_rules 0 "partitions: correct" RZRUN -n 4)
mpi_fails(nodes partitioned_rules 0 "partitions: correct" RZRUN -n 4 --nodes 2)

rz_quick(partitioned_any_nodes)
rz_test_target(quick partitioned_any)
