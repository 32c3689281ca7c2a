#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Several programs in one job (MPMD), by `:` and from a file."""
import os

import launch_rig as rig

SH = "/bin/sh"
PARTS = rig.program("launch_parts")
TELL = [SH, "-c", 'echo "$RZ_RANK $0 $A $B $(pwd)"']


class Parts(rig.LaunchTest):
    def lines(self, *arguments, **options):
        return sorted(self.runs(*arguments, **options).out.splitlines())

    def test_ranks_go_on_where_the_program_before_ended(self):
        for nodes in ("1", "3"):
            self.assertEqual(self.lines("--nodes", nodes, "-n", "2", PARTS, "a", ":", "-n", "1", PARTS, "b", ":", "-n", "2", PARTS, "c"),
                             [f"rank {rank} of program {number}, {word}, universe known"
                              for rank, number, word in ((0, 0, "a"), (1, 0, "a"), (2, 1, "b"), (3, 2, "c"), (4, 2, "c"))])

    def test_one_rank_each_where_nothing_is_said(self):
        self.assertEqual(self.lines(SH, "-c", "echo a", ":", SH, "-c", "echo b"), ["a", "b"])

    def test_options_of_a_part(self):
        here, there = os.getcwd(), os.path.realpath(self.folder)
        self.assertEqual(
            self.lines("-genv", "B", "all", "-n", "1", "-x", "A=one", *TELL, "a", ":", "-n", "1", "-env", "A", "two", "--wdir", there, *TELL, "b", ":",
                       "-n", "1", *TELL, "c"),
            [f"0 a one all {here}", f"1 b two all {there}", f"2 c  all {here}"])

    def test_path_of_a_part(self):
        self.file("tool", "#!/bin/sh\necho found\n", 0o755)
        self.assertEqual(self.lines("-n", "1", SH, "-c", "echo a", ":", "-path", self.folder, "tool"), ["a", "found"])

    def test_a_replacement_runs_the_program_of_its_part(self):
        result = self.lines("--nodes", "2", "-n", "1", PARTS, "a", "crash", ":", "-n", "2", PARTS, "b", "crash")
        self.assertEqual(result, ["rank 0 of program 0, a, universe known"] + [f"rank {rank} of program 1, b, universe known" for rank in (1, 2)])

    def test_file(self):
        for option in ("--app", "-configfile"):
            file = self.file("app", f"# three ranks\n-n 2 {SH} -c 'echo \"a  $RZ_APPNUM\"'   # two\n\n{SH} -c \"echo b $RZ_APPNUM\"\n")
            self.assertEqual(self.lines(option, file), ["a  0", "a  0", "b 1"], option)

    def test_wrong(self):
        unclosed = self.file("unclosed", "/bin/true\n/bin/echo 'a\n")
        for arguments, status, says in [
                ((SH, "-c", "true", ":"), rig.BAD_LINE, "part 2 of the command line has no program"),
                ((":", "/bin/true"), rig.BAD_LINE, "part 1"),
                (("/bin/true", ":", "--nodes", "2", "/bin/true"), rig.BAD_LINE, "stands before the first program"),
                (("/bin/true", ":", "./rz-no-such"), rig.NOT_FOUND, "cannot run './rz-no-such'"),
                (("--app", unclosed), rig.BAD_LINE, "line 2: a quote does not end"),
                (("--app", "/nonexistent"), rig.BAD_LINE, "cannot be read"),
                (("--app", "/dev/null"), rig.BAD_LINE, "names no program"),
                (("--app", unclosed, "/bin/true"), rig.BAD_LINE, "there is '/bin/true', too"),
                (("-n", "40000", "/bin/true", ":", "-n", "40000", "/bin/true"), rig.BAD_LINE, "more than 65536")]:
            with self.subTest(arguments=arguments):
                result = self.runs(*arguments, status=status)
                self.assertIn(says, result.err)

    def test_a_part_that_cannot_be_executed(self):
        script = self.file("script", "#!/nonexistent/interpreter\n", 0o755)
        self.assertIn(script, self.runs("/bin/true", ":", script, status=rig.NOT_EXECUTABLE).err)

    def test_the_status_of_a_part(self):
        self.runs("/bin/true", ":", SH, "-c", "exit 7", status=7)


rig.main()
