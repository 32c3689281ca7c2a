# SPDX-License-Identifier: BSD-3-Clause
# Without a schedule: results, and a rank that fails in the middle.
mpi_program(coll_short)
target_compile_options(coll_short PRIVATE -ffp-contract=off)
foreach(n 1 2 3 5 8)
  mpi_run(${n} coll_short RZRUN -n ${n} ARGS ${n} 600)
endforeach()
mpi_run(nodes coll_short RZRUN -n 7 --nodes 3 ARGS 9 300)
# Whatever the number of processors is.
mpi_run(tree coll_short RZRUN -n 5 -x RZ_COLL=bcast=tree ARGS 11 600)
mpi_run(flat coll_short RZRUN -n 5 -x RZ_COLL=bcast=flat ARGS 12 600)
mpi_run(many coll_short RZRUN -n 70 -x RZ_COLL=bcast=flat ARGS 13 50)
mpi_run(leaders coll_short RZRUN -n 7 -H localhost:4,localhost:3 -x RZ_COLL=bcast=leaders@64,reduce=flat@16 ARGS 10 300)
foreach(at 1 2 9 40 113)
  foreach(point send sent arrived)
    foreach(n 2 5)
      math(EXPR victim "${at} % ${n}")
      mpi_fails(${n}_${point}_${at} coll_short 0 "ranks have continued" RZRUN -n ${n} -x RZ_KILL_AT=${point}:${at}@${victim} ARGS ${at} 1000 fails)
    endforeach()
    math(EXPR victim "${at} % 5")
    mpi_fails(tree_${point}_${at} coll_short 0 "ranks have continued" RZRUN -n 5 -x RZ_COLL=bcast=tree -x RZ_KILL_AT=${point}:${at}@${victim}
              ARGS ${at} 1000 fails)
  endforeach()
endforeach()
# Blocking and non-blocking ones in different orders.
mpi_program(coll_order)
mpi_run(one_node coll_order RZRUN -n 3)
mpi_run(nodes coll_order RZRUN -n 4 --nodes 2)

# A reduction function of the program that communicates.
mpi_program(coll_communicates)
mpi_run(pair coll_communicates RZRUN -n 2)
mpi_run(one_node coll_communicates RZRUN -n 5)
mpi_run(nodes coll_communicates RZRUN -n 5 --nodes 2)
mpi_run(fatal coll_communicates RZRUN -n 3 ARGS fatal)
set_tests_properties(coll_communicates_fatal PROPERTIES PASS_REGULAR_EXPRESSION
                     "MPI_Iprobe at rank [012]: a reduction function [(]MPI_Op_create[)] must not communicate")

# Thousands under way at once.
mpi_program(coll_pending)
mpi_run(one_node coll_pending RZRUN -n 4)
mpi_run(nodes coll_pending RZRUN -n 4 --nodes 2)
mpi_run(least coll_pending RZRUN -n 3 --nodes 2 -x RZ_BOUNDS=least)
mpi_run(fails_one_node coll_pending RZRUN -n 4 --on-failure continue ARGS fails)
mpi_run(fails_nodes coll_pending RZRUN -n 5 --nodes 3 --on-failure continue ARGS fails)
