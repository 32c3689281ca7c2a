# SPDX-License-Identifier: BSD-3-Clause
# The MPI tool information interface.
mpi_program(tools_interface)
mpi_run(alone tools_interface RZRUN -n 1)
mpi_run(one_node tools_interface RZRUN -n 4)
mpi_run(nodes tools_interface RZRUN -n 4 --nodes 2)
mpi_run(ring_copies tools_interface RZRUN -n 2 -x RZ_SHM_CMA=0)
mpi_run(direct_copies tools_interface RZRUN -n 2 -x RZ_SHM_CMA=1)
