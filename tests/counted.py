# SPDX-License-Identifier: BSD-3-Clause
"""A loop over N things takes instructions in proportion to N, not to its square.

    counted.py PROGRAM FUNCTION

PROGRAM takes N as its argument; FUNCTION, a pattern of callgrind, names what is counted."""

import os
import re
import subprocess
import sys
import tempfile

FEW, MANY = 500, 4000


def instructions(program, function, n):
    with tempfile.TemporaryDirectory() as folder:
        counts = os.path.join(folder, "counts")
        subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--toggle-collect={function}", f"--callgrind-out-file={counts}", program, str(n)],
                       check=True)
        with open(counts, encoding="utf-8", errors="replace") as file:
            return int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M)[1])


few, many = (instructions(*sys.argv[1:], n) for n in (FEW, MANY))
print(f"{few} instructions of {FEW} calls, {many} of {MANY}")
if few < 10 * FEW or many > 3 * few * MANY // FEW:
    sys.exit(f"the instructions of {sys.argv[2]} grow faster than the number of calls")
