#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of Open MPI 5 with ULFM under rzrun, and under its own launcher: after the failure of a rank, or of a node, the survivors revoke,
shrink and agree. Counts the runs that come to the right end. Needs root, and the root folder that tools/setup --peers makes.

    open_mpi_5.py [RUNS [WORD]]      of each kind with WORD in its name; `ctest` runs 5 of those that depend on this runtime alone

What follows an error is Open MPI's. Over TCP its release 5.0.7 hangs in some runs, under its own launcher, too: these are only counted.
"""
import os
import shutil
import subprocess
import sys
import tempfile

from foreign_rig import rig

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("PEER_ROOT", "/var/lib/rhizome/peer-root")
ENTER = f"{HERE}/../../apps/bench/peers/enter_root.sh"
OURS = [rig.RZRUN, "--oversubscribe", "--mpi", "pmix", "--with-ft", "ulfm", "-x", "OMPI_ALLOW_RUN_AS_ROOT=1"]
THEIRS = "mpirun --allow-run-as-root --with-ft ulfm --oversubscribe --bind-to none --mca btl_tcp_if_include lo -n 6".split()
HANGS_S = int(os.environ.get("HANGS_S", "10"))  # a run that takes longer is held to hang


def enter(folder, *words, shared=False):
    return [ENTER, *(["--shared"] if shared else []), ROOT, folder, *words]


def kinds(folder):
    """Of each: its name, the command, and what it says at the right end."""
    inside = enter(folder, "./foreign_ulfm", shared=True)
    return [("a rank, one node, rzrun", [*OURS, "-n", "6", "--mca", "btl_tcp_if_include", "lo", *inside, "kill"], "5 survivors: sum 5"),
            ("a rank, one node, its own mpirun", enter(folder, *THEIRS, "./foreign_ulfm", "kill"), "5 survivors: sum 5"),
            ("a rank, one node, TCP alone, its own mpirun", enter(folder, *THEIRS, "--mca", "btl", "tcp,self", "./foreign_ulfm", "kill"),
             "5 survivors: sum 5"),
            ("a rank, 3 nodes (TCP), rzrun", [*OURS, "-n", "6", "--nodes", "3", "--adapter", "netns", *inside, "kill"], "5 survivors: sum 5"),
            ("a node of one rank, of 6 (TCP), rzrun",
             [*OURS, "-n", "6", "--nodes", "6", "--adapter", "netns", "--inject", "kill node 1 at 700ms", *inside, "wait"], "5 survivors: sum 5"),
            ("a node of two ranks, of 3 (TCP), rzrun",
             [*OURS, "-n", "6", "--nodes", "3", "--adapter", "netns", "--inject", "kill node 1 at 700ms", *inside, "wait"], "4 survivors: sum 4")]


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    folder = tempfile.mkdtemp(prefix="launch-test-")
    good = {}
    try:
        shutil.copy(f"{HERE}/foreign_ulfm.c", folder)
        subprocess.run(enter(folder, "mpicc", "-O1", "-o", "foreign_ulfm", "foreign_ulfm.c"), check=True)
        chosen = kinds(folder)[:1] if len(sys.argv) == 1 else [kind for kind in kinds(folder) if (sys.argv[2:] or [""])[0] in kind[0]]
        for name, command, end in chosen:
            good[name] = 0
            for _ in range(runs):
                with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as job:
                    try:
                        said = job.communicate(timeout=HANGS_S if len(sys.argv) > 1 else rig.HANG_S)[0].decode(errors="replace")
                        good[name] += end in said and (job.returncode == 0 or "mpirun" in name)
                    except subprocess.TimeoutExpired:
                        job.terminate()
                        try:
                            job.communicate(timeout=HANGS_S)
                        except subprocess.TimeoutExpired:
                            job.kill()
            print(f"{good[name]:4d} of {runs}: {name}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if len(sys.argv) == 1 and good[kinds(folder)[0][0]] != runs:
        sys.exit("Open MPI 5 did not recover in a run that depends on this runtime alone")


if os.geteuid() != 0 or not os.path.exists(f"{ROOT}/usr/bin/mpirun.openmpi") or not shutil.which("unshare"):
    print(f"no Open MPI 5 in {ROOT} (tools/setup --peers), or not root")
    sys.exit(77)
main()
