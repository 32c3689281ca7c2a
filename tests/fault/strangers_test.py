#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Another user of the machine attacks a running job of two nodes: each port that its processes listen on, and the sockets and files
through which it could be reached otherwise. The job ends with the right result, and each process prints at most one line about it.

The attacks run as `nobody` (a child that gives up root), so the test needs root; without it they run as the same user, which has no
key either, and tests that need another user are skipped with a message.

  strangers_test.py [--seconds S] [--connections N] [--seed SEED]
"""
import argparse
import os
import random
import re
import select
import shutil
import socket
import struct
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../launch"))
import launch_rig as rig

QUIET_S = 1  # bound of the wait for an answer that must not arrive
NOBODY = 65534
OPTIONS = argparse.Namespace(seconds=6, connections=1500, seed=1)


def inodes(pid):
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            link = os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            continue
        if link.startswith("socket:["):
            found.add(link[8:-1])
    return found


def ports(pids):
    """What these processes listen on: (kind, address, port)."""
    own, found = set().union(*(inodes(pid) for pid in pids)), set()
    for kind in ("tcp", "udp"):
        with open(f"/proc/net/{kind}") as table:
            for line in list(table)[1:]:
                fields = line.split()
                ip, port = fields[1].split(":")
                listens = fields[3] == "0A" if kind == "tcp" else True
                if fields[9] in own and listens:
                    found.add((kind, socket.inet_ntoa(struct.pack("<I", int(ip, 16))), int(port, 16)))
    return sorted(found)


def unix_names(pids):
    """Abstract sockets that these processes listen on."""
    own = set().union(*(inodes(pid) for pid in pids))
    with open("/proc/net/unix") as table:
        lines = [line.split() for line in table]
    return sorted({line[7] for line in lines if len(line) == 8 and line[6] in own and line[7].startswith("@")})


def as_user_nobody(work):
    """Runs work() in a child that is another user; what it returned as text."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        status = 1
        warnings.simplefilter("ignore", ResourceWarning)  # what is held on purpose ends with this child
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.write(write, str(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    text = b""
    while piece := os.read(read, 65536):
        text += piece
    os.close(read)
    _, status = os.waitpid(pid, 0)
    return status, text.decode()


def connect(address, port):
    to = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    to.settimeout(rig.HANG_S)
    to.connect((address, port))
    return to


def hear(connection, bound_s=0.2):
    """What the other side says at once."""
    ready, _, _ = select.select([connection], [], [], bound_s)
    try:
        return connection.recv(512) if ready else b""
    except OSError:
        return b""


# Frames as the transport between nodes writes them (src/net/tcp/tcp_frame.h), and as UCX's TCP does.
def frame(kind, header, data, id_=1, place=0):
    return struct.pack("<IIIQQ", kind, header, data, id_, place)


def crafted(rng):
    nonce = rng.randbytes(32)
    hello = struct.pack("<QQIII", rng.getrandbits(64), rng.getrandbits(64), 0, 1, 0) + nonce + rng.randbytes(32)
    return rng.choice([
        rng.randbytes(rng.randrange(1, 2000)),
        frame(0, 48, 8) + bytes(56), frame(4, 0, 61440) + bytes(5000), frame(0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
        hello, hello + frame(0, 48, 8) + bytes(56), hello[:rng.randrange(len(hello))],
        struct.pack("<I", 0xFFFFFFFF), struct.pack("<I", 4) + b"\1\0\0\0", struct.pack("<I", 0),
        struct.pack("<Q", 0x3F2F4F2E5A4D) + struct.pack("<I", 0), b"\x21\0\0\0" + struct.pack("<QQ", 0x7FFFDEADBEEF, 8) * 3])


def attack(targets, seconds, connections, seed):
    """All of it; a summary."""
    rng, end = random.Random(seed), time.monotonic() + seconds
    tcp = [(a, p) for kind, a, p in targets if kind == "tcp"]
    udp = [(a, p) for kind, a, p in targets if kind == "udp"]
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    held, recorded, counts = [], {}, {"connections": 0, "datagrams": 0, "held": 0, "failed": 0}
    while time.monotonic() < end or counts["connections"] < connections:
        if time.monotonic() > end + 40:
            break
        for address, port in tcp:
            try:
                to = connect(address, port)
                counts["connections"] += 1
                what = rng.randrange(8)
                if what == 0:      # a slow one, which says little or nothing
                    held.append(to)
                    to.send(rng.randbytes(rng.randrange(1, 4)))
                    continue
                if what == 1:      # a hello that was good for another connection: the challenge is another one by then
                    said = hear(to)
                    to.send(recorded.get((address, port), said + said))
                    recorded[(address, port)] = crafted(rng)
                elif what == 2:    # what the acceptor says, said back
                    said = hear(to)
                    to.send(said + rng.randbytes(64))
                else:
                    to.send(crafted(rng))
                if what % 2:
                    hear(to, 0.01)
                to.close()
            except OSError:
                counts["failed"] += 1
        for address, port in udp:
            for _ in range(8):
                try:
                    datagrams.sendto(rng.randbytes(rng.randrange(1450)), (address, port))
                    counts["datagrams"] += 1
                except OSError:
                    pass
        while len(held) > 700:
            held.pop(0).close()
    counts["held"] = len(held)
    return counts


def unix_attack(names, rng):
    """Connects and talks to abstract sockets; how many let us say anything and answered."""
    answered = []
    for name in names:
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            try:
                to = socket.socket(socket.AF_UNIX, kind)
                to.settimeout(QUIET_S)
                to.connect("\0" + name[1:])
                to.send(rng.randbytes(100))
                if to.recv(100):
                    answered.append(name)
            except OSError:
                pass
    return answered


def files_attack(pids):
    """Opens what /proc and /dev/shm show of the job; what could be opened."""
    opened = []
    paths = [f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if re.match("rz|rhizome", name)]
    for pid in pids:
        paths += [f"/proc/{pid}/mem", f"/proc/{pid}/environ"]
        try:
            paths += [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            pass
    for path in paths:
        try:
            os.close(os.open(path, os.O_RDONLY))
            opened.append(path)
        except OSError:
            pass
    return opened


class Strangers(rig.LaunchTest):
    def begin(self, *options):
        self.end = f"{self.folder}/end"
        job = self.start("-n", "4", "--nodes", "2", "--oversubscribe", *options, rig.program("strangers_job"), self.end)
        self.assertEqual(job.stdout.readline(), b"connected\n")
        return job, [p.pid for kind, found in self.members().items() if kind != "rzrun" for p in found], self.members()

    def complete(self, job):
        with open(self.end, "w"):
            pass
        result = self.finish(job)
        self.assertEqual(result.status, 0, result.out + result.err)
        self.assertRegex(result.out, r"^0 wrong bytes in [0-9]+ rounds\n$")
        return result

    def test_another_user_harms_nothing(self):
        job, pids, members = self.begin()
        targets = ports(pids)
        ranks = [p.pid for p in members["process"]]
        self.assertEqual(len([t for t in ports(ranks) if t[0] == "tcp"]), 4, "a listener for each rank, and no more")
        self.assertGreaterEqual(len(targets), 4 + 2 + 2, targets)
        status, text = as_user_nobody(lambda: attack(targets, OPTIONS.seconds, OPTIONS.connections, OPTIONS.seed))
        self.assertEqual(status, 0, text)
        counts = eval(text)
        self.assertGreaterEqual(counts["connections"], OPTIONS.connections, counts)
        self.assertIsNone(job.poll())
        result = self.complete(job)
        lines = [line for line in result.err.splitlines() if "refused" in line]
        self.assertTrue(lines, f"nothing was said: {result.err}")
        self.assertEqual(len(lines), len(set(lines)), result.err)
        self.assertLessEqual(len(lines), 4 + 2 + 1, result.err)
        self.assertRegex(result.err, r"(?m)^rzrun: \d+ connections to daemons were refused: .*\(node 0, [0-9.]+:\d+: \d+; node 1, .*\)$")
        self.assertEqual([line for line in result.err.splitlines() if line not in lines], [])

    def test_files_and_local_sockets_are_closed_to_others(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to be another user: the user of the job may reach what is its own")
        job, pids, _ = self.begin()
        status, text = as_user_nobody(lambda: files_attack(pids + [job.pid]))
        self.assertEqual((status, text), (0, "[]"))
        names = unix_names(pids + [job.pid])
        status, text = as_user_nobody(lambda: unix_attack(names, random.Random(OPTIONS.seed)))
        self.assertEqual((status, text), (0, "[]"), names)
        self.complete(job)

    def test_a_folder_that_passes_for_a_nodes_scratch_folder(self):
        """Another user sees the name of a node's folder and makes one as if of another node: no process uses it."""
        if os.geteuid() != 0:
            self.skipTest("needs root, to be another user")
        sort = f"{rig.BUILD}/apps/hyperquicksort"
        if not os.path.exists(sort):
            self.skipTest("built without the sort")
        script = (f'bait="${{RZ_SCRATCH%-*-*}}-9-${{RZ_SCRATCH##*-}}"; if [ $RZ_RANK = 0 ]; then mkdir -m 777 "$bait"; chown {NOBODY} "$bait"; '
                  f'stat -c "%n %y" "$bait" >{self.folder}/bait; fi; exec {sort} 100000')
        self.runs("-n", "2", "--nodes", "2", "/bin/sh", "-c", script)
        with open(f"{self.folder}/bait") as file:
            made = file.read().strip()
        bait = made.split()[0]
        now, inside = self.runs("-c", f'stat -c "%n %y" "{bait}"', rzrun="/bin/sh").out.strip(), os.listdir(bait)
        shutil.rmtree(bait)
        self.assertEqual((now, inside), (made, []))

    def test_a_site_that_sets_ucx_variables(self):
        job = self.start("-n", "2", "--nodes", "2", "--oversubscribe", rig.program("strangers_job"), self.file("there", ""),
                         environment={"UCX_TLS": "rc,ud", "UCX_NET_DEVICES": "mlx5_0:1"})
        result = self.finish(job)
        self.assertEqual(result.status, 0, result.err)
        self.assertEqual(result.err, "")

    def test_a_ucx_variable_that_is_overruled_is_told_once(self):
        if not os.path.exists(f"{rig.BUILD}/lib/rhizome/rhizome-ucx.so"):
            self.skipTest("built without UCX")
        for variables, told in ({"UCX_TLS": "rc,ud"}, 1), ({"UCX_TLS": "tcp"}, 0), ({}, 0):
            job = self.start("--net", "ucx", "-n", "4", "--nodes", "2", "--oversubscribe", rig.program("strangers_job"),
                             self.file("there", ""), environment=variables)
            result = self.finish(job)
            self.assertEqual(result.status, 0, result.err)
            self.assertEqual(len(result.err.splitlines()), told, result.err)
            self.assertRegex(result.err, r"\A(rzd\[0\]: UCX_TLS=rc,ud is overruled: UCX_TLS must be \"tcp\": .*\n)?\Z")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, value in vars(OPTIONS).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    OPTIONS, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    rig.main()
