# SPDX-License-Identifier: BSD-3-Clause
"""The recipe of Rhizome for Spack. The source is this tree: spack install rhizome@VERSION dev_path=FOLDER."""
from spack.package import *


class Rhizome(CMakePackage):
    """Rhizome is a fault-tolerant MPI for programs in C and Fortran, with the MPI 5.0 standard ABI."""

    license("BSD-3-Clause")

    version("0.1.0")

    variant("fortran", default=True, description="MPI for Fortran, by gfortran")
    variant("pmix", default=True, description="Programs that srun or another MPI's mpirun starts")
    variant("ucx", default=False, description="Messages between nodes by UCX, on request")
    variant("simulator", default=True, description="The simulator of the protocols, rzsim")
    variant("bench", default=False, description="The benchmarks, rzbench")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    depends_on("python@3.10:", type="run", when="+bench")
    depends_on("hwloc@2:")
    depends_on("libevent+openssl")
    depends_on("libsodium")
    depends_on("xxhash")
    depends_on("isa-l")
    depends_on("jansson")
    depends_on("libnl")
    depends_on("ncurses")
    depends_on("pmix", when="+pmix")
    depends_on("ucx", when="+ucx")
    conflicts("platform=darwin", msg="Rhizome runs on Linux")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("RZ_TESTS", False),
            self.define_from_variant("RZ_FORTRAN", "fortran"),
            self.define_from_variant("RZ_PMIX", "pmix"),
            self.define_from_variant("RZ_UCX", "ucx"),
            self.define_from_variant("RZ_SIMULATOR", "simulator"),
            self.define_from_variant("RZ_BENCH", "bench"),
        ]

    def setup_dependent_build_environment(self, env, dependent_spec):
        for name, command in (("CC", "mpicc"), ("CXX", "mpicxx"), ("FC", "mpifort")):
            env.set(f"MPI{name}", join_path(self.prefix.bin, command))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
        self.spec.mpifc = join_path(self.prefix.bin, "mpifort")
        self.spec.mpif77 = join_path(self.prefix.bin, "mpifort")
