# SPDX-License-Identifier: BSD-3-Clause
"""Shares of processors for the processes of a job, by groups of the kernel (cgroup), as if a small machine had a processor for each of them.
Needs root, and the controller `cpu` of version 1 or 2."""
import os

PREFIX = "rzbench-"
# Where groups are made, a file that is there where groups can be, and the file that a group has where shares can be set. Version 2 sets them in
# groups of a group that passes the controller on; where version 1 is in use, its folder is an ordinary one, in which files would stay.
HIERARCHIES = (("/sys/fs/cgroup", "cgroup.procs", "cpu.max", "cgroup.subtree_control"),
               ("/sys/fs/cgroup/cpu", "cgroup.procs", "cpu.cfs_quota_us", None))


def folders(folder, prefix=""):
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [f"{folder}/{name}" for name in names if name.startswith(prefix) and name[len(prefix):].isdigit() and os.path.isdir(f"{folder}/{name}")]


def remove(group):
    """Only an empty group can be removed."""
    try:
        os.rmdir(group)
    except OSError:
        pass


class Slices:
    def __init__(self, folder):
        self.folder = folder

    @classmethod
    def open(cls):
        """None: this system does not give shares. Removes what an rzbench that was killed has left."""
        for root, sign, file, pass_on in HIERARCHIES:
            if not os.path.exists(f"{root}/{sign}"):
                continue
            for stale in folders(root, PREFIX):
                if not os.path.exists(f"/proc/{stale.rpartition('-')[2]}"):
                    cls(stale).close()
            slices = cls(f"{root}/{PREFIX}{os.getpid()}")
            try:
                os.mkdir(slices.folder, 0o700)
                if pass_on:
                    with open(f"{slices.folder}/{pass_on}", "w", encoding="ascii") as control:
                        control.write("+cpu")
            except OSError:
                slices.close()
                continue
            if os.access(f"{slices.folder}/{file}", os.W_OK):
                return slices
            slices.close()
        return None

    def words(self, sources, percent):
        """What stands before the words of a program so that each of its processes gets so much of one processor; the groups of a job that has ended go."""
        self.sweep()
        return [f"{sources}/slice.sh", self.folder, str(percent)]

    def sweep(self):
        for group in folders(self.folder):
            remove(group)

    def close(self):
        self.sweep()
        remove(self.folder)
