# SPDX-License-Identifier: BSD-3-Clause
"""Boost.MPI: its tests and examples, by its Jamfile."""
import os
import re

from ..suite import Case, Suite

LINE = re.compile(r"\[ mpi-test (\S+)\s*(?::\s*(\S*)\s*:\s*:\s*([\d ]*))?\]")
USUAL = (1, 4)  # ranks, where the Jamfile names none


def cases(folder):
    tests = f"{folder}/libs/mpi/test"
    with open(f"{tests}/Jamfile.v2", encoding="utf-8") as file:
        for name, source, ranks in LINE.findall(file.read()):
            program = os.path.basename(source).removesuffix(".cpp") if source else name
            for count in map(int, ranks.split()) if ranks.strip() else USUAL:
                words = {"block_nonblock_test-b2nb": ["b2nb"], "block_nonblock_test-nb2b": ["nb2b"]}.get(name, [])
                yield Case(f"{name} {count}", tests, [f"./{program}", *words], count)


SUITE = Suite(
    name="boost", package="boost1.74", what="Boost.MPI, its tests", cases=lambda folder: list(cases(folder)),
    build="""
includes=$(for folder in libs/*/include libs/numeric/*/include; do printf ' -I%s' "$PWD/$folder"; done)
cat >rz.mk <<END
CXX = mpicxx -O0 -w -fPIC -DBOOST_ALL_NO_LIB $includes
OBJECTS = \\$(patsubst %.cpp,%.o,\\$(wildcard libs/mpi/src/*.cpp) \\$(filter-out %xml_wgrammar.cpp,\\$(wildcard libs/serialization/src/*.cpp)))
TESTS = \\$(patsubst %.cpp,%,\\$(wildcard libs/mpi/test/*_test.cpp) libs/mpi/test/broadcast_stl_test.cpp libs/mpi/test/sendrecv_vector.cpp \\
    libs/mpi/test/wait_all_on_null.cpp libs/mpi/test/non_blocking_any_source.cpp) libs/mpi/test/random_gather libs/mpi/test/random_scatter \\
    libs/mpi/test/cartesian_communicator
all: \\$(TESTS)
libs/rz.a: \\$(OBJECTS)
\tar rcs \\$@ \\$^
libs/mpi/test/%: libs/mpi/test/%.cpp libs/rz.a
\t\\$(CXX) -o \\$@ \\$< libs/rz.a
libs/mpi/test/%: libs/mpi/example/%.cpp libs/rz.a
\t\\$(CXX) -o \\$@ \\$< libs/rz.a
%.o: %.cpp
\t\\$(CXX) -c -o \\$@ \\$<
END
make -k -f rz.mk || [ -f libs/rz.a ]
""")
