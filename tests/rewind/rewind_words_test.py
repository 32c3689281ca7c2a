#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a command line with --rewind may be.

    rewind_words_test.py     RZ_TEST_BUILD names the build tree
"""
import rewind_programs as programs
rig = programs.rig

REFUSED = rig.program("rewind_refused")
EVERY, HOLD = ("--rewind", "20ms"), ("--rewind-output", "hold")


class Words(rig.LaunchTest):
    def refused(self, words, *options):
        result = self.run_it("-n", "2", *options, REFUSED, "nothing", "10")
        self.assertEqual(result.status, rig.BAD_LINE, result.err)
        self.assertIn(words, result.err)

    def test_refused_command_lines(self):
        for every in ("1ms", "0", "-1s", "soon", ""):
            self.refused("it needs the time from one snapshot to the next, 10ms or more", "--rewind", every)
        self.refused("it is `drop`, `repeat` or `hold`", *EVERY, "--rewind-output", "held")
        self.refused("--rewind-output hold and --detach cannot be combined", *EVERY, *HOLD, "--detach")
        self.refused("--rewind-or-abort has no effect without --rewind T", "--rewind-or-abort")
        self.refused("--rewind-scheme has no effect without --rewind T or --rewind-check", "--rewind-scheme", "memory")
        self.refused("--rewind-check and --detach cannot be combined", "--rewind-check", "--detach")
        self.refused("--rewind-check and --checkpoint-dir DIR cannot be combined", "--rewind-check", "--checkpoint-dir", self.folder)
        self.refused("--rewind-check and --inject cannot be combined", "--rewind-check", "--inject", "kill rank 0 at 1s")
        self.refused("--rewind-scheme file needs a directory", *EVERY, "--rewind-scheme", "file")
        self.refused("--rewind-scheme rs:2+1 needs groups of 3 nodes, and there are 1", *EVERY, "--rewind-scheme", "rs:2+1")
        self.refused("--rewind-scheme memory and --checkpoint buddy cannot be combined: with --rewind they are the same setting", *EVERY,
                     "--rewind-scheme", "memory", "--checkpoint", "buddy")
        for other in (("--no-ft",), ("--net", "ucx"), ("--detector", "flat"), ("--on-failure", "continue"), ("--mpi", "pmix")):
            self.refused(f"--rewind and {' '.join(other) if other[0] in ('--net', '--detector') else other[0]} cannot be combined", *EVERY, *other)


rig.main()
