# SPDX-License-Identifier: BSD-3-Clause
"""Reductions give the same bits on one node and on several, and each time: coll_any_bits.py RZRUN PROGRAM."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

# The bits depend neither on the placement nor on the algorithm.
RULES = ("allreduce=tree,reduce=tree", "allreduce=flat,reduce=flat", "allreduce=direct,reduce=direct", "allreduce=doubling", "allreduce=halving",
         "allreduce=ring")
LEADERS = "RZ_COLL=barrier=leaders,bcast=leaders,allgather=leaders,alltoall=leaders,reduce=leaders,allreduce=leaders"
# On one node they cannot be used. Elsewhere a node has a range of the tree or not, by the placement and the number of ranks.
BY_LEADERS = (["--nodes", "1"], ["--nodes", "2"], ["--nodes", "3"], ["--nodes", "4"], ["--nodes", "3", "--map-by", "node"],
              ["-H", "localhost:4,localhost:4"], ["-H", "localhost:2,localhost:1,localhost:9"])
LAYOUTS = (*(["-x", f"RZ_COLL={rules}"] for rules in RULES), [], [], ["--nodes", "2"], ["--nodes", "3"], ["-x", "RZ_SHM_CMA=0"], ["--nodes", "3"],
           *([*layout, "-x", LEADERS] for layout in BY_LEADERS))


def digest(rzrun, program, ranks, layout, seed):
    command = [rzrun, "--oversubscribe", "-n", str(ranks), *layout, program, str(seed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=HANG_S, text=True, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        sys.exit(f"status {done.returncode}, output {done.stdout!r}: {' '.join(command)}")
    return done.stdout.strip()


def main():
    rzrun, program = sys.argv[1:]
    seen = set()
    for ranks, seed in ((3, 1), (6, 2), (8, 3)):
        digests = [digest(rzrun, program, ranks, layout, seed) for layout in LAYOUTS]
        if len(set(digests)) != 1:
            told = "\n".join(f"  {text}  {' '.join(layout)}" for text, layout in zip(digests, LAYOUTS))
            sys.exit(f"{ranks} ranks, seed {seed}: the bits differ\n{told}")
        seen.add(digests[0])
    if len(seen) != 3:
        sys.exit(f"other numbers of ranks and other seeds give the same digest: {seen}")


if __name__ == "__main__":
    main()
