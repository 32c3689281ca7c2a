# SPDX-License-Identifier: BSD-3-Clause
"""Other people's test suites, built against an installation of this tree and run."""
