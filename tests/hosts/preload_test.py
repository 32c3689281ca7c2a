#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzrun --preload on hosts that have no common /tmp: what lies in that of h0 alone runs on the others, also after the loss of a rank and
of a host, and is gone there after each end. Starts that fail for it are in starts_test.py. Skipped (77) without root or sshd."""
import os
import re
import select
import shlex
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import jobs  # noqa: E402
from jobs import BUILD, HANG_S, HPCCG, RZRUN, SIZE, await_true, result_of  # noqa: E402

WORK = "/tmp/work"
LIBRARY = "int answer(void) { return 42; }\n"
PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int answer(void);
int main(int argc, char **argv)
{
    char here[4096], host[64], data[64] = "";
    int rank, sum = 0, mine = answer();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    snprintf(here, sizeof(here), "%s/data", getenv("RZ_PRELOAD_DIR"));
    FILE *in = fopen(here, "r");
    if (!in || !fgets(data, sizeof(data), in) || !getcwd(here, sizeof(here)) || gethostname(host, sizeof(host)) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 9);
    }
    fclose(in);
    printf("%d on %s: %d, %s, %s\\n", rank, host, sum, data, strcmp(here, getenv("RZ_PRELOAD_DIR")) == 0 ? "in the folder" : here);
    MPI_Finalize();
    return 0;
}
"""
MAKE = f"""set -e
mkdir {WORK}; cd {WORK}
cat > library.c <<'END'
{LIBRARY}END
cat > program.c <<'END'
{PROGRAM}END
cc -shared -fPIC -o libanswer.so library.c
{BUILD}/bin/mpicc -o program program.c -L. -lanswer -Wl,-rpath,{WORK}
printf 'of h0' > data
printf '#!/bin/sh\\necho up; exec sleep 1000\\n' > waits; chmod 755 waits
cp {HPCCG} hpccg
"""


class Preload(jobs.JobsTest):
    N, RANKS = 3, 4

    def setUp(self):
        done = self.rig.run(0, ["sh", "-c", MAKE])
        self.assertEqual(done.returncode, 0, done.stderr)

    def tearDown(self):
        self.rig.run(0, ["rm", "-r", WORK])
        super().tearDown()

    def words(self, *words):
        return ["sh", "-c", f"cd {WORK} && exec {RZRUN} {shlex.join(words)}"]

    def run_it(self, *words):
        done = self.rig.run(0, self.words(*words))
        return done.returncode, done.stdout, done.stderr

    def folders(self, k):
        return [line for line in self.rig.free_check(k) if "rhizome-preload" in line]

    def test_a_program_with_a_library_of_its_own(self):
        status, out, err = self.run_it("--preload", "--preload-files", "data", "--host", "h1:2,h2:2", "-n", "4", "./program")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), [f"{rank} on h{1 + rank // 2}: 168, of h0, in the folder" for rank in range(4)])

    def test_without_the_option_they_are_not_there(self):
        status, _, err = self.run_it("--wdir", "/", "--host", "h1", "./program")
        self.assertEqual(status, 127, err)

    def test_from_a_host_that_takes_part(self):
        status, out, err = self.run_it("--preload", "--host", "h0,h1", "-n", "2", "sh", "-c", "hostname; test $RZ_PRELOAD_DIR || echo none")
        self.assertEqual((status, err, sorted(out.split())), (0, "", ["h0", "h1", "none"]))

    def test_a_rank_and_a_host_are_lost(self):
        """The host that is kept free for this gets the files, too."""
        status, out, err = self.run_it("--preload", "--host", "h1:2,h2:2,h3:2", "--spares", "1", "-n", "4", "--story", "--inject",
                                       "kill rank 3 at iteration 40", "--inject", "kill node 0 at iteration 90", "./hpccg", *SIZE)
        self.assertEqual((status, result_of(out)), (0, self.expected), err)
        self.assertRegex(err, "rank 3 on node 1 failed")
        self.assertRegex(err, "node 0 failed")

    def test_a_host_loses_power(self):
        process = self.rig.start(0, self.words("--preload", "--host", "h1:2,h2:2,h3:2", "-n", "4", "--map-by", "node", "--inject",
                                               "stop rank 0 at iteration 60 for 3s", "./hpccg", *SIZE),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.await_ranks_on(3)
        self.rig.power_off(3)
        try:
            out, err = process.communicate(timeout=HANG_S)
        finally:
            self.rig.boot(3)
        self.assertEqual((process.returncode, result_of(out)), (0, self.expected), err)

    def test_whatever_is_killed(self):
        for k, name in ((2, "rzd"), (2, "rzd-keeper"), (0, "rzrun"), (1, "sleep")):
            with self.subTest(name=name):
                process = self.rig.start(0, self.words("--preload", "--host", "h1,h2", "-n", "2", "./waits"), stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, bufsize=0)
                self.read_until(process, "up\nup\n")
                # Until it executes sleep the script's own name is in the folder, too.
                self.assertTrue(await_true(lambda: [len(self.folders(other)) for other in (1, 2)] == [1, 1]))
                self.assertTrue(await_true(lambda k=k, name=name: self.rig.run(k, ["pkill", "-KILL", "-x", name]).returncode == 0))
                others = [1, 2] if k == 0 else [] if name == "sleep" else [k]  # those that have lost their runtime
                self.assertTrue(await_true(lambda others=others: not any(map(self.folders, others))), others)
                process.terminate()  # a program without MPI goes on, on the other host
                process.communicate(timeout=HANG_S)
                self.assertNotEqual(process.returncode, 0)
                self.assertTrue(await_true(lambda: not self.folders(1) + self.folders(2)), self.folders(1) + self.folders(2))

    def read_until(self, process, pattern):
        text, end = "", time.monotonic() + HANG_S
        while not re.search(pattern, text) and time.monotonic() < end:
            if select.select([process.stdout], [], [], 1)[0]:
                got = os.read(process.stdout.fileno(), 4096)
                self.assertTrue(got, f"{pattern} does not come: {text}")
                text += got.decode()
        self.assertRegex(text, pattern)


if __name__ == "__main__":
    jobs.main()
