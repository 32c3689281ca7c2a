#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/tidy finds names and macros local to a file that another file of the same library has, too."""
import sys
import unittest

from tidy_rig import TidyTest

MAKES = ["src/port/CMakeLists.txt", "src/net/tcp/CMakeLists.txt", "src/net/shm/CMakeLists.txt", "src/daemon/CMakeLists.txt", "src/mpi/CMakeLists.txt",
         "src/proto/CMakeLists.txt", "src/proto/ring/CMakeLists.txt", "src/cmd/CMakeLists.txt"]
SRC, VERIFY = "src", "verify"  # not spelled out below: tidy takes the path of a file for one that is in the tree
LOOK = "static void look(int fd)\n{\n}\n"


class TidyLocalNames(TidyTest):
    def breaches(self, files):
        self.tidy.text_of = lambda path: files[path]
        self.tidy.breaches.clear()
        self.tidy.check_local_names(MAKES + sorted(files))
        return len(self.tidy.breaches)

    def two(self, one, other, first=f"{SRC}/port/one.c", second=f"{SRC}/port/other.c"):
        return self.breaches({first: one, second: other})

    def test_names_that_repeat(self):
        self.assertEqual(self.two(LOOK, LOOK), 1)
        self.assertEqual(self.two(LOOK, "__attribute__((format(printf, 1, 2))) static bool look(const char *format, ...)\n{\n}\n"), 1)
        self.assertEqual(self.two(LOOK, "static struct place *\nlook(void)\n{\n}\n"), 1)
        self.assertEqual(self.two("static int last;\n", "static int last;\n"), 1)
        self.assertEqual(self.two("static int last[3];\n", "static struct {\n    int n;\n} last;\n"), 1)
        self.assertEqual(self.two("RZ_CLI_TAKE(seed)\n{\n}\n", "RZ_CLI_TAKE(seed)\n{\n}\n"), 1)
        self.assertIn(f"{SRC}/port/other.c:1: RZ_CLI_TAKE seed is also local to {SRC}/port/one.c", self.tidy.breaches[0])

    def test_names_that_do_not(self):
        self.assertEqual(self.two(LOOK + "static void look(int fd);\n", "static void look_again(int fd)\n{\n    look(fd);\n}\n"), 0)
        self.assertEqual(self.two(LOOK, "/* static void look(void) */\nint f(void)\n{\n    static int look;\n}\n"), 0)
        self.assertEqual(self.two(LOOK, "#define LOOK(x) \\\nstatic void look(x)\n"), 0)

    def test_macros(self):
        again = "#define AGAIN_NS 1000\n"
        self.assertEqual(self.two(again, "\n#define AGAIN_NS 2000\n"), 1)
        self.assertIn(f"{SRC}/port/other.c:2: AGAIN_NS is another macro in {SRC}/port/one.c", self.tidy.breaches[0])
        self.assertEqual(self.two('#define NAME "one.so"\n', '#define NAME "other.so"\n'), 1)
        self.assertEqual(self.two("#define TWICE(x) \\\n    (2 * (x))\n", "#define TWICE(x) \\\n    ((x) + (x))\n"), 1)
        self.assertEqual(self.two(again, "# define AGAIN_NS  1000 /* as there */\n"), 0)
        self.assertEqual(self.two(again + "#undef AGAIN_NS\n", "#define AGAIN_NS 2000\n"), 0)
        self.assertEqual(self.two(again, "/*\n#define AGAIN_NS 2000\n*/\n"), 0)

    def test_types_and_constants(self):
        one = "struct place {\n    int n;\n};\n"
        self.assertEqual(self.two(one, one), 1)
        self.assertEqual(self.two(one, "static struct {\n    struct place {\n        int n;\n    } all[2];\n} marks;\n"), 1)
        self.assertEqual(self.two("enum way { BY_LAND, BY_SEA = 3 };\n", "enum other {\n    BY_SEA,\n    BY_AIR\n};\n"), 1)
        self.assertEqual(self.two(one, "struct other {\n    struct place *next;\n};\nstruct place *first(void);\n"), 0)
        self.assertEqual(self.two("enum { MANY = 3 };\n", "void f(void)\n{\n    enum { MANY = 4 };\n    struct other {\n        int n;\n    } all;\n}\n"), 0)

    def test_what_is_compiled_together(self):
        self.assertEqual(self.two(LOOK, LOOK, f"{SRC}/daemon/store/store.c", f"{SRC}/daemon/state/core.c"), 1)
        self.assertEqual(self.two(LOOK, LOOK, f"{SRC}/proto/ring/ring.c", f"{SRC}/proto/swim/swim.c"), 1)
        self.assertEqual(self.two(LOOK, LOOK, f"{SRC}/mpi/coll/one.c", f"{SRC}/mpi/coll/other.c"), 1)
        self.assertEqual(self.two(LOOK, LOOK, f"{SRC}/cmd/rzdoctor_one.c", f"{SRC}/cmd/rzdoctor_other.c"), 1)

    def test_what_is_not(self):
        self.assertEqual(self.two(LOOK, LOOK, f"{SRC}/net/tcp/one.c", f"{SRC}/net/shm/other.c"), 0)
        self.assertEqual(self.two(LOOK, LOOK, f"{SRC}/mpi/coll/one.c", f"{SRC}/mpi/p2p/other.c"), 0)
        self.assertEqual(self.two(LOOK, LOOK, f"{SRC}/proto/ring/ring.c", f"{SRC}/proto/ring/ring_check.c"), 0)
        self.assertEqual(self.two(LOOK, LOOK, f"{SRC}/cmd/rzdoctor_one.c", f"{SRC}/cmd/rzps.c"), 0)
        self.assertEqual(self.two(LOOK, LOOK, f"{VERIFY}/sim/one.c", f"{VERIFY}/sim/other.c"), 0)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
