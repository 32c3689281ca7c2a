#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on other hosts. The hosts are played on this machine by an agent that takes the place of ssh: their names say how they
behave. tests/hosts has the same with real hosts and ssh."""
import os
import re
import signal
import socket
import time
import unittest

import launch_rig as rig

SH = "/bin/sh"
RING = rig.program("launch_ends")
AGENT = """#!/bin/sh
# HOST COMMAND, as ssh has it
cat "/proc/$PPID/comm" >> "$(dirname "$0")/started-by"
case $1 in
refused*) echo "ssh: connect to host $1 port 22: Connection refused" >&2; exit 255 ;;
asking*) echo "me@$1: Permission denied (publickey,password)." >&2; exit 255 ;;
absent*) exec sh -c "exec /no/such/place/rzd --remote" ;;
foreign*) exec sh -c "exec /etc/passwd --remote" ;;
older*) echo "usage: rzd --keeper --launcher-fd=F" >&2; exit 2 ;;
full*) echo "rzd: cannot write: No space left on device" >&2; exit 1 ;;
silent*) exec sleep 1000 ;;
halfway*) dd bs=1 count=10 of=/dev/null 2>/dev/null; exec sleep 1000 ;;
dying*) dd bs=1 count=10 of=/dev/null 2>/dev/null; kill -9 $$ ;;
greeting*) echo "Welcome to $1, unauthorised use is prohibited"; echo "rhizome-report of no use" ;;
slow*) sleep 0.2 ;;
esac
exec setsid -w sh -c "$2" # as with ssh, the end of the agent is not that of the daemon
"""


class Hosts(rig.LaunchTest):
    def setUp(self):
        super().setUp()
        self.agent = self.file("agent", AGENT, mode=0o755)

    def words(self, hosts, *more):
        return ["--launcher", "ssh", "--launch-agent", self.agent, "--interface", "lo", "--host", hosts, *more]

    def program(self):
        return [SH, "-c", "echo rank $RZ_RANK"]

    def starts(self, hosts, n, *more):
        result = self.runs(*self.words(hosts, *more), "-n", str(n), *self.program())
        self.assertEqual(sorted(result.out.split("\n")[:-1]), sorted(f"rank {rank}" for rank in range(n)))
        return result.err

    def fails(self, hosts, *patterns, more=(), status=rig.NO_START):
        result = self.run_it(*self.words(hosts, *more), "-n", "1", *self.program())
        self.assertEqual(result.status, status, result.err)
        self.assertEqual(result.out, "")
        for pattern in patterns:
            self.assertRegex(result.err, pattern)
        self.assertEqual(len(result.err.splitlines()), 1, result.err)

    def test_hosts_start_and_leave_nothing(self):
        self.assertEqual(self.starts("a:2,b,c", 4), "")

    def test_an_mpi_program_between_hosts(self):
        self.assertEqual(self.runs(*self.words("a,b"), "-n", "2", RING, "return", "0").err, "")

    def test_this_machine_beside_other_hosts(self):
        words = self.words("localhost,elsewhere")
        words[words.index("ssh")] = "auto"
        result = self.runs(*words, "-n", "2", *self.program())
        self.assertEqual(sorted(result.out.split()), ["0", "1", "rank", "rank"])
        with open(f"{self.folder}/started-by") as names:
            self.assertEqual(len(names.readlines()), 1)

    def test_greetings_of_a_login_shell(self):
        self.assertEqual(self.starts("greeting1,b", 2), "")

    def test_local_hosts_need_no_agent(self):
        result = self.runs("--launcher", "local", "--launch-agent", "/no/such/agent", "--host", "x,y", "-n", "2", *self.program())
        self.assertEqual(result.err, "")

    def test_starts_that_fail(self):
        self.fails("a,refused1", "refused1: ssh: connect to host refused1 port 22: Connection refused", "status 255")
        self.fails("asking1,b", r"asking1: me@asking1: Permission denied")
        self.fails("a,absent1", "absent1: .*not found", "--prefix")
        self.fails("a,foreign1", "foreign1: ", "status 126", "not for this kind of machine")
        self.fails("a,older1", "older1: usage: rzd", "status 2")
        self.fails("a,full1", "full1: .*No space left on device")
        self.fails("a,dying1", "dying1: no answer .*status 137")
        self.fails("a,b", "--prefix|not found", more=("--prefix", "/no/such/place"))
        self.fails("refused1,b,refused2,refused3,refused4,refused5", "refused1: .*; refused2: .*; refused3: .*; and 2 others")

    def test_agents_that_do_not_exist(self):
        result = self.runs("--launcher", "ssh", "--launch-agent", "/no/such/agent -x", "--interface", "lo", "--host", "a", *self.program(),
                           status=rig.NO_START)
        self.assertRegex(result.err, "a: /no/such/agent cannot be started: No such file or directory")

    def test_hosts_that_never_answer(self):
        for name in ("silent1", "halfway1"):
            self.fails(f"a,{name},b", rf"1 of 3 daemons .*--start-timeout.*{name}: no answer", more=("--start-timeout", "1s"))

    def test_bad_options(self):
        for words, why in ((("--launcher", "slrum"), "`auto`, `local`"), (("--port-range", "70-10"), "two ports"), (("--port-range", "x"), "two ports"),
                           (("--start-timeout", "0s"), "time like"), (("--prefix", "here"), "absolute path"),
                           (("--host", "a b"), "letters, digits"), (("--host", "-oProxyCommand=x"), "begins with no '-'"),
                           (("--interface", "no0", "--host", "a"), "no interface of this machine"),
                           (("--ssh-args", "-4", "--launch-agent", "x", "--host", "a"), "--ssh-args is for ssh"),
                           (("--detach", "--launcher", "slurm", "--host", "a"), "SLURM_JOB_ID is not set"),
                           (("--readmit", "--host", "a", "--interface", "lo"), "--readmit has no effect without --checkpoint-dir DIR")):
            result = self.run_it("--launcher", "ssh", *words, *self.program())
            self.assertIn(result.status, (2, rig.NO_START), result.err)
            self.assertIn(why, result.err)

    def test_hosts_start_hosts(self):
        """With more than 16 hosts some are started by others."""
        hosts = ",".join(f"slow{i}" for i in range(40))
        self.starts(hosts, 2)
        with open(f"{self.folder}/started-by") as names:
            by = names.read().split()
        self.assertEqual(len(by), 40)
        self.assertEqual(by.count("rzd-starter"), 24)

    def test_a_host_that_does_not_answer_delays_no_other(self):
        """Two hosts at the top of the tree are silent: those below them start all the same."""
        names = [f"{'silent' if i in (0, 5) else 'h'}{i}" for i in range(40)]
        result = self.run_it(*self.words(",".join(names), "-v", "--start-timeout", "5s"), "-n", "1", *self.program())
        self.assertEqual(result.status, rig.NO_START, result.err)
        self.assertEqual(len(set(re.findall(r"node (\d+) is up", result.err))), 38, result.err)
        self.assertRegex(result.err, "2 of 40 daemons have not reported.*silent0: no answer; silent5: no answer")

    def test_failures_below_a_failed_host_are_named(self):
        names = [f"{'refused' if i in (0, 2) else 'h'}{i}" for i in range(40)]  # host 0 would have started host 2
        self.fails(",".join(names), "refused0: .*; refused2: ")

    def running(self, hosts="a,b", go="go"):
        go = f"{self.folder}/{go}"
        script = f"echo up; while [ ! -e {go} ]; do sleep 0.05; done; echo over"
        process = self.start(*self.words(hosts), "-n", "2", SH, "-c", script)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), b"up\n")
        return process, lambda: self.file(os.path.basename(go), "")

    def test_daemons_survive_their_agents(self):
        """The starter of the hosts is ended in the middle, too."""
        process, go_on = self.running()
        for member in rig.marked(self.mark):
            if "agent" in member.command and "--remote" in member.command:
                os.kill(member.pid, signal.SIGKILL)
        go_on()
        result = self.finish(process)
        self.assertEqual((result.status, result.out), (0, "over\nover\n"), result.err)

    def test_an_end_of_rzrun_ends_the_hosts(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            process, _ = self.running()
            process.send_signal(number)
            process.wait(timeout=rig.HANG_S)
            self.assertEqual(rig.lasting(lambda: [p.pid for p in rig.marked(self.mark)]), [])

    def test_an_end_of_rzrun_during_the_start(self):
        process = self.start(*self.words("a,silent1,b", "-v"), "-n", "1", *self.program())
        self.assertTrue(rig.await_true(lambda: len(self.members()["rzd"]) >= 2), "no host starts")
        process.kill()
        process.wait(timeout=rig.HANG_S)
        self.assertEqual(rig.lasting(lambda: [p.pid for p in rig.marked(self.mark)]), [])

    def listening(self, process):
        """The port on which rzrun awaits daemons."""
        inodes = set()
        for name in os.listdir(f"/proc/{process.pid}/fd"):
            try:
                inodes.add(os.readlink(f"/proc/{process.pid}/fd/{name}"))
            except FileNotFoundError:
                pass
        for path in filter(os.path.exists, ("/proc/net/tcp6", "/proc/net/tcp")):  # without IPv6 there is one
            with open(path) as table:
                for line in table.readlines()[1:]:
                    words = line.split()
                    if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                        return int(words[1].split(":")[1], 16)
        return None

    def test_strangers_do_no_harm(self):
        process = self.start(*self.words("a,silent1,b", "-v", "--start-timeout", "3s"), "-n", "1", *self.program())
        self.assertTrue(rig.await_true(lambda: self.listening(process)), "rzrun listens on no port")
        port, kept = self.listening(process), []
        for i in range(400):
            one = socket.create_connection(("127.0.0.1", port), timeout=rig.HANG_S)
            try:
                one.sendall((b"", b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 64, b"\x48\0\0\0" + bytes(72))[i % 4])
            except OSError:
                pass
            kept.append(one)
        result = self.finish(process)
        for one in kept:
            one.close()
        self.assertRegex(result.err, "1 of 3 daemons have not reported")
        self.assertEqual(len(re.findall("is up", result.err)), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
