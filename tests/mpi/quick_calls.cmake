# SPDX-License-Identifier: BSD-3-Clause
# Loops of calls that end at once make progress.
mpi_program(quick_calls)
foreach(calls get lock fetch swap self alone dup)
  mpi_run(${calls} quick_calls RZRUN -n 2 ARGS ${calls} send)
  mpi_run(${calls}_large quick_calls RZRUN -n 2 ARGS ${calls} large)
  mpi_fails(${calls}_dies quick_calls 0 "told" RZRUN -n 3 ARGS ${calls} dies)
endforeach()
