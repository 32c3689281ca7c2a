# SPDX-License-Identifier: BSD-3-Clause
# Programs without some of the descriptors 0 to 2.
mpi_program(closed_streams)
foreach(streams 0 1 2 "1;2" "0;1;2")
  string(REPLACE ";" "_" label "${streams}")
  mpi_run(${label} closed_streams RZRUN -n 3 --nodes 2 ARGS ${streams})
endforeach()
