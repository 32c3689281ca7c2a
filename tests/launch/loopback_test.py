#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in a network namespace whose loopback device is down, has no IPv4, or has no address at all."""
import os
import re
import subprocess
import unittest

import launch_rig as rig

RZDOCTOR = f"{rig.BUILD}/bin/rzdoctor"
UP = "ip link set lo up; "
NO_IPV4 = UP + "ip -4 address flush dev lo; "
NO_ADDRESS = NO_IPV4 + "ip -6 address flush dev lo; "


@unittest.skipUnless(rig.can_unshare(), "this user may not make network namespaces, or there is no ip")
class Loopback(rig.LaunchTest):
    def runs_in(self, device, *options):
        return subprocess.run(["unshare", "-rn", "sh", "-c", f'{device} exec "$@"', "sh", rig.RZRUN, "--oversubscribe", "-n", "2", *options,
                               rig.program("launch_ends"), "return", "0"], capture_output=True, text=True, timeout=rig.HANG_S)

    def test_ipv6_alone_will_do(self):
        for options in ((), ("--nodes", "2")):
            run = self.runs_in(NO_IPV4, *options)
            self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_a_job_of_one_node_needs_no_device(self):
        self.assertEqual(self.runs_in("").returncode, 0)

    def test_several_nodes_are_refused_before_they_start(self):
        for options in (("--nodes", "2"), ("--nodes", "2", "--no-ft"), ("--nodes", "3", "--spares", "1"), ("--host", "a,b", "--launcher", "local")):
            run = self.runs_in("", *options)
            self.assertEqual((run.returncode, run.stdout), (rig.NO_START, ""))
            self.assertRegex(run.stderr, r"\Arzrun: .* over the loopback device lo: 127\.0\.1\.1: .*; as root: ip link set lo up\b.*\n\Z")

    def test_no_address_is_said(self):
        run = self.runs_in(NO_ADDRESS)
        self.assertEqual(run.returncode, rig.NO_START)
        self.assertIn("cannot listen at 127.0.1.1: Cannot assign requested address; as root: ip link set lo up;", run.stderr)

    @unittest.skipUnless(os.path.exists(RZDOCTOR), "this build has no rzdoctor")
    def test_rzdoctor_names_the_device(self):
        """Device: what is said of the loopback's addresses, and of TCP and the job on two nodes."""
        for device, loopback, rest in (("", "fault", "fault"), (NO_ADDRESS, "fault", "fault"), (NO_IPV4, "warning", "ok"), (UP, "ok", "ok")):
            run = subprocess.run(["unshare", "-rn", "sh", "-c", f'{device} exec "$@"', "sh", RZDOCTOR],
                                 capture_output=True, text=True, timeout=rig.HANG_S)
            for subject, expected in (("127.0.0.1", loopback), ("127.0.1.1", loopback), ("TCP", rest), ("two nodes", rest)):
                found = re.search(rf"^  (\w+) +{subject}  .*\n(?: +-> (.*))?", run.stdout, re.MULTILINE)
                self.assertEqual(found[1], expected, (device, run.stdout))
                if expected != "ok" and subject != "two nodes":
                    self.assertIn("ip link set lo up", found[2])


if __name__ == "__main__":
    rig.main()
