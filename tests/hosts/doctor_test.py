#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzdoctor --hosts on hosts that are real as far as one machine allows (hosts.py), by ssh and in an allocation of slurm: all is well;
a cable is out; there is no way between two hosts; ports are closed. Nothing is left on any host. Skipped (77) without root, sshd or
slurm."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import jobs  # noqa: E402
from jobs import BUILD, HANG_S  # noqa: E402

RZDOCTOR = f"{BUILD}/bin/rzdoctor"
PORTS = range(45000, 45020)


class DoctorTest(jobs.JobsTest):
    N, SLURM, RANKS = 3, True, 6

    def doctor(self, *words, k=0, before=(), status=0):
        """What is said of hosts, by section and subject."""
        done = self.rig.run(k, [*before, RZDOCTOR, "--json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=HANG_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return {(f["section"], f["subject"]): f for f in json.loads(done.stdout)["findings"]}

    def are_good(self, of, *subjects, section="Hosts"):
        for subject in subjects:
            self.assertEqual(of[section, subject]["verdict"], "ok", of[section, subject])

    def is_bad(self, finding, text, remedy):
        self.assertEqual(finding["verdict"], "fault", finding)
        self.assertRegex(finding["text"], text)
        self.assertRegex(finding["remedy"], remedy)

    def test_all_is_well(self):
        of = self.doctor("--hosts", "h1,h2,h3")
        self.are_good(of, "h1", "h2", "h3")
        self.are_good(of, "h1 -> here", "h2 -> here", "h3 -> here", "h1 -> h2", "h2 -> h3", "h3 -> h1", section="Between hosts")
        self.assertRegex(of["Between hosts", "h1 -> h2"]["text"], r"^10\.78\.0\.2:\d+: round trip \d+ us, \d+ MB/s$")
        self.assertRegex(of["Between hosts", "h1 -> here"]["text"], r"^10\.78\.0\.1 to 10\.78\.0\.254: round trip \d+ us$")
        self.assertIn("sbatch and salloc", of["Slurm", "--no-kill"]["text"])

    def test_from_a_host_that_takes_part(self):
        of = self.doctor("--hosts", "h1,h2", k=1)
        self.are_good(of, "h2")
        self.are_good(of, "h2 -> here", "here -> h2", section="Between hosts")

    def test_hosts_that_are_not_reached(self):
        self.rig.cable(3, False)
        try:
            of = self.doctor("--hosts", "h1,nosuch,h3,h2", "--start-timeout", "20s", status=1)
        finally:
            self.rig.cable(3, True)
        self.are_good(of, "h1", "h2")
        self.is_bad(of["Hosts", "nosuch"], "^ssh: Could not resolve hostname nosuch.*status 255", "ssh HOST true")
        self.is_bad(of["Hosts", "h3"], "no answer within|No route|timed out", "is it up|ssh HOST true")
        self.are_good(of, "h1 -> h2", "h2 -> h1", section="Between hosts")

    def test_no_way_between_two_hosts(self):
        self.rig.run(1, ["ip", "route", "add", "unreachable", "10.78.0.2/32"], check=True, timeout=HANG_S)
        try:
            of = self.doctor("--hosts", "h1,h2,h3", status=1)
        finally:
            self.rig.run(1, ["ip", "route", "del", "unreachable", "10.78.0.2/32"], check=True, timeout=HANG_S)
        self.are_good(of, "h1", "h2", "h3")
        self.is_bad(of["Between hosts", "h1 -> h2"], r"^10\.78\.0\.2:\d+: there is no way to it", "firewalls.*--port-range.*--interface")
        self.are_good(of, "h2 -> h3", "h3 -> h1", section="Between hosts")

    def test_ports_that_are_closed(self):
        """The firewall of h2 passes ssh and a range of ports."""
        if not shutil.which("iptables"):
            self.skipTest("there is no iptables")
        no_datagrams = ["INPUT", "-i", "eth0", "-p", "udp", "-j", "DROP"]
        closed = ["INPUT", "-i", "eth0", "-p", "tcp", "--syn", "-m", "multiport", "!", "--dports", f"22,{PORTS[0]}:{PORTS[-1]}", "-j", "DROP"]
        if self.rig.run(2, ["iptables", "-A", *closed], stderr=subprocess.DEVNULL, timeout=HANG_S).returncode != 0:
            self.skipTest("this kernel has no iptables")
        try:
            of = self.doctor("--hosts", "h1,h2,h3", "--port-range", f"{PORTS[0]}-{PORTS[-1]}")
            self.are_good(of, "h1 -> h2", "h2 -> h3", section="Between hosts")
            self.assertIn(int(of["Between hosts", "h1 -> h2"]["text"].split(":")[1]), PORTS)
            of = self.doctor("--hosts", "h1,h2,h3", "--port-range", "46000-46020", status=1)
            self.rig.run(2, ["iptables", "-A", *no_datagrams], check=True, timeout=HANG_S)
            half = self.doctor("--hosts", "h1,h2,h3", "--port-range", f"{PORTS[0]}-{PORTS[-1]}", status=1)
            self.rig.run(2, ["iptables", "-D", *no_datagrams], check=True, timeout=HANG_S)
        finally:
            self.rig.run(2, ["iptables", "-D", *closed], check=True, timeout=HANG_S)
        self.are_good(of, "h2 -> here", "h2 -> h3", section="Between hosts")
        self.is_bad(of["Between hosts", "h1 -> h2"], r"^10\.78\.0\.2:460\d\d: no answer", "TCP and UDP to the ports 46000-46020")
        self.is_bad(half["Between hosts", "h1 -> h2"], "no datagram was answered", "UDP")

    def test_in_an_allocation(self):
        patient = ["--start-timeout", "200"]  # slurm may take half a minute for a step
        of = self.doctor("--hosts", "allocation", *patient, before=["salloc", "-N3", "-n6", "--no-kill"])
        self.are_good(of, "h1", "h2", "h3")
        self.are_good(of, "h1 -> h2", "h2 -> h3", "h3 -> h1", section="Between hosts")
        self.assertIn("whether this job has it", of["Slurm", "--no-kill"]["text"])
        of = self.doctor("--hosts", "h3", "--prefix", "/none", *patient, before=["salloc", "-N3", "-n3", "--no-kill"], status=1)
        self.is_bad(of["Hosts", "h3"], "status 127", "--prefix")


if __name__ == "__main__":
    jobs.main(slurm=True)
