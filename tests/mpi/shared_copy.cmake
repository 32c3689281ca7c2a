# SPDX-License-Identifier: BSD-3-Clause
# Messages that both sides copy: one fails or is stopped while it helps, or when it waits for the helper.
mpi_program(shared_copy)
mpi_run(whole shared_copy RZRUN -n 2 ARGS 100 whole)
mpi_run(reinit shared_copy RZRUN -n 2 -x RZ_KILL_AT=helping ARGS 100 reinit)
foreach(at 1 2 31)
  foreach(kill helping:${at}@0 helping:${at}@1 helped:${at}@0 helped:${at}@1)
    string(REGEX REPLACE "[:@]" "_" label ${kill})
    mpi_fails(${label} shared_copy 0 "has continued" RZRUN -n 2 -x RZ_KILL_AT=${kill} ARGS 100 fails)
  endforeach()
endforeach()
mpi_fails(stopped shared_copy 0 "has continued" RZRUN -n 2 --hang-timeout 700ms -x RZ_KILL_AT=helping:5@0+stop ARGS 100 fails)

mpi_program(let_read)
set_target_properties(let_read PROPERTIES ENABLE_EXPORTS TRUE) # a function in the place of the C library's
mpi_run(one_node let_read RZRUN -n 4 ARGS daemon)
mpi_run(nodes let_read RZRUN -n 6 --nodes 3 ARGS daemon)
