#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What jobs make on a machine is what the table in SECURITY.md says, and another user who knows it gains nothing.

The other user is a child that gives up root; without root these tests are skipped. Checkpoints: fault/checkpoint_files_test.py.
"""
import contextlib
import json
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import time

import launch_rig as rig

OTHER_UID = 65534
NO_JOB = 7
ESCAPE = "\x1b]0;taken\x07\x1b[31m"
PATTERNS = {"UID": r"\d+", "JOB": r"[0-9a-f]{16}|\d+", "NODE": r"\d+", "RANDOM": r"[0-9a-f]{16}", "RUN": r"\d+", "INODE": r"\d+", "NUMBER": r"\d+",
            "EPOCH": r"\d+", "RANK": r"\d+", "NAME": r"[^/]+", "HOST": r"[^/]+"}


def table():
    """[(kind, the pattern of its name, mode)]"""
    with open(f"{rig.SOURCE}/SECURITY.md") as file:
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in file if line.startswith("| ")]
    found = []
    for kind, names, mode, *_ in rows[1:]:
        for name in re.findall(r"`([^`]+)`", names):
            pattern = re.sub("|".join(PATTERNS), lambda match: f"(?:{PATTERNS[match[0]]})", re.escape(name))
            found.append((kind, re.compile(pattern), mode))
    return found


class Stranger:
    """A child that is another user, does `work` and then stays until the test ends; `work` is done when this returns."""

    def __init__(self, test, work, uid=OTHER_UID):
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
                stay = work()
                os.write(write, b"x")
                while stay is not None:
                    stay()
                signal.pause()
            finally:
                os._exit(1)
        os.close(write)
        test.assertEqual(os.read(read, 1), b"x", "the other user could not do it")
        os.close(read)

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def listens(name, backlog=16):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0{name}")
    listener.listen(backlog)
    return listener


def answers(name, text):
    """Each visitor gets this text."""
    def work():
        listener = listens(name)

        def stay():
            visitor, _ = listener.accept()
            with visitor, contextlib.suppress(OSError):
                visitor.recv(100)
                visitor.sendall(text)
        return stay
    return work


def page(job, **fields):
    """A status document as a daemon of this job may write it."""
    usual = {"schema": "rhizome.status.2", "job": job, "node": 0, "epoch": 1, "program": "theirs", "phase": "run", "pid": 1, "nodes": [], "ranks": [],
             "processes": [], "groups": [], "seconds": 1.0}
    return json.dumps({**usual, **fields}).encode()


def trickles(name):
    """Visitors get a byte now and then, and never the end."""
    def work():
        listener = listens(name)
        listener.setblocking(False)
        visitors = []

        def stay():
            try:
                visitors.append(listener.accept()[0])
            except OSError:
                pass
            for visitor in visitors:
                try:
                    visitor.send(b" ")
                except OSError:
                    pass
            time.sleep(0.5)
        return stay
    return work


def crowds(names):
    """So many wait there that no other can connect."""
    kept = []

    def work():
        for name in names:
            kept.append(listens(name, 1))
            for _ in range(4):
                visitor = socket.socket(socket.AF_UNIX)
                visitor.setblocking(False)
                kept.append(visitor)
                try:
                    visitor.connect(f"\0{name}")
                except OSError:
                    pass
    return work


def lingers(name):
    """Sends this daemon sockets whose last close waits for ten minutes: their peers read nothing of what they still have to send."""
    kept = []

    def send_one(at):
        sender = socket.socket()
        kept.append(sender)
        sender.connect(at)
        sender.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                sender.send(bytes(65536))
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
        with socket.socket(socket.AF_UNIX) as visitor, contextlib.suppress(OSError):
            visitor.setblocking(False)
            visitor.connect(f"\0{name}")
            socket.send_fds(visitor, [b"x"], [sender.fileno()])

    def work():
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(rig.HANG_S)
            for _ in range(100):  # not each comes before the daemon has closed
                child = os.fork()
                if child == 0:
                    try:
                        send_one(listener.getsockname())
                    finally:
                        os._exit(0)  # who exits waits for no close
                kept.append(listener.accept()[0])
                os.waitpid(child, 0)
    return work


def frame(text):
    """The daemon's REFUSED would be read as this; whatever it is, none of it may be shown."""
    return len(text).to_bytes(4, "little") + text


