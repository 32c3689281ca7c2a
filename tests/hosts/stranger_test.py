#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A stranger in the network of hosts, against a job that runs: one in the middle, which replays, changes, inserts, omits and cuts what the
streams of daemons and of rzrun carry (relay.py), and a crowd, which sends garbage to all ports and opens thousands of connections. The
job gives the result that it gives without a stranger, at most after the failure of a host whose connection was harmed.
Skipped (77) without root, sshd or iptables."""
import os
import re
import select
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import hosts_files as files  # noqa: E402
import jobs  # noqa: E402
from jobs import HANG_S, HPCCG, RZRUN, SIZE, result_of  # noqa: E402

IPV4 = ["--interface", "10.78.0.0/24"]  # which the relay understands; a connection that it harms is not made anew over IPv6
JOB = [*IPV4, "--host", "h1:4,h2:4,h3:4", "-n", "6", "--map-by", "node", "-v", "--story", "--inject", "stop rank 0 at iteration 60 for 2s"]
IN_THE_MIDDLE = 1  # the host whose connections are relayed
HARMS = ("flip", "insert", "repeat", "omit", "truncate")
CHANGED = "node 0: a message is not from its daemon, or was changed on the way"
CONNECTIONS = 10000


class Stranger(jobs.JobsTest):
    N, RANKS = 3, 6

    def start(self, *words):
        return self.rig.start(0, [RZRUN, *JOB, *words, "--oversubscribe", HPCCG, *SIZE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ports(self, k, protocol="t"):
        """(name of a process, port) that are open on a host, sshd's not among them."""
        lines = self.rig.run(k, ["ss", "-Hnlp" + protocol], stdout=subprocess.PIPE, text=True, timeout=HANG_S).stdout.splitlines()
        found = [(re.search(r'"([^"]+)"', line), line.split()[3].rsplit(":", 1)[1]) for line in lines]
        return [(name[1], int(port)) for name, port in found if name and name[1] != "sshd"]

    def ports_of(self, k, process):
        return jobs.await_true(lambda: [port for name, port in self.ports(k) if name == process])

    @staticmethod
    def stop(job):
        job.kill()
        job.communicate(timeout=HANG_S)

    def right(self, process):
        """Ends with the right result; what it said."""
        out, err = process.communicate(timeout=HANG_S)
        self.assertEqual((process.returncode, result_of(out)), (0, self.expected), err)
        return err


