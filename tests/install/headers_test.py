#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The installed headers stand alone, pass the strictest compilers of every standard, and C++ programs link with all they declare."""
import csv
import os
import re

import install_rig as rig

STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror")
C = ("c99", "c11", "gnu17")
CXX = ("c++11", "c++14", "c++17", "c++20")


class Headers(rig.InstallTest):
    def headers(self):
        include = f"{self.prefix}/include"
        found = [os.path.relpath(f"{folder}/{name}", include) for folder, _, names in os.walk(include) for name in names
                 if name.endswith(".h") and not name.startswith("mpif")]  # those are Fortran
        self.assertIn("mpi.h", found)
        self.assertIn("mpi-ext.h", found)
        self.assertIn("rhizome/checkpoint.h", found)
        return sorted(found)

    def accepts(self, wrapper, standard, text):
        language = "c" if wrapper == "mpicc" else "c++"
        self.does(f"{self.bin}/{wrapper}", f"-std={standard}", *STRICT, "-fsyntax-only", "-x", language, "-", text=text)

    def test_each_header_alone(self):
        for header in self.headers():
            for standard in C[:1]:
                self.accepts("mpicc", standard, f"#include <{header}>\n")
            for standard in CXX[:1]:
                self.accepts("mpicxx", standard, f"#include <{header}>\n")

    def test_all_headers_in_every_standard(self):
        text = "".join(f"#include <{header}>\n" for header in self.headers() * 2)
        for standard in C:
            self.accepts("mpicc", standard, text)
        for standard in CXX:
            self.accepts("mpicxx", standard, text)

    def test_constants_and_handles_in_cxx(self):
        text = rig.PROGRAM + """
        #include <mpi-ext.h>
        static_assert(sizeof(MPI_Status) == 32, "the status of the ABI");
        void calls()
        {
            MPI_Status status;
            MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
            MPI_Comm comm = MPI_COMM_NULL;
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(MPI_BOTTOM, 0, MPI_CXX_DOUBLE_COMPLEX, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
            MPI_Reduce(MPI_IN_PLACE, nullptr, 0, MPI_INT, MPI_MAX, 0, comm);
            switch (status.MPI_ERROR) { case MPI_ERR_PROC_FAILED: case MPI_ERR_COMM: break; }
        }
        """
        for standard in CXX:
            self.accepts("mpicxx", standard, text)

    def test_every_function_links_from_cxx(self):
        names = []
        for table in ("abi_functions", "extensions"):
            with open(f"{rig.SOURCE}/src/abi/tables/{table}.csv", newline="") as rows:
                names += [row["name"] for row in csv.DictReader(rows)]
        names += [f"P{name}" for name in names]
        ours = [header for header in self.headers() if header.startswith("rhizome/")]
        for path in ours:
            with open(f"{self.prefix}/include/{path}") as header:
                names += re.findall(r"^\w[\w *]*\b(RZ_\w+)\(", header.read(), re.MULTILINE)
        self.assertGreater(len(names), 1328)
        table = "".join(f"    reinterpret_cast<function>({name}),\n" for name in names)
        source = self.file("all.cc", "#include <mpi-ext.h>\n" + "".join(f"#include <{path}>\n" for path in ours)
                           + "typedef void (*function)();\nfunction all[] = {\n" + table + "};\n"
                           "int main() { for (function f : all) if (!f) return 1; return 0; }\n")
        self.does(f"{self.bin}/mpicxx", *STRICT, "-O0", source, "-o", "all", "-lrhizome_tasks", "-lm")
        self.does("./all")


rig.main()
