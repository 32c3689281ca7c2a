#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of Open MPI 5 with ULFM under rzrun, and under its own launcher: after the failure of a rank, or of a node, the survivors revoke,
shrink and agree. Counts the runs that come to the right end. Needs root, and the root folder that tools/setup --peers makes.

    open_mpi_5.py [RUNS [WORD]]      of each kind with WORD in its name; without them 5 of each kind under rzrun, of which none may fail
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from foreign_rig import rig

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("PEER_ROOT", "/var/lib/rhizome/peer-root")
ENTER = f"{HERE}/../../lab/bench/peers/enter_root.sh"
OURS = [rig.RZRUN, "--oversubscribe", "--mpi", "pmix", "--with-ft", "ulfm", "-x", "OMPI_ALLOW_RUN_AS_ROOT=1"]
THEIRS = "mpirun --allow-run-as-root --with-ft ulfm --oversubscribe --bind-to none --mca btl_tcp_if_include lo -n 6".split()
HANGS_S = int(os.environ.get("HANGS_S", "10"))  # a run that takes longer is held to hang


def enter(folder, *words, shared=False):
    return [ENTER, *(["--shared"] if shared else []), ROOT, folder, *words]


def kinds(folder):
    """Of each: its name, the command, how many survive, and whether it loses node 1 when it is ready."""
    inside = enter(folder, "./foreign_ulfm", shared=True)
    nodes = [*OURS, "-n", "6", "--adapter", "netns", "--nodes"]
    return [("a rank, one node, rzrun", [*OURS, "-n", "6", "--mca", "btl_tcp_if_include", "lo", *inside, "kill"], 5, False),
            ("a rank, one node, its own mpirun", enter(folder, *THEIRS, "./foreign_ulfm", "kill"), 5, False),
            ("a rank, one node, TCP alone, its own mpirun", enter(folder, *THEIRS, "--mca", "btl", "tcp,self", "./foreign_ulfm", "kill"), 5, False),
            ("a rank, 3 nodes (TCP), rzrun", [*nodes, "3", *inside, "kill"], 5, False),
            ("a node of one rank, of 6 (TCP), rzrun", [*nodes, "6", *inside, "wait"], 5, True),
            ("a node of two ranks, of 3 (TCP), rzrun", [*nodes, "3", *inside, "wait"], 4, True)]


def lose_node(mark):
    """The daemon of node 1 and its keeper, with all their processes."""
    for process in rig.marked(mark):
        if process.name == "rzd" and b"--node\0001\0" in rig.read(process.pid, "cmdline"):
            os.kill(process.pid, signal.SIGKILL)


def run(command, survivors, loses_node, bound_s):
    """Whether it comes to the right end."""
    mark = f"open-mpi-5-{os.getpid()}"
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                          env={**os.environ, "RZ_TEST_MARK": mark}) as job:
        timer = threading.Timer(bound_s, job.terminate)
        last = threading.Timer(bound_s + HANGS_S, job.kill)
        for one in (timer, last):
            one.start()
        said = job.stdout.readline()
        if said == b"ready\n" and loses_node:
            lose_node(mark)
        said += job.stdout.read()
        job.wait()
        for one in (timer, last):
            one.cancel()
    return f"{survivors} survivors: sum {survivors}\n".encode() in said and (job.returncode == 0 or "mpirun" in command)


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    folder = tempfile.mkdtemp(prefix="launch-test-")
    ours_failed = False
    try:
        shutil.copy(f"{HERE}/foreign_ulfm.c", folder)
        subprocess.run(enter(folder, "mpicc", "-O1", "-o", "foreign_ulfm", "foreign_ulfm.c"), check=True)
        word = sys.argv[2] if len(sys.argv) > 2 else "" if len(sys.argv) > 1 else "rzrun"
        for name, command, survivors, loses_node in kinds(folder):
            if word in name:
                good = sum(run(command, survivors, loses_node, HANGS_S if len(sys.argv) > 1 else rig.HANG_S) for _ in range(runs))
                ours_failed |= "rzrun" in name and good != runs
                print(f"{good:4d} of {runs}: {name}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if ours_failed:
        sys.exit("Open MPI 5 did not always recover under rzrun")


if os.geteuid() != 0 or not os.path.exists(f"{ROOT}/usr/bin/mpirun.openmpi") or not shutil.which("unshare"):
    print(f"no Open MPI 5 in {ROOT} (tools/setup --peers), or not root")
    sys.exit(77)
main()
