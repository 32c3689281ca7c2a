# SPDX-License-Identifier: BSD-3-Clause
"""rzbench: what Rhizome costs, beside Open MPI and MPICH. README.md names the modules that several benchmarks share."""
