#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs over IPv6 on the rig of hosts (hosts.py): by names and by addresses, with a loss of a rank, of a host, and of a host that is
stopped; hosts without IPv4, alone and beside hosts of both families; a stranger; rzdoctor --hosts. Skipped (77) without root or sshd."""
import contextlib
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import hosts_files as files  # noqa: E402
import jobs  # noqa: E402
from jobs import BUILD, HANG_S, HPCCG, NO_START, RZRUN, SIZE, result_of  # noqa: E402

ON_ALL = ["--host", "h1-v6:4,h2-v6:4,h3-v6:4,h4-v6:4", "-n", "8", "--map-by", "node", "--story"]
HELD = ["--inject", "stop rank 0 at iteration 60 for 2s"]
SMALL = [HPCCG, "8", "8", "8"]


class OverIpv6(jobs.JobsTest):
    def run_it(self, *words, k=0):
        done = self.rig.run(k, [RZRUN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=HANG_S)
        return done.returncode, done.stdout, done.stderr

    def start(self, *words):
        return self.rig.start(0, [RZRUN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def right(self, process):
        out, err = process.communicate(timeout=HANG_S)
        self.assertEqual((process.returncode, result_of(out)), (0, self.expected), err)
        return err

    def doctor(self, *words):
        """The ways between hosts with which rzdoctor measured a rate."""
        done = self.rig.run(0, [f"{BUILD}/bin/rzdoctor", "--json", *words], stdout=subprocess.PIPE, text=True, timeout=HANG_S)
        return {f["subject"] for f in json.loads(done.stdout)["findings"] if f["section"] == "Between hosts" and "MB/s" in f["text"]}

    @contextlib.contextmanager
    def without(self, family, k):
        """Host k has no address of that family (4 or 6)."""
        of, own = {4: (["-4"], f"{files.address(k)}/24"), 6: (["-6"], f"{files.address6(k)}/64")}[family]
        self.rig.run(k, ["ip", *of, "addr", "del", own, "dev", "eth0"], check=True, timeout=HANG_S)
        try:
            yield
        finally:
            self.rig.run(k, ["ip", "addr", "add", own, "dev", "eth0", *["nodad"] * (family == 6)], check=True, timeout=HANG_S)

    def places(self, k, protocol="t"):
        """ADDRESS:PORT of what is open on a host, sshd's not among them."""
        lines = self.rig.run(k, ["ss", "-Hnlp" + protocol], stdout=subprocess.PIPE, text=True, timeout=HANG_S).stdout.splitlines()
        return [line.split()[3] for line in lines if re.search(r'"(rzd|hpccg)"', line)]

    def test_a_rank_and_a_host_are_lost(self):
        status, out, err = self.run_it(*ON_ALL, "--inject", "kill rank 3 at iteration 40", "--inject", "kill node 2 at iteration 90", HPCCG, *SIZE)
        self.assertEqual((status, result_of(out)), (0, self.expected), err)
        self.assertRegex(err, "rank 3 on node 3 failed")
        self.assertRegex(err, "node 2 failed")

    def test_heartbeats_of_processes(self):
        status, out, err = self.run_it("-v", "--story", "--detector", "flat", "--host", "[fd78::1]:4,[fd78::2]:4,fd78:0::3", "-n", "8",
                                       "--inject", "stop rank 5 at iteration 40 for 8s", HPCCG, *SIZE)
        self.assertEqual((status, result_of(out)), (0, self.expected), err)
        self.assertRegex(err, "rank 5 on node 1 failed; noticed by silence")
        for k in (1, 2, 3):
            self.assertRegex(err, rf"(?m)node {k - 1} is up: process \d+, \[fd78::{k}\]:\d+$")

    def test_a_network_is_chosen(self):
        """Each name is of an IPv4 address."""
        status, out, err = self.run_it("-v", "--interface", "fd78::/64", "--host", "h1,h2", "-n", "2", *SMALL)
        self.assertEqual(status, 0, err)
        self.assertEqual(len(re.findall(r"node \d is up: process \d+, \[fd78::[12]\]:\d+\n", err)), 2, err)
        status, out, err = self.run_it("-v", "--interface", "eth0", "--host", "h1-v6,h2-v6", "-n", "2", *SMALL)
        self.assertEqual(status, 0, err)
        status, _, err = self.run_it("--interface", "fd79::/64", "--host", "h1,h2", "hostname")
        self.assertEqual(status, NO_START, err)
        self.assertIn("no interface of this machine is the one of --interface", err)
        status, _, err = self.run_it("--net", "ucx", "--host", "h1-v6,h2-v6", "-n", "2", *SMALL)
        self.assertNotEqual(status, 0, err)
        self.assertIn("--net ucx is for nodes with IPv4 addresses alone", err)

    def test_hosts_of_one_family_and_of_both(self):
        with self.without(4, 2):
            for hosts in ("h2-v6,h1", "h1,h2-v6"):
                status, out, err = self.run_it("--host", hosts, "-n", "2", *SMALL)
                self.assertEqual((status, len(result_of(out))), (0, 2), err)
            self.assertEqual(self.run_it("--host", "h2-v6,h3-v6", "-n", "2", *SMALL, k=2)[0], 0)
            self.assertEqual(self.doctor("--hosts", "h1,h2-v6"), {"h1 -> h2-v6", "h2-v6 -> h1"})
            with self.without(6, 3):
                status, _, err = self.run_it("--host", "h1,h2-v6,h3", "-n", "3", "hostname")
                self.assertEqual(status, NO_START, err)
                self.assertRegex(err, r"h3 \(10\.78\.0\.3\) has no IPv6 address, and h2-v6 \(fd78::2\) no IPv4 address")

    def test_an_address_of_rzrun_that_swallows_all(self):
        """What h2 sends to it goes nowhere: its daemon comes by the other address."""
        broken = ["fd78::254", "lladdr", "02:78:00:00:00:ff", "dev", "eth0"]
        self.rig.run(2, ["ip", "neigh", "replace", *broken], check=True, timeout=HANG_S)
        try:
            status, out, err = self.run_it("-v", "--host", "h1-v6,h2", "-n", "2", *SMALL)
        finally:
            self.rig.run(2, ["ip", "neigh", "del", *broken], check=True, timeout=HANG_S)
        self.assertEqual((status, len(result_of(out))), (0, 2), err)
        self.assertRegex(err, r"node 1 is up: process \d+, 10\.78\.0\.2:\d+")

    def test_a_stopped_host_is_lost(self):
        process = self.start(*ON_ALL, *HELD, HPCCG, *SIZE)
        self.await_ranks_on(4)
        self.rig.stop(4)
        try:
            err = self.right(process)
        finally:
            self.rig.cont(4)
        self.assertRegex(err, "node 3 failed; noticed by silence")

    def test_a_stranger(self):
        """Garbage to all that h1 and h2 have open, which is at their IPv6 addresses."""
        process = self.start(*ON_ALL, *HELD, HPCCG, *SIZE)
        self.await_ranks_on(1)
        for protocol, what in (("t", "connect"), ("u", "datagrams")):
            places = self.places(1, protocol) + self.places(2, protocol)
            self.assertTrue(places)
            for place in places:
                self.assertRegex(place, r"^\[fd78::[12]\]:\d+$")
            done = self.rig.run(4, [sys.executable, "-B", f"{HERE}/crowd.py", what, "300", *places], stdout=subprocess.PIPE, text=True,
                                timeout=HANG_S)
            self.assertGreater(int(done.stdout), 0)
        err = self.right(process)
        self.assertNotRegex(err, "failed;")
        self.assertRegex(err, r"connections to daemons were refused: .*node 0, \[fd78::1\]:\d+: \d+; node 1, \[fd78::2\]:\d+: \d+\)")


if __name__ == "__main__":
    jobs.main()
