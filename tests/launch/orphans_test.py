#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a rank has started and left, out of its session, is ended with the job. Run under tests/fault/old_kernel.c, too."""
import launch_rig as rig


class Orphans(rig.LaunchTest):
    def test_nothing_is_left(self):
        self.runs("-n", "2", "--nodes", "2", "--oversubscribe", "/bin/sh", "-c",
                  "setsid sleep 1000 > /dev/null 2>&1 & sleep 1000 > /dev/null 2>&1 & exit 0")
        self.assertEqual(rig.lasting(self.left_behind, rig.HANG_S), [])


if __name__ == "__main__":
    rig.main()