class Table(rig.LaunchTest):
    def have(self):
        """What the processes of this test's job have: (kind, name, mode)."""
        with open("/proc/net/unix") as lines:
            names = {line.split()[6]: line.split()[7] for line in lines if len(line.split()) == 8}
        found = set()
        for process in rig.marked(self.mark):
            if process.name.startswith("rz"):
                found.add(("process", process.name, None))
            try:
                links = [f"/proc/{process.pid}/fd/{fd}" for fd in os.listdir(f"/proc/{process.pid}/fd")]
            except (FileNotFoundError, ProcessLookupError):
                continue
            for link in links:
                try:
                    path, facts = os.readlink(link), os.stat(link)
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if path.startswith("socket:[") and names.get(path[8:-1], "").startswith("@"):
                    found.add(("socket", names[path[8:-1]], None))
                elif path.startswith("/memfd:"):
                    found.add(("memory", path[7:].split(" ")[0], None))
                elif stat.S_ISREG(facts.st_mode) and path.startswith(("/dev/shm/", "/tmp/")):
                    found.add(("file", path, stat.S_IMODE(facts.st_mode)))
        for top in "/dev/shm", self.folder:
            for folder, folders, files in os.walk(top):
                for kind, name in [("folder", name) for name in folders] + [("file", name) for name in files]:
                    path = f"{folder}/{name}"
                    try:
                        facts = os.lstat(path)
                    except FileNotFoundError:
                        continue
                    if top == self.folder or (name.startswith("rhizome-") and self.of_this(path)):
                        found.add((kind, path, stat.S_IMODE(facts.st_mode)))
                        self.assertEqual(facts.st_uid, os.geteuid(), path)
        return found

    def of_this(self, path):
        return any(f"RZ_SCRATCH={path}".encode() in rig.read(process.pid, "environ").split(b"\0") for process in rig.marked(self.mark))

    def compare(self, kinds, *arguments, until):
        """Everything that the job has is in the table, and each of `kinds` was seen."""
        job, rows = self.start(*arguments), table()
        seen = rig.await_true(lambda: job.poll() is not None or ((have := self.have()) and until(have) and have))
        self.assertIsNone(job.poll(), "the job has ended before it was seen")
        self.assertTrue(seen, "the job does not come up")
        unknown = []
        for kind, name, mode in seen:
            shown = name.replace(f"{self.folder}/checkpoints", "DIR")
            if shown.startswith(self.folder) or shown == "DIR":
                continue
            fit = [row for row in rows if row[0] == kind and row[1].fullmatch(re.sub(r"\.\d+\.part$", "", shown))]
            if not fit or (mode is not None and mode != int(fit[0][2], 8)):
                unknown.append((kind, shown, oct(mode or 0)))
        self.assertEqual(unknown, [])
        self.assertLessEqual(kinds, {kind for kind, _, _ in seen})
        job.send_signal(signal.SIGTERM)
        self.finish(job)

    def test_a_plain_job(self):
        up = lambda have: sum(name.startswith("@rhizome/") for _, name, _ in have) == 2 and ("memory", "rhizome-inbox", None) in have
        self.compare({"process", "memory", "socket"}, "-n", "2", "--nodes", "2", rig.program("launch_waits"), "receive", until=up)

    def test_a_gateway(self):
        if not os.path.exists(f"{rig.BUILD}/bin/rzgateway"):
            self.skipTest("built without PMIx")
        up = lambda have: any(kind == "folder" for kind, _, _ in have) and ("process", "rzgateway", None) in have
        self.compare({"process", "memory", "socket", "folder"}, "--mpi", "pmix", "-n", "1", "sleep", "1000", until=up)

    def test_images_in_files(self):
        up = lambda have: any(name.endswith("/committed") for _, name, _ in have)
        old = os.umask(0)
        try:
            self.compare({"process", "memory", "socket", "folder", "file"}, "-n", "2", "--nodes", "2", "--rewind", "100ms",
                         "--checkpoint-dir", f"{self.folder}/checkpoints", rig.program("launch_waits"), "receive", until=up)
        finally:
            os.umask(old)


