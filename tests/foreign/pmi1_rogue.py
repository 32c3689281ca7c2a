#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients of PMI-1, for pmi1_rogue_test.py: `pmi1_rogue.py names|put`. The last rank asks for more than one process may have; the others
ask and are answered, and meet it in a barrier or not at all."""
import os
import select
import socket
import sys

RANK, SIZE = (int(os.environ[name]) for name in ("PMI_RANK", "PMI_SIZE"))
NAMES, PUTS, PIPELINED, ROUNDS = 1100, 1400, 320000, 200
link = socket.socket(fileno=int(os.environ["PMI_FD"]))
heard = b""


def answers(n):
    global heard
    lines = []
    while len(lines) < n:
        while b"\n" not in heard:
            got = link.recv(65536)
            if not got:
                sys.exit(f"rank {RANK}: its link has ended")
            heard += got
        line, heard = heard.split(b"\n", 1)
        lines.append(line)
    return lines


def ask(line):
    link.send(line + b"\n")
    return answers(1)[0]


def refused(lines):
    return sum(b"rc=-1" in ask(line) for line in lines)


def names():
    """Each name is long, and differs from the others at its end; the answers to look-ups are not read."""
    long = b"k" * 880
    print("names:", refused(b"cmd=publish_name service=%s%06d port=x" % (long, i) for i in range(NAMES)), "refused", flush=True)
    questions = b"cmd=lookup_name service=%sZZZZZZ\n" % long * 60
    link.setblocking(False)
    for _ in range(PIPELINED // 60):
        left = questions
        while left:  # what is answered is read first: a process that does not read is killed
            readable, writable, _ = select.select([link], [link], [])
            if readable:
                link.recv(1 << 20)
            elif writable:
                left = left[link.send(left):]
    os._exit(0)  # as an MPI that was not finalized


ask(b"cmd=init pmi_version=1 pmi_subversion=1")
rogue = RANK == SIZE - 1
if sys.argv[1] == "names" and rogue:
    names()
elif sys.argv[1] == "put" and rogue:
    print("put:", refused(b"cmd=put kvsname=x key=k%d value=%s" % (i, b"v" * 890) for i in range(PUTS)), "refused", flush=True)
for _ in range(ROUNDS):
    ask(b"cmd=get_maxes")
if sys.argv[1] == "put":
    ask(b"cmd=barrier_in")
    assert ask(b"cmd=get kvsname=x key=k0").endswith(b"value=" + b"v" * 890)
    if rogue:  # after a barrier there is room again
        print("then:", refused([b"cmd=put kvsname=x key=again value=x"]), "refused", flush=True)
ask(b"cmd=finalize")
print("right", flush=True)
