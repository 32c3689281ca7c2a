#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What rzbench computes: intervals, claims, the verdict; what it reads from records and programs; and how it ends commands."""
import math
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest

BUILD, SOURCE = os.environ["RZ_TEST_BUILD"], os.environ["RZ_TEST_SOURCE"]
sys.path[:0] = [f"{SOURCE}/lab", f"{SOURCE}/tools", f"{SOURCE}/tests"]
from patience import HANG_S  # noqa: E402
from rzbench import files, layout, messages, peers, proxies, records, rewind_memory, rewind_run, run, tune  # noqa: E402
from rzbench.bench import Bench  # noqa: E402
from rzbench.claims import EXCUSED, HOLDS, NOT_MEASURED, WITHIN, Claims  # noqa: E402
from rzbench.plot import script, curves_of  # noqa: E402
from rzbench.table import Interval, Samples, Table, t95  # noqa: E402


class Intervals(unittest.TestCase):
    def test_quantiles(self):
        """Tabulated values; the table and the expansion meet without a step."""
        self.assertTrue(math.isnan(t95(0)))
        for freedom, value, within in ((1, 12.706, 1e-3), (9, 2.262, 1e-3), (20, 2.086, 1e-3), (21, 2.0796, 5e-4), (30, 2.0423, 5e-4),
                                       (60, 2.0003, 5e-4), (1000000, 1.95996, 1e-4)):
            self.assertAlmostEqual(t95(freedom), value, delta=within)
        for freedom in range(2, 100):
            self.assertLess(t95(freedom), t95(freedom - 1))

    def test_intervals(self):
        three = Samples([10, math.nan, 12, 14, math.inf]).interval()
        self.assertEqual(three.n, 3)
        self.assertAlmostEqual((three.low + three.high) / 2, 12, delta=1e-9)
        self.assertAlmostEqual((three.high - three.low) / 2, 4.3027 * 2 / math.sqrt(3), delta=1e-3)  # two degrees of freedom, s = 2
        self.assertEqual(Interval(3, 12, 7, 17).text(), "12.0 (7.00..17.0)")
        one = Samples([10]).interval()
        self.assertEqual((one.n, one.median, one.text()), (1, 10, "10.0"))
        self.assertTrue(math.isnan(one.high))
        self.assertEqual(Samples().interval().text(), "-")

    def test_ratios(self):
        """Repetition by repetition: one that the other lacks does not count."""
        ratio = Samples([20, 30, math.nan, 100]).over(Samples([10, 10, 10])).interval()
        self.assertEqual(ratio.n, 2)
        self.assertAlmostEqual(ratio.median, 2.5, delta=1e-9)
        self.assertAlmostEqual((ratio.low + ratio.high) / 2, 2.5, delta=1e-9)


