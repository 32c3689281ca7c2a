#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzps: the reports of the daemons of running jobs, and which users may ask them."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading

import launch_rig as rig

RZPS = f"{rig.BUILD}/bin/rzps"
RZTOP = f"{rig.BUILD}/bin/rztop"
AGENT = """#!/bin/sh
# HOST COMMAND, as ssh has it
case $1 in
refused*) echo "ssh: connect to host $1 port 22: Connection refused" >&2; exit 255 ;;
silent*) exec sleep 1000 ;;
greeting*) echo "Welcome to $1" ;;
esac
exec setsid -w sh -c "$2"
"""


class Rzps(rig.LaunchTest):
    def rzps(self, *arguments):
        return subprocess.run([RZPS, *arguments], capture_output=True, text=True, timeout=rig.HANG_S)

    def begin(self, *arguments, processes, nodes):
        run = self.start("--oversubscribe", "-n", str(processes), "--nodes", str(nodes), *arguments)
        self.await_members(processes, nodes)
        joined = lambda: (jobs := self.pages()) and sum(p["state"] == "joined" for p in jobs[0]["processes"]) == processes
        self.assertTrue(rig.await_true(joined), "the processes do not join")
        return run

    def end(self, run):
        run.send_signal(signal.SIGTERM)
        self.finish(run)

    def test_a_job_as_it_is(self):
        run = self.begin(rig.program("launch_waits"), "receive", processes=6, nodes=3)
        waiting = lambda: all(len(p["waits"]) == 1 for p in self.pages()[0]["processes"])
        self.assertTrue(rig.await_true(waiting), "not all wait")
        (job,) = self.pages()
        self.assertEqual(job["schema"], "rhizome.status.2")
        self.assertTrue(job["program"].endswith("launch_waits"))
        self.assertEqual([n["state"] for n in job["nodes"]], ["alive"] * 3)
        self.assertEqual([(r["rank"], r["node"], r["incarnation"], r["state"]) for r in job["ranks"]],
                         [(i, i // 2, 1, "alive") for i in range(6)])
        self.assertEqual(sorted(p["pid"] for p in job["processes"]), sorted(p.pid for p in self.members()["process"]))
        for process in job["processes"]:
            (wait,) = process["waits"]
            self.assertEqual((wait["call"], wait["tag"]), ("MPI_Recv", 77))
            self.assertEqual(wait["peer"], (process["rank"] + 1) % 6)
        table = self.rzps("-w", job["job"])
        self.assertEqual(table.returncode, 0)
        self.assertIn("launch_waits", table.stdout)
        self.assertIn("MPI_Recv for", table.stdout)
        self.end(run)
        self.assertEqual(self.rzps(job["job"]).returncode, 1)

    def test_a_failure_is_seen(self):
        run = self.begin("--on-failure", "continue", rig.program("launch_waits"), "compute", processes=4, nodes=2)
        (job,) = self.pages()
        victim = next(p for p in job["processes"] if p["rank"] == 3)
        os.kill(victim["pid"], signal.SIGKILL)
        failed = lambda: (jobs := self.pages()) and jobs[0]["ranks"][3]["state"] == "failed"
        self.assertTrue(rig.await_true(failed), "the failure is not told")
        self.assertEqual(self.pages()[0]["ranks"][0]["state"], "alive")
        self.end(run)

    def test_iterations_are_told(self):
        run = self.begin(f"{rig.BUILD}/apps/hpccg", "32", "32", "32", "--iterations", "1000000", processes=4, nodes=2)
        passed = lambda count: (jobs := self.pages()) and all(p.get("iteration", 0) > count for p in jobs[0]["processes"])
        self.assertTrue(rig.await_true(lambda: passed(0)), "no iteration is told")
        self.assertTrue(rig.await_true(lambda: passed(10)), "the iterations do not grow")
        self.end(run)

    def test_dynamic_groups(self):
        words = ("join enter rounds:1 doubt:1,1 view:d serve", "join enter rounds:1 arrive serve")
        script = f'if [ $RZ_RANK = 1 ]; then exec {rig.program("daemon_test_helper")} {words[1]}; fi; ' \
                 f'exec {rig.program("daemon_test_helper")} {words[0]}'
        run = self.begin("sh", "-c", script, processes=4, nodes=2)
        out = lambda: (jobs := self.pages()) and jobs[0]["groups"] and jobs[0]["groups"][0]["excluded"] == [1]
        self.assertTrue(rig.await_true(out), "rank 1 is not excluded")
        (group,) = self.pages()[0]["groups"]
        self.assertEqual((group["name"], group["members"]), ("test", [0, 2, 3]))
        self.assertEqual(group["events"], {"0": 0, "1": 1, "2": 0, "3": 0})
        self.assertGreaterEqual(group["round"], 2)
        self.assertGreaterEqual(group["progress"], 0)
        self.end(run)

    def test_a_name_that_is_not_utf8(self):
        name = b"name=caf\xe9 \xc3\xa9"
        run = self.begin(f"{rig.BUILD}/apps/bag", "1000000", "--work", "10000", "--group", os.fsdecode(name), processes=2, nodes=1)
        there = lambda: (jobs := self.pages()) and jobs[0]["groups"]
        self.assertTrue(rig.await_true(there), "no group is shown")
        self.assertEqual(self.pages()[0]["groups"][0]["name"], r"caf\xe9 \xc3\xa9")
        self.end(run)

    def test_a_detached_job_that_is_over(self):
        """However it ended, no rank of it runs, and its age stays what it was."""
        for options, program, status, cause in (((), ["launch_ends", "abort", "9"], 9, "rank 1 ended the job"), ((), ["launch_ends", "return", "0"], 0, ""),
                                                (("--timeout", "0.5s"), ["launch_waits", "receive"], 124, "after --timeout (0.5 s)"),
                                                (("--on-failure", "abort"), ["launch_ends", "kill", "9"], 137, "signal 9")):
            begun = self.run_it("--detach", "--oversubscribe", "-n", "4", "--nodes", "2", *options, rig.program(program[0]), *program[1:])
            number = begun.out.strip()
            over = lambda number=number: (jobs := self.pages(number)) and jobs[0]["detached"] == "over"
            self.assertTrue(rig.await_true(over), f"{program}: it is not over")
            (first,), (then,) = self.pages(number), self.pages(number)
            self.assertEqual((first["result"]["status"], first["seconds"]), (status, then["seconds"]))
            self.assertIn(cause, first["result"]["cause"])
            self.assertGreaterEqual(then["result"]["age_seconds"], first["result"]["age_seconds"])
            self.assertEqual({rank["state"] for rank in first["ranks"]} - {"ended", "failed"}, set())
            table = self.rzps(number).stdout
            self.assertRegex(table, rf"\n{number} .* over +[0-9.]+ s\nover for [0-9.]+ s: exit status {status}\b")
            self.assertIn(cause, table)
            self.runs("--end", number)

    def test_two_jobs(self):
        runs = [self.start("-n", "1", rig.program("launch_waits"), "compute") for _ in range(2)]
        self.await_members(2, 2)
        self.assertTrue(rig.await_true(lambda: len(self.pages()) == 2))
        first, second = self.pages()
        self.assertNotEqual(first["job"], second["job"])
        for run in runs:
            self.end(run)

    def test_a_client_that_asks_nonsense_delays_no_other(self):
        run = self.begin(rig.program("launch_waits"), "receive", processes=2, nodes=1)
        (job,) = self.pages()
        name = f"\0rhizome/{os.geteuid()}/{job['job']}/0"
        idle = []
        for _ in range(30):  # more than are let in at a time, and none of them says a word
            visitor = socket.socket(socket.AF_UNIX)
            visitor.connect(name)
            visitor.settimeout(rig.HANG_S)
            idle.append(visitor)
        for visitor in idle:  # all are hung up on
            self.assertEqual(visitor.recv(1), b"")
            visitor.close()
        for words in (b"what?\n", b"x" * 1000, b"\n"):
            with socket.socket(socket.AF_UNIX) as visitor:
                visitor.connect(name)
                visitor.settimeout(rig.HANG_S)
                visitor.sendall(words)
                visitor.shutdown(socket.SHUT_WR)
                try:
                    while visitor.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
        self.assertEqual(len(self.pages()), 1)
        self.end(run)

    def test_silent_clients_turn_no_other_away(self):
        run = self.begin(rig.program("launch_waits"), "receive", processes=2, nodes=1)
        (job,) = self.pages()
        visitors = [socket.socket(socket.AF_UNIX) for _ in range(20)]
        for visitor in visitors:
            visitor.connect(f"\0rhizome/{os.geteuid()}/{job['job']}/0")
            visitor.settimeout(rig.HANG_S)
        visitors[-1].sendall(b"status\n")  # it waits until silent ones have been hung up on
        self.assertEqual(visitors[-1].recv(1), b"{")
        for visitor in visitors:
            visitor.close()
        self.end(run)

    def test_other_hosts(self):
        """They are played on this machine, so that each daemon is there several times. tests/hosts has real ones."""
        run = self.begin(rig.program("launch_waits"), "receive", processes=4, nodes=2)
        (job,) = self.pages()
        on = lambda hosts, *words: self.rzps("--launch-agent", self.file("agent", AGENT, mode=0o755), "--host", hosts, *words, job["job"])
        done = on("a,greeting", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (same,) = json.loads(done.stdout)
        self.assertEqual([(p["rank"], p["node"], p["pid"]) for p in same["processes"]],
                         [(p["rank"], p["node"], p["pid"]) for p in job["processes"]])
        done = on("refused,a,silent", "--start-timeout", "1")
        self.assertEqual(done.returncode, 3)  # what the others said is shown
        self.assertRegex(done.stderr, r"(?m)^rzps: refused does not answer: ssh: connect .*: Connection refused \(.*/agent ended with status 255\)$")
        self.assertRegex(done.stderr, r"(?m)^rzps: silent does not answer$")
        self.assertIn("launch_waits", done.stdout)
        done = on("a", "--prefix", "/no/such/place")
        self.assertIn("is Rhizome installed there? --prefix says where", done.stderr)
        self.end(run)
        for words in (["--host", "a b"], ["--hostfile", "/no/such/file"], ["--host", "a", "--start-timeout", "0"],
                      ["--host", "a", "--ssh-args", "-4", "--launch-agent", "x"]):
            self.assertEqual(self.rzps(*words).returncode, 2, words)

    @contextlib.contextmanager
    def answered(self, job, node, **fields):
        """Visitors of a daemon of this user that is none get such a page."""
        page = {"schema": "rhizome.status.2", "job": job, "node": node, "epoch": 1, "program": "large", "phase": "run", "pid": 1, "seconds": 1.0,
                "nodes": [], "ranks": [], "processes": [], "groups": [], **fields}
        text = json.dumps(page, separators=(",", ":")).encode()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"\0rhizome/{os.geteuid()}/{job}/{node}")
        listener.listen(16)

        def stay():
            with contextlib.suppress(OSError):  # of its end
                while True:
                    visitor, _ = listener.accept()
                    with visitor, contextlib.suppress(OSError):
                        visitor.recv(100)
                        visitor.sendall(text)
        thread = threading.Thread(target=stay)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            listener.close()

    def test_many_nodes(self):
        """Each node and each rank of a page is looked at once."""
        job, n = f"feed{os.urandom(6).hex()}", 100000
        with self.answered(job, 0, nodes=[{"node": i, "state": "alive"} for i in range(n)],
                           ranks=[{"rank": i, "node": n - 1 - i, "incarnation": 1, "state": "alive"} for i in range(n)]):
            self.assertRegex(self.rzps(job).stdout, rf"\n    0  alive .* {n - 1}\n(.*\n)*{n - 1}  alive .* 0\n")
            if os.access(RZTOP, os.X_OK):
                done = subprocess.run([RZTOP, "--once", job], capture_output=True, text=True, timeout=rig.HANG_S)
                self.assertIn(f"ranks {n}: {n} runs   nodes {n}", done.stdout)

    def test_many_groups(self):
        """Each group of each page is looked at once."""
        job, n = f"feed{os.urandom(6).hex()}", 200000
        groups = lambda node: [{"name": f"{node}.{i}"} for i in range(n)] + [{"name": "both"}]
        with self.answered(job, 0, groups=groups(0)), self.answered(job, 1, groups=groups(1)):
            (shown,) = json.loads(self.rzps("--json", job).stdout)
            self.assertEqual(len(shown["groups"]), 2 * n + 1)

    def test_bad_command_lines(self):
        self.assertEqual(self.rzps("--nonsense").returncode, 2)
        self.assertEqual(self.rzps("a", "b").returncode, 2)
        nothing = self.rzps("zzzz")
        self.assertEqual((nothing.returncode, nothing.stdout), (1, ""))
        self.assertIn("no job here begins with", nothing.stderr)


if __name__ == "__main__":
    rig.main()
