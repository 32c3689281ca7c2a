#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rig of hosts: hosts are apart, reach one another by ssh and slurm, fail and come back, and leave nothing behind, whatever is killed.
Skipped (exit status 77) without root or sshd; the tests of slurm are left out without slurm."""
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hosts  # noqa: E402
import hosts_system as system  # noqa: E402
from hosts_files import HANG_S  # noqa: E402
from jobs import SKIPPED, await_true  # noqa: E402

HOSTS_PY = os.path.dirname(os.path.abspath(__file__)) + "/hosts.py"
KINDS = ("net", "uts", "ipc", "mnt", "pid")
NO_SLURM = hosts.lacking(slurm=True)


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ProcessLookupError):
        return b""


def interfaces():
    done = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True, timeout=HANG_S)
    return {line.split(": ")[1] for line in done.stdout.splitlines()}


def mounts():
    return set(read("/proc/self/mountinfo").splitlines())


class Surroundings:
    """What the machine has before a rig, and what of the rig is still there afterwards."""

    def __init__(self):
        self.interfaces, self.mounts = interfaces(), mounts()
        self.own = {system.namespace(os.getpid(), kind) for kind in KINDS}
        self.of_rig, self.folder = set(), None

    def look_at(self, rig):
        state = rig.state()
        self.folder = rig.folder
        for pid in (state["pid"], *state["init"].values()):
            self.of_rig |= {system.namespace(pid, kind) for kind in KINDS} - self.own
        return len(self.of_rig)

    def left(self):
        mark, found = f"{hosts.MARK}={self.folder}".encode(), []
        for pid in pids():
            if mark in read(f"/proc/{pid}/environ").split(b"\0"):
                found.append(f"process {pid}: {read(f'/proc/{pid}/cmdline')}")
            if self.of_rig & {system.namespace(pid, kind) for kind in KINDS}:
                found.append(f"process {pid} is in a namespace of the rig")
            if self.folder.encode() + b"/rig" in read(f"/proc/{pid}/mountinfo"):
                found.append(f"process {pid} has a mount of the rig")
        return found + sorted(interfaces() - self.interfaces) + sorted(mounts() - self.mounts)


class RigTest(unittest.TestCase):
    def ok(self, done, out=None):
        self.assertEqual(done.returncode, 0, f"{done.args}: {done.stdout}{done.stderr}")
        if out is not None:
            self.assertEqual(done.stdout, out)
        return done.stdout

    def ssh(self, rig, source, target, *words, options=()):
        return rig.run(source, ["ssh", "-F", rig.ssh_config, *options, target, *words])

    def line(self, process):
        ready, _, _ = select.select([process.stdout], [], [], HANG_S)
        self.assertTrue(ready, f"{process.args} says nothing")
        return process.stdout.readline()

    def nothing_left(self, surroundings):
        await_true(lambda: not surroundings.left())
        self.assertEqual(surroundings.left(), [])


class FourHosts(RigTest):
    @classmethod
    def setUpClass(cls):
        cls.surroundings = Surroundings()
        cls.rig = hosts.Hosts(4)

    @classmethod
    def tearDownClass(cls):
        cls.rig.close()

    def test_ssh_reaches_each_host_by_name(self):
        for k in range(5):
            self.ok(self.ssh(self.rig, 0, f"h{k}", "hostname"), f"h{k}\n")
        self.ok(self.ssh(self.rig, 1, "h3", "hostname; cat /etc/hostname"), "h3\nh3\n")
        self.ok(self.ssh(self.rig, 1, "h3-v6", "echo $SSH_CONNECTION | cut -d' ' -f3"), "fd78::3\n")
        self.ok(self.rig.run(2, ["ssh", "h4", "hostname"]), "h4\n")  # it is the hosts' own setting, too

    def test_hosts_are_apart(self):
        for folder in ("/tmp", "/dev/shm", "/run"):
            self.ok(self.rig.run(1, ["touch", f"{folder}/only-here"]))
            self.assertNotEqual(self.rig.run(2, ["ls", f"{folder}/only-here"]).returncode, 0)
            self.assertFalse(os.path.exists(f"{folder}/only-here"))
            self.ok(self.rig.run(1, ["rm", f"{folder}/only-here"]))
        self.assertRegex(self.ok(self.rig.run(1, ["ps", "-o", "pid=,comm=", "-p", "1"])), "1 h1-init")
        shown = [self.ok(self.rig.run(k, ["cat", "/proc/sys/kernel/random/boot_id"])) for k in (1, 2)]
        self.assertNotEqual(*shown)
        self.assertIn("10.78.0.4", self.ok(self.rig.run(4, ["ip", "-o", "-4", "addr", "show", "eth0"])))
        self.assertEqual(self.ok(self.rig.run(4, ["ls", "/sys/class/net"])).split(), ["eth0", "lo"])
        # 5 namespaces for each of 5 hosts, and the network of the bridge
        self.assertEqual(self.surroundings.look_at(self.rig), 26)
        # The machine's own ones are as before; what other tests may make meanwhile goes again.
        self.assertTrue(await_true(lambda: not interfaces() - self.surroundings.interfaces and not mounts() - self.surroundings.mounts))

    def test_run_passes_streams_status_and_signals(self):
        self.ok(self.rig.run(1, ["cat"], input="text"), "text")
        self.assertEqual(self.rig.run(1, ["sh", "-c", "exit 7"]).returncode, 7)
        self.assertEqual(self.rig.run(1, ["sh", "-c", "kill -9 $$"]).returncode, 137)
        self.assertEqual(self.rig.run(1, ["no-such-command"]).returncode, 127)
        process = self.rig.start(1, ["sh", "-c", "trap 'echo told; exit 3' TERM; echo on; while :; do sleep 0.1; done"],
                                 stdout=subprocess.PIPE, text=True)
        self.assertEqual(self.line(process), "on\n")
        process.terminate()
        self.assertEqual((process.communicate(timeout=HANG_S)[0], process.returncode), ("told\n", 3))
        process = self.rig.start(1, ["sh", "-c", "echo on; exec sleep 1000"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(self.line(process), "on\n")
        process.kill()
        process.communicate(timeout=HANG_S)
        self.assertEqual(await_true(lambda: not self.rig.free_check(1)), True)

    def test_what_is_left_is_found(self):
        self.assertTrue(await_true(lambda: not self.rig.free_check()), self.rig.free_check())
        self.ok(self.ssh(self.rig, 0, "h2", "touch /dev/shm/forgotten /tmp/too; setsid -f sleep 1000 </dev/null >/dev/null 2>&1"))
        await_true(lambda: len(self.rig.free_check()) == 3)  # the session has ended
        left = self.rig.free_check()
        self.assertRegex(left[0], r"^h2: process \d+: sleep 1000$")
        self.assertEqual(left[1:], ["h2: /dev/shm/forgotten", "h2: /tmp/too"])
        self.ok(self.rig.run(2, ["sh", "-c", "rm /dev/shm/forgotten /tmp/too; pkill -x sleep"]))
        self.assertTrue(await_true(lambda: not self.rig.free_check()), self.rig.free_check())

    def test_power_fails_silently_and_the_host_comes_back(self):
        self.ok(self.rig.run(3, ["touch", "/tmp/a", "/dev/shm/a", "/run/a"]))
        before = self.ok(self.rig.run(3, ["cat", "/proc/sys/kernel/random/boot_id"]))
        words = ["ssh", "-F", self.rig.ssh_config, "-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=3", "h3", "echo on; sleep 1000"]
        session = self.rig.start(0, words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(self.line(session), "on\n")
        self.rig.power_off(3)
        _, complaints = session.communicate(timeout=HANG_S)
        self.assertEqual(session.returncode, 255)
        self.assertIn("not responding", complaints)  # and no connection was reset
        self.assertEqual(self.rig.state()["on"], [0, 1, 2, 4])
        self.assertIn("h3 is off", self.rig.run(3, ["true"]).stderr)
        self.assertEqual(self.ssh(self.rig, 0, "h3", "true", options=("-o", "ConnectTimeout=2")).returncode, 255)
        self.rig.boot(3)
        self.ok(self.ssh(self.rig, 1, "h3", "hostname"), "h3\n")
        self.ok(self.rig.run(3, ["sh", "-c", "ls /tmp /dev/shm/a /run/a 2>/dev/null; true"]), "/tmp:\n")
        self.assertNotEqual(self.ok(self.rig.run(3, ["cat", "/proc/sys/kernel/random/boot_id"])), before)

    def test_without_cable_a_host_is_silent(self):
        self.rig.cable(4, False)
        done = self.ssh(self.rig, 0, "h4", "true", options=("-o", "ConnectTimeout=2"))
        self.assertEqual(done.returncode, 255)
        self.assertRegex(done.stderr, "timed out|No route to host")
        self.ok(self.rig.run(4, ["hostname"]), "h4\n")  # it runs
        self.rig.cable(4, True)
        self.ok(self.ssh(self.rig, 0, "h4", "hostname"), "h4\n")

    def test_a_stopped_host_answers_later(self):
        self.rig.stop(2)
        done = self.ssh(self.rig, 0, "h2", "true", options=("-o", "ConnectTimeout=2"))
        self.assertEqual(done.returncode, 255)
        self.assertIn("timed out", done.stderr)
        self.assertIn("h2 is stopped", self.rig.run(2, ["true"]).stderr)
        self.rig.cont(2)
        self.ok(self.ssh(self.rig, 0, "h2", "hostname"), "h2\n")


class End(RigTest):
    def begin(self, n=2):
        """A rig with commands on its hosts, and daemons that these have left."""
        surroundings = Surroundings()
        rig = hosts.Hosts(n, slurm=not NO_SLURM)
        self.addCleanup(rig.close)
        surroundings.look_at(rig)
        command = rig.start(1, ["sh", "-c", "echo on; exec sleep 1000"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(self.line(command), "on\n")
        self.ok(self.ssh(rig, 0, "h1", "setsid -f sleep 1000 </dev/null >/dev/null 2>&1"))
        return surroundings, rig, command

    def gone(self, surroundings, command):
        command.communicate(timeout=HANG_S)
        self.assertEqual(command.returncode, 137)
        self.nothing_left(surroundings)

    def test_killed_supervisor(self):
        surroundings, rig, command = self.begin()
        self.assertTrue(surroundings.left())  # the test sees what it looks for
        os.kill(rig.state()["pid"], signal.SIGKILL)
        self.gone(surroundings, command)

    def test_killed_supervisor_of_stopped_and_cut_hosts(self):
        surroundings, rig, command = self.begin()
        rig.stop(1)
        rig.cable(2, False)
        os.kill(rig.state()["pid"], signal.SIGKILL)
        self.gone(surroundings, command)

    def test_closed(self):
        surroundings, rig, command = self.begin()
        rig.close()
        self.gone(surroundings, command)
        self.assertFalse(os.path.exists(rig.folder))


    def test_killed_user(self):
        program = ("import sys; sys.path.insert(0, sys.argv[1]); import hosts; rig = hosts.Hosts(1)\n"
                   "print(rig.folder, flush=True); sys.stdin.read()")
        surroundings = Surroundings()
        user = subprocess.Popen([sys.executable, "-B", "-c", program, os.path.dirname(HOSTS_PY)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        surroundings.folder = self.line(user).strip()
        self.assertTrue(surroundings.left())
        user.kill()
        user.communicate(timeout=HANG_S)
        self.nothing_left(surroundings)
        self.assertTrue(await_true(lambda: not os.path.exists(surroundings.folder)))


class Command(RigTest):
    def up(self, folder, *words):
        process = subprocess.Popen([sys.executable, "-B", HOSTS_PY, "up", "1", "--folder", folder, *words], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env=dict(os.environ, **{hosts.MARK: folder}))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.assertRegex(self.line(process), "^ready")
        return process

    def hosts_py(self, *words):
        return subprocess.run([sys.executable, "-B", HOSTS_PY, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)

    def test_all_commands(self):
        with tempfile.TemporaryDirectory(prefix="hosts-test-") as parent:
            folder, shown = f"{parent}/rig", f"{parent}/shown"
            os.mkdir(shown)
            surroundings = Surroundings()
            surroundings.folder = folder
            process = self.up(folder, "--share", shown)
            at = ("--folder", folder)
            self.ok(self.hosts_py("run", *at, "1", "--", "sh", "-c", f"hostname >{shown}/out"), "")
            self.assertEqual(read(f"{shown}/out"), b"h1\n")
            for words in (("cable", *at, "1", "off"), ("cable", *at, "1", "on"), ("stop", *at, "1"), ("cont", *at, "1"), ("check", *at),
                          ("power-off", *at, "1"), ("boot", *at, "1")):
                self.ok(self.hosts_py(*words), "")
            self.assertEqual(self.hosts_py("boot", *at, "2").returncode, 125)
            self.ok(self.hosts_py("down", *at))
            self.assertEqual(process.wait(HANG_S), 0)
            self.assertFalse(os.path.exists(folder))
            self.nothing_left(surroundings)

    def test_ends_by_signal_and_by_input(self):
        for end in (subprocess.Popen.terminate, lambda process: process.send_signal(signal.SIGINT), lambda process: process.stdin.close()):
            with tempfile.TemporaryDirectory(prefix="hosts-test-") as folder:
                surroundings = Surroundings()
                surroundings.folder = folder
                process = self.up(folder)
                end(process)
                self.assertEqual(process.wait(HANG_S), 0)
                self.nothing_left(surroundings)
                self.assertEqual(self.hosts_py("run", "--folder", folder, "1", "--", "true").returncode, 125)
                refused = self.hosts_py("up", "1", "--folder", folder)
                self.assertEqual((refused.returncode, "not empty" in refused.stderr), (125, True))


@unittest.skipIf(NO_SLURM, f"slurm needs {NO_SLURM}")
class Slurm(RigTest):
    def test_jobs(self):
        with hosts.Hosts(3, slurm=True) as rig:
            names = ["h1", "h2", "h3"]
            self.assertEqual(sorted(self.ok(rig.run(0, ["srun", "-N3", "hostname"])).split()), names)
            self.assertEqual(sorted(self.ok(rig.run(0, ["salloc", "-N3", "srun", "hostname"])).split()), names)
            script = f"{rig.folder}/rig/job"
            with open(script, "w") as file:
                file.write("#!/bin/sh\necho batch on $(hostname)\nsrun hostname\n")
            self.ok(rig.run(0, ["sbatch", "--wait", "-N3", "-o", "/run/rig/job.out", "/run/rig/job"]))
            lines = read(f"{rig.folder}/rig/job.out").decode().splitlines()
            self.assertEqual((lines[0], sorted(lines[1:])), ("batch on h1", names))
            rig.power_off(2)
            rig.boot(2)
            self.ok(rig.run(0, ["srun", "-w", "h2", "hostname"]), "h2\n")
            self.assertTrue(await_true(lambda: not rig.free_check()), rig.free_check())


if __name__ == "__main__":
    if reason := hosts.lacking():
        print(f"skipped: the rig of hosts needs {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
