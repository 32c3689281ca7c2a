#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A wrong command line gets one line on standard error that says what to do, and the right exit status; nothing is started."""
import launch_rig as rig
from launch_rig import BAD_LINE, NO_SLOTS, NO_START, NOT_EXECUTABLE, NOT_FOUND

TRUE = "/bin/true"

# Command line, exit status, what the line must say.
CASES = [
    ([], BAD_LINE, "no program"),
    (["-n", "2"], BAD_LINE, "no program"),
    (["--no-such-option", TRUE], BAD_LINE, "unknown option '--no-such-option'"),
    (["-q", TRUE], BAD_LINE, "unknown option '-q'"),
    (["--label=yes", TRUE], BAD_LINE, "takes no value"),
    (["-n"], BAD_LINE, "needs N"),
    (["-n", "0", TRUE], BAD_LINE, "whole number from 1 to 65536"),
    (["-n", "-4", TRUE], BAD_LINE, "whole number"),
    (["-n", "1.5", TRUE], BAD_LINE, "whole number"),
    (["-n", "four", TRUE], BAD_LINE, "whole number"),
    (["-n", "", TRUE], BAD_LINE, "whole number"),
    (["-n", " 4", TRUE], BAD_LINE, "whole number"),
    (["-n", "0x4", TRUE], BAD_LINE, "whole number"),
    (["-n", "99999999999999999999999", TRUE], BAD_LINE, "whole number"),
    (["--nodes", "0", TRUE], BAD_LINE, "whole number from 1 to 1024"),
    (["--nodes", "1025", TRUE], BAD_LINE, "whole number"),
    (["--seed", "x", TRUE], BAD_LINE, "whole number"),
    (["--max-restarts", "-1", TRUE], BAD_LINE, "whole number from 0"),
    (["--place-lost", "there", TRUE], BAD_LINE, "`spread` or `together`"),
    (["--timeout", "0", TRUE], BAD_LINE, "300ms"),
    (["--timeout", "30m1h", TRUE], BAD_LINE, "1h30m"),
    (["-n2x", TRUE], BAD_LINE, "whole number"),
    (["--with-ft", "maybe", TRUE], BAD_LINE, "`mpi`, `ulfm` or `no`"),
    (["--mca", "btl", TRUE], BAD_LINE, "no program"),
    (["--mca", "btl"], BAD_LINE, "needs NAME VALUE"),
    (["-ppn", "0", TRUE], BAD_LINE, "whole number"),
    (["--timeout", "0s", TRUE], BAD_LINE, "300ms"),
    (["--timeout", "-1s", TRUE], BAD_LINE, "300ms"),
    (["--timeout", "soon", TRUE], BAD_LINE, "300ms"),
    (["--timeout", "nans", TRUE], BAD_LINE, "300ms"),
    (["--timeout", "1e999s", TRUE], BAD_LINE, "300ms"),
    (["--hb-period", "2s", "--hb-timeout", "1s", TRUE], BAD_LINE, "--hb-timeout must be longer"),
    (["--hb-period", "1us", TRUE], BAD_LINE, "from 1ms to 1h"),
    (["--hb-period", "0.9ms", TRUE], BAD_LINE, "from 1ms to 1h"),
    (["--hb-timeout", "2h", TRUE], BAD_LINE, "from 1ms to 1h"),
    (["--mca", "mpi_ft_detector_period", "soon", TRUE], BAD_LINE, "needs seconds"),
    (["--mca", "mpi_ft_detector_period", "0.0001", TRUE], BAD_LINE, "needs seconds, from 0.001 to 3600"),
    (["--mca", "mpi_ft_detector_period", "0.5", "--mca", "mpi_ft_detector_timeout", "0.4", TRUE], BAD_LINE, "--hb-timeout must be longer"),
    (["--mca", "mpi_ft_enable", "maybe", TRUE], BAD_LINE, "1 (true) or 0 (false)"),
    (["--mca", "mpi_ft_enable", "true", "--disable-recovery", TRUE], BAD_LINE, "--with-ft mpi and --no-ft cannot be combined"),
    (["--port-range", "50000-50000", "--nodes", "2", TRUE], BAD_LINE, "has 1 ports, and this machine needs at least 2"),
    (["--port-range", "50000-50004", "--nodes", "2", "-n", "4", TRUE], BAD_LINE, "has 5 ports, and this machine needs at least 6"),
    (["--bind-to", "shelf", TRUE], BAD_LINE, "`core` or `none`"),
    (["-n", "4097", "--bind-to", "core", TRUE], NO_SLOTS, "--bind-to none"),
    (["--map-by", "rack", TRUE], BAD_LINE, "`slot`, `node`, `core`"),
    (["--report-bindings=yes", TRUE], BAD_LINE, "takes no value"),
    (["--spares", "-1", TRUE], BAD_LINE, "whole number"),
    (["--spares", "1", TRUE], BAD_LINE, "leaves no node"),
    (["--spares", "all", "--nodes", "2", TRUE], BAD_LINE, "--spares all needs the number of ranks: -n N"),
    (["--spares", "all", "-n", "1", "--no-ft", TRUE], BAD_LINE, "--spares and --no-ft cannot be combined"),
    (["--spares", "2", "--nodes", "2", TRUE], BAD_LINE, "leaves no node"),
    (["--spares", "1", "--nodes", "2", "--no-ft", TRUE], BAD_LINE, "--spares and --no-ft cannot be combined"),
    (["--on-failure", "repair", "--no-ft", TRUE], BAD_LINE, "--on-failure and --no-ft cannot be combined"),
    (["-n", "3", "--host", "localhost:2,localhost:2", "--spares", "1", TRUE], NO_SLOTS, "--spares not counted"),
    (["--on-failure", "retry", TRUE], BAD_LINE, "`restart` or `abort`"),
    (["-x", "RZ_NO_SUCH_VARIABLE", TRUE], BAD_LINE, "NAME=VALUE"),
    (["-x", "=3", TRUE], BAD_LINE, "NAME=VALUE"),
    (["--report", "/nonexistent/report", TRUE], BAD_LINE, "cannot be written"),
    (["--host", "", TRUE], BAD_LINE, "host name"),
    (["--host", "localhost,,localhost", TRUE], BAD_LINE, "host 2 of the list: a host name"),
    (["--host", "h" * 200, TRUE], BAD_LINE, "host name"),
    (["--host", "far/example", TRUE], BAD_LINE, "letters, digits"),
    (["--host", "localhost:", TRUE], BAD_LINE, "slots are a whole number"),
    (["--host", "localhost:0", TRUE], BAD_LINE, "slots are a whole number"),
    (["--host", "localhost:two", TRUE], BAD_LINE, "slots are a whole number"),
    (["--hostfile", "/nonexistent/hosts", TRUE], BAD_LINE, "cannot be read"),
    (["--hostfile", "/tmp", TRUE], BAD_LINE, "directory"),
    (["--hostfile", "/dev/zero", TRUE], BAD_LINE, "more than 16 MiB"),
    (["--hostfile", "/dev/null", TRUE], BAD_LINE, "names no host"),
    (["--host", "localhost", "--nodes", "2", TRUE], BAD_LINE, "one or the other"),
    (["-n", "3", "--host", "localhost:2", TRUE], NO_SLOTS, "--oversubscribe"),
    (["rz-no-such-program"], NOT_FOUND, "PATH"),
    (["./rz-no-such-program"], NOT_FOUND, "no such file"),
    ([""], NOT_FOUND, "PATH"),
    (["/tmp"], NOT_EXECUTABLE, "directory"),
    (["/etc/passwd"], NOT_EXECUTABLE, "chmod +x"),
    (["/etc/passwd/x"], NOT_FOUND, "Not a directory"),
    (["--wdir", "/nonexistent", TRUE], NO_START, 'working directory "/nonexistent"'),
]

