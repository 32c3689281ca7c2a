#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzdoctor: its lists agree with the tables and with the library; it finds what is amiss, and nothing where nothing is."""
import csv
import json
import os
import re
import resource
import shutil
import subprocess
import time

import install_rig as rig


def table(name):
    with open(f"{rig.SOURCE}/src/abi/tables/{name}.csv", newline="") as rows:
        return [row["name"] for row in csv.DictReader(rows)]


class Features(rig.InstallTest):
    def features(self, *arguments, status=0):
        return json.loads(self.does(f"{self.bin}/rzdoctor", "features", "--json", *arguments, status=status))

    def test_every_function_of_the_tables(self):
        found = self.features()
        self.assertEqual(sorted(f["name"] for f in found["functions"]), sorted(table("abi_functions") + table("extensions")))
        self.assertEqual(found["functions_total"], len(found["functions"]))
        self.assertEqual(found["functions_working"], sum(f["works"] for f in found["functions"]))
        for chapter in found["chapters"]:
            mine = [f for f in found["functions"] if f["chapter"] == chapter["chapter"]]
            self.assertEqual((chapter["functions"], chapter["working"]), (len(mine), sum(f["works"] for f in mine)))
        self.assertEqual(sum(c["functions"] for c in found["chapters"]), found["functions_total"])

    def test_text_says_the_same(self):
        found, text = self.features(), self.does(f"{self.bin}/rzdoctor", "features")
        said = dict(re.findall(r"(?m)^  ((?:MPIX?|RZ)_\w+) +(works|unsupported)$", text))
        self.assertEqual(said, {f["name"]: "works" if f["works"] else "unsupported" for f in found["functions"]})
        abi = [f["works"] for f in found["functions"] if not f["name"].startswith(("MPIX_", "RZ_"))]
        self.assertEqual(len(abi), 664)
        self.assertIn(f"664 functions of the MPI 5.0 ABI: {sum(abi)} work, {664 - sum(abi)} return",
                      text.splitlines()[-1])

    def test_filters(self):
        every = {f["name"]: f["works"] for f in self.features()["functions"]}
        self.assertEqual({f["name"] for f in self.features("--missing")["functions"]}, {n for n in every if not every[n]})
        self.assertEqual({f["name"] for f in self.features("--working")["functions"]}, {n for n in every if every[n]})
        self.assertEqual([f["name"] for f in self.features("mpi_SEND")["functions"]], ["MPI_Send"])
        self.assertEqual(len(self.features("Send", "MPI_Type_*_extent")["functions"]), 3)
        for name in ("MPI_Abort", "MPI_Win_create_keyval"):
            self.features(name, status=0 if every[name] else 1)

    def test_what_the_list_says_is_what_a_program_meets(self):
        """Calls that can be made with nulls: those that work refuse the null, the others say that they are not supported."""
        names = ("Open_port Close_port Comm_accept Comm_disconnect Win_free Win_set_name Win_get_group File_close File_get_size "
                 "Parrived Comm_size Comm_dup Type_size Group_rank Op_commutative Info_dup").split()
        works = {f["name"]: f["works"] for f in self.features()["functions"] if f["name"][4:] in names}
        self.assertEqual(len(works), len(names))
        calls = "".join(f"    said(\"{name}\", ((function *){name})(NULL, NULL, NULL, NULL, NULL), {int(does)});\n"
                        for name, does in works.items())
        source = self.file("calls.c", """
        #include <mpi.h>
        #include <stdio.h>
        typedef int function(void *, void *, void *, void *, void *);
        static void said(const char *name, int error, int works)
        {
            int unsupported = error == MPI_ERR_UNSUPPORTED_OPERATION;
            if (error == MPI_SUCCESS || unsupported == works)
                printf("%s returns %d\\n", name, error);
        }
        int main(int argc, char **argv)
        {
            MPI_Init(&argc, &argv);
            MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        """ + calls + "    return MPI_Finalize();\n}\n")
        self.does(f"{self.bin}/mpicc", "-w", source, "-o", "calls")
        self.assertEqual(self.does("./calls"), "")

    def test_bad_lines(self):
        for line, words in ((["features", "MPI_Sendd"], "did you mean MPI_Send?"), (["feature"], "no 'feature'"),
                            (["features", "--missing", "--working"], "exclude each other"),
                            (["check", "--missing"], "belongs to rzdoctor features"), (["check", "now"], "one word too many"),
                            (["--jsn"], "--json")):
            self.assertIn(words, self.does(f"{self.bin}/rzdoctor", *line, status=2))

    def test_pages(self):
        text = self.does(f"{self.bin}/rzdoctor", "--help")
        for word in ("--json", "--missing", "--working", "features", "check", "Exit status"):
            self.assertIn(word, text)
        with open(f"{self.prefix}/share/man/man1/rzdoctor.1") as page:
            self.assertEqual(page.read(), self.does(f"{self.bin}/rzdoctor", "--man"))


