# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of rzrun share: a run as a user would start it, and a search for what it left behind.

Every test has a folder and a mark of its own. The mark is in the environment of all started processes, so that
/proc/*/environ shows which processes belong to the test; sockets and memfds are known by their inodes.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG, HANG_S  # noqa: E402, F401

BUILD = os.environ.get("RZ_TEST_BUILD", "build")
SOURCE = os.environ.get("RZ_TEST_SOURCE", os.path.dirname(os.path.abspath(__file__)) + "/../..")
RZRUN = f"{BUILD}/bin/rzrun"
# A process that a test kills by signal 11 ends by it under a sanitizer, too.
BY_SIGNAL = {name: os.environ.get(name, "") + ":handle_segv=0" for name in ("ASAN_OPTIONS", "TSAN_OPTIONS")}

BAD_LINE, NO_SLOTS, NO_START, LOST, RESTARTS, TIMED_OUT, NOT_EXECUTABLE, NOT_FOUND = 2, 3, 4, 5, 6, 124, 126, 127


def program(name):
    """A helper of these tests, built beside them."""
    return f"{BUILD}/tests/{name}"


def await_true(condition, bound_s=HANG_S):
    """Polls for a state without an event; the value that was true, or the last one."""
    end = time.monotonic() + bound_s
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return value


def read(pid, what):
    with open(f"/proc/{pid}/{what}", "rb") as file:
        return file.read()


def can_unshare():
    """Whether this user may make network namespaces, and has what sets them up."""
    return shutil.which("ip") and subprocess.run(["unshare", "-rn", "true"], stderr=subprocess.DEVNULL, timeout=HANG_S).returncode == 0


class Process:
    """One process of a test, by number and start time, so that a number used again is another."""

    def __init__(self, pid):
        self.pid = pid
        stat = read(pid, "stat")
        fields = stat[stat.rindex(b")") + 2:].split()
        self.state, self.parent, self.start = fields[0].decode(), int(fields[1]), fields[19]
        self.command = read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
        self.name = read(pid, "comm").decode(errors="replace").strip()

    def possessions(self):
        """Inodes of its sockets and memfds."""
        found = set()
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            path = f"/proc/{self.pid}/fd/{fd}"
            link = os.readlink(path)
            if link.startswith("socket:") or link.startswith("/memfd:"):
                found.add((link.split(":")[0], os.stat(path).st_ino))
        return found


def look_at(pid):
    try:
        return Process(pid)
    except (FileNotFoundError, ProcessLookupError):
        return None


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def marked(mark):
    """The processes that carry the mark."""
    needle, found = f"RZ_TEST_MARK={mark}".encode(), []
    for pid in pids():
        try:
            carries = needle in read(pid, "environ").split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        process = look_at(pid) if carries and pid != os.getpid() else None
        if process and process.state != "Z":
            found.append(process)
    return found


def holders(possessions):
    """Processes, this one aside, that hold one of these sockets or memfds."""
    found = []
    for pid in pids() if possessions else []:
        try:
            process = look_at(pid) if pid != os.getpid() else None
            if process and process.possessions() & possessions:
                found.append(process)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def names():
    """What lies in the places where a program might forget something. (Abstract sockets end with their process.) Folders of
    rzbench and of the tests of builds are none of a job: they may run beside these tests."""
    found = {f"{folder}/{name}" for folder in ("/dev/shm", "/tmp") for name in os.listdir(folder)}
    with open("/proc/net/unix") as sockets:
        found |= {"socket " + line.split()[7] for line in sockets if len(line.split()) == 8}
    return {name for name in found if re.search(r"/(rz(?!bench-)|rhizome(?!-(clang|subproject|plain|packager|cross)-)|ucx)|socket /?(rz|rhizome)", name)}


SCRATCH = re.compile(r"/dev/shm/rhizome-(\d+)-\d+-[0-9a-f]{16}")  # the number of a job, in the name of its folder in memory


def jobs_running():
    """The numbers of all jobs that have a process now, of all users, as far as this user may see."""
    found = set()
    for pid in pids():
        try:
            found |= {match[1].decode() for match in re.finditer(b"RZ_SCRATCH=" + SCRATCH.pattern.encode(), read(pid, "environ"))}
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def forgotten(before):
    """Names that have come since `before`, without the folders of jobs that other tests run at the same time: a process makes
    such a folder, so its job has one for as long as it may use it."""
    found = names() - before
    if any(map(SCRATCH.fullmatch, found)):
        running = jobs_running()
        found = {name for name in found if not ((job := SCRATCH.fullmatch(name)) and job[1] in running)}
    return sorted(found)


def lasting(look, bound_s=HANG_S):
    """What was there at each check, until that is nothing or the bound has expired. What appears and disappears meanwhile belongs
    to another test: its job has just ended, and its daemons clean up."""
    end = time.monotonic() + bound_s
    left = set(look())
    while left and time.monotonic() < end:
        time.sleep(0.01)
        left &= set(look())
    return sorted(left)


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


def left_behind(mark, before):
    """What stays of the processes with this mark, and of the names beside those of before."""
    return lasting(lambda: [f"process {p.pid} ({p.name}): {p.command}" for p in marked(mark)] + forgotten(before))


class LaunchTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="launch-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.mark = f"{os.getpid()}.{time.monotonic_ns()}"
        self.before = names()
        self.possessions = set()
        self.started = []

    def tearDown(self):
        # Where the test has failed, its jobs run on: they are ended first, so that only what they leave is waited for.
        running = [" ".join(process.args) for process in self.started if process.poll() is None]
        for process in self.started:
            process.kill()
        left = running + lasting(self.left_behind)
        for process in self.started:
            process.communicate()
        for process in marked(self.mark):
            os.kill(process.pid, signal.SIGKILL)
        self.assertFalse(left, "left behind")

    def left_behind(self):
        running = [f"process {p.pid} ({p.name}): {p.command}" for p in marked(self.mark)]
        held = [f"process {p.pid} ({p.name}) holds a socket or memory of the job" for p in holders(self.possessions)]
        return running + held + forgotten(self.before)

    def pages(self, *arguments):
        """The status documents of this test's jobs, as rzps shows them: known by the pids of their daemons."""
        done = subprocess.run([f"{BUILD}/bin/rzps", "--json", *arguments], capture_output=True, text=True, timeout=HANG_S)
        daemons = {p.pid for p in self.members()["rzd"]}
        return [page for page in json.loads(done.stdout) if page["pid"] in daemons]

    def file(self, name, text, mode=0o644):
        path = f"{self.folder}/{name}"
        with open(path, "w") as out:
            out.write(text)
        os.chmod(path, mode)
        return path

    def start(self, *arguments, rzrun=RZRUN, environment=None, **streams):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        # In a job of a batch system rzrun would take its nodes.
        around = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "PBS_"))}
        variables = dict(around, **BY_SIGNAL, RZ_TEST_MARK=self.mark)
        variables.update(environment or {})
        process = subprocess.Popen([rzrun, *arguments], env=variables, **streams)
        self.started.append(process)
        return process

    def finish(self, process, data=None):
        try:
            out, err = process.communicate(data, timeout=HANG_S)
        except subprocess.TimeoutExpired:
            self.fail(f"it hangs: {' '.join(process.args)}")
        return Result(process.returncode, (out or b"").decode(errors="replace"), (err or b"").decode(errors="replace"))

    def run_it(self, *arguments, data=None, **options):
        if data is not None:
            options["stdin"] = subprocess.PIPE
        return self.finish(self.start(*arguments, **options), data)

    def runs(self, *arguments, status=0, **options):
        """Runs and expects this exit status."""
        result = self.run_it(*arguments, **options)
        self.assertEqual(result.status, status, f"{arguments}:\n{result.out}{result.err}")
        return result

    def members(self):
        """What runs of the job now, by kind; their sockets and memfds are remembered for the search afterwards."""
        kinds = {"rzrun": [], "rzd-keeper": [], "rzd": [], "process": []}
        for process in marked(self.mark):
            kinds[process.name if process.name in kinds else "process"].append(process)
            if process.name != "rzrun":
                try:
                    self.possessions |= process.possessions()
                except (FileNotFoundError, ProcessLookupError):
                    pass
        return kinds

    def await_members(self, processes, nodes):
        """Waits until this number of processes and daemons are there."""
        def all_there():
            kinds = self.members()
            return kinds if len(kinds["process"]) >= processes and len(kinds["rzd"]) == nodes else None
        kinds = await_true(all_there)
        self.assertTrue(kinds, f"{processes} processes on {nodes} nodes do not come up")
        return kinds


def main():
    if not os.access(RZRUN, os.X_OK):
        sys.exit(f"there is no {RZRUN}; RZ_TEST_BUILD names the build tree")
    unittest.main(verbosity=2)
