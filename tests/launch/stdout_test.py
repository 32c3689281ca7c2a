#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the standard output of a rank is (--stdout): last output, terminals, bytes."""
import os
import pty
import unittest

import launch_rig as rig

SH = "/bin/sh"
WORDS = [rig.program("launch_parts"), "words"]
ISATTY = [SH, "-c", "if [ -t 1 ]; then echo terminal; else echo pipe; fi"]
KILLED = 137


class Stdout(rig.LaunchTest):
    def test_last_words_of_a_process_that_is_killed(self):
        for how, heard in (("auto", True), ("line", True), ("pty", True), ("full", False)):
            result = self.runs("--stdout", how, *WORDS, status=KILLED)
            self.assertEqual("last words\n" in result.out, heard, how)

    def test_terminal_or_pipe(self):
        for how, what in (("auto", "pipe\n"), ("line", "pipe\n"), ("full", "pipe\n"), ("pty", "terminal\n")):
            self.assertEqual(self.runs("--stdout", how, *ISATTY).out, what)

    def test_auto_at_a_terminal(self):
        terminal, other = pty.openpty()
        self.finish(self.start(*ISATTY, stdout=other))
        os.close(other)
        self.assertEqual(os.read(terminal, 100).strip(), b"terminal")
        os.close(terminal)

    def test_bytes_stay_as_they_are(self):
        """All bytes, the newline and what terminals take for orders among them, more than any buffer holds."""
        data = bytes(range(256)) * 4000
        path = f"{self.folder}/data"
        with open(path, "wb") as file:
            file.write(data)
        for how in ("pty", "line"):
            process = self.start("-n", "2", "--nodes", "2", "--stdout", how, SH, "-c", f"if [ $RZ_RANK = 1 ]; then cat {path}; fi")
            out, _ = process.communicate(timeout=rig.HANG_S)
            self.assertTrue(out == data, f"{how}: {len(out)} of {len(data)} bytes, or others")

    def test_many_terminals(self):
        self.assertEqual(self.runs("-n", "40", "--stdout", "pty", *ISATTY).out, "terminal\n" * 40)

    @unittest.skipUnless(os.geteuid() == 0, "needs a mount namespace")
    def test_no_terminals_left(self):
        """A pipe is used instead, and the output is not lost either."""
        line = f'mount --bind /dev/null /dev/ptmx && exec "{os.path.abspath(rig.RZRUN)}" --stdout pty "$@"'
        for program, status, says in ((ISATTY, 0, "pipe\n"), ([os.path.abspath(WORDS[0]), "words"], KILLED, "last words\n")):
            result = self.finish(self.start("-m", SH, "-c", line, "sh", *program, rzrun="/usr/bin/unshare"))
            self.assertEqual(result.status, status, result.err)
            self.assertIn(says, result.out)

    def test_wrong(self):
        self.assertIn("`pty`", self.runs("--stdout", "tty", "/bin/true", status=rig.BAD_LINE).err)


rig.main()
