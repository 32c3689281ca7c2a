# SPDX-License-Identifier: BSD-3-Clause
"""What the record of a job (rzrun --report) says."""
import re


def struck_after_the_end(events):
    """Whether a failure came when every process had left its loop, or MPI: nothing was left to repair, its exit status stands."""
    left = re.findall(r"event=left .* at_ns=(\d+)", events)
    seen = re.findall(r"event=(?:failure_seen|injected|failure_news) .* at_ns=(\d+)", events)
    return bool(left and seen) and max(map(int, seen)) >= min(map(int, left))
