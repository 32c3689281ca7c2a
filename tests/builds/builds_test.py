#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds other than that of the presets: configured and built in a folder of their own, and the ring run in it.

    RZ_TEST_SOURCE=. tests/builds/builds_test.py clang|core|twice|subproject|plain|cross|arm64 [--keep]
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.abspath(os.environ.get("RZ_TEST_SOURCE", os.path.dirname(os.path.abspath(__file__)) + "/../.."))
BUILD = os.path.abspath(os.environ.get("RZ_TEST_BUILD", "build"))
SKIPPED = 77
RING = ["ring", "rzrun", "rzd"]  # and what these load; the rest is built where a variant says so
# What another processor could have otherwise beside the pure modules: checksums, erasure codes, atomics, kinds of numbers.
# Not ckpt_file: its paths are opened step by step from "/", which the emulator takes for the root of the other machine.
PORTABLE = ["ckpt_pages", "ckpt_piece", "ckpt_erasure", "port_doorbell_test", "net_shm_lane_test", "mpi_op_test"]
LEFT_OUT = [f"-DRZ_{part}=OFF" for part in ("TESTS", "SIMULATOR", "BENCH", "APPS", "GROUP", "ENGINES", "UCX")]

# A project that has Rhizome as a part of it, says nothing of how to build it, and has targets with the names of our examples.
USER = """
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
add_subdirectory(rhizome)
add_executable(ring rhizome/apps/ring/ring.c)
target_link_libraries(ring PRIVATE rhizome::mpi_abi)
"""


def clean_environment():
    """No settings of the shell that runs the tests get into these builds."""
    forgotten = ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "CMAKE_BUILD_TYPE", "MAKEFLAGS")
    return {name: value for name, value in os.environ.items() if name not in forgotten}


