# SPDX-License-Identifier: BSD-3-Clause
"""PT-Scotch: the programs of its `make ptcheck`."""
import re

from ..suite import Case, Suite

LINE = re.compile(r"^\t+\$\(EXECP(\d)\) (\./test_\S+|\$\(SCOTCHBINDIR\)/\S+) (.*)$", re.MULTILINE)
RANKS = {"3": 3, "4": 4}  # by the variable that starts them


def cases(folder):
    check, environment = f"{folder}/src/check", {"LD_LIBRARY_PATH": f"{folder}/lib"}
    with open(f"{check}/Makefile", encoding="utf-8") as file:
        lines = [found for found in LINE.findall(file.read()) if "$(TMP)" not in found[2]]
    for number, program, words in lines:
        program = program.replace("$(SCOTCHBINDIR)", "../../bin")
        words = re.sub(r"\$\(TMPDIR\)/\S+", "/dev/null", words).split()
        name = " ".join([program.rpartition("/")[2], *(word.rpartition("/")[2] for word in words if word != "/dev/null")])
        yield Case(name, check, [program, *words], RANKS[number], environment=environment)
    for graph in ("m16x16", "m16x16_b100000"):
        script = (f'$RZ_LAUNCH ../../bin/dgscat -c data/{graph}.grf rz-{graph}_%r.grf && '
                  f'$RZ_LAUNCH ../../bin/dggath -c rz-{graph}_%r.grf rz-{graph}.grf && cmp data/{graph}.grf rz-{graph}.grf')
        yield Case(f"dgscat dggath {graph}", check, ["sh", "-c", script], 3, environment=environment, launcher="RZ_LAUNCH")


SUITE = Suite(
    name="scotch", package="scotch", what="PT-Scotch, its `make ptcheck`", cases=lambda folder: list(cases(folder)),
    needs="flex bison zlib1g-dev",
    build="""
cd src
sed 's/^\\(CC[SPD]\\)\\t.*/\\1 = mpicc/' Make.inc/Makefile.inc.x86-64_pc_linux2 >Makefile.inc
make ptscotch
cd check
make CFLAGS="$(make -s --eval='rz-print: ; @echo $(CFLAGS)' rz-print) -DSCOTCH_PTSCOTCH" CC=mpicc SCOTCHLIBS='-lptscotch -lscotch -lptscotcherr' \\
    $(sed -n 's/^\\(test_scotch_dgraph_[a-z]*\\)\\t.*/\\1/p' Makefile)
""")
