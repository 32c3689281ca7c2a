# SPDX-License-Identifier: BSD-3-Clause
"""rzbench: what Rhizome costs, beside Open MPI and MPICH. README.md says which module holds what."""
