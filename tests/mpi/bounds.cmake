# SPDX-License-Identifier: BSD-3-Clause
# What is bounded delays only what is concerned: docs/bounds.md.
mpi_program(sends_pending)
mpi_run(one_node sends_pending RZRUN -n 3 ARGS 65)
mpi_run(two_nodes sends_pending RZRUN -n 4 --nodes 2 ARGS 65 100000)
mpi_run(tcp sends_pending RZRUN -n 3 --nodes 3 ARGS 65)
mpi_run(pieces sends_pending RZRUN -n 3 -x RZ_SHM_CMA=0 ARGS 65)
mpi_run(deep sends_pending RZRUN -n 2 ARGS 1000 16000)
