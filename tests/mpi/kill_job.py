# SPDX-License-Identifier: BSD-3-Clause
"""One job of a kill driver (kill_matrix, dyn_kills, failure_after): run, and assessed by what it printed. Its status is that of the first
failure, which was intended."""
import re
import subprocess


def run(command, bad, good, bound_s, env=None):
    """(why it did not end well or None, output). bad: a pattern that no good job prints; good: one that each prints at its end."""
    try:
        job = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=bound_s, check=False,
                             env=env)
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        return f"did not end within {bound_s} s", output.decode() if isinstance(output, bytes) else output
    if re.search(bad, job.stdout):
        return "something was not so", job.stdout
    return None if re.search(good, job.stdout) else "did not come to its end", job.stdout