class Verdicts(unittest.TestCase):
    SEVEN, NONE, CHANCE, SLOWER = Interval(10, 7, 6, 8), Interval(), Interval(3, 0.9, 0.75, 1.15), Interval(10, 0.9, 0.85, 0.95)

    def test_it_holds(self):
        claims = Claims()
        self.assertEqual(claims.verdict(), ("verdict: nothing was measured (0 of 0)", False))
        claims.least("six times", 6, self.NONE)
        self.assertFalse(claims.verdict()[1])
        claims.least("six times", 6, self.SEVEN)
        claims.most("fifty", 50, self.SEVEN, " ms")
        claims.not_less("not slower", 1, self.CHANCE)
        claims.all("runs", 4, 4)
        self.assertEqual(claims.verdict(), ("verdict: holds (4 of 4; 1 not measured)", True))
        self.assertEqual([claim.holds for claim in claims], [NOT_MEASURED, HOLDS, HOLDS, WITHIN, HOLDS])  # the fourth not by its median
        self.assertEqual(claims[2].measured, "7.00 (6.00..8.00) ms, n = 10")
        claims.least("eight times", 8, self.SEVEN)
        self.assertEqual(claims.verdict(), ("verdict: does not hold (4 of 5; 1 not measured)", False))

    def test_it_does_not_hold(self):
        claims = Claims()
        claims.not_less("not slower", 1, self.SLOWER)
        claims.all("runs", 3, 4)
        claims.most("six", 6, self.SEVEN)
        self.assertEqual(claims.verdict(), ("verdict: does not hold (0 of 3)", False))
        claims.least("eight times", 8, self.SEVEN)
        claims.excuse("it cannot")
        self.assertEqual(claims.verdict(), ("verdict: does not hold (0 of 3; 1 excused)", False))

    def test_excuses(self):
        claims = Claims()
        claims.excuse("there is none")
        claims.least("six times", 6, self.SEVEN)
        claims.excuse("it need not be")
        claims.least("eight times", 8, self.SEVEN)
        claims.excuse("it cannot")
        self.assertEqual(claims.verdict(), ("verdict: holds (1 of 1; 1 excused)", True))
        self.assertEqual([(claim.holds, claim.why) for claim in claims], [(HOLDS, ""), (EXCUSED, "it cannot")])
        self.assertEqual(claims[1].measured, "7.00 (6.00..8.00), n = 10")
        claims.all("none was run", 0, 0)
        self.assertEqual(claims[2].holds, NOT_MEASURED)

    def test_claims_of_rows_stand_in_the_table(self):
        claims, table = Claims(), Table("name", "Title", "what", "us", "ratios")
        for row, ours, theirs in (("a", 3, 2), ("b", 2, 4), ("c", 9, 10)):
            for repetition in range(2):
                table.cell(row, "ours").put(repetition, ours + repetition)
                table.cell(row, "theirs").put(repetition, theirs + repetition)
        for row, interval in (("a", self.SEVEN), ("b", Interval(2, 0.5, 0.4, 0.6))):
            claims.most(f"{row} over theirs", 1, interval, of=(table, row, "over theirs"))
        claims.all("runs", 4, 4)
        self.assertEqual(table.markdown().split("\n")[1:-1], [
            "### Title (n = 2)", "", "| what | ours | theirs | over theirs: at most 1 |", "|---|---|---|---|",
            "| a | 3.50 [3.00..4.00] | 2.50 [2.00..3.00] | **7.00 (6.00..8.00) (n=10)** |",
            "| b | 2.50 [2.00..3.00] | 4.50 [4.00..5.00] | 0.500 (0.400..0.600) |", "| c | 9.50 [9.00..10.0] | 10.5 [10.0..11.0] | - |"])
        self.assertEqual((claims.markdown(), claims.verdict()[0]), ("\nAlso asked: runs, all: 4 of 4, holds.\n", "verdict: does not hold (2 of 3)"))


class Layout(unittest.TestCase):
    def test_a_column_that_says_one_thing_goes_above_the_table(self):
        rows = [["a", "1", "0 [0..0]", "-", "3"], ["b", "2", "0 [0..0]", "-", "3"]]
        self.assertEqual(layout.grid("Title", ["what", "x", "y", "z", "n"], rows),
                         "\n### Title (n = 3)\n\nIn all rows: y: 0 [0..0]; z: -.\n\n| what | x |\n|---|---|\n| a | 1 |\n| b | 2 |\n")
        self.assertEqual(layout.grid("Title", ["what", "x", "n"], [["a", "1", "3"]]), "\n### Title (n = 3)\n\n| what | x |\n|---|---|\n| a | 1 |\n")
        self.assertEqual(layout.grid("Title", ["what", "x", "n"], [["a", "1", "3"], ["b", "1", "2"]]),
                         "\n### Title\n\nIn all rows: x: 1.\n\n| what | n |\n|---|---|\n| a | 3 |\n| b | 2 |\n")
        self.assertEqual(layout.grid("Title", ["what", "x", "n"], [["a", "1", "3"], ["b", "1", "3"]]).count("| x |"), 1)

    def test_no_command_is_told_twice(self):
        commands, told = layout.Commands(), []
        for ranks in (2, 4):
            told.append(commands.lines([f"rzrun -n {ranks} --nodes 1 a.rhizome --ms 50 --pin 0,1".split(),
                                        f"mpirun --mca btl vader --mca x 0 -n {ranks} a.openmpi --ms 50 --pin 0,1".split()]))
        told.append(commands.lines(["rzrun -n 2 b.rhizome 1 2 3 4".split(), "mpirun --mca btl vader --mca x 0 -n 2 b.openmpi 1 2 3 4".split()]))
        self.assertEqual(told, [f"\n{layout.EXPLAINED}\n\n    rzrun -n 2 --nodes 1 a.rhizome --ms 50 --pin 0,1\n"
                                "    (1) mpirun --mca btl vader --mca x 0 -n 2 a.openmpi ...\n", "",
                                "\n    rzrun -n 2 b.rhizome 1 2 3 4\n    (1) -n 2 b.openmpi ...\n"])


