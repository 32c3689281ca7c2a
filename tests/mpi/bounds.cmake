# SPDX-License-Identifier: BSD-3-Clause
# What is bounded delays only what is concerned: docs/bounds.md.
mpi_program(sends_pending)
mpi_run(one_node sends_pending RZRUN -n 3 ARGS 65)
mpi_run(two_nodes sends_pending RZRUN -n 4 --nodes 2 ARGS 65 100000)
mpi_run(tcp sends_pending RZRUN -n 3 --nodes 3 ARGS 65)
mpi_run(pieces sends_pending RZRUN -n 3 -x RZ_SHM_CMA=0 ARGS 65)
mpi_run(deep sends_pending RZRUN -n 2 ARGS 1000 16000)

# The same, and a sample of all else, with the bounds of transports at their least values, or at drawn ones.
mpi_run(least sends_pending RZRUN -n 3 -x RZ_BOUNDS=least ARGS 65)
mpi_run(least_nodes sends_pending RZRUN -n 4 --nodes 2 -x RZ_BOUNDS=least ARGS 65)
mpi_run(odd sends_pending RZRUN -n 4 --nodes 2 -x RZ_BOUNDS=odd:1 ARGS 65)
mpi_run(least coll_any RZRUN -n 5 --nodes 2 -x RZ_BOUNDS=least ARGS 3 20)
mpi_run(least windows_any RZRUN -n 4 --nodes 2 -x RZ_BOUNDS=least -x RZ_RMA=message ARGS 4 20)
mpi_run(least windows_passive RZRUN -n 4 --nodes 2 -x RZ_BOUNDS=least ARGS 40)
mpi_run(least partitioned_any RZRUN -n 5 --nodes 2 -x RZ_BOUNDS=least ARGS 3 30)
mpi_run(least reinit_rounds RZRUN -n 8 --nodes 4 -x RZ_BOUNDS=least ARGS 3)
mpi_run(least threads_stress RZRUN -n 4 --nodes 2 -x RZ_BOUNDS=least ARGS 3 400)
mpi_run(least send_cancel RZRUN -n 3 --nodes 2 -x RZ_BOUNDS=least)

mpi_program(bounds_beyond)
mpi_run(one_node bounds_beyond RZRUN -n 11)
mpi_run(two_nodes bounds_beyond RZRUN -n 12 --nodes 2)
mpi_run(least bounds_beyond RZRUN -n 4 --nodes 2 -x RZ_BOUNDS=least)
