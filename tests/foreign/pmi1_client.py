#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A client of PMI-1, for mpi_test.py: `pmi1_client.py` spawns three processes by two commands; they run `pmi1_client.py child WORD`. Debian's MPICH
cannot spawn, under its own launcher either."""
import os
import sys

LINK, RANK, SIZE = (int(os.environ[name]) for name in ("PMI_FD", "PMI_RANK", "PMI_SIZE"))
heard = b""


def ask(*lines):
    """The words of the answer."""
    global heard
    for line in lines:
        os.write(LINK, (line + "\n").encode())
    while b"\n" not in heard:
        heard += os.read(LINK, 4096)
    line, heard = heard.split(b"\n", 1)
    return dict(word.split("=", 1) for word in line.decode().split())


def value(key):
    return ask(f"cmd=get kvsname={SPACE} key={key}")["value"]


def spawn(k, processes, *arguments):
    return ["mcmd=spawn", f"nprocs={processes}", f"execname={sys.executable}", "totspawns=2", f"spawnssofar={k}", f"argcnt={len(arguments)}",
            *[f"arg{i + 1}={word}" for i, word in enumerate(arguments)], "preput_num=1", "preput_key_0=OF-PARENT", "preput_val_0=a-port",
            "info_num=1", "info_key_0=wdir", "info_val_0=/", "endcmd"]


ask("cmd=init pmi_version=1 pmi_subversion=1")
SPACE = ask("cmd=get_my_kvsname")["kvsname"]
ask(f"cmd=put kvsname={SPACE} key=of-{RANK} value={RANK}")
ask("cmd=barrier_in")
assert all(value(f"of-{rank}") == str(rank) for rank in range(SIZE))
if sys.argv[1:2] == ["child"]:
    print(f"child {RANK} of {SIZE}: {sys.argv[2]}, program {ask('cmd=get_appnum')['appnum']}, in {os.getcwd()}, {value('OF-PARENT')}, "
          f"PMI_SPAWNED={os.environ['PMI_SPAWNED']}")
elif RANK == 0:
    me = os.path.abspath(__file__)
    answer = ask(*spawn(1, 1, "-B", me, "child", "first word"), *spawn(2, 2, "-B", me, "child", "second"))
    print(f"spawned: rc {answer['rc']}")
    for words in (["x" * 5000], ["x" * 1000] * 2000):  # a line that is too long, and too many
        assert ask(*spawn(1, 1, *words), *spawn(2, 1))["rc"] == "-1"
ask("cmd=barrier_in")
ask("cmd=finalize")
