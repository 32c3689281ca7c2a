# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs that suites are built with and run on: this tree's as an installed package gives it, and the machine's others as a reference."""
import glob
import hashlib
import os
import shutil
import subprocess

# What suites are compiled with: they try this library, not the compiler.
FLAGS = {"CFLAGS": "-O1", "CXXFLAGS": "-O1", "FFLAGS": "-O1", "FCFLAGS": "-O1"}
WRAPPERS = ("mpicc", "mpicxx", "mpic++", "mpiCC", "mpif77", "mpif90", "mpifort", "mpiexec", "mpirun")
INSTALL_S = 300


def count(ranks):
    """The option for so many ranks; none: a script says it."""
    return ["-n", str(ranks)] if ranks else []


class System:
    """One MPI: its name, its folder with bin, how a job is started."""

    def __init__(self, name, root):
        self.name, self.root = name, root

    def environment(self):
        return {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "MPI_ROOT": self.root, "CC": "mpicc", "CXX": "mpicxx", "FC": "mpifort",
                "F77": "mpif77", "MPICC": "mpicc", "MPICXX": "mpicxx", "MPIF77": "mpif77", "MPIF90": "mpif90", "MPIFC": "mpifort",
                "MAKEFLAGS": f"-j{os.cpu_count()}", "LC_ALL": "C.UTF-8", **FLAGS}

    def headers(self):
        """What programs are compiled against, as one number: another one asks for another build."""
        digest = hashlib.sha256()
        for path in sorted(glob.glob(f"{self.root}/include/*.h") + glob.glob(f"{self.root}/lib/pkgconfig/*")):
            with open(path, "rb") as file:
                digest.update(file.read())
        return digest.hexdigest()

    def launch(self, ranks, options=()):
        raise NotImplementedError


class Rhizome(System):
    def launch(self, ranks, options=()):
        return [f"{self.root}/bin/rzrun", *count(ranks), "--oversubscribe", *options]


class Mpich(System):
    def launch(self, ranks, options=()):
        return ["mpiexec.mpich", *count(ranks), *options]


class OpenMpi(System):
    def launch(self, ranks, options=()):
        return ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca",
                "btl", "vader,self", "--mca", "pml", "ob1", *count(ranks), *options]


def installed(build, work):
    """Rhizome, installed from its build tree into the work folder."""
    root = f"{work}/rhizome"
    done = subprocess.run(["cmake", "--install", build, "--prefix", root], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=INSTALL_S)
    if done.returncode != 0:
        raise SystemExit(f"downstream: {build} cannot be installed; build it first (make build)\n" + done.stdout[-1000:])
    return Rhizome("rhizome", root)


def peer(name, work):
    """MPICH or Open MPI of this machine, its wrappers under their usual names; None: it is not installed."""
    root = f"{work}/{name}"
    os.makedirs(f"{root}/bin", exist_ok=True)
    for wrapper in WRAPPERS:
        found, link = shutil.which(f"{wrapper}.{name}"), f"{root}/bin/{wrapper}"
        if found and not os.path.lexists(link):
            os.symlink(found, link)
    return {"mpich": Mpich, "openmpi": OpenMpi}[name](name, root) if os.path.lexists(f"{root}/bin/mpicc") else None
