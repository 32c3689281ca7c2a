#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A rank that the kernel kills for lack of memory is not told as any other that was killed. Skipped (77) where this user may make no control
group with a limit on memory."""
import os
import sys

import launch_rig as rig
import memory_group

NAME = f"rz-memory-kill-{os.getpid()}"
KILLED = r"(?m)^rzrun: rank 1 was killed by signal 9 \(Killed\)"
ENTER = '[ $RZ_RANK = 0 ] || { echo $$ >"$0" && exec "$@"; }'
LARGE = "x = bytearray(256 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1"


class MemoryKill(rig.LaunchTest):
    def setUp(self):
        super().setUp()
        self.group = memory_group.make(NAME, 64 << 20)
        self.addCleanup(memory_group.remove, self.group)

    def killed(self, *words):
        """Rank 1 runs these words in the group, and is killed; what is said."""
        return self.runs("-n", "2", "/bin/sh", "-c", ENTER, f"{self.group}/cgroup.procs", *words, status=137).err

    def test_what_is_said(self):
        """In this order: until the group has lost a process, no kill of this job is blamed on memory."""
        self.assertRegex(self.killed("/bin/sh", "-c", "kill -9 $$"), KILLED + "$")
        self.assertRegex(self.killed(sys.executable, "-c", LARGE), KILLED + ", when the kernel killed a process for lack of memory$")


if __name__ == "__main__":
    probe = memory_group.make(f"{NAME}-probe", 64 << 20)
    if not probe:
        print("this user may make no control group with a limit on memory")
        sys.exit(77)
    memory_group.remove(probe)
    rig.main()