# Options that contradict each other, and such as have an effect with another one only: each of them, and that other one.
TOGETHER = [
    (["--with-ft", "mpi"], ["--no-ft"]), (["--detector", "swim"], ["--no-ft"]), (["--agree", "era"], ["--no-ft"]),
    (["--accept-failures"], ["--no-ft"]), (["--accept-failures"], ["--on-failure", "abort"]),
    (["--accept-failures"], ["--on-failure", "restart"]), (["--rewind-check"], ["--detach"]),
    (["--rewind", "1s", "--rewind-output", "hold"], ["--detach"]), (["--checkpoint-dir", "."], ["--detach"]),
    (["--story"], ["--detach"]), (["--on-failure", "restart"], ["--detach"]), (["--debugger", "gdb"], ["--rewind", "1s"]),
    (["--hb-period", "50ms"], ["--no-ft"]), (["--hb-timeout", "2s"], ["--no-ft"]), (["--checkpoint", "memory"], ["--no-ft"]),
    (["--place-lost", "spread"], ["--no-ft"]), (["--max-restarts", "3"], ["--no-ft"]), (["--max-restarts", "3"], ["--with-ft", "no"]),
    (["--place-lost", "together"], ["--on-failure", "abort"]), (["--place-lost", "together"], ["--on-failure", "continue"]),
    (["--place-lost", "together"], ["--on-failure", "restart"]), (["--max-restarts", "3"], ["--on-failure", "abort"]),
    (["--readmit", "--checkpoint-dir", "."], ["--on-failure", "abort"]), (["--hang-report", "1s"], ["--detach"]),
    (["--label"], ["--detach"]), (["--output", "tag"], ["--detach"]),
]
ALONE = [
    (["--rewind-output", "hold"], "--rewind T"), (["--rewind-output", "drop"], "--rewind T"), (["--rewind-or-abort"], "--rewind T"),
    (["--rewind-scheme", "memory"], "--rewind T"), (["--readmit"], "--checkpoint-dir DIR"), (["--spool", "1MiB"], "--detach"),
    (["--readmit", "--checkpoint-dir", "."], "other hosts"), (["--linger", "1s"], "--detach"),
    (["--seed", "7"], "--inject"), (["--debug-ranks", "0"], "--debugger"), (["--debug-terminal", "plain"], "--debugger"),
]