class Peers(unittest.TestCase):
    @staticmethod
    def table(**columns):
        table = Table("name", "", "")
        for column, values in columns.items():
            for repetition, value in enumerate(values):
                table.cell("row", {"ours": "Rhizome", "openmpi": "Open MPI", "mpich": "MPICH"}[column]).put(repetition, value)
        return table

    def test_the_one_with_the_better_median(self):
        table = self.table(openmpi=[2, 4, 6, math.inf], mpich=[3, 1, 2])
        self.assertEqual(peers.better_peer(table, "row").values, [3, 1, 2])
        self.assertEqual(peers.better_peer(table, "row", max, late_s=60).values, [2, 4, 6, 60])  # it took at least that long
        self.assertEqual(peers.better_peer(self.table(openmpi=[7, 7, 7]), "row").values, [7, 7, 7])
        self.assertEqual(peers.better_peer(self.table(openmpi=[math.inf] * 3, mpich=[9]), "row").values, [9])
        self.assertEqual(peers.better_peer(self.table(), "row").values, [])

    def test_claims_are_of_that(self):
        bench = types.SimpleNamespace(claims=Claims())
        peers.at_most(bench, self.table(ours=[1, 1]), "row", 1, "alone")
        self.assertEqual(bench.claims, [])
        table = self.table(ours=[3, 3], openmpi=[2, 2], mpich=[4, 4])
        peers.at_most(bench, table, "row", 1.5, "time")
        peers.at_least(bench, table, "row", 1, "rate")
        self.assertEqual([claim.holds for claim in bench.claims], [HOLDS, "**does not hold**"])

    def test_growth_with_the_queue(self):
        table = Table("rate", "", "")
        for n, rate in ((1000, 4.0), (10000, 1.0)):
            table.cell(messages.row_of("reverse", n), "Rhizome").put(0, rate)
        self.assertEqual(messages.growth(table, "reverse").values, [4.0])

    def test_the_file_system_of_a_folder(self):
        with tempfile.NamedTemporaryFile("w") as mounts:
            mounts.write("/dev/a / ext4 rw 0 0\ntmpfs /nowhere tmpfs rw 0 0\nx /nowhere/more xfs rw 0 0\ntmpfs /nowhere/more tmpfs rw 0 0\n")
            mounts.flush()
            found = [files.type_at(path, mounts.name) for path in ("/nowhereelse/x", "/nowhere/x", "/nowhere/more/x", "/nowhere")]
        self.assertEqual(found, ["ext4", "tmpfs", "tmpfs", "tmpfs"])

    def test_a_box_of_ranks(self):
        self.assertEqual(" ".join(proxies.comd(8, 5)), "-i 2 -j 2 -k 2 -x 10 -y 10 -z 10")

    def test_a_peer_that_fails_or_is_late_is_shown_and_not_run_again(self):
        options = types.SimpleNamespace(quick=False, limit=HANG_S, repetitions=2)
        out = types.SimpleNamespace(failure=None, write=lambda text: None)
        bench, table, ran = Bench(options, "/", "/", "/", run.Interrupt(), (out, None, None)), Table("name", "", ""), []
        programs = {"Rhizome": "exit 0", "Open MPI": "exit 1", "MPICH": "exec sleep 1000"}
        bench.warn = lambda text: None

        def command(case):
            ran.append(case)
            return ["sh", "-c", programs[case[1]] if case[0] > 4 or case[1] == "Rhizome" else "exit 0"]

        def take(case, result):
            return [(table, str(case[0]), case[1], 1.0 if result.good() else None)]
        peers.in_turns(bench, (2, 2), [(n, system) for n in (4, 8, 16) for system in ("Rhizome", "Open MPI")], command, take, HANG_S)
        peers.in_turns(bench, (2, 2), [(32, "MPICH"), (64, "MPICH")], command, take, 0.1)
        self.assertEqual([ran.count((n, "Open MPI")) for n in (4, 8, 16)], [2, 1, 0])
        self.assertEqual([ran.count((n, "MPICH")) for n in (32, 64)], [1, 0])
        self.assertEqual([table.at(str(n), "Rhizome").values for n in (4, 8, 16)], [[1.0, 1.0]] * 3)
        self.assertEqual((table.at("8", "Open MPI").text(False, 2), table.at("32", "MPICH").text(False, 2)), ("failed", "run > 0 s"))
        self.assertEqual((bench.tally.runs, bench.tally.failed), (6, 0))  # those of ours alone

    def test_what_a_peer_leaves_in_shared_memory_goes_with_it(self):
        make, name = f"{SOURCE}/lab/bench/peers/peer_apart.sh", f"/dev/shm/rzbench-test-{os.getpid()}"
        if subprocess.run([make, "true"], capture_output=True, timeout=HANG_S).returncode:
            self.skipTest("this system gives no namespaces")
        done = subprocess.run([make, "sh", "-c", f"echo left > {name}; cat {name}; exit 3"], capture_output=True, text=True, timeout=HANG_S)
        self.assertEqual((done.returncode, done.stdout, os.path.exists(name)), (3, "left\n", False), done.stderr)

    def test_nodes_for_a_peer_are_apart_and_go_with_the_command(self):
        make = f"{SOURCE}/lab/bench/peers/peer_nodes.sh"
        links = sorted(os.listdir("/sys/class/net"))
        if subprocess.run([make, "1", "true"], capture_output=True, timeout=HANG_S).returncode:
            self.skipTest("this system gives no networks of their own")
        done = subprocess.run([make, "2", "sh", "-c", f"for n in n1 n2; do {make} --agent $n 'hostname; ip -br address show dev eth0'; done"],
                              capture_output=True, text=True, timeout=HANG_S)
        self.assertEqual(re.findall(r"n\d$|10\.79\.0\.\d+", done.stdout, re.M), ["n1", "10.79.0.1", "n2", "10.79.0.2"], done.stderr)
        self.assertEqual(sorted(os.listdir("/sys/class/net")), links)


