#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzdoctor --hosts: hosts that are as here, and hosts with something amiss. They are played on this machine by an agent that takes
the place of ssh: their names say how they behave. tests/hosts has the same with real hosts, ssh and slurm."""
import json
import os
import re
import signal
import socket
import subprocess

import launch_rig as rig
import memory_group

RZDOCTOR = f"{rig.BUILD}/bin/rzdoctor"
AGENT = """#!/bin/sh
# HOST COMMAND, as ssh has it
here=$(dirname "$0")
command=$2
case $1 in
refused*) echo "ssh: connect to host $1 port 22: Connection refused" >&2; exit 255 ;;
absent*) command=$(echo "$2" | sed "s|'[^']*/bin/|'/no/such/place/|g") ;;
newer*|older*) command=$(echo "$2" | sed "s|'[^']*/rzd'|'$here/$1'|") ;;
silent*) exec sleep 1000 ;;
halfway*) echo "rzd (Rhizome) 1"; exec sleep 1000 ;;
greeting*) echo "Welcome to $1, unauthorised use is prohibited"; echo "rhizome-doctor no json" ;;
limited*) ulimit -n 200 ;;
esac
exec setsid -w sh -c "$command"
"""
NEWER = """#!/bin/sh
echo 'rzd (Rhizome) 99.1'
"""
OLDER = """#!/bin/sh
echo 'usage: rzd --remote' >&2
exit 2
"""
SCONTROL = """#!/bin/sh
echo "KillOnBadExit           = 1"
echo "ProctrackType           = proctrack/pgid"
echo "ConstrainRAMSpace       = yes"
"""


class Doctor(rig.LaunchTest):
    def setUp(self):
        super().setUp()
        self.agent = self.file("agent", AGENT, mode=0o755)
        self.file("newer", NEWER, mode=0o755)
        self.file("older", OLDER, mode=0o755)

    def words(self, *more):
        return ["--launch-agent", self.agent, "--interface", "lo", "--json", *more]

    def doctor(self, *more, environment=None, status=None):
        """What is said of hosts: section, subject: the findings."""
        result = self.run_it(*self.words(*more), rzrun=RZDOCTOR, environment=environment)
        self.assertEqual(result.err, "")
        found, of = json.loads(result.out), {}
        for finding in found["findings"]:
            self.assertEqual(finding["verdict"] == "ok", finding["remedy"] is None, finding)
            of.setdefault((finding["section"], finding["subject"]), []).append(finding)
        self.assertEqual(result.status, 1 if found["faults"] else 0)
        if status is not None:
            self.assertEqual(result.status, status, result.out)
        return of

    def is_good(self, of, *hosts):
        for host in hosts:
            (finding,) = of["Hosts", host]
            self.assertEqual(finding["verdict"], "ok", finding)
            self.assertRegex(finding["text"], r"^as here; its clock is \d+\.\d ms (ahead of|behind) the one here, give or take \d+\.\d ms$")
            (way,) = of["Between hosts", f"{host} -> here"]
            self.assertRegex(way["text"], r"^127\.0\.0\.1 to 127\.0\.0\.1: round trip \d+ us$")

    def way(self, of, name):
        (way,) = of["Between hosts", name]
        self.assertRegex(way["text"], r"^127\.0\.0\.1:\d+: round trip \d+ us, \d+ MB/s$")
        return int(way["text"].split(":")[1])

    def is_bad(self, of, host, why, remedy):
        (finding,) = of["Hosts", host]
        self.assertEqual(finding["verdict"], "fault")
        self.assertRegex(finding["text"], why)
        self.assertRegex(finding["remedy"], remedy)
        self.assertEqual([subject for section, subject in of if section == "Between hosts" and host in subject], [])

    def test_hosts_that_are_as_here(self):
        of = self.doctor("--hosts", "a,b:4,greeting1", status=0)
        self.is_good(of, "a", "b", "greeting1")
        for name in ("a -> b", "b -> greeting1", "greeting1 -> a"):
            self.way(of, name)
        self.assertEqual(len([1 for section, _ in of if section == "Between hosts"]), 6)

    def test_this_machine_is_one_of_them(self):
        of = self.doctor("--hosts", "localhost,a", status=0)
        self.is_good(of, "a")
        self.way(of, "here -> a")
        of = self.doctor("--hosts", "localhost", status=0)
        self.assertIn(("Hosts", "hosts"), of)

    def test_hosts_with_something_amiss(self):
        of = self.doctor("--hosts", "a,refused1,silent1,absent1,newer,older,halfway1,limited1,b", "--start-timeout", "20s", status=1)
        self.is_good(of, "a", "b")
        self.is_bad(of, "refused1", "port 22: Connection refused .*status 255", "agent HOST true")
        self.is_bad(of, "silent1", "no answer within 20 s", "--start-timeout")
        self.is_bad(of, "absent1", "not found .*status 127", "--prefix")
        self.is_bad(of, "newer", r"^Rhizome 99\.1 is there, \S+ is here", "the same version on all hosts")
        self.is_bad(of, "older", "usage: rzd --remote .*status 2", "another version")
        self.is_bad(of, "halfway1", "Rhizome 1 is there", "--prefix")
        (limits,) = of["Hosts", "limited1"]
        self.assertEqual(limits["verdict"], "warning")
        self.assertRegex(limits["text"], "^open files: 1.. descriptors in one process")
        for name in ("a -> limited1", "limited1 -> b", "b -> a"):
            self.way(of, name)

    def test_text(self):
        result = self.run_it("--launch-agent", self.agent, "--interface", "lo", "--hosts", "a,refused1", rzrun=RZDOCTOR)
        self.assertRegex(result.out, r"(?m)^Hosts\n  fault    refused1 +ssh: .*\n +-> try `.*\n  ok       a +as here; its clock .*\nBetween hosts\n"
                                     r"  ok       a -> here ")
        self.assertEqual(result.status, 1)

    def test_ports_of_a_range(self):
        with socket.create_server(("127.0.0.1", 0)) as one:
            first = min(one.getsockname()[1], 65000)
        of = self.doctor("--hosts", "a,b", "--port-range", f"{first}-{first + 40}", status=0)
        for name in ("a -> b", "b -> a"):
            self.assertIn(self.way(of, name), range(first, first + 41))

    def test_hosts_of_a_file_and_of_an_allocation(self):
        of = self.doctor("--hostfile", self.file("hosts", "a slots=2\nb # the other\n"), status=0)
        self.is_good(of, "a", "b")
        of = self.doctor("--hosts", "allocation", environment={"PBS_NODEFILE": self.file("nodes", "c\nd\nc\n")}, status=0)
        self.is_good(of, "c", "d")

    def test_settings_of_slurm(self):
        os.mkdir(f"{self.folder}/bin")
        self.file("bin/scontrol", SCONTROL, mode=0o755)
        path = f"{self.folder}/bin:{os.environ['PATH']}"
        of = self.doctor("--hosts", "a", environment={"PATH": path}, status=0)
        for name, verdict in (("KillOnBadExit", "ok"), ("ProctrackType", "warning"), ("ConstrainRAMSpace", "warning"), ("--no-kill", "ok")):
            self.assertEqual([f["verdict"] for f in of["Slurm", name]], [verdict])

    def test_bad_lines(self):
        for line, words in ((["--hosts", "allocation"], "no job of Slurm or PBS"), (["--hosts", "a b"], "letters, digits"),
                            (["--hosts", "a", "--launcher", "local"], "emulates all hosts on this machine"),
                            (["--hosts", "a", "--hosts", "allocation"], "name no others"), (["--hosts", "a", "--start-timeout", "0"], "time like"),
                            (["features", "--hosts", "a"], "belong to rzdoctor check"), (["--hosts", "a", "--launcher", "slurm"], "SLURM_JOB_ID")):
            result = self.run_it(*line, rzrun=RZDOCTOR)
            self.assertEqual(result.status, rig.BAD_LINE, result.err)
            self.assertIn(words, result.err)

    def test_no_address(self):
        result = self.run_it("--launch-agent", self.agent, "--hosts", "a", "--interface", "no0", "--json", rzrun=RZDOCTOR)
        self.assertIn("no interface of this machine is the one of --interface", result.out)
        self.assertEqual(result.status, 1)

    def test_memory_of_its_control_group(self):
        """What the group may still have counts, not what the machine has."""
        group = memory_group.make(f"rz-doctor-{os.getpid()}", 240 << 20)
        if not group:
            self.skipTest("this user may make no control group with a limit on memory")
        self.addCleanup(memory_group.remove, group)
        result = self.run_it("-c", f'echo $$ >{group}/cgroup.procs && exec "$0" --json', RZDOCTOR, rzrun="/bin/sh")
        (finding,) = [finding for finding in json.loads(result.out)["findings"] if finding["subject"] == "memory"]
        self.assertEqual(finding["verdict"], "warning")
        self.assertRegex(finding["text"], r"^\d{2,3} MiB free in this control group$")

    def test_killed_in_the_middle_it_leaves_nothing(self):
        process = self.start(*self.words("--hosts", "a,silent1,b"), rzrun=RZDOCTOR)
        links = lambda: [p for p in rig.marked(self.mark) if "link" in p.command.split()]
        self.assertTrue(rig.await_true(lambda: len(links()) >= 2), "no host is asked")
        process.kill()
        process.wait(timeout=rig.HANG_S)
        self.assertEqual(rig.lasting(lambda: [p.pid for p in rig.marked(self.mark)]), [])


class Link(rig.LaunchTest):
    """The end on each host, by hand."""
    TOKEN = "0123456789abcdef" * 2

    def ask(self, link, **order):
        link.stdin.write(json.dumps(order).encode() + b"\n")
        link.stdin.flush()
        return self.answer(link)

    def answer(self, link):
        line = link.stdout.readline().decode()
        self.assertTrue(line.startswith("rhizome-doctor "), line)
        return json.loads(line.split(" ", 1)[1])

    def begin(self):
        link = self.start("link", rzrun=RZDOCTOR, stdin=subprocess.PIPE)
        self.assertEqual(set(self.answer(link)), {"version", "abi", "machine"})
        return link

    def says(self, at, *parts):
        """What is answered on a connection that says this."""
        with socket.create_connection(("127.0.0.1", at), timeout=rig.HANG_S) as one:
            got = b""
            for part in parts:
                try:
                    one.sendall(part)
                    got += one.recv(16)
                except ConnectionError:
                    break
            return got

    def test_strangers(self):
        link = self.begin()
        serves = self.ask(link, **{"do": "serve", "ip": "127.0.0.1", "ports": "", "token": self.TOKEN})
        at, by_datagram = (int(serves[name].split(":")[1]) for name in ("at", "udp"))
        token = self.TOKEN.encode()
        self.assertEqual(self.says(at, token + b"t", b"t"), b"tt")
        self.assertEqual(self.says(at, token + b"r" + (5).to_bytes(8, "little") + b"bytes", b"t"), b"rt")
        for words in (b"GET / HTTP/1.0\r\n\r\n", token[:-1] + b"xt", token + b"x", token + b"r" + b"\xff" * 8):
            self.assertEqual(self.says(at, words), b"", words)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(rig.HANG_S)
            for words in (b"", b"x" * 32, token[:-1], token + b"x" * 33, token + b"mine"):
                one.sendto(words, ("127.0.0.1", by_datagram))
            self.assertEqual(one.recv(100), token + b"mine")
        kept = [socket.create_connection(("127.0.0.1", at), timeout=rig.HANG_S) for _ in range(100)]
        self.assertEqual(self.says(at, token + b"t"), b"t")
        for one in kept:
            one.close()
        self.assertEqual(self.finish(link).status, 0)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", at), timeout=rig.HANG_S)

    def test_bad_orders(self):
        link = self.begin()
        for order in ({"do": "dance"}, {}, {"do": "serve", "ip": "127.0.0.1", "token": "short"}, {"do": "serve", "ip": "x", "token": self.TOKEN},
                      {"do": "trip", "to": "127.0.0.1:1", "token": self.TOKEN}, {"do": "rate", "to": "", "token": self.TOKEN},
                      {"do": "reach", "to": "nonsense,127.0.0.1:1", "token": self.TOKEN, "interface": ""}):
            self.assertIn("error", self.ask(link, **order), order)
        self.assertGreater(self.ask(link, **{"do": "clock"})["ns"], 0)
        self.assertEqual(self.finish(link).status, 0)

    def test_the_end_of_its_input_ends_what_it_does(self):
        link = self.begin()
        link.stdin.write(b'{"do": "check"}\n')
        link.stdin.flush()
        self.assertTrue(rig.await_true(lambda: len(rig.marked(self.mark)) >= 2))
        link.stdin.close()
        link.wait(timeout=rig.HANG_S)
        link.stdin = None
        self.assertEqual(rig.lasting(lambda: [p.pid for p in rig.marked(self.mark)]), [])
        link = self.begin()
        self.ask(link, **{"do": "serve", "ip": "127.0.0.1", "ports": "", "token": self.TOKEN})
        os.kill(link.pid, signal.SIGKILL)
        self.assertEqual(rig.lasting(lambda: [p.pid for p in rig.marked(self.mark)]), [])


if __name__ == "__main__":
    rig.main()