class Middle(Stranger):
    def setUp(self):
        words = [sys.executable, "-B", f"{HERE}/relay.py"]
        self.relay, self.heard = self.rig.start(IN_THE_MIDDLE, words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0), b""
        self.assertEqual(self.hear(), "ready")

    def tearDown(self):
        self.relay.stdin.close()
        self.relay.wait(HANG_S)
        self.relay.stdout.close()
        super().tearDown()

    def hear(self):
        while b"\n" not in self.heard:
            self.assertTrue(select.select([self.relay.stdout], [], [], HANG_S)[0], "the relay says nothing")
            got = os.read(self.relay.stdout.fileno(), 65536)
            self.assertTrue(got, "the relay has ended")
            self.heard += got
        line, self.heard = self.heard.split(b"\n", 1)
        return line.decode()

    def tell(self, *words):
        self.relay.stdin.write(" ".join(map(str, words)).encode() + b"\n")

    def harmed(self, what, way, k, process, *words):
        """What a job says of which one connection, from h1 to that process of host k, was harmed while the job ran."""
        job = self.start(*words)
        try:
            self.await_ranks_on(IN_THE_MIDDLE)
            self.tell("harm", what, way, files.address(k), self.ports_of(k, process)[0])
            self.assertEqual(self.hear().split()[0], "set")
            self.assertEqual(self.hear(), f"done {what} {way}")
            return self.right(job)
        finally:
            self.stop(job)

    def test_between_daemons(self):
        """The daemon that hears it, or the other one, takes the other's host for failed; or what was sent goes on."""
        for what in HARMS:
            with self.subTest(what):
                err = self.harmed(what, "there", 2, "rzd")
                self.assertRegex(err, "node [01] failed; noticed by (broken connection|a message that was changed)")

    def test_from_a_daemon_to_rzrun(self):
        for what, why in (("flip", CHANGED), ("insert", CHANGED), ("omit", CHANGED), ("truncate", "node 0 has ended")):
            with self.subTest(what):
                self.assertRegex(self.harmed(what, "there", 0, "rzrun"), why)

    def test_from_rzrun_to_a_daemon(self):
        for what in ("flip", "repeat", "truncate"):
            with self.subTest(what):
                self.assertRegex(self.harmed(what, "back", 0, "rzrun"), "node 0 has ended")

    def test_two_nodes_that_take_each_other_for_failed(self):
        """Each end of the connection has the proof; rzrun ends the node of the second agreement, and the job has one result."""
        words = ["--host", "h1:4,h2:4", "-n", str(self.RANKS)]
        for what in ("flip", "truncate"):
            with self.subTest(what):
                self.assertRegex(self.harmed(what, "there", 2, "rzd", *words), "node [01] failed; noticed by")

    def test_a_handshake_that_is_changed(self):
        """The connection is made anew, of a daemon to rzrun and between daemons; one that is cut before a word looks like the end of a host."""
        job = [*IPV4, "--host", "h1,h2", "-n", "2", "--oversubscribe", HPCCG, *SIZE]
        for what in ("flip", "insert", "truncate"):
            for way in ("there", "back"):
                with self.subTest(what=what, way=way):
                    for k in (0, 2):
                        self.tell("harm-first", what, way, files.address(k), 0)
                        self.assertEqual(self.hear().split()[0], "set")
                    done = self.rig.run(0, [RZRUN, *job], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=HANG_S)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    for _ in range(2):
                        self.assertEqual(self.hear(), f"done {what} {way}")

    def test_what_was_said_before(self):
        job = self.start()
        try:
            self.await_ranks_on(IN_THE_MIDDLE)
            for k, process in ((2, "rzd"), (3, "rzd"), (0, "rzrun"), (2, "hpccg"), (3, "hpccg")):
                for port in self.ports_of(k, process):
                    self.tell("replay", files.address(k), port)
                    while not (line := self.hear()).startswith("done"):
                        self.assertLess(int(line.split()[2]), 200, "a stranger is answered")
            self.assertNotRegex(self.right(job), "failed;")
        finally:
            self.stop(job)


class Crowd(Stranger):
    """The stranger is on h4; the ranks of h1 are stopped until it has done its work."""
    N = 4

    def test_a_crowd(self):
        job = self.start()
        try:
            self.await_ranks_on(1)
            self.rig.run(1, ["pkill", "-STOP", "-x", "hpccg"], timeout=HANG_S)
            streams = [f"{files.address(k)}:{port}" for k in range(4) for name, port in self.ports(k) if (name, k) != ("hpccg", 1)]
            datagrams = [f"{files.address(k)}:{port}" for k in range(4) for _, port in self.ports(k, "u")]
            self.assertGreaterEqual((len(streams), len(datagrams)), (4, 3))
            sent = self.crowd(4, "connect", CONNECTIONS, *streams)
            self.assertGreater(sent, CONNECTIONS * len(streams) // 2)
            self.crowd(4, "datagrams", 2000, *datagrams)
            self.assertGreater(self.crowd(1, "heartbeats", 20, *datagrams), 0)
            self.rig.run(1, ["pkill", "-CONT", "-x", "hpccg"], timeout=HANG_S)
            err = self.right(job)
        finally:
            self.stop(job)
        self.assertNotRegex(err, "failed;")
        self.assertRegex(err, "connections to daemons were refused: they did not prove that they belong to the job")

    def crowd(self, k, *words):
        done = self.rig.run(k, [sys.executable, "-B", f"{HERE}/crowd.py", *map(str, words)], stdout=subprocess.PIPE, text=True, timeout=HANG_S)
        self.assertEqual(done.returncode, 0)
        return int(done.stdout)


if __name__ == "__main__":
    if not files.has_firewall():
        print("no iptables, by which a relay gets between hosts")
        sys.exit(jobs.SKIPPED)
    jobs.main()
