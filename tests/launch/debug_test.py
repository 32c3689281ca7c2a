#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debuggers find the ranks of a job by rzrun's MPIR variables, and ranks run under a debugger: docs/debugging.md."""
import os
import re
import shutil
import signal
import struct
import subprocess
import sys

import launch_rig as rig

ENDS, PARTS, WAITS = (rig.program(f"launch_{name}") for name in ("ends", "parts", "waits"))


class Tool:
    """What a debugger does to a process that it is attached to: reads and writes variables by their names, from outside."""

    def __init__(self, pid, file):
        names = subprocess.run(["nm", "-D", "--defined-only", file], check=True, capture_output=True, text=True).stdout
        self.symbols = {line.split()[2].split("@")[0]: int(line.split()[0], 16) for line in names.splitlines()}
        real = os.path.realpath(file)
        with open(f"/proc/{pid}/maps") as maps:
            self.base = min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(real))
        self.pid = pid

    def read(self, at, n):
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            memory.seek(at)
            return memory.read(n)

    def text(self, at):
        return self.read(at, 4096 - at % 4096 if at % 4096 else 4096).split(b"\0")[0].decode()

    def at(self, name):
        return self.base + self.symbols[name]

    def number(self, name):
        return struct.unpack("i", self.read(self.at(name), 4))[0]

    def set(self, name, value):
        with open(f"/proc/{self.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(self.at(name))
            memory.write(struct.pack("i", value))

    def table(self):
        n, start = self.number("MPIR_proctable_size"), struct.unpack("Q", self.read(self.at("MPIR_proctable"), 8))[0]
        entries = [struct.unpack("QQi4x", self.read(start + 24 * i, 24)) for i in range(n)] if start else []
        return [(self.text(host), self.text(path), pid) for host, path, pid in entries if host and path and pid]


def open_gates(mark):
    """As a tool that is attached to all ranks, while rzrun stands in MPIR_Breakpoint."""
    rzrun = next(process for process in rig.marked(mark) if process.name == "rzrun")
    table = Tool(rzrun.pid, rig.RZRUN).table()
    for host, path, pid in table:
        rank = Tool(pid, f"{rig.BUILD}/lib/libmpi_abi.so.1")
        print("gate was", rank.number("MPIR_debug_gate"), "of", path, "at", host)
        rank.set("MPIR_debug_gate", 1)


class Debug(rig.LaunchTest):
    def gdb(self, commands, *words):
        gdb = shutil.which("gdb")
        if not gdb:
            self.skipTest("there is no gdb")
        around = [word for command in ["set confirm off", "set breakpoint pending on", *commands] for word in ("-ex", command)]
        result = self.finish(self.start("-nx", "-batch", *around, "--args", os.path.abspath(rig.RZRUN), *words, rzrun=gdb))
        if "ptrace" in result.err and "not permitted" in result.err:
            self.skipTest("no process may be traced here")
        return result

    def test_table_at_the_breakpoint(self):
        result = self.gdb(["break MPIR_Breakpoint", "run", "print MPIR_proctable_size", "print MPIR_debug_state",
                           "print MPIR_proctable[2].executable_name", "continue"], "-n", "3", "--nodes", "2", PARTS, "word")
        self.assertIn("$1 = 3\n$2 = 1\n", result.out, result.err)
        self.assertRegex(result.out, r'\$3 = 0x\w+ ".*/launch_parts"')
        self.assertEqual(result.out.count(", word, "), 3)

    def test_ranks_wait_for_the_tool(self):
        """MPIR_being_debugged: no rank leaves MPI_Init before its gate is open."""
        opener = f"{sys.executable} -B {os.path.abspath(__file__)} open-gates {self.mark}"
        result = self.gdb(["break main", "run", "set var MPIR_being_debugged = 1", "break MPIR_Breakpoint", "continue",
                           f"shell {opener}", "continue"], "-n", "2", PARTS, "word")
        self.assertEqual(result.out.count("gate was 0 of "), 2, result.out + result.err)
        self.assertEqual(result.out.count(", word, "), 2, result.out + result.err)
        self.assertLess(result.out.rindex("gate was"), result.out.index(", word, "))

    def test_abort_is_told(self):
        result = self.gdb(["break main", "run", "set var MPIR_being_debugged = 1", "break MPIR_Breakpoint", "continue",
                           f"shell {sys.executable} -B {os.path.abspath(__file__)} open-gates {self.mark}", "continue",
                           "print MPIR_debug_state", "print MPIR_debug_abort_string", "continue"], "-n", "2", ENDS, "abort", "7")
        self.assertIn("$1 = 2\n", result.out, result.err)
        self.assertRegex(result.out, r'\$2 = .*"rank 1 ended the job')

    def test_table_of_a_running_job(self):
        """As a tool that attaches later; the names are there without a table of symbols for debuggers."""
        stripped = f"{self.folder}/rzrun"
        subprocess.run(["strip", "-o", stripped, rig.RZRUN], check=True)
        process = self.start("-n", "3", "--nodes", "2", "/bin/sleep", "100")
        self.await_members(3, 2)
        tool = Tool(process.pid, rig.RZRUN)
        tool.symbols = Tool(process.pid, rig.RZRUN).symbols
        table = rig.await_true(lambda: len(found := tool.table()) == 3 and found)
        self.assertEqual({path for _, path, _ in table}, {"/bin/sleep"})
        self.assertEqual({host for host, _, _ in table}, {os.uname().nodename})
        self.assertEqual({pid for *_, pid in table}, {p.pid for p in self.members()["process"] if p.name == "sleep"})
        self.assertIn(" MPIR_proctable\n", subprocess.run(["nm", "-D", stripped], check=True, capture_output=True, text=True).stdout)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).status, 143)

    # ---- --debugger

    TELL = ["/bin/sh", "-c", 'echo "$RZ_RANK ${DEBUGGED-no} $0 $1"', "it's", 'a "b" $c']

    def test_debugger_of_some_ranks(self):
        result = self.runs("-n", "4", "--debugger", "env DEBUGGED='y s'", "--debug-ranks", "0,2-3", "--debug-terminal", "plain", *self.TELL)
        words = "it's a \"b\" $c"
        self.assertEqual(sorted(result.out.splitlines()), [f"0 y s {words}", f"1 no {words}", f"2 y s {words}", f"3 y s {words}"])
        result = self.runs("-n", "1", "--debugger", "env DEBUGGED=1", *self.TELL, ":", "-n", "1", *self.TELL, environment={"TMUX": "", "DISPLAY": ""})
        self.assertEqual(sorted(result.out.splitlines()), [f"0 1 {words}", f"1 1 {words}"])

    def test_ranks_under_gdb(self):
        if not shutil.which("gdb"):
            self.skipTest("there is no gdb")
        result = self.runs("-n", "3", "--nodes", "2", "--debugger", "gdb -nx -batch -ex run --args", "--debug-ranks", "1",
                           "--debug-terminal", "plain", PARTS, "word")
        self.assertEqual(result.out.count(", word, "), 3, result.err)
        self.assertEqual(len(re.findall(r"Inferior 1 .* exited normally", result.out)), 1, result.out)

    def in_tmux(self, line):
        """rzrun in a window of a tmux of this test's own."""
        if not shutil.which("tmux"):
            self.skipTest("there is no tmux")
        socket = f"{self.folder}/tmux"
        command = [shutil.which("tmux"), "-S", socket, "-f", "/dev/null"]
        process = self.start(*command[1:], "new-session", "-d", f"{line}; echo $? > {self.folder}/status", rzrun=command[0],
                             environment={"RZRUN": os.path.abspath(rig.RZRUN)})
        self.addCleanup(subprocess.run, [*command, "kill-server"], capture_output=True)
        self.assertEqual(self.finish(process).status, 0)
        return command

    def end_tmux(self, command):
        subprocess.run([*command, "kill-server"], capture_output=True)

    def test_windows_of_tmux(self):
        tmux = self.in_tmux(f"$RZRUN -n 2 --nodes 2 --debugger 'env DEBUGGED=yes' --debug-ranks 1 {PARTS} word > {self.folder}/out 2>&1")
        self.assertTrue(rig.await_true(lambda: os.path.exists(f"{self.folder}/status") and os.path.getsize(f"{self.folder}/status")))
        with open(f"{self.folder}/status") as status, open(f"{self.folder}/out") as out:
            self.assertEqual((status.read(), out.read().count(", word, ")), ("0\n", 1))  # the other one was written in its window
        self.end_tmux(tmux)

    def test_windows_end_with_the_job(self):
        tmux = self.in_tmux(f"$RZRUN -n 2 --debugger 'env DEBUGGED=yes' --debug-ranks 1 /bin/sleep 1000 > {self.folder}/out 2>&1")

        def sleepers():
            return [p for p in rig.marked(self.mark) if p.name == "sleep"]
        self.assertTrue(rig.await_true(lambda: len(sleepers()) == 2), "both ranks run")
        os.kill(next(p for p in rig.marked(self.mark) if p.name == "rzrun").pid, signal.SIGKILL)
        self.assertTrue(rig.await_true(lambda: not sleepers()), "the one in the window ends, too")
        self.assertTrue(rig.await_true(lambda: os.path.exists(f"{self.folder}/status")))
        self.end_tmux(tmux)

    def test_refused(self):
        for words, says in ((["--debug-ranks", "0,2"], "there is no rank 2, they are 0 to 1"), (["--debug-ranks", "1-"], "ranks like"),
                            (["--debug-ranks", ""], "ranks like"), (["--debug-terminal", "window"], "`plain`"),
                            (["--debug-terminal", "tmux"], "must run in a window of tmux"), (["--debug-terminal", "xterm"], "DISPLAY must be set")):
            result = self.runs("-n", "2", "--debugger", "gdb", *words, "/bin/true", status=rig.BAD_LINE,
                               environment={"PATH": "/usr/bin:/bin", "DISPLAY": "", "TMUX_TMPDIR": self.folder})
            self.assertIn(says, result.err)


if sys.argv[1:2] == ["open-gates"]:
    open_gates(sys.argv[2])
else:
    rig.main()