class Check(rig.InstallTest):
    def check(self, status=0, limits=None, **environment):
        """What a run found, by subject."""
        variables = rig.clean_environment(PATH=f"{self.bin}:{os.environ['PATH']}")
        variables = {n: v for n, v in variables.items()
                     if not n.startswith(("UCX_", "OMPI_", "PMIX_", "PMI_", "MPICH_", "HYDRA_", "I_MPI_", "RZ_"))}
        variables.update(environment)

        def limit():
            for what, bound in (limits or {}).items():
                resource.setrlimit(what, (bound, bound))
        done = subprocess.run([f"{self.bin}/rzdoctor", "--json"], env=variables, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit, timeout=rig.HANG_S)
        self.assertEqual(done.stderr, "")
        found = json.loads(done.stdout)
        self.assertEqual(done.returncode, status, done.stdout)
        self.assertEqual(status, 1 if found["faults"] else 0)
        for finding in found["findings"]:
            self.assertEqual(finding["verdict"] == "ok", finding["remedy"] is None, finding)
        return {f["subject"]: f for f in found["findings"]}

    def test_nothing_amiss(self):
        found = self.check()
        may_be = {"processors", "clock", "process_vm_readv", "open files", "memory"}  # of the machine that runs this
        self.assertEqual([f for f in found.values() if f["verdict"] != "ok" and f["subject"] not in may_be], [])
        for subject in ("pidfd", "memfd", "robust futexes", "UCX", "library", "one node", "two nodes", "variables"):
            self.assertIn(subject, found)
        self.assertIn("Rhizome", found["library"]["text"])

    def test_text(self):
        done = rig.run([f"{self.bin}/rzdoctor"], self.work, {"PATH": f"{self.bin}:{os.environ['PATH']}"})
        self.assertRegex(done.stdout.splitlines()[-1], r"^\d+ ok, \d+ warnings?, 0 faults$")
        self.assertEqual(done.returncode, 0)

    def test_another_mpi_before_ours(self):
        foreign = self.file("foreign/mpicc", "#!/bin/sh\n")
        os.chmod(foreign, 0o755)
        found = self.check(PATH=f"{self.work}/foreign:{self.bin}:{os.environ['PATH']}")
        self.assertEqual(found["mpicc"]["verdict"], "warning")
        self.assertIn(foreign, found["mpicc"]["text"])
        self.assertIn(f"PATH={self.bin}", found["mpicc"]["remedy"])
        self.assertEqual(found["mpiexec"]["verdict"], "ok")

    def test_variables_left_over(self):
        found = self.check(UCX_TLS="rc,ud", OMPI_MCA_btl="self", RZ_SHM_CMA="0")
        self.assertEqual(found["UCX_TLS"]["verdict"], "warning")
        self.assertEqual(found["two nodes"]["verdict"], "ok")
        self.assertEqual(found["one node"]["verdict"], "ok")
        self.assertIn("OMPI_MCA_btl", found["another MPI's"]["text"])
        self.assertIn("RZ_SHM_CMA", found["of tests"]["text"])

    def test_library_of_another_mpi(self):
        os.mkdir(f"{self.work}/other")
        shutil.copy(os.path.realpath(f"{rig.BUILD}/lib/libmpi_abi.so.1"), f"{self.work}/other/libmpi_abi.so.1")
        found = self.check(status=1, LD_LIBRARY_PATH=f"{self.work}/other")
        self.assertIn(f"{self.work}/other/libmpi_abi.so.1", found["LD_LIBRARY_PATH"]["text"])

    def test_limits(self):
        found = self.check(status=1, limits={resource.RLIMIT_NOFILE: 48, resource.RLIMIT_FSIZE: 1 << 20})
        self.assertEqual(found["open files"]["verdict"], "fault")
        self.assertEqual(found["memfd"]["verdict"], "fault")
        self.assertIn("ulimit -f", found["memfd"]["remedy"])

    def test_refusals_of_the_kernel(self):
        """As on an old kernel, or under a seccomp profile: the calls are refused one by one."""
        library = f"{rig.BUILD}/tests/libdoctor_refuse.so"
        for call, subject, words in (("pidfd_open", "pidfd", "by their numbers instead"),
                                     ("futex_waitv", "robust futexes", "a thread waits for each process instead"),
                                     ("memfd_create", "memfd", "files of /dev/shm without a name or seals instead"),
                                     ("membarrier", "membarrier", "a fence of its sender instead"),
                                     ("close_range", "close_range", "one by one instead"),
                                     ("process_vm_readv", "process_vm_readv", "copied twice")):
            with self.subTest(call=call):
                found = self.check(LD_PRELOAD=library, RZ_TEST_REFUSE=call)
                self.assertIn(words, found[subject]["text"])
                self.assertEqual(found[subject]["verdict"], "warning" if call == "process_vm_readv" else "ok")
                self.assertIn("LD_PRELOAD", found["loader"]["text"])

    def test_killed_in_the_middle_it_leaves_nothing(self):
        def marked(mark):
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/environ", "rb") as variables:
                        if mark.encode() in variables.read().split(b"\0"):
                            found.append(pid)
                except OSError:
                    continue
            return found
        for call in ("process_vm_readv", "pidfd_open", "memfd_create"):
            mark = f"{os.getpid()}.{call}"
            reached = f"{self.work}/{mark}"
            variables = rig.clean_environment(RZ_TEST_MARK=mark, RZ_TEST_REFUSE=f"hang:{call}", RZ_TEST_REACHED=reached,
                                              LD_PRELOAD=f"{rig.BUILD}/tests/libdoctor_refuse.so")
            with subprocess.Popen([f"{self.bin}/rzdoctor"], env=variables, stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE) as doctor:
                while not os.path.exists(reached):
                    self.assertIsNone(doctor.poll())
                    time.sleep(0.001)
                doctor.kill()
            end = time.monotonic() + rig.HANG_S
            while marked(f"RZ_TEST_MARK={mark}") and time.monotonic() < end:
                time.sleep(0.01)
            self.assertEqual(marked(f"RZ_TEST_MARK={mark}"), [], f"left after a kill in {call}")

    def test_incomplete_installation(self):
        broken = f"{self.work}/broken"
        shutil.copytree(self.prefix, broken, symlinks=True)
        os.remove(f"{broken}/bin/rzd")
        os.remove(next(f"{folder}/rhizome-tcp.so" for folder, _, names in os.walk(broken) if "rhizome-tcp.so" in names))
        self.bin, whole = f"{broken}/bin", self.bin
        try:
            found = self.check(status=1)
        finally:
            self.bin = whole
        self.assertIn("rzd", found["commands"]["text"])
        for subject in ("TCP", "one node", "two nodes"):
            self.assertEqual(found[subject]["verdict"], "fault")


rig.main()