class Reading(unittest.TestCase):
    def test_reports(self):
        record = ("event=run epoch=1\n"
                  "event=recovery way=reinit epoch=2 detect_ms=0.5 whole_ms=6.5\n"
                  "event=recovery way=reinit epoch=3 start_ms=4.25 whole_ms=9.5\n"
                  "event=exit status=0 detect_ms=7\n")
        self.assertEqual(records.of_last_recovery(record, "whole_ms"), 9.5)  # of the last one
        self.assertEqual(records.of_last_recovery(record, "start_ms"), 4.25)
        self.assertIsNone(records.of_last_recovery(record, "detect_ms"))  # not of another line
        self.assertIsNone(records.of_last_recovery("event=run\n", "whole_ms"))

    def test_times(self):
        line = "total 1.5 application 1.25 checkpoint 0.125 restore 0 recovery 0.0625"
        self.assertEqual([records.of_times(line, word) for word in ("total", "recovery", "restore")], [1.5, 0.0625, 0])
        self.assertIsNone(records.of_times(line, "rest"))
        self.assertIsNone(records.of_times("", "total"))

    def test_dimensions(self):
        for ranks, greatest in ((1, 1), (4, 2), (8, 2), (64, 4), (27, 3), (128, 8), (256, 8), (12, 3), (7, 7)):
            n = records.dimensions(ranks)
            self.assertEqual((math.prod(n), max(n)), (ranks, greatest))


