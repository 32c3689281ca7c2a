# SPDX-License-Identifier: BSD-3-Clause
"""A loop of MPI_Waitany over N receives takes instructions in proportion to N, not to its square. Argument: the program requests_any."""

import os
import re
import subprocess
import sys
import tempfile

FEW, MANY = 500, 4000


def instructions(program, n):
    with tempfile.TemporaryDirectory() as folder:
        counts = os.path.join(folder, "counts")
        subprocess.run(["valgrind", "-q", "--tool=callgrind", "--toggle-collect=*Waitany", f"--callgrind-out-file={counts}", program, str(n)],
                       check=True)
        with open(counts, encoding="utf-8", errors="replace") as file:
            return int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M)[1])


few, many = (instructions(sys.argv[1], n) for n in (FEW, MANY))
print(f"{few} instructions of {FEW} calls, {many} of {MANY}")
if few < 10 * FEW or many > 3 * few * MANY // FEW:
    sys.exit("the instructions of MPI_Waitany grow faster than the number of requests")
