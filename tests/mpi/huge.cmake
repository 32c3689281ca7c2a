# SPDX-License-Identifier: BSD-3-Clause
# Messages of more than 2^31 bytes: each test has 5 GiB of memory, or is skipped.
mpi_program(p2p_huge)
mpi_run(one_node p2p_huge RZRUN -n 2)
mpi_run(nodes p2p_huge RZRUN -n 2 --nodes 2)
set_tests_properties(p2p_huge_one_node p2p_huge_nodes PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL ON)
