#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/tidy and words: it refuses each old word, in comments, names and documents, and nothing else."""
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader

TIDY = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../../tools/tidy")

PART, PAGE = os.path.join("src", "part", "part.c"), os.path.join("docs", "page.md")

# A line for each rule, in the order of the table, with the word that must be found in it.
BAD = [
    ("the laws of the house", "house"), ("name a room of protocol", "a room"), ("static struct council *of(struct rz_comm *comm);", "council"),
    ("Each member brings a motion.", "motion"), ("static void tell_of_ruling(void);", "ruling"),
    ("the deposit of a decision", "deposit"), ("the letter of the parents is not whole", "letter"),
    ("struct rig_letter queue[8];", "letter"), ("a parcel for rank 3", "parcel"), ("GET_EP_ADDRESS, card, OPEN_NET", "card"),
    ("dropped at the door", "door"), ("the plane of collectives", "plane"), ('did("stillborn%u ", slot);', "stillborn"),
    ("a newcomer among them", "newcomer"), ("the inviter has failed", "inviter"), ("the daemon is the judge", "judge"),
    ("accused by three others", "accused"), ('set(one, "verdict", state);', "verdict"),
    ("carries out errands", "errands"), ("static void say_farewell(void);", "farewell"), ("mpicc and its kin", "kin"), ("the how-manieth time", "how-manieth"),
    ("a hosted core", "hosted"), ("a spoilt piece", "spoilt"), ("a piece_filed", "_filed"),
    ("a process who fails", "process who"), ("the rank whom it watches", "rank whom"),
]
GOOD = [
    "a process whose parent has failed", "no room for another one", "there is room that it needs", "the heartbeat of their observer", "its kind",
    "1 to 63 letters, digits and . _ - +", "the same Greek letters", "the data plane", "a deadline, a deadlock, a doorbell", "discard it",
    "a user who starts a job", "a dead process", "nobody waits for it", "the node died",
    "readers, who know MPI", "the wildcard of a receive", "the deadline is over", "a process that fails dies out of lists",
    "#include <mpi.h>", "studies of detectors", "the body of a loop",
]


class TidyWords(unittest.TestCase):
    def setUp(self):
        self.here = os.getcwd()
        self.root = tempfile.mkdtemp()
        os.makedirs(f"{self.root}/tools")
        shutil.copy(TIDY, f"{self.root}/tools/tidy")
        loader = SourceFileLoader("tidy_under_test", f"{self.root}/tools/tidy")
        self.tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy_under_test", loader))
        loader.exec_module(self.tidy)

    def tearDown(self):
        os.chdir(self.here)
        shutil.rmtree(self.root)

    def breaches(self, path, *lines):
        self.tidy.breaches.clear()
        self.tidy.check_old_words(path, list(lines))
        return list(self.tidy.breaches)

    def test_each_old_word_is_refused(self):
        for line, word in BAD:
            found = self.breaches(PART, line)
            self.assertEqual(len(found), 1, line)
            self.assertTrue(found[0].startswith(f"{PART}:1: '{word}': "), found[0])

    def test_each_rule_has_a_line_here(self):
        for pattern, _, _ in self.tidy.OLD_WORDS:
            self.assertTrue(any(re.search(pattern, line) for line, _ in BAD), pattern)

    def test_other_words_are_not(self):
        self.assertEqual(self.breaches(PART, *GOOD), [])

    def test_the_line_is_told(self):
        found = self.breaches(PAGE, "good", "its kin", "good", "its kin")
        self.assertEqual([line.split(": ")[0] for line in found], [f"{PAGE}:2", f"{PAGE}:4"])

    def test_other_senses_are_excepted_where_they_are_meant(self):
        line = "The last line is the verdict."
        self.assertEqual(self.breaches("docs/benchmarks.md", line), [])
        self.assertEqual(len(self.breaches("docs/status.md", line)), 1)
        self.assertEqual(self.breaches("apps/lulesh/lulesh_node.c", "forces and motion"), [])
        self.assertEqual(len(self.breaches("apps/comd/comd.c", "forces and motion")), 1)

    def test_each_exception_has_a_reason(self):
        for pattern, instead, exceptions in self.tidy.OLD_WORDS:
            self.assertTrue(instead, pattern)
            self.assertTrue(all(reason for _, _, reason in exceptions), pattern)

    def test_reports_and_drawings_are_left_as_they_are(self):
        for path in ("docs/reports/cluster.md", "docs/figures/compare.svg", "tools/tidy"):
            self.assertEqual(self.breaches(path, "somebody was accused"), [])

    def test_the_whole_of_tidy_refuses_a_bad_tree(self):
        os.makedirs(f"{self.root}/docs/decisions")
        open(f"{self.root}/docs/decisions/README.md", "x").close()
        with open(f"{self.root}/{PAGE}", "w") as file:
            file.write("# A page\n\nA process who fails.\n")
        self.tidy.breaches.clear()
        self.tidy.check_all("no-build")
        self.assertEqual([found for found in self.tidy.breaches if found.startswith("docs/")],
                         [f"{PAGE}:3: 'process who': that, which"])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
