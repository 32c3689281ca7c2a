# SPDX-License-Identifier: BSD-3-Clause
"""How long tests wait for what must come: one bound for all, against hangs. It is no measure of speed, for the machine may be very
busy; and it is below that of ctest (tests/CMakeLists.txt), so that a test that hangs says where."""
HANG_S = 400
HANG = f"{HANG_S}s"  # as rzrun's --timeout has it
