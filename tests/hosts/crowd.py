#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A crowd of strangers, for stranger_test.py, on a host of the rig:

    crowd.py connect N ADDRESS:PORT...     N connections to each port, some hundreds at a time: most say nothing, others send garbage
    crowd.py datagrams N ADDRESS:PORT...   N datagrams of garbage to each port
    crowd.py heartbeats N ADDRESS:PORT...  hears the datagrams that this host sends to these, and sends each again, as it was and changed

It says how many of them could be sent."""
import collections
import os
import random
import select
import socket
import struct
import sys
import time

KEPT, ETH_P_ALL, UDP, HEADERS = 400, 3, 17, 14 + 20 + 8
HEARD_WITHIN_S = 30
GARBAGE = (b"", b"", b"", b"", b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 64, struct.pack("<I", 72) + bytes(72), struct.pack("<I", 20) + bytes(20),
           struct.pack("<I", 36) + bytes(2), b"\0" * 4)


def place(word):
    """[ADDRESS]:PORT is of IPv6."""
    address, port = word.rsplit(":", 1)
    return address.strip("[]"), int(port)


def family(there):
    return socket.AF_INET6 if ":" in there[0] else socket.AF_INET


def connect(n, places):
    kept, done = collections.deque(), 0

    def close_one():
        nonlocal done
        one, i = kept.popleft()
        try:
            select.select([], [one], [], 0.2)
            one.send(GARBAGE[i % len(GARBAGE)] if i % 37 else os.urandom(5000))
            done += 1
        except OSError:
            pass
        if i % 3:  # else by an orderly end
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()
    for i in range(n):
        for there in places:
            one = socket.socket(family(there))
            one.setblocking(False)
            one.connect_ex(there)
            kept.append((one, i))
            if len(kept) > KEPT:
                close_one()
    while kept:
        close_one()
    return done


def datagrams(n, places):
    sockets = [socket.socket(family(there), socket.SOCK_DGRAM) for there in places]
    for i in range(n):
        for one, there in zip(sockets, places):
            one.sendto(os.urandom(random.randrange(0, 1400)), there)
    return n * len(places)


def heartbeats(n, places):
    wire, out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    wire.bind(("eth0", 0))
    out.bind(("", 0))
    own = struct.pack("!H", out.getsockname()[1])
    heard, end = 0, time.monotonic() + HEARD_WITHIN_S
    while heard < n and time.monotonic() < end:
        if not select.select([wire], [], [], 1)[0]:
            continue
        packet, come = wire.recvfrom(65536)
        if come[2] != socket.PACKET_OUTGOING or len(packet) < HEADERS or packet[12:14] != b"\x08\0" or packet[23] != UDP:
            continue
        if packet[34:36] == own:
            continue
        there = socket.inet_ntoa(packet[30:34]), struct.unpack("!H", packet[36:38])[0]
        payload = packet[HEADERS:HEADERS - 8 + struct.unpack("!H", packet[38:40])[0]]
        if there in places and payload:
            heard += 1
            at = random.randrange(len(payload))
            for again in (payload, payload, payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1:], payload[:at], payload + b"x"):
                out.sendto(again, there)
    return heard


if __name__ == "__main__":
    what = {"connect": connect, "datagrams": datagrams, "heartbeats": heartbeats}[sys.argv[1]]
    print(what(int(sys.argv[2]), [place(word) for word in sys.argv[3:]]))
