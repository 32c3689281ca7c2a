#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The commands of docs/clusters.md, taken from its code blocks and run on the rig of hosts. COMMANDS says of each what stands in the
place of its names, and how many ranks say that they run; a command of the document that is not there fails, and so does one of here that
the document has no more. Skipped (77) without root, sshd or slurm."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import jobs  # noqa: E402
from jobs import BUILD, HANG_S  # noqa: E402

DOCUMENT = os.path.dirname(os.path.abspath(__file__)) + "/../../docs/clusters.md"
HOME = "/run/rig/home"
HOSTS = "h1 slots=2 rack=left\nh2 slots=3 rack=right\n"  # what the document says of lines of a file of hosts
RING = (("./program", jobs.RING),)
FOUND = (r"ok +h1 +as here", r"ok +h1 -> here", r"ok +h1 -> h2 ")
# the command; what is replaced in it; the hosts of the ranks, their number, or what is printed among other things
COMMANDS = {
    "rzdoctor --hosts alpha,beta": ((("alpha", "h1"), ("beta", "h2")), FOUND),
    "rzdoctor --hostfile hosts": ((), FOUND),
    "salloc -N4 --no-kill rzdoctor --hosts allocation": ((("salloc ", "salloc --quiet "),), FOUND),
    "rzrun --host alpha:4,beta:4 ./program": ((("alpha", "h1"), ("beta", "h2")), {"h1": 4, "h2": 4}),
    "rzrun --hostfile hosts ./program": ((), {"h1": 2, "h2": 3}),
    "rzrun --preload --host alpha:4,beta:4 ./program": ((("alpha", "h1"), ("beta", "h2")), {"h1": 4, "h2": 4}),
    "rzrun --preload --preload-files mesh.dat,run.conf --host alpha:4,beta:4 ./program":
        ((("alpha", "h1"), ("beta", "h2"), ("mesh.dat", "hosts"), ("run.conf", "program")), {"h1": 4, "h2": 4}),
    "sbatch -N4 -n16 --no-kill --wrap 'rzrun ./program'": ((("sbatch ", "sbatch --wait --quiet -o out "),), 16),
    "salloc -N4 -n16 --no-kill rzrun ./program": ((("salloc ", "salloc --quiet "),), 16),
    "srun -n4 --mpi=pmix ./program": (RING, (r"ring of 4: ",)),
    "mpirun -n 4 ./program": ((*RING, ("mpirun ", "mpirun --allow-run-as-root --oversubscribe ")), (r"ring of 4: ",)),
}


def commands_of(path):
    """The lines of its code blocks, without their comments; but what is printed (text), and the script (sh), which slurm_test.py runs."""
    with open(path, encoding="utf-8") as file:
        blocks = re.findall(r"(?ms)^```([a-z]*)\n(.*?)^```$", file.read())
    lines = [re.sub(r"\s+#.*", "", line) for kind, block in blocks if not kind for line in block.splitlines()]
    return [line for line in lines if line.strip()]


class Document(unittest.TestCase):
    def test_each_command_is_known(self):
        self.assertEqual(sorted(commands_of(DOCUMENT)), sorted(COMMANDS))


class Commands(jobs.JobsTest):
    SLURM = True

    def setUp(self):
        home = f"{self.rig.folder}/rig/home"
        for name, text in (("program", "#!/bin/sh\nhostname\n"), ("hosts", HOSTS)):
            with open(f"{home}/{name}", "w") as file:
                file.write(text)
        os.chmod(f"{home}/program", 0o755)

    def test_the_commands(self):
        for command, (places, ranks) in COMMANDS.items():
            with self.subTest(command):
                if jobs.RING in str(places) and not jobs.HAS_PMIX:
                    continue
                for name, place in places:
                    self.assertIn(name, command)
                    command = command.replace(name, place)
                script = f"cd {HOME} && PATH={BUILD}/bin:$PATH && {command} && if [ -e out ]; then cat out; rm out; fi"
                done = self.rig.run(0, ["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=HANG_S)
                where = done.stdout.split()
                if isinstance(ranks, tuple):
                    for pattern in ranks:  # its status is that of all that it finds on this machine
                        self.assertRegex(done.stdout, pattern)
                    continue
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                if isinstance(ranks, int):
                    self.assertEqual((len(where), set(where)), (ranks, {"h1", "h2", "h3", "h4"}))
                else:
                    self.assertEqual({name: where.count(name) for name in set(where)}, ranks)


if __name__ == "__main__":
    jobs.main(slurm=True)
