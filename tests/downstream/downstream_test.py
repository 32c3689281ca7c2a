#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/downstream: which tests it runs, what it makes of their ends, and a suite of our own from its sources to the report."""
import os
import sys
import unittest

BUILD, SOURCE = os.path.abspath(os.environ["RZ_TEST_BUILD"]), os.path.abspath(os.environ["RZ_TEST_SOURCE"])
sys.path[:0] = [f"{SOURCE}/tools", f"{SOURCE}/lab", f"{SOURCE}/tests"]
import scratch  # noqa: E402
from downstream import report, suite, systems, trial  # noqa: E402
from downstream.suites import SUITES, mpich  # noqa: E402
from patience import HANG_S  # noqa: E402
from rzbench.run import Interrupt, Run  # noqa: E402

INTERRUPT = Interrupt()
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int n, char **words)
{
    int rank, size, sum, all, mine = 1;
    MPI_Init(&n, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (all = 0; all < 5; all++) {
        usleep(50000);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        printf(strcmp(words[1], "wrong") ? "right %d\n" : "sum is wrong\n", sum);
    }
    MPI_Finalize();
    return strcmp(words[1], "wrong") == 0;
}
"""
OWN = suite.Suite(
    name="own", package="own", what="a suite of this test", build="mpicc -o own own.c\n! mpicc -o broken broken.c",
    cases=lambda folder: [suite.Case(f"sum {how}", folder, ["./own", how], 3, HANG_S) for how in ("right", "wrong", "known")] +
    [suite.Case("absent", folder, ["./broken"], 2, HANG_S)],
    expected=[suite.Expected("sum known", "of no suite"), suite.Expected("sum w.*", "only there", settings=("least",))])


def ended(output, status=0):
    run = Run(output)
    run.status = status
    return run


class Decisions(unittest.TestCase):
    def test_draws(self):
        """The same seed draws the same tests; a part is a part; faults and nodes need ranks."""
        cases = [suite.Case(f"case {i}", "/", ["./x"], 4) for i in range(1000)]
        drawn = [case.name for case in cases if trial.is_drawn(case, trial.SETTINGS["least"], 7, 0.2)]
        self.assertEqual(drawn, [case.name for case in cases if trial.is_drawn(case, trial.SETTINGS["least"], 7, 0.2)])
        self.assertNotEqual(drawn, [case.name for case in cases if trial.is_drawn(case, trial.SETTINGS["least"], 8, 0.2)])
        self.assertTrue(120 < len(drawn) < 280, len(drawn))
        self.assertTrue(all(trial.is_drawn(case, trial.SETTINGS["three"], 7, 0.2) for case in cases))
        self.assertFalse(trial.is_drawn(suite.Case("alone", "/", ["./x"], 1), trial.SETTINGS["three"], 7, 1))
        self.assertFalse(trial.is_drawn(suite.Case("fixed", "/", ["./x"], 4, rewind=False), trial.SETTINGS["faults"], 7, 1))

    def test_a_fault_after_the_end(self):
        """There is no recovery, since all have left. The record has no order: the nodes speak one after the other."""
        run, left, killed, recovery = "event=run epoch=1", "event=left epoch=1 node=0", "event=injected rank=2", "event=recovery way=reinit"
        self.assertIs(trial.is_struck("\n".join([run, killed, recovery, left])), True)
        self.assertIs(trial.is_struck("\n".join([run, killed])), True)
        self.assertIs(trial.is_struck("\n".join([run, left, killed])), None)
        self.assertIs(trial.is_struck("\n".join([run, killed, left])), None)
        self.assertIs(trial.is_struck("\n".join([run, left])), False)

    def test_expectations(self):
        expected = suite.Expected("a/.*", "why", settings=("one",))
        self.assertTrue(expected.covers("a/b 4", "one"))
        self.assertFalse(expected.covers("a/b 4", "three"))
        self.assertFalse(expected.covers("b/a/b 4", "one"))

    def test_first_error(self):
        self.assertEqual(suite.first_error("checking\nx.c:3:1: error: no such thing\nmake: *** [x] Error 1"), "x.c:3:1: error: no such thing")
        self.assertEqual(suite.first_error("nothing\nof that kind"), "of that kind")

    def test_lists_of_mpich(self):
        """Lines of a testlist, with their options, once each; lists of folders below it; what it takes for success."""
        folder = scratch.folder("downstream-test-")
        os.makedirs(f"{folder}/coll")
        with open(f"{folder}/testlist", "w", encoding="utf-8") as out:
            out.write("coll\nsend 2 # a comment\nsend 2\nsend 4 arg=-x arg=y env=A=b timeLimit=900\nends 2 resultTest=TestStatus\n")
        with open(f"{folder}/coll/testlist", "w", encoding="utf-8") as out:
            out.write("abort 3 mpiexecarg=-disable-auto-cleanup resultTest=TestStatusNoErrors\n")
        cases = {case.name: case for case in mpich.cases(folder)}
        self.assertEqual(list(cases), ["coll/abort 3", "send 2", "send 4 -x y A=b", "ends 2"])
        self.assertEqual(cases["send 4 -x y A=b"].words, ["./send", "-x", "y"])
        self.assertEqual((cases["send 4 -x y A=b"].environment, cases["send 4 -x y A=b"].limit_s), ({"A": "b"}, 900))
        self.assertEqual((cases["coll/abort 3"].folder, cases["coll/abort 3"].options), (f"{folder}/coll", ["--on-failure", "continue"]))
        os.makedirs(f"{folder}/ft")  # which the list of folders does not name
        with open(f"{folder}/ft/testlist", "w", encoding="utf-8") as out:
            out.write("".join(f"{name} resultTest=TestStatusNoErrors timeLimit=10\n" for name in ("die 4", "shrink 8")) + "revoke_nofail 2\n")
        cases = {case.name: case for case in mpich.cases(folder)}
        self.assertEqual(list(cases)[-3:], ["ft/die 4", "ft/shrink 8", "ft/revoke_nofail 2"])
        self.assertFalse(cases["ft/revoke_nofail 2"].rewind, "it is about failures that the program itself handles")
        self.assertEqual((cases["ft/die 4"].wrong, cases["ft/shrink 8"].wrong), (mpich.no_errors_any_status, mpich.no_errors_acknowledged))
        self.assertEqual(cases["ft/die 4"].environment, {}, "a hang is no success, whatever status the launcher then ends it with")
        for wrong, output, status, good in ((mpich.no_errors, " No Errors\n", 0, True), (mpich.no_errors, " No Errors\n", 1, False),
                                            (mpich.no_errors, "Found 2 errors\n", 0, False), (mpich.no_errors, " No Errors\nbut\n", 0, False),
                                            (mpich.no_errors, "", 0, False), (mpich.no_errors_any_status, "x\n No errors\n", 9, True),
                                            (mpich.no_errors_any_status, "No errors\n", 0, False),
                                            (mpich.no_errors_acknowledged, "x\n No Errors\n", 0, True),
                                            (mpich.no_errors_acknowledged, " No Errors\n", 1, False), (mpich.no_errors_acknowledged, "", 0, False),
                                            (mpich.must_fail, "", 0, False), (mpich.must_fail, "", 3, True)):
            self.assertEqual(wrong(ended(output, status)) == "", good, (wrong, output, status))

    def test_reasons(self):
        """An expected failure has a reason that can be read."""
        for one in SUITES.values():
            for expected in one.expected:
                self.assertGreater(len(expected.reason.split()), 5, expected)


class Whole(unittest.TestCase):
    def test_own_suite(self):
        work = scratch.folder("downstream-test-")
        os.makedirs(f"{work}/sources")
        for name, text in (("own.c", PROGRAM), ("broken.c", "int main(void) { return broken(); }\n")):
            with open(f"{work}/sources/{name}", "w", encoding="utf-8") as out:
                out.write(text)
        system = systems.installed(BUILD, work)
        folder = suite.built(OWN, system, f"{work}/sources", work, f"{work}/builds", HANG_S)
        before = os.stat(f"{folder}/own").st_mtime_ns
        self.assertEqual(suite.built(OWN, system, f"{work}/sources", work, f"{work}/builds", HANG_S), folder)
        self.assertEqual(os.stat(f"{folder}/own").st_mtime_ns, before, "it was built again without a reason")
        results = report.Results(f"{work}/results", OWN)
        runner, cases = trial.Runner(system, INTERRUPT, 1, "abc"), {case.name: case for case in OWN.cases(folder)}
        results.version, results.cases = "1-1", len(cases)
        for name in ("one", "three", "faults", "least", "least3", "odd"):
            done = runner.run(cases["sum right"], trial.SETTINGS[name])
            self.assertEqual(done.outcome, trial.PASSED, done)
            results.add(done)
        for name, case in (("one", "sum wrong"), ("least", "sum wrong"), ("one", "sum known")):
            results.add(runner.run(cases[case], trial.SETTINGS[name]))
        self.assertIn("broken", suite.why_missing(OWN, system, f"{work}/builds", cases["absent"]))
        results.keep()
        again = report.Results(f"{work}/results", OWN)
        self.assertEqual([(one["case"], one["setting"]) for one in again.open_failures()], [("sum wrong", "one")])
        self.assertEqual(report.cell(again, again.of("one")), "1, 1 failed, 1 passed against expectation")
        self.assertEqual(report.cell(again, again.of("least")), "1, 1 expected")
        self.assertEqual((len(results.new_failures()), again.new_failures()), (1, []), "a run is judged by its own trials, not by kept ones")
        self.assertEqual(report.summary(again), "own: nothing was run")
        self.assertIn("1 node: 1, 1 failed", report.summary(results))
        report.write(f"{work}/report.md", [again], "command", "machine")
        with open(f"{work}/report.md", encoding="utf-8") as file:
            text = file.read()
        for words in ("| own | 1-1 | 4 | 1, 1 failed", "* `sum wrong`, 1 node: failed: exit status 1", "| `sum wrong` | only there |"):
            self.assertIn(words, text)

    def test_not_built(self):
        work = scratch.folder("downstream-test-")
        os.makedirs(f"{work}/sources")
        system = systems.installed(BUILD, work)
        for one, why in ((suite.Suite("bad", "bad", "", "cc -c nothing.c", list), "nothing.c"),
                         (suite.Suite("poor", "poor", "", "true", list, needs="rz-no-such-package"), "rz-no-such-package")):
            with self.assertRaises(suite.NotBuilt) as caught:
                suite.built(one, system, f"{work}/sources", work, f"{work}/builds", HANG_S)
            self.assertIn(why, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