# They concern a job that is started, and so are refused with --attach and --end.
OF_A_START = [
    ["--timeout", "1m"], ["-n", "2"], ["--nodes", "2"], ["--story"], ["--report", "r"], ["--report-html", "r"], ["--progress"], ["--no-ft"],
    ["--inject", "kill rank 0 at 1s"], ["--seed", "3"], ["--hang-report", "1s"], ["--hang-timeout", "1s"], ["--on-failure", "abort"],
    ["--spool", "1MiB"], ["--linger", "1s"], ["--output-wait", "1s"], ["--report-bindings"], ["--rewind", "1s"], ["--checkpoint-dir", "."],
]

FAULTS = [
    ("", "begins with kill, stop, every"),
    ("explode rank 0 at 1s", "begins with kill, stop, every"),
    ("KILL rank 0 at 1s", "begins with kill, stop, every"),
    ("kill", "`rank R` or `node N`"),
    ("kill rank", "whole number"),
    ("kill rank x at 3s", "whole number"),
    ("kill rank -1 at 1s", "whole number"),
    ("kill rank 99999999999999999999 at 1s", "whole number"),
    ("kill rank 0", "`at`"),
    ("kill rank 0 at", "900ms"),
    ("kill rank 0 at 3", "900ms"),
    ("kill rank 0 at nans", "900ms"),
    ("kill rank 0 at -3s", "900ms"),
    ("kill rank 0 at 1e999s", "900ms"),
    ("kill rank 0 at iteration", "whole number"),
    ("kill rank 0 at iteration -1", "whole number"),
    ("kill rank 0 at 1s extra", "further words after its end"),
    ("kill rank 0 at 1s for 2s", "further words after its end"),
    ("kill rank 2 at 1s", "there is no rank 2, they are 0 to 1"),
    ("kill node 1 at 1s", "there is no node 1, "),
    ("stop rank 0 at 1s", "`for`"),
    ("stop rank 0 at 1s for", "`for`"),
    ("stop rank 0 at 1s for ever", "`for`"),
    ("every kill random rank", "time like 2s"),
    ("every 0s kill random rank", "time like 2s"),
    ("every 1s kill rank 0", "`kill random rank`"),
    ("every 1s kill random", "`kill random rank`"),
    ("kill " + "rank " * 40, "a rank or a node is a whole number|too many or too long words"),
    ("kill rank 0 at " + "9" * 300 + "s", "too many or too long words"),
]