class Rewinding(unittest.TestCase):
    def test_what_was_lost(self):
        """Of pairs of the same repetition. What --rewind takes without a snapshot does not become less with fewer of them."""
        table = Table("run", "", "", columns=(rewind_run.TIME,))
        for way, times in {rewind_run.PLAIN: [10, 20], rewind_run.IDLE: [10.1, math.nan], rewind_run.SNAPSHOTS: [10.7, 22], rewind_run.FILES: [13, 24]}.items():
            for repetition, value in enumerate(times):
                table.put(way, rewind_run.TIME, repetition, value)
        for way, n in ((rewind_run.SNAPSHOTS, 2), (rewind_run.FILES, 4)):
            table.put(way, rewind_run.TAKEN, 0, n)
            table.put(way, rewind_run.TAKEN, 1, n)
        for way, ranks, daemons in ((rewind_run.PLAIN, 19.9, 0.1), (rewind_run.IDLE, 20.2, 0.2), (rewind_run.SNAPSHOTS, 20.4, 1.2)):
            table.put(way, rewind_run.RANKS_CPU, 0, ranks)
            table.put(way, rewind_run.DAEMONS_CPU, 0, daemons)
        rewind_run.derive(table, 2)
        for way, column, wanted in ((rewind_run.IDLE, rewind_run.LOST, [1]), (rewind_run.SNAPSHOTS, rewind_run.LOST, [7, 10]),
                                    (rewind_run.SNAPSHOTS, rewind_run.EACH, [300]), (rewind_run.SNAPSHOTS, rewind_run.SPARSE, [1 + 1]),
                                    (rewind_run.SNAPSHOTS, rewind_run.MORE_CPU, [1 + 2]),
                                    (rewind_run.FILES, rewind_run.EACH, [750, 1000]), (rewind_run.FILES, rewind_run.SPARSE, [2.5, 1000 / 300])):
            found = list(filter(math.isfinite, table.at(way, column).values))
            self.assertEqual(len(found), len(wanted), (way, column))
            for value, expected in zip(found, wanted):
                self.assertAlmostEqual(value, expected, msg=(way, column))

    def test_snapshots_are_counted_once(self):
        work = types.SimpleNamespace(intervals=8)
        record = "".join(f"event=committed node={node} value={value} note=8 bytes\n" for value in range(1, 6) for node in (0, 1))
        self.assertEqual([rewind_run.Work.taken(work, way, record) for way in (rewind_run.SNAPSHOTS, rewind_run.IDLE, rewind_run.FILES)], [3, 3, 8])
        self.assertEqual(rewind_run.Work.taken(work, rewind_run.SNAPSHOTS, "event=run\n"), 0)

    def test_what_is_held(self):
        """Also where it is not mapped; not what was never written."""
        here, images = os.getpid(), rewind_memory.IMAGE
        before = sum(n for name, n in rewind_memory.shared_bytes([here]).values() if name.startswith(images))
        memory = os.memfd_create("rz-image")
        again = os.dup(memory)
        os.truncate(memory, 8 << 20)
        os.pwrite(memory, bytes(2 << 20), 1 << 20)
        found = [n for name, n in rewind_memory.shared_bytes([here, here]).values() if name.startswith(images)]
        os.close(memory)
        os.close(again)
        self.assertEqual(sum(found) - before, 2 << 20)
        self.assertGreater(rewind_memory.own_kib(here), 1000)

    def test_a_job_is_looked_at_when_all_nodes_have_two_snapshots(self):
        with tempfile.NamedTemporaryFile("w") as record:
            held = rewind_memory.Held(record.name, "/no/such/folder")
            for node in range(rewind_memory.NODES):
                record.write(f"event=node node={node} daemon={100 + node}\nevent=committed node={node} value=1\n")
            for node in range(rewind_memory.NODES):
                record.flush()
                self.assertEqual(held.daemons(), [])
                record.write(f"event=committed node={node} value=2\n")
            record.flush()
            self.assertEqual(held.daemons(), [100, 101, 102, 103])


