#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bash and zsh complete in a terminal, with the files that the build makes from the tables of options.

Each case types a line, a tabulator, and then changes the line into a command that prints its words. By hand: RZ_TEST_BUILD=build
tests/packages/completion_test.py Zsh
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
import scratch  # noqa: E402
from patience import HANG_S  # noqa: E402

BUILD = os.path.abspath(os.environ.get("RZ_TEST_BUILD", "build"))
SHARE = f"{BUILD}/share"
PROMPT = "ready> "


class Shell:
    """A shell in a terminal of its own."""

    def __init__(self, command, folder):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            variables = {"PATH": f"{BUILD}/bin:/usr/bin:/bin", "TERM": "dumb", "HOME": folder, "PS1": PROMPT, "LC_ALL": "C.UTF-8"}
            os.execvpe(command[0], command, variables)
        self.read = ""

    def until(self, text):
        """What the shell prints, up to this text."""
        end = time.monotonic() + HANG_S
        while text not in self.read:
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"{text!r} did not appear in {self.read!r}")
            try:
                self.read += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the shell ended before {text!r}: {self.read!r}") from None
        before, _, self.read = self.read.partition(text)
        return before

    def type(self, text):
        os.write(self.terminal, text.encode())

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


class Completes:
    """What both shells do alike."""

    def setUp(self):
        self.folder = scratch.folder("completion-test-")
        os.makedirs(f"{self.folder}/reports")
        for name in ("program", "machines.txt"):
            with open(f"{self.folder}/{name}", "w", encoding="utf-8"):
                os.chmod(f"{self.folder}/{name}", 0o755)
        self.shell = self.start()
        self.addCleanup(self.shell.close)
        self.number = 0

    def completed(self, line):
        """The words of the line after a tabulator."""
        self.number += 1
        self.shell.type(f"{line}\t\x01printf '<%s>' {self.number}: \x05 ; echo \" end{self.number}\"; echo\n")
        said = self.shell.until(f" end{self.number}\r\n")
        self.shell.until(PROMPT)
        return re.findall(r"<([^<>]*)>", said.rpartition(f"<{self.number}:>")[2])

    def test_lines(self):
        for line, words in (
                ("rzrun --adap", ["rzrun", "--adapter"]),
                ("rzrun --adapter net", ["rzrun", "--adapter", "netns"]),
                ("rzrun --adapter=net", ["rzrun", "--adapter=netns"]),
                ("rzrun --bind-to co", ["rzrun", "--bind-to", "core"]),
                ("rzrun -n 4 --on-failure cont", ["rzrun", "-n", "4", "--on-failure", "continue"]),
                ("rzrun --hostfile mach", ["rzrun", "--hostfile", "machines.txt"]),
                ("rzrun --hostfile=mach", ["rzrun", "--hostfile=machines.txt"]),
                ("rzrun -f mach", ["rzrun", "-f", "machines.txt"]),
                ("rzrun --cases rep", ["rzrun", "--cases", "reports"]),
                ("rzrun -n 4 ./prog", ["rzrun", "-n", "4", "./program"]),
                ("rzrun -n 4 rzdoc", ["rzrun", "-n", "4", "rzdoctor"]),
                ("rzrun -n 4 ./program mach", ["rzrun", "-n", "4", "./program", "machines.txt"]),
                ("rzps --js", ["rzps", "--json"]),
                ("rzdoctor feat", ["rzdoctor", "features"]),
                ("rzsim comp", ["rzsim", "compare"]),
                ("rztop --pa", ["rztop", "--page"]),
                ("rztop --page wai", ["rztop", "--page", "waits"]),
                ("rzbench rewi", ["rzbench", "rewind"]),
                ("rzbench --basel", ["rzbench", "--baseline"]),
                ("rzbench --baseline rep", ["rzbench", "--baseline", "reports"]),
                ("rzbench mpi --pin no", ["rzbench", "mpi", "--pin", "none"])):
            self.assertEqual([word.rstrip("/") for word in self.completed(line)], words, line)  # bash leaves the slash of a folder

    def test_the_program_has_options_of_its_own(self):
        self.assertEqual(self.completed("rzrun -n 4 ./program --adap"), ["rzrun", "-n", "4", "./program", "--adap"])
        self.assertEqual(self.completed("rzrun --story rzps --js"), ["rzrun", "--story", "rzps", "--js"])


@unittest.skipUnless(shutil.which("bash"), "there is no bash")
class Bash(Completes, unittest.TestCase):
    def start(self):
        shell = Shell(["bash", "--norc", "--noprofile", "-i"], self.folder)
        for command in ("rzrun", "rzps", "rzdoctor", "rzsim", "rztop", "rzbench"):
            shell.until(PROMPT)
            shell.type(f"source {SHARE}/bash-completion/completions/{command}\n")
        shell.until(PROMPT)
        return shell


@unittest.skipUnless(shutil.which("zsh"), "there is no zsh")
class Zsh(Completes, unittest.TestCase):
    def start(self):
        shell = Shell(["zsh", "-f", "-i"], self.folder)
        shell.until(PROMPT)
        shell.type(f"bindkey -e; unsetopt prompt_cr prompt_sp; fpath=({SHARE}/zsh/site-functions $fpath); autoload -U compinit; compinit -D -u\n")
        shell.until(PROMPT)
        return shell


class Tables(unittest.TestCase):
    def test_every_option_of_the_help(self):
        for command in ("rzrun", "rzps", "rzdoctor", "rztop", "rzbench"):
            said = subprocess.run([f"{BUILD}/bin/{command}", "--help"], check=True, capture_output=True, text=True, timeout=HANG_S).stdout
            names = set(re.findall(r"(?m)^  (?=-).*?(--?[a-z][\w-]+)(?: [^ ,]+| [^ ,]+ [^ ,]+)?(?:  |$)", said))
            self.assertGreater(len(names), 5)
            for path in (f"bash-completion/completions/{command}", f"zsh/site-functions/_{command}"):
                with open(f"{SHARE}/{path}", encoding="utf-8") as file:
                    text = file.read()
                for name in names:
                    self.assertRegex(text, rf"(?<![\w-]){name}(?![\w-])", path)

    def test_what_is_printed_is_what_is_installed(self):
        for shell, path in (("bash", "bash-completion/completions/rzrun"), ("zsh", "zsh/site-functions/_rzrun")):
            with open(f"{SHARE}/{path}", encoding="utf-8") as file:
                for words in (["--completion", shell], [f"--completion={shell}"]):
                    file.seek(0)
                    said = subprocess.run([f"{BUILD}/bin/rzrun", *words], check=True, capture_output=True, text=True, timeout=HANG_S).stdout
                    self.assertEqual(said, file.read())

    def test_other_shells_are_refused(self):
        for words in (["--completion", "tcsh"], ["--completion"], ["--completion="]):
            done = subprocess.run([f"{BUILD}/bin/rzrun", *words], capture_output=True, text=True, timeout=HANG_S)
            self.assertEqual(done.returncode, 2)
            self.assertIn("needs bash or zsh", done.stderr)


unittest.main(verbosity=2)
