# SPDX-License-Identifier: BSD-3-Clause
"""A control group with a limit on memory, of version 1 or 2, where this user may make one."""
import os

FILES = {"memory.max": "memory.swap.max", "memory.limit_in_bytes": "memory.memsw.limit_in_bytes"}  # of memory, and of what may be swapped out


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def parents():
    """The groups of this process, and all above them, the nearest first."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        lines = [line.rstrip("\n").split(":", 2) for line in file]
    for _, controllers, group in lines:
        for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] if not controllers else ["/sys/fs/cgroup/memory"] * ("memory" in controllers.split(",")):
            at = group.rstrip("/")
            while at:
                yield root + at
                at = at.rpartition("/")[0]
            yield root


def make(name, limit):
    """The folder of a new group of at most so many bytes; None: this user may make none. The caller removes it."""
    for parent in parents():
        path = f"{parent}/{name}"
        try:
            os.mkdir(path)
        except OSError:
            continue
        for file, swap in FILES.items():
            if os.path.exists(f"{path}/{file}"):
                write(f"{path}/{file}", str(limit))
                if os.path.exists(f"{path}/{swap}"):
                    write(f"{path}/{swap}", "0" if file == "memory.max" else str(limit))
                return path
        os.rmdir(path)
    return None


def remains(path):
    """Removes a group, and tells whether it is still there: a process that has ended may stay in it for a moment."""
    try:
        os.rmdir(path)
    except OSError:
        return True
    return False
