# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI's examples, and of its tests those that use nothing but MPI."""
from ..suite import Case, Suite

EXAMPLES = ("hello_c", "hello_mpifh", "hello_usempi", "hello_usempif08", "ring_c", "ring_mpifh", "ring_usempi", "ring_usempif08", "connectivity_c")


def cases(folder):
    for name in EXAMPLES:
        yield Case(name, f"{folder}/examples", [f"./{name}"], 4)
    yield Case("to_self", f"{folder}/test/datatype", ["./to_self"], 1)


SUITE = Suite(
    name="openmpi", package="openmpi", what="Open MPI's examples", cases=lambda folder: list(cases(folder)), small=True, peer="openmpi",
    build="""
cd examples
for name in hello_c ring_c connectivity_c; do mpicc $CFLAGS -o $name $name.c || true; done
for source in hello_mpifh.f ring_mpifh.f hello_usempi.f90 ring_usempi.f90 hello_usempif08.f90 ring_usempif08.f90; do
    mpifort $FFLAGS -o "${source%.*}" "$source" || true
done
cd ../test/datatype
mpicc $CFLAGS -o to_self to_self.c -lm || true
""")
