#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A man in the middle, for stranger_test.py: relays all TCP connections that processes of this host open to other hosts of the rig, and
does to them what it is told by lines on its standard input:

    harm WHAT WAY ADDRESS PORT     WHAT: flip, insert, repeat, omit, truncate; WAY: there (to ADDRESS PORT) or back
    harm-first WHAT WAY ADDRESS PORT   the same, to the first bytes of the next connection; PORT 0: any
    replay ADDRESS PORT            sends what each connection to there has carried so far on new ones, all at once and in pieces

It says `ready`, then a line for each that it has done. The kernel redirects connections to it, but those with its mark.
"""
import os
import random
import socket
import struct
import subprocess
import sys
import threading

PORT, MARK, SSH_PORT = 999, 7, 22
SO_ORIGINAL_DST, SO_MARK = 80, 36
KEPT_BYTES = 1 << 20
RULE = ["OUTPUT", "-p", "tcp", "-d", "10.78.0.0/24", "!", "--dport", str(SSH_PORT), "-m", "mark", "!", "--mark", str(MARK),
        "-j", "REDIRECT", "--to-ports", str(PORT)]
PATIENCE_S = 5

lock = threading.Lock()
connections = []
first_harms = []


def say(*words):
    with lock:
        print(*words, flush=True)


def open_to(there):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, SO_MARK, MARK)
    one.settimeout(PATIENCE_S)
    one.connect(there)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one


class Connection:
    def __init__(self, client, there):
        self.there, self.client, self.server = there, client, open_to(there)
        self.kept, self.harms, self.over = bytearray(), {"there": [], "back": []}, False
        with lock:
            for harm in [harm for harm in first_harms if harm[2][0] == there[0] and harm[2][1] in (0, there[1])]:
                first_harms.remove(harm)
                self.harms[harm[1]].append(harm[0])
            connections.append(self)
        for one in (self.client, self.server):
            one.settimeout(None)
        for way, source, sink in (("there", self.client, self.server), ("back", self.server, self.client)):
            threading.Thread(target=self.pump, args=(way, source, sink), daemon=True).start()

    def pump(self, way, source, sink):
        try:
            while data := source.recv(65536):
                if way == "there" and len(self.kept) < KEPT_BYTES:
                    self.kept += data
                if self.harms[way]:
                    self.harm(self.harms[way].pop(0), way, data, sink)
                else:
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:  # one end is closed, or reset
            self.close()
        self.over = True

    def harm(self, what, way, data, sink):
        if what == "flip":
            at = random.randrange(4, len(data)) if len(data) > 4 else 0  # no length of a frame, which is the first
            data = data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1:]
            sink.sendall(data)
        elif what == "insert":
            sink.sendall(struct.pack("<I", 60) + os.urandom(60) + data)
        elif what == "repeat":
            sink.sendall(data + data)
        elif what == "truncate":
            sink.sendall(data[:len(data) // 2])
        say("done", what, way)
        if what == "truncate":
            self.close()

    def close(self):
        for one in (self.client, self.server):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def replay(there):
    """What the other end answers to it is counted: after a challenge it should say nothing."""
    with lock:
        streams = [bytes(one.kept) for one in connections if one.there == there]
    for stream in streams:
        for pieces in ([stream], [stream[:36], stream[36:]], [stream[len(stream) // 2:]]):
            answered = b""
            try:
                with open_to(there) as one:
                    for piece in pieces:
                        one.sendall(piece)
                    one.shutdown(socket.SHUT_WR)
                    while data := one.recv(65536):
                        answered += data
            except OSError:  # the other end has closed it before it was read
                pass
            say("replayed", len(stream), len(answered))
    say("done", "replay", len(streams))


def obey(words):
    if words[0] == "replay":
        replay((words[1], int(words[2])))
        return
    there = (words[3], int(words[4]))
    if words[0] == "harm-first":
        with lock:
            first_harms.append((words[1], words[2], there))
        say("set", *words[1:])
        return
    with lock:
        found = [one for one in connections if one.there == there and not one.over]
    if not found:
        say("none", *words[1:])
        return
    found[0].harms[words[2]].append(words[1])
    say("set", *words[1:])


def accept(listener):
    while True:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        port, ip = struct.unpack("!2xH4s8x", client.getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16))
        try:
            Connection(client, (socket.inet_ntoa(ip), port))
        except OSError:
            client.close()


def main():
    listener = socket.create_server(("", PORT), backlog=100)
    subprocess.run(["iptables", "-w", "-t", "nat", "-A", *RULE], check=True)
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    say("ready")
    for line in sys.stdin:
        obey(line.split())
    subprocess.run(["iptables", "-w", "-t", "nat", "-D", *RULE], check=True)


if __name__ == "__main__":
    main()