class Strangers(rig.LaunchTest):
    def setUp(self):
        super().setUp()
        self.jobs, self.strangers = [], []
        if os.geteuid() != 0:
            self.skipTest("needs root, to be another user")

    def tearDown(self):
        for stranger in self.strangers:
            stranger.end()
        for job in self.jobs:
            subprocess.run([rig.RZRUN, "--end", job], capture_output=True, timeout=rig.HANG_S)
        super().tearDown()

    def stranger(self, work, **options):
        self.strangers.append(Stranger(self, work, **options))

    def rzps(self, *arguments):
        return subprocess.run([f"{rig.BUILD}/bin/rzps", *arguments], capture_output=True, text=True, timeout=rig.HANG_S)

    def detached(self):
        """A detached job that runs until it is ended; its number."""
        result = self.runs("--detach", "-n", "1", rig.program("launch_waits"), "receive")
        number = re.search(r"[0-9a-f]{16}", result.out + result.err)[0]
        self.jobs.append(number)
        return number

    def test_a_daemon_that_passes_for_one_of_ours(self):
        job = f"feed{os.urandom(6).hex()}"
        self.stranger(answers(f"rhizome/0/{job}/0", frame(ESCAPE.encode() * 4)))
        for what in "--attach", "--end":
            result = self.runs(what, job, status=NO_JOB)
            self.assertIn(f"uid {OTHER_UID} listens under the name of a job {job} of yours: it is not believed", result.err)
            self.assertNotIn("\x1b", result.out + result.err)
        self.assertNotIn(job, self.rzps("--all").stdout)

    def test_names_that_stand_in_the_way(self):
        """They make no prefix ambiguous, hide nothing and delay nothing for long."""
        job = self.detached()
        near = [f"rhizome/0/{job[:8]}{i:08x}/0" for i in range(4)]
        self.stranger(crowds([*near, f"rhizome/0/{job}/1"]))
        self.stranger(answers(f"rhizome/0/{job[:8]}ffffffff/0", b""))
        self.stranger(trickles(f"rhizome/{OTHER_UID}/{job[:8]}eeeeeeee/0"))
        self.assertIn(job, self.rzps().stdout)
        self.assertIn(job, self.rzps("--all").stdout)
        self.runs("--end", job[:8])

    def test_sockets_that_linger_stop_no_daemon(self):
        job = self.detached()
        self.stranger(lingers(f"rhizome/0/{job}/0"))
        self.assertIn(job, self.rzps().stdout)
        self.runs("--end", job)

    def test_a_page_of_another_user_replaces_none(self):
        """It is shown as this user's, if it is of its own job, and with its control characters as question marks."""
        job = self.detached()
        page = {"schema": "rhizome.status.2", "job": job, "node": 0, "epoch": 1000, "program": ESCAPE, "phase": "\u009b31m", "nodes": [],
                "ranks": [], "processes": [], "seconds": 1.0, "uid": 0}
        text = json.dumps(page, ensure_ascii=False).encode()
        self.stranger(answers(f"rhizome/{OTHER_UID}/{job}/0", text))
        self.stranger(answers(f"rhizome/{OTHER_UID}/{'0' * 16}/0", text))
        documents = [one for one in json.loads(self.rzps("--all", "--json").stdout) if one["job"] == job]
        self.assertEqual([one.get("uid") for one in documents], [None, OTHER_UID])
        self.assertTrue(documents[0]["program"].endswith("launch_waits"))
        for shown in self.rzps("--all").stdout, self.rzps("--all", job).stdout, documents[1]["program"], documents[1]["phase"]:
            self.assertNotRegex(shown, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        self.assertEqual(len(json.loads(self.rzps("--json", job).stdout)), 1)

    def test_the_job_that_rztop_shows(self):
        """One's own job of a number; without one that of another user, who is named, if no third user claims the number."""
        if not os.path.exists(f"{rig.BUILD}/bin/rztop"):
            self.skipTest("built without curses")
        rztop = lambda *words: subprocess.run([f"{rig.BUILD}/bin/rztop", "--once", "--all", *words], capture_output=True, text=True, timeout=rig.HANG_S)
        job, free = self.detached(), f"feed{os.urandom(6).hex()}"
        for number in job, free:
            self.stranger(answers(f"rhizome/{OTHER_UID}/{number}/0", page(number, epoch=9, seconds=0.0)))
        for words in [job], []:  # without a number any job of one's own: others may run on this machine
            shown = rztop(*words).stdout
            self.assertIn("rztop  launch_waits  job " if words else "rztop  ", shown)
            self.assertNotIn("theirs", shown)
        self.assertIn(f"rztop  theirs  job {free[:8]} of uid {OTHER_UID} ", rztop(free).stdout)
        self.stranger(answers(f"rhizome/{OTHER_UID - 1}/{free}/0", page(free)), uid=OTHER_UID - 1)
        refused = rztop(free)
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn(f"2 jobs begin with '{free}', as {free} of uid {OTHER_UID - 1} and {free} of uid {OTHER_UID}; give more digits", refused.stderr)
        both = self.rzps("--all", free).stdout
        self.assertRegex(both, rf"\njob {free} of uid {OTHER_UID - 1}\n(.*\n)*job {free} of uid {OTHER_UID}\n")

    def test_pages_that_no_job_has(self):
        """Another user's pages are bounded; what is beyond is passed over in words, and the others are shown."""
        begin = f"feed{os.urandom(5).hex()}"
        many = lambda n: [{"node": i} for i in range(n)]
        lists = page(f"{begin}04")[:-1] + b',"z":[' + b"[]," * 1000000 + b"0]}"
        kinds = [("says 1025 nodes, and no page of a job has more than 1024", {"nodes": many(1025)}),
                 ("says 131073 ranks, and no page of a job has more than 131072", {"ranks": many(131073)}),
                 ("says 131073 processes, and no page of a job has more than 131072", {"processes": many(131073)}),
                 ("says 129 groups, and no page of a job has more than 128", {"groups": [{"name": str(i)} for i in range(129)]}),
                 ("takes more memory than pages of other users may", None), ("is longer than 16 MiB", {"program": "x" * (17 << 20)}),
                 (None, {"nodes": many(1024), "groups": [{"name": str(i)} for i in range(128)]})]
        for i, (_, fields) in enumerate(kinds):
            job = f"{begin}{i:02x}"
            self.stranger(answers(f"rhizome/{OTHER_UID}/{job}/0", lists if fields is None else page(job, **fields)))
        for i, (word, _) in enumerate(kinds):
            job = f"{begin}{i:02x}"
            done = self.rzps("--all", job)
            self.assertEqual(job in done.stdout, word is None, word)
            self.assertEqual(done.returncode, 0 if word is None else 1)
            said = f"rzps: a page of uid {OTHER_UID} is passed over (job {job}, node 0): it {word}\n"
            self.assertIn(said if word else "", done.stderr)
        last = f"{begin}{len(kinds) - 1:02x}"
        done = self.rzps("--all", begin)
        self.assertIn(last, done.stdout)
        self.assertRegex(done.stderr, rf"^rzps: a page of uid {OTHER_UID} is passed over .*; {len(kinds) - 2} more are, too\n$")

    def test_only_the_owner_of_a_name_is_asked(self):
        """Root sees the job of another user when it has none of that number, and is told whose it is."""
        job = f"feed{os.urandom(6).hex()}"
        self.stranger(answers(f"rhizome/{OTHER_UID}/{job}/0", frame(ESCAPE.encode())))
        result = self.run_it("--attach", job)
        self.assertIn(f"job {job} belongs to uid {OTHER_UID}", result.err)
        self.assertNotIn("\x1b", result.out + result.err)


if __name__ == "__main__":
    rig.main()