class Tuning(unittest.TestCase):
    """The rules for RZ_COLL."""

    @staticmethod
    def table(rows):
        table = Table("tune", "", "")
        for row, medians in rows.items():
            for algorithm, value in medians.items():
                table.cell(row, algorithm).put(0, value)
        return table

    def test_no_rules_where_the_library_chooses_well(self):
        self.assertEqual(list(tune.rules([(2, self.table({"bcast 8": {"-": 1.0, "tree": 1.0, "flat": 0.97}}))])), [])

    def test_another_algorithm_must_be_clearly_faster(self):
        table = self.table({"bcast 65536": {"-": 9.0, "tree": 9.0, "flat": 5.0}, "bcast 8": {"-": 1.0, "tree": 1.0, "flat": 2.0},
                            "bcast 512": {"-": 2.0, "tree": 2.0, "flat": 1.95}, "reduce 8": {"-": 1.0, "tree": 1.0}})
        self.assertEqual(list(tune.rules([(4, table)])), ["bcast=tree@8:4", "bcast=flat@65536:4"])

    def test_more_ranks_come_later_and_all_parts_count(self):
        two, eight = self.table({"allgather 8": {"-": 2.0, "ring": 1.0}}), self.table({"allgather 8": {"-": 1.0, "ring": 2.0, "bruck": 1.0}})
        self.assertEqual(list(tune.rules([(2, two), (8, eight)])), ["allgather=ring@16:2", "allgather=bruck@64:8"])


class Plots(unittest.TestCase):
    def test_no_title_becomes_a_command(self):
        table = Table("name", "a\"; system 'x'\n1", "rows", "ms", "plot log log2")
        table.put("8", "a column", 0, 2.0)
        text = script(table, curves_of(table), "svg")
        self.assertIn(r'set title "a\042\073 system \047x\047 1" noenhanced', text)
        self.assertIn("8 2 2 2\n", text)


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.interrupt = run.Interrupt()

    def does(self, *words, limit_s=HANG_S, watch=None):
        return run.run_command(words, limit_s, math.inf, self.interrupt, watch)

    def test_what_it_printed_and_its_end(self):
        result = self.does("sh", "-c", "echo value 12.5 us; echo value 13; exit 3")
        self.assertEqual((result.end, result.status, result.value("value"), len(result.lines("value"))), (run.ENDED, 3, 12.5, 2))
        self.assertEqual(self.does("/no/such/program").status, run.NOT_FOUND)
        self.assertEqual(self.does("sleep", "1000", limit_s=0.1).end, run.OVER)

    def test_nothing_is_left_behind(self):
        """Whatever leaves its process group and ignores SIGTERM, when the command is ended as when it ends, which that does not hold up."""
        for last, end in (("exit 0", run.ENDED), ("exec sleep 1000", run.ENOUGH)):
            with tempfile.TemporaryDirectory() as folder:
                os.mkfifo(f"{folder}/started")
                stays = f"setsid sh -c 'trap \"\" TERM; echo $$ > {folder}/started; exec sleep 1000' & read pid < {folder}/started"
                result = self.does("sh", "-c", f"{stays}; echo pid $pid; echo > {folder}/all; {last}",
                                   watch=lambda: os.path.exists(f"{folder}/all") and end == run.ENOUGH)
            self.assertEqual(result.end, end)
            self.assertFalse(os.path.exists(f"/proc/{result.value('pid'):.0f}"))


class CommandLine(unittest.TestCase):
    def rzbench(self, *words):
        return subprocess.run([f"{BUILD}/bin/rzbench", *words], capture_output=True, text=True, timeout=HANG_S)

    def test_manual_page_and_help_come_from_one_table(self):
        page, text = self.rzbench("--man").stdout, self.rzbench("--help").stdout
        with open(f"{BUILD}/share/man/man1/rzbench.1", encoding="utf-8") as installed:
            self.assertEqual(installed.read(), page)
        names = re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", text)
        self.assertGreater(len(names), 15)
        for name in names:
            self.assertIn(name.replace("-", "\\-"), page)

    def test_bad_input_gets_a_sentence(self):
        for words, says in (((), "say what to measure"), (("much",), "'much' cannot be measured"), (("mpi", "crowds"), "is no part of mpi"),
                            (("latency", "pair"), "one word too many"), (("all", "--repetitions", "65"), "whole number from 1 to 64"),
                            (("all", "--budget", "5"), "a time like 300s"), (("all", "--budget", "1s2h"), "a time like 300s"),
                            (("ulfm", "--ranks", "2,,4"), "numbers like 2,4,8"), (("mpi", "--baseline", "x"), "the path of a folder"),
                            (("all", "--pin", "1"), "two processors like"), (("all", "--csv", "/no/such/folder/x"), "cannot write")):
            with self.subTest(words=words):
                done = self.rzbench(*words)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
                self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