class BadInput(rig.LaunchTest):
    def test_options_together(self):
        for a, b in TOGETHER:
            for words in (a + b, b + a):
                self.refused([*words, TRUE], BAD_LINE, "cannot be combined: ")
        for words, other in ALONE:
            self.refused([*words, TRUE], BAD_LINE, f"{[word for word in words if word.startswith('--')][0]} has no effect without {other}")

    def test_attached_jobs_are_as_they_were_started(self):
        for words in OF_A_START:
            for what in "--attach", "--end":
                self.refused([what, "12ab", *words], BAD_LINE, f" and {what} cannot be combined: the second is for a job that already runs")

    def refused(self, arguments, status, says):
        with self.subTest(arguments=arguments):
            result = self.run_it(*arguments)
            self.assertEqual(result.status, status, result.err)
            self.assertEqual(result.out, "")
            self.assertEqual(result.err.count("\n"), 1, result.err)
            self.assertTrue(result.err.startswith("rzrun: "), result.err)
            self.assertTrue(any(word in result.err for word in says.split("|")), result.err)

    def test_options_and_programs(self):
        for arguments, status, says in CASES:
            self.refused(arguments, status, says)

    def test_faults(self):
        for fault, says in FAULTS:
            self.refused(["-n", "2", "--inject", fault, TRUE], BAD_LINE, says)

    def test_too_many_faults(self):
        self.refused(["--inject", "kill rank 0 at 9s"] * 65 + [TRUE], BAD_LINE, "too many faults")

    def test_host_files(self):
        for text, says in [("far/example\n", "line 1: a host name has"), ("localhost slots=x\n", "slots are a whole number"),
                           ("localhost what\n", "slots=N"), ("localhost slots=1 more\n", "slots=N"),
                           ("# one\nlocalhost\n\nlocalhost slots=0\n", "line 4: slots"), ("localhost rack=\n", "rack's name")]:
            self.refused(["--hostfile", self.file("hosts", text), TRUE], BAD_LINE, says)
        for option, text in [("--hostfile", "localhost\nlocalhost\0 slots=2\n"), ("--rankfile", "rank 0=localhost\nrank 1=localhost\0 slot=0\n"),
                             ("--app", "-n 1 /bin/echo one\n-n 1 /bin/echo two\0 three\n")]:
            words = ["-n", "1"] if option == "--rankfile" else []
            self.refused([*words, option, self.file("lines", text), *([] if option == "--app" else [TRUE])], BAD_LINE,
                         "line 2: there is a zero byte")
        self.refused(["-n", "4", "--hostfile", self.file("hosts", "# two\nlocalhost slots=2\n\n"), TRUE], NO_SLOTS,
                     "4 ranks do not fit into 2 slots")
        self.refused(["-n", "4", "--oversubscribe", "--hostfile", self.file("hosts", "localhost slots=2 max_slots=3\n"), TRUE], NO_SLOTS,
                     "max_slots=3 of the hostfile")

    def test_a_full_disk_is_told(self):
        result = self.runs("-n", "2", "--report", "/dev/full", TRUE)
        self.assertIn("--report /dev/full: not all of it could be written: No space left", result.err)

    def test_missing_interpreter(self):
        script = self.file("script", "#!/nonexistent/interpreter\n", 0o755)
        self.refused([script], NOT_EXECUTABLE, "interpreter")

    def test_what_is_right_is_not_refused(self):
        self.runs("-n", "3", "--host", "localhost:2", "--oversubscribe", TRUE)
        self.runs("-np", "2", "--nodes=2", "--timeout=" + rig.HANG, "--", TRUE)
        self.runs("-n", "2", "--hostfile", self.file("hosts", "localhost slots=2 # here\n"), "true")
        self.runs("--host", "localhost:2,127.0.0.1:2", TRUE)


rig.main()
