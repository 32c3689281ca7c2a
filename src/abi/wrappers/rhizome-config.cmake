# SPDX-License-Identifier: BSD-3-Clause
# find_package(rhizome): the target rhizome::mpi_abi, headers and library.
include(${CMAKE_CURRENT_LIST_DIR}/rhizome-targets.cmake)
