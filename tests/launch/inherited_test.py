#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What rzrun was started with: ranks have it, and rzrun itself goes by it (nohup, jobs in the background)."""
import os
import pty
import resource
import select
import signal
import sys

import launch_rig as rig

SH = "/bin/sh"


def bit(number):
    return 1 << (number - 1)


# Of the C library, below SIGRTMIN: a program started by its posix_spawn, as by make, has them ignored.
INTERNAL = bit(32) | bit(33)


def mask_of(text, field):
    line = next(line for line in text.splitlines() if line.startswith(field))
    return int(line.split()[1], 16) & ~INTERNAL


class Inherited(rig.LaunchTest):
    def started_by(self, prepare, *command, nodes="2"):
        """The output of a rank, rzrun's process having been prepared."""
        return self.runs("-n", "1", "--nodes", nodes, *command, preexec_fn=prepare).out

    def test_niceness(self):
        self.assertEqual(self.started_by(lambda: os.nice(7), "/usr/bin/nice").strip(), str(os.nice(0) + 7))

    def test_limits(self):
        def prepare():
            resource.setrlimit(resource.RLIMIT_NOFILE, (321, 654))
            resource.setrlimit(resource.RLIMIT_CORE, (4096, 8192))
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 24))
        out = self.started_by(prepare, SH, "-c", "ulimit -Sn; ulimit -Hn; grep 'Max core file' /proc/self/limits; ulimit -Ss; ulimit -Hs")
        self.assertEqual(out.split(), "321 654 Max core file size 4096 8192 bytes 1024 16384".split())

    def test_umask_and_directory(self):
        def prepare():
            os.umask(0o027)
            os.chdir(folder)
        folder = os.path.realpath(self.folder)
        out = self.runs("-n", "1", SH, "-c", "umask; pwd", preexec_fn=prepare, rzrun=os.path.abspath(rig.RZRUN)).out
        self.assertEqual(out.split(), ["0027", folder])

    def test_signals(self):
        ignored = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGCHLD, signal.SIGUSR1, signal.SIGTTIN]
        blocked = {signal.SIGWINCH, signal.SIGUSR2}

        def prepare():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which Python ignores
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        out = self.runs("-n", "1", "/bin/grep", "^Sig", "/proc/self/status", preexec_fn=prepare, restore_signals=False).out
        self.assertEqual(mask_of(out, "SigIgn"), sum(bit(number) for number in ignored))
        self.assertEqual(mask_of(out, "SigBlk"), sum(bit(number) for number in blocked))

    def test_signals_as_usual(self):
        out = self.runs("-n", "1", "/bin/grep", "^Sig", "/proc/self/status").out
        self.assertEqual((mask_of(out, "SigIgn"), mask_of(out, "SigBlk")), (0, 0))

    def test_ignored_signals_do_not_end_the_job(self):
        """As nohup (SIGHUP) and shells without job control (SIGINT, SIGQUIT of what they start in the background) have it."""
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            go = f"{self.folder}/go.{number}"
            process = self.start("-n", "2", SH, "-c", f"echo up; while [ ! -e {go} ]; do sleep 0.05; done; echo down",
                                 preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
            self.assertEqual(process.stdout.readline() + process.stdout.readline(), b"up\nup\n")
            process.send_signal(number)
            self.file(f"go.{number}", "")
            result = self.finish(process)
            self.assertEqual((result.status, result.out), (0, "down\n" * 2), result.err)

    def test_nohup(self):
        go = f"{self.folder}/go"
        process = self.start(os.path.abspath(rig.RZRUN), SH, "-c", f"echo up; while [ ! -e {go} ]; do sleep 0.05; done; echo down",
                             rzrun="/usr/bin/nohup")
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.send_signal(signal.SIGHUP)
        self.file("go", "")
        self.assertEqual((self.finish(process).out), "down\n")

    def test_quit_leaves_nothing(self):
        process = self.start("-n", "4", "--nodes", "2", "/bin/sleep", "100",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        self.await_members(4, 2)
        process.send_signal(signal.SIGQUIT)
        self.assertEqual(self.finish(process).status, -signal.SIGQUIT)

    def test_user_signals_reach_the_ranks(self):
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            process = self.start("-n", "2", "--nodes", "2", SH, "-c", f"trap 'echo got; exit 0' {number}; echo up; while :; do sleep 0.05; done")
            self.assertEqual(process.stdout.readline() + process.stdout.readline(), b"up\nup\n")
            process.send_signal(number)
            result = self.finish(process)
            self.assertEqual((result.status, result.out), (0, "got\n" * 2), result.err)

    def test_a_loop_of_a_script_ends_with_an_interrupt(self):
        """A shell ends its loop when what it waited for failed by SIGINT itself, not when it returned 130."""
        line = f'for i in 1 2 3; do "{rig.RZRUN}" {SH} -c "echo up; exec sleep 100"; done; echo on'
        process = self.start("-c", line, rzrun="/bin/bash", start_new_session=True)
        self.assertEqual(process.stdout.readline(), b"up\n")
        os.killpg(process.pid, signal.SIGINT)
        result = self.finish(process)
        self.assertEqual((result.status, result.out), (-signal.SIGINT, ""), result.err)

    def test_limits_that_are_too_low(self):
        """Each is named, with what to raise; no process ends by a signal of its own."""
        def limited(which, bound):
            return self.run_it("-n", "2", rig.program("launch_parts"), "word", preexec_fn=lambda: resource.setrlimit(which, (bound, bound)))
        result = limited(resource.RLIMIT_FSIZE, 10 << 10)
        self.assertEqual(result.status, rig.NO_START, result.err)
        self.assertIn("raise `ulimit -f`", result.err)
        result = limited(resource.RLIMIT_FSIZE, 40 << 20)
        if result.status != 0:  # as large as an inbox is
            self.assertIn("as large as its inbox (ulimit -f)", result.err)
            self.assertNotIn("killed by signal", result.err)
        result = limited(resource.RLIMIT_NOFILE, 32)
        self.assertEqual(result.status, rig.NO_START, result.err)
        self.assertIn("raise `ulimit -n`", result.err)

    def test_a_low_limit_that_may_be_raised(self):
        """Descriptors of all ranks of a node are the daemon's: the limit of each rank is its own affair, and stays as it was."""
        def low():
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (32, hard))
        result = self.run_it("-n", "40", "--oversubscribe", SH, "-c", "ulimit -Sn", preexec_fn=low)
        self.assertEqual((result.status, result.out.split()), (0, ["32"] * 40), result.err)

    # ---- wrappers that close what they do not know

    CLOSES = ["-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]

    def test_closed_descriptors(self):
        """Python's subprocess and sudo close all descriptors above 2 before the MPI program starts."""
        result = self.runs("-n", "4", "--nodes", "2", sys.executable, *self.CLOSES, rig.program("launch_parts"), "word")
        self.assertEqual(result.out.count(", word, "), 4, result.err)

    def test_another_file_at_the_descriptor(self):
        result = self.runs("-n", "2", SH, "-c", f"exec 3</dev/null; exec {rig.program('launch_parts')} word")
        self.assertEqual(result.out.count(", word, "), 2, result.err)

    def test_failure_behind_a_wrapper(self):
        """A process that came by the second way is watched, and replaced, as any other."""
        result = self.runs("-n", "3", sys.executable, *self.CLOSES, rig.program("launch_parts"), "word", "fail")
        self.assertEqual(result.out.count(", word, "), 3, result.err)

    def test_second_way_is_taken_once(self):
        """Neither after the link was used nor after the second way was."""
        program = rig.program("launch_parts")
        for first in (program, f"{program} word 3<&-; {program}"):
            result = self.run_it("-n", "1", SH, "-c", f"{first} word && {program} again 3<&-")
            self.assertNotEqual(result.status, 0)
            self.assertIn("one program per rank can use MPI", result.err)
            self.assertEqual(result.out.count("word"), 1)

    def test_second_way_needs_the_key(self):
        """What knows the name of the socket, but not the key of a process, is refused; the process joins undisturbed."""
        stranger = "import os, socket, sys\n" \
                   "uid, token, node = os.environ['RZ_LINK_SOCKET'].split('/')\n" \
                   "def call():\n" \
                   "    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n" \
                   "    s.connect(f'\\0rhizome-link/{uid}/{token}/{node}')\n" \
                   "    return s\n" \
                   "s = call()\n" \
                   "s.send(b'x' * 100)\n" \
                   "assert b'HELLO' in s.recv(1000) and s.recv(1000) == b''\n" \
                   "silent = [call() for i in range(12)]\n" \
                   "os.execv(sys.argv[1], sys.argv[1:])\n"
        result = self.runs("-n", "2", sys.executable, "-c", stranger, rig.program("launch_parts"), "word")
        self.assertEqual(result.out.count(", word, "), 2, result.err)
        result = self.run_it("-n", "1", SH, "-c", f"RZ_JOB_KEY=$(echo $RZ_JOB_KEY | tr 0-9 a-f) {rig.program('launch_parts')} word 3<&-")
        self.assertNotEqual(result.status, 0)
        self.assertIn("did not prove that it belongs to this job", result.err)

    def test_no_way_is_said_in_words(self):
        result = self.run_it("-n", "1", SH, "-c", f"unset RZ_LINK_SOCKET; {rig.program('launch_parts')} word 3<&-")
        self.assertNotEqual(result.status, 0)
        self.assertIn("what started the program has closed it", result.err)

    def test_background_job_of_a_terminal(self):
        """It is not stopped although its input is a terminal that others have; brought to the foreground, it reads."""
        is_up = f"{self.folder}/up"
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["RZ_TEST_MARK"] = self.mark
            script = f'set -m; "{rig.RZRUN}" {SH} -c "echo up; read line; echo got \\$line" & ' \
                     f'until [ -e {is_up} ]; do sleep 0.05; done; echo back; fg; echo status $?'
            os.execv("/bin/bash", ["bash", "-c", script])
        seen, answered = b"", False
        while b"status 0\r\n" not in seen and select.select([terminal], [], [], rig.HANG_S)[0]:
            seen += os.read(terminal, 4096)
            if b"up\r\n" in seen and not os.path.exists(is_up):
                self.file("up", "")
            if b"back" in seen and not answered:
                os.write(terminal, b"hello\n")
                answered = True
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
        text = seen.decode().replace("\r", "")
        self.assertIn("got hello\n", text)
        self.assertIn("status 0\n", text)


rig.main()
