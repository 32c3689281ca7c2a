#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Input, output, environment and directory of the processes."""
import os
import signal
import subprocess

import launch_rig as rig

SH = "/bin/sh"


class Streams(rig.LaunchTest):
    def test_input_goes_to_rank_0(self):
        script = "n=$(wc -c); echo $RZ_RANK $n"
        result = self.runs("-n", "2", SH, "-c", script, data=b"hello\n")
        self.assertEqual(sorted(result.out.splitlines()), ["0 6", "1 0"])

    def test_input_from_a_file(self):
        with open(self.file("input", "line\n" * 1000)) as data:
            self.assertEqual(self.runs(SH, "-c", "wc -l", stdin=data).out.strip(), "1000")

    def test_input_from_nowhere(self):
        self.assertEqual(self.runs("/bin/cat").out, "")

    def test_input_that_is_closed(self):
        line = ["/bin/sh", "-c", f'exec "{rig.RZRUN}" /bin/cat <&-']
        result = self.finish(self.start(*line[1:], rzrun=line[0]))
        self.assertEqual((result.status, result.out), (0, ""))

    def test_large_input_arrives_whole(self):
        data = os.urandom(8 << 20)
        process = self.start("/bin/cat", stdin=subprocess.PIPE)
        out, _ = process.communicate(data, timeout=rig.HANG_S)
        self.assertEqual(process.returncode, 0)
        self.assertTrue(out == data, f"{len(out)} of {len(data)} bytes, or others")

    def test_input_that_is_not_read(self):
        self.runs(SH, "-c", "exit 0", data=b"x" * (4 << 20))

    def test_input_that_is_read_in_part(self):
        self.assertEqual(self.runs(SH, "-c", "head -c 5", data=b"12345" + b"x" * (4 << 20)).out, "12345")

    def test_input_stays_open_while_the_job_ends(self):
        reader, writer = os.pipe()
        try:
            self.runs("/bin/true", stdin=reader)
        finally:
            os.close(reader)
            os.close(writer)

    def test_output_and_errors_keep_apart(self):
        result = self.runs("-n", "2", SH, "-c", "echo out; echo err >&2")
        self.assertEqual((result.out, result.err), ("out\n" * 2, "err\n" * 2))

    def test_large_output_arrives_whole(self):
        result = self.runs("-n", "2", SH, "-c", "head -c 5000000 /dev/zero | tr '\\0' x")
        self.assertEqual(len(result.out), 10000000)

    def test_output_of_what_a_rank_has_left(self):
        """It is carried after the end of its rank, also out of its session, also while other ranks run; so does a detached job."""
        left = "while kill -0 $rank 2> /dev/null; do sleep 0.01; done; echo late; echo late >&2"
        for begins in ("", "setsid "):
            script = f"export rank=$$; {begins}{SH} -c '{left}' & exec true"
            for more in ((), (":", "-n", "1", SH, "-c", "sleep 0.2; echo later")):
                result = self.runs("-n", "2", "--nodes", "2", "--oversubscribe", SH, "-c", script, *more)
                self.assertEqual((result.out.count("late\n"), result.err), (2, "late\n" * 2))
        job = self.runs("--detach", SH, "-c", script).out.strip()
        self.assertEqual(self.runs("--attach", job).out, "late\n")

    def test_what_a_rank_has_left_is_not_awaited_for_ever(self):
        """The status is the job's own; the message says what holds the pipe, and by which option it was given up."""
        for stdout in ("pty", "line"):
            result = self.runs("-n", "2", "--stdout", stdout, "--output-wait", "300ms", SH, "-c", "sleep 1000 & exec true")
            self.assertRegex(result.err, r"rank 0 has ended, and its descendant \d+ \(sleep\) still holds its standard output after 0.3 s "
                                         r"\(--output-wait\): .*; the same for 1 more ranks here")
        result = self.runs("--timeout", "1s", "--output-wait", "1h", SH, "-c", "sleep 1000 & exec true")
        self.assertIn("--timeout: what processes that ranks have left would still write", result.err)
        self.assertEqual(self.runs("--output-wait", "0", SH, "-c", "sleep 1000 & exec true").err, "")
        self.assertEqual(rig.lasting(self.left_behind, rig.HANG_S), [])

    def test_what_a_failed_rank_has_left_is_not_awaited(self):
        result = self.run_it("--output-wait", "1h", SH, "-c", "sleep 1000 & kill -9 $$")
        self.assertEqual((result.status, "--output-wait" in result.err), (137, False))

    def test_an_interrupt_ends_the_wait_for_output(self):
        process = self.start("--output-wait", "1h", SH, "-c", "echo ends; sleep 1000 & exec true", stdout=subprocess.PIPE)
        process.stdout.readline()
        process.terminate()
        self.assertEqual(self.finish(process).status, 128 + signal.SIGTERM)
        self.assertEqual(rig.lasting(self.left_behind, rig.HANG_S), [])

    def test_output_without_a_newline_at_the_end(self):
        self.assertEqual(self.runs(SH, "-c", "printf abc").out, "abc")

    def test_output_that_is_not_read(self):
        process = self.start("-n", "2", SH, "-c", "yes")
        process.stdout.read(10)
        process.stdout.close()
        process.terminate()
        process.stderr.close()
        process.wait(timeout=rig.HANG_S)

    def test_labels(self):
        for nodes in ("1", "2"):
            result = self.runs("-n", "4", "--nodes", nodes, "--label", SH, "-c",
                               "for i in 1 2 3; do echo line $i; done; printf end")
            lines = result.out.replace("end[", "end\n[").splitlines()
            self.assertTrue(all(line[:4] in ("[0] ", "[1] ", "[2] ", "[3] ") for line in lines), result.out)
            self.assertEqual(result.out.count("line"), 12)

    def test_labelled_lines_wait_for_their_end(self):
        """Rank 0 rests within a line, for longer than a question would be held back, while rank 1 writes."""
        script = "if [ $RZ_RANK = 0 ]; then printf one-; sleep 0.4; echo line; else for i in 1 2 3 4 5 6; do echo other; sleep 0.1; done; fi"
        result = self.runs("-n", "2", "--label", SH, "-c", script)
        self.assertEqual(sorted(result.out.splitlines()), ["[0] one-line"] + ["[1] other"] * 6)

    def test_environment(self):
        result = self.runs("-n", "2", "-x", "ONE=a b=c", "-x", "TWO", "-x", "EMPTY=", SH, "-c", 'echo "$ONE|$TWO|${EMPTY-no}"',
                           environment={"TWO": "second"})
        self.assertEqual(result.out, "a b=c|second|\n" * 2)

    def test_directory(self):
        for option in (["--wdir", self.folder], ["-wdir", self.folder], [f"--wdir={self.folder}"]):
            self.assertEqual(self.runs(*option, "/bin/pwd").out.strip(), self.folder)
        self.assertEqual(self.runs("/bin/pwd").out.strip(), os.getcwd())

    def test_relative_program_with_another_directory(self):
        self.file("here", "#!/bin/sh\necho found\n", 0o755)
        line = f'cd "{self.folder}" && exec "{os.path.abspath(rig.RZRUN)}" --wdir / ./here'
        result = self.finish(self.start("-c", line, rzrun="/bin/sh"))
        self.assertEqual((result.status, result.out), (0, "found\n"), result.err)

    def test_relative_program_of_the_directory(self):
        """--wdir DIR ./prog is that of DIR, for each part by its own; so is a bare name that PATH does not have."""
        os.mkdir(f"{self.folder}/a"), os.mkdir(f"{self.folder}/b"), os.mkdir(f"{self.folder}/bin")
        for name in ("a/rz-tell", "b/rz-tell", "bin/rz-path", "rz-tell"):
            self.file(name, "#!/bin/sh\necho $0 in $PWD\n".replace("$0", name), 0o755)

        def tells(words, expected):
            line = f'cd "{self.folder}" && exec "{os.path.abspath(rig.RZRUN)}" {words}'
            result = self.finish(self.start("-c", line, rzrun="/bin/sh"))
            self.assertEqual((result.status, sorted(result.out.split("\n"))), (0, sorted([*expected, ""])), result.err)
        tells("--wdir a ./rz-tell : --wdir b ./rz-tell", [f"a/rz-tell in {self.folder}/a", f"b/rz-tell in {self.folder}/b"])
        tells(f"--wdir {self.folder}/b rz-tell", [f"b/rz-tell in {self.folder}/b"])
        tells("--wdir a --path bin rz-path", [f"bin/rz-path in {self.folder}/a"])
        result = self.run_it("--wdir", "/", "./rz-no-such-program")
        self.assertEqual(result.status, rig.NOT_FOUND)
        self.assertIn("neither in the directory of --wdir nor in this one", result.err)

    def test_arguments_arrive_as_they_are(self):
        words = ["", "a b", "*", "$HOME", "-n", "--help", "\\", "ü", "'"]
        result = self.runs("/usr/bin/printf", "[%s]\\n", *words)
        self.assertEqual(result.out.splitlines(), [f"[{word}]" for word in words])


rig.main()