def does(*command, folder=None):
    """Runs a command that has to end well; its output is shown only when it does not. ctest bounds all of it."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", env=clean_environment())
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-8000:]}")
    return done.stdout


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def wants(condition, words):
    if not condition:
        sys.exit(f"not so: {words}")


def configure(build, *settings, source=SOURCE, generator="Ninja"):
    return does("cmake", "-S", source, "-B", build, "-G", generator, *settings)


def make(build, *targets):
    words = ["--target", *targets] if targets else []
    return does("cmake", "--build", build, "-j", str(os.cpu_count()), *words)


def ring_runs(build, ring=None, *options):
    out = does(f"{build}/bin/rzrun", "-n", "2", "--oversubscribe", *options, ring or f"{build}/apps/ring")
    wants("token" in out, f"the ring says its token:\n{out}")


def cached(build, name):
    with open(f"{build}/CMakeCache.txt") as cache:
        return next((line.partition("=")[2].strip() for line in cache if line.startswith(f"{name}:")), None)


def flags(build, file):
    with open(f"{build}/compile_commands.json") as commands:
        return next(entry["command"].split() for entry in json.load(commands) if entry["file"].endswith(file))


def plain(work):
    """cmake -B b: as fast as the release, and a new warning of another compiler is no error."""
    configure(work, generator="Unix Makefiles")
    wants(cached(work, "CMAKE_BUILD_TYPE") == "RelWithDebInfo", "the build type is RelWithDebInfo when none is given")
    wants("-O2" in flags(work, "src/wire/cursor.c"), "RelWithDebInfo optimises")
    wants("-Werror" not in flags(work, "src/wire/cursor.c"), "warnings are no errors unless RZ_WERROR is ON")


def clang(work):
    """Another compiler, no optimisation, warnings as errors, no UCX: everything is built, tests, too."""
    if not shutil.which("clang"):
        skip("there is no clang")
    configure(work, "-DCMAKE_C_COMPILER=clang", "-DCMAKE_BUILD_TYPE=Debug", "-DRZ_WERROR=ON", "-DRZ_UCX=OFF")
    make(work)
    wants(not os.path.exists(f"{work}/lib/rhizome/rhizome-ucx.so"), "RZ_UCX=OFF leaves the module out")
    ring_runs(work)


def core(work):
    """Without all that can be left out, without optimisation, and with all files of a library compiled as one: the library and the
    commands of users, whose calls of the rest say so."""
    configure(work, "-DCMAKE_BUILD_TYPE=Debug", "-DRZ_WERROR=ON", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0", *LEFT_OUT)
    make(work)
    built = set(os.listdir(f"{work}/bin"))
    wants({"rzrun", "rzd", "rzdoctor", "rzps", "mpicc", "mpiexec"} <= built, f"all commands of users: {built}")
    wants(not {"rzsim", "rzbench"} & built, f"neither simulator nor benchmarks: {built}")
    for name in ("rzrun", "rzps", "rzdoctor"):
        wants(os.path.exists(f"{work}/share/man/man1/{name}.1"), f"the manual page of {name}")
    for name in ("apps", "tests", "lib/librz_sim.a", "lib/librhizome_tasks.a", "lib/rhizome/rhizome-tester.so", "lib/rhizome/rhizome-ucx.so"):
        wants(not os.path.exists(f"{work}/{name}"), f"no {name}")
    for name, source in (("ring", f"{SOURCE}/apps/ring/ring.c"), ("left_out", f"{SOURCE}/tests/builds/left_out.c")):
        does(f"{work}/bin/mpicc", source, "-o", f"{work}/{name}")
    ring_runs(work, f"{work}/ring")
    ring_runs(work, f"{work}/ring", "--nodes", "2")
    out = does(f"{work}/bin/rzrun", "-n", "1", f"{work}/left_out")
    wants(re.search("MPI_ERR_UNSUPPORTED_OPERATION: RZ_Group_monitor_start.*not supported by this build", out), f"no group, in words:\n{out}")
    wants(re.search("MPI_ERR_INFO_VALUE: .*'twophase', not .*no other engine", out), f"no other engine, in words:\n{out}")
    says_no_other_engine([f"{work}/bin/rzrun", "--agree", "gossip2", "-n", "1", f"{work}/ring"], {})
    says_no_other_engine([f"{work}/bin/rzrun", "-n", "1", f"{work}/ring"], {"RZ_AGREE": "gossip1"})
    refused = subprocess.run(["cmake", "-S", SOURCE, "-B", f"{work}/half", "-DRZ_SIMULATOR=OFF"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, env=clean_environment())
    wants(refused.returncode != 0 and "RZ_TESTS needs RZ_SIMULATOR" in refused.stderr, "tests without the simulator are refused in words")


def twice(work):
    """Two builds in folders of other names and depths, inside and outside of the sources, with another umask, zone and language, install the
    same files."""
    seen = []
    for tree, build, settings, mask in ((f"{work}/a", f"{work}/a/build", {"TZ": "UTC", "LC_ALL": "C"}, 0o022),
                                        (f"{work}/another/longer/name", f"{work}/b", {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"}, 0o077)):
        shutil.copytree(SOURCE, tree, symlinks=True, ignore=lambda folder, names: {"build", ".git"} if folder == SOURCE else ())
        old = os.umask(mask)
        try:
            with_settings = [f"{name}={value}" for name, value in settings.items()]
            does("env", *with_settings, "cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                 "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-g", "-DRZ_FORTRAN=OFF", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0",
                 "-DCMAKE_INSTALL_PREFIX=/opt/rhizome", *LEFT_OUT)
            does("env", *with_settings, "cmake", "--build", build, "-j", str(os.cpu_count()))
            does("env", f"DESTDIR={work}/{len(seen)}", "cmake", "--install", build)
        finally:
            os.umask(old)
        seen.append(digests(f"{work}/{len(seen)}"))
    wants(len(seen[0]) > 50 and set(seen[0]) == set(seen[1]), f"both install the same names: {sorted(set(seen[0]) ^ set(seen[1]))}")
    differ = sorted(name for name in seen[0] if seen[0][name] != seen[1][name])
    wants(not differ, f"the same bytes in {differ}")


def digests(root):
    """{name: digest} of all files below a folder; of links what they say."""
    found = {}
    for folder, _, names in os.walk(root):
        for path in (f"{folder}/{name}" for name in names):
            if os.path.islink(path):
                found[path[len(root):]] = os.readlink(path)
            else:
                with open(path, "rb") as file:
                    found[path[len(root):]] = hashlib.sha256(file.read()).hexdigest()
    return found


def says_no_other_engine(command, more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**clean_environment(), **more})
    wants(done.returncode != 0 and "this build of Rhizome has no other engine" in done.stderr, f"no other engine, in words:\n{done.stderr}")


def subproject(work):
    """A part of another project, whose build type is none: no -O, no -DNDEBUG, nothing but the library and its commands."""
    os.symlink(SOURCE, f"{work}/rhizome")
    with open(f"{work}/CMakeLists.txt", "w") as file:
        file.write(USER)
    configure(f"{work}/out", source=work, generator="Unix Makefiles")
    wants(not cached(f"{work}/out", "CMAKE_BUILD_TYPE"), "a part does not choose the build type of the whole")
    make(f"{work}/out", *RING)
    ring_runs(f"{work}/out/rhizome", f"{work}/out/ring")


def cross(work):
    """For another machine, which is played by this one: no program of the build is run, here neither to write its manual page."""
    other = ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={os.uname().machine}"]
    out = configure(f"{work}/bare", *other)
    wants("No manual page of rzrun" in out, "it is said that there are no manual pages")
    wants(set(re.findall(r"(\w+) --man", commands(f"{work}/bare"))) == {"rzbench"}, "no program of the build but a script writes a manual page")
    configure(f"{work}/tools", *other, f"-DRZ_HOST_TOOLS={BUILD}/bin")
    for name in ("rzrun", "rzps", "rzsim", "rzdoctor"):
        wants(f"{BUILD}/bin/{name} --man" in commands(f"{work}/tools"), f"the host's {name} writes the page")
    wants(f"{work}/tools/bin/rzrun --man" not in commands(f"{work}/tools"), "no program of the build is run")
    configure(f"{work}/emulated", *other, "-DCMAKE_CROSSCOMPILING_EMULATOR=/usr/bin/env")
    wants(f"/usr/bin/env {work}/emulated/bin/rzrun --man" in commands(f"{work}/emulated"), "the emulator runs it")


def arm64(work):
    """For arm64, with warnings as errors: the library, rzrun and rzd link; the emulator runs rzrun, the unit tests of the pure
    modules and a few others."""
    if not shutil.which("aarch64-linux-gnu-gcc"):
        skip("there is no aarch64-linux-gnu-gcc: tools/setup --check installs it")
    root = os.environ.get("RZ_ARM64_ROOT") or "/var/lib/rhizome/arm64-root"
    if not os.path.isdir(f"{root}/usr/include"):
        skip(f"there are no libraries for arm64 in {root}: tools/arm64-root")
    qemu = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    configure(work, "--toolchain", f"{SOURCE}/cmake/arm64.cmake", f"-DRZ_ARM64_ROOT={root}", "-DRZ_WERROR=ON",
              f"-DRZ_HOST_TOOLS={BUILD}/bin")
    make(work, *RING, *PORTABLE, "pure_tests")
    for name in ("bin/rzrun", "bin/rzd", "lib/libmpi_abi.so.1"):
        wants(machine_of(f"{work}/{name}") == EM_AARCH64, f"{name} is for arm64")
    if not qemu:
        skip("all is built; there is no qemu-aarch64-static to run it by")
    wants("Rhizome" in does(qemu, "-L", root, f"{work}/bin/rzrun", "--version"), "rzrun --version says what it is")
    for chosen in (["-R", f"^({'|'.join(PORTABLE)})$"], ["-L", "pure"]):
        does("ctest", "--test-dir", work, "--output-on-failure", "--no-tests=error", "-j", str(os.cpu_count()), *chosen)


EM_AARCH64 = 183  # ELF's number of the processor


def machine_of(path):
    with open(path, "rb") as file:
        header = file.read(20)
    wants(header[:4] == b"\x7fELF", f"{path} is an ELF file")
    return int.from_bytes(header[18:20], "little")


def commands(build):
    return does("ninja", "-C", build, "-t", "commands")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("variant", choices=("clang", "core", "twice", "subproject", "plain", "cross", "arm64"))
    parser.add_argument("--keep", action="store_true", help="leave the folder, and say where it is")
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix=f"rhizome-{options.variant}-")
    try:
        globals()[options.variant](work)
    finally:
        if options.keep:
            print(work)
        else:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
