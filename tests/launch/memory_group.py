# SPDX-License-Identifier: BSD-3-Clause
"""A control group with a limit on memory, of version 1 or 2, where this user may make one."""
import os
import subprocess

from launch_rig import HANG_S, await_true

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


def remove(path):
    """A process that has ended may stay in its group for a moment."""
    def is_gone():
        try:
            os.rmdir(path)
        except OSError:
            return False
        return True
    await_true(is_gone)


def limit_to(path, limit):
    """Whether a group can be limited, and a process of this user may enter it."""
    for file, swap in FILES.items():
        if os.path.exists(f"{path}/{file}"):
            try:
                write(f"{path}/{file}", str(limit))
                if os.path.exists(f"{path}/{swap}"):
                    write(f"{path}/{swap}", "0" if file == "memory.max" else str(limit))
            except OSError:
                return False
            enter = subprocess.run(["/bin/sh", "-c", 'echo $$ >"$0"', f"{path}/cgroup.procs"], stderr=subprocess.DEVNULL, timeout=HANG_S)
            return enter.returncode == 0
    return False


def make(name, limit):
    """The folder of a new group of at most so many bytes; None: this user may make none. The caller removes it, once it is empty."""
    for parent in parents():
        path = f"{parent}/{name}"
        try:
            os.mkdir(path)
        except OSError:
            continue
        if limit_to(path, limit):
            return path
        remove(path)
    return None
