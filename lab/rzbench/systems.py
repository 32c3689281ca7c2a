# SPDX-License-Identifier: BSD-3-Clause
"""Rhizome and its peers: which are here, how they compile, how they start a program."""
import os
import shutil

from .bench import Bench

RHIZOME, OPENMPI, MPICH = SYSTEMS = ("Rhizome", "Open MPI", "MPICH")
ENDINGS = {RHIZOME: "rhizome", OPENMPI: "openmpi", MPICH: "mpich"}  # also the names under which Debian installs them side by side
LAUNCHERS = {OPENMPI: "mpirun.openmpi", MPICH: "mpiexec.mpich"}
VERSIONS = {OPENMPI: "mpirun.openmpi --version | head -1",
            MPICH: r"mpichversion | sed -n 's/[[:space:]]\+/ /g; 1p; 3p' | paste -sd,"}

# Open MPI 5 with ULFM, which Debian has from version 13 on, lives in a root folder of its own. Each of its commands is run in there
# by enter_root.sh; the folder of compiled programs is INSIDE then.
PEER_ROOT, INSIDE = "/var/lib/rhizome/peer-root", "/mnt"

# Sources of a program besides its first: its own, and the ways to survive, which the proxies share.
RECOVERY = ("recovery", "recovery_buddy", "recovery_files", "recovery_ulfm")
SHARED = {"hpccg": RECOVERY, "comd": ("comd_domain", "comd_force", "comd_lattice", *RECOVERY),
          "lulesh": ("lulesh_element", "lulesh_hex", "lulesh_mesh", "lulesh_node", *RECOVERY)}


def needs(app, make):
    """A part that runs a program of apps/, which may be missing."""
    return lambda bench: make(bench) if bench.app(app) else bench.say(f"\n{app} is not here, left out.\n") or True


class Systems(Bench):
    def find(self, version):
        """What is here; False: Rhizome itself is not, which was said."""
        self.versions = {RHIZOME: f"Rhizome {version}"}
        self.peer_version = None  # of Open MPI 5 with ULFM; None: not here
        for wanted, what in ((self.sources, "the sources of its programs are not in"), (f"{self.bin}/rzrun", "there is no")):
            if not os.access(wanted, os.X_OK):
                self.warn(f"{what} {wanted}")
                return False
        for peer in (OPENMPI, MPICH):
            if not self.options.no_peers and shutil.which(f"mpicc.{ENDINGS[peer]}") and shutil.which(LAUNCHERS[peer]):
                self.versions[peer] = self.run(["sh", "-c", VERSIONS[peer]]).output.partition("\n")[0]
        apart = f"{self.sources}/peer_apart.sh"
        self.apart = [apart] if len(self.versions) > 1 and self.run([apart, "true"]).good() else []  # what stands before a peer's launcher
        return True

    def compiled(self, system, program):
        return f"{self.folder}/{program}.{ENDINGS[system]}"

    def pinned(self):
        return ["--pin", self.options.pin] if self.options.pin else []

    def pinned_text(self):
        return f", pinned to processors {self.options.pin}" if self.options.pin else ", not pinned"

    def having(self, program):
        """The systems that have it."""
        return [system for system in SYSTEMS if self.has(system, program)]

    def has(self, system, program):
        """The system is here, and the program was compiled for it."""
        return system in self.versions and os.access(self.compiled(system, program), os.X_OK)

    def compile(self, *programs, peers=False):
        """By each system's own wrapper. False: Rhizome's did not compile one; the output was shown."""
        for program in programs:
            for system in SYSTEMS if peers else (RHIZOME,):
                wrapper = f"{self.bin}/mpicc" if system == RHIZOME else f"mpicc.{ENDINGS[system]}"
                if system in self.versions and not self.compile_by(wrapper, program, self.compiled(system, program), system) \
                        and system == RHIZOME:
                    return False
        return True

    def compile_by(self, wrapper, program, out, system):
        sources = [f"{self.sources}/{name}.c" for name in (program, *SHARED.get(program, ()))]
        return self.tried([wrapper, "-O2", "-o", out, *sources, "-lm"], f"{program} does not compile with {system}")

    def start(self, program, ranks, nodes=0, system=RHIZOME, options=(), between=False, yields=False, openmpi=()):
        """The words up to and with the program. Peers have no emulated nodes: between nodes they take their TCP on loopback. yields:
        where ranks outnumber processors Open MPI gives its processor away. options, openmpi: further words for rzrun, for Open MPI."""
        if system == RHIZOME:
            words = [f"{self.bin}/rzrun", "-n", str(ranks), "--nodes", str(nodes or (2 if between else 1)), "--oversubscribe", *options]
        elif system == OPENMPI:
            words = [*self.apart, *"mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none --mca orte_tmpdir_base".split(), self.folder,
                     *"--mca pml ob1 --mca btl".split(), *("tcp,self --mca btl_tcp_if_include lo" if between else "vader,self").split(),
                     "--mca", "mpi_yield_when_idle", str(int(yields)), *openmpi, "-n", str(ranks)]
        else:
            words = [*self.apart, *("env MPIR_CVAR_NOLOCAL=1 UCX_TLS=tcp,self".split() if between else ()), "mpiexec.mpich", "-n", str(ranks)]
        return [*words, self.compiled(system, program)]

    def app(self, name):
        """Where the built or installed program of apps/ of that name is; None: nowhere."""
        places = (f"{self.bin}/../apps/{name}", f"{self.bin}/../libexec/rhizome/{name}")
        return next((place for place in places if os.access(place, os.X_OK)), None)

    # ---- Open MPI with ULFM, in a root folder of its own

    def enter(self, *words):
        return [f"{self.sources}/enter_root.sh", self.options.peer_root or PEER_ROOT, self.folder, *words]

    def peer_open(self, *programs, flags=()):
        """Its version, if it is here, runs, and compiles the programs (said why, if only the latter do not hold)."""
        root = self.options.peer_root or PEER_ROOT
        if self.options.no_peers or not os.access(f"{root}/usr/bin/mpirun.openmpi", os.X_OK):
            return None
        asked = self.run(self.enter("mpirun", "--version"))
        if not asked.good():
            self.warn(f"the peer in {root} cannot be run: {asked.output[:600]}")
            return None
        for name in (*(f"{program}.c" for program in programs), "bench_dates.h"):
            shutil.copy(f"{self.sources}/{name}", self.folder)  # where the peer's compiler sees them
        if all(self.tried(self.enter("mpicc", "-O2", "-o", f"{INSIDE}/{program}.peer", f"{INSIDE}/{program}.c", *flags, "-lm"),
                          f"{program} does not compile with the peer") for program in programs):
            self.peer_version = asked.output.partition("\n")[0]
        return self.peer_version

    def peer_start(self, program, ranks, between=False):
        return self.enter(*"mpirun --allow-run-as-root --with-ft ulfm --oversubscribe --bind-to none --mca pml ob1 --mca btl".split(),
                          "tcp,self" if between else "sm,tcp,self", *"--mca btl_tcp_if_include lo --mca mpi_yield_when_idle".split(),
                          str(int(ranks > os.cpu_count())), "-n", str(ranks), f"{INSIDE}/{program}.peer")
