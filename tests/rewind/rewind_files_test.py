#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that a program reads and writes under rzrun --rewind: as they were at the snapshot, or not read. A kill point decides when a rank
fails.

    rewind_files_test.py [CLASS ...]     RZ_TEST_BUILD names the build tree
"""
import os
import re
import signal

import rewind_jobs as jobs
from rewind_jobs import BY_CALL, EVERY, rig


class Changed(jobs.State):
    CHANGED = ("stored:2@1", {}), ("image-saved:3@1", {"nodes": 1}), ("piece-came:6@1", {"nodes": 3}), ("file-kept:30@1", {})


class Small(Changed):
    """Those of up to 32 KiB, and what was appended to any: they are restored."""

    def test_a_file_has_another_name(self):
        self.restored("rotated")

    def test_a_file_is_emptied(self):
        # What an image has open may be gone: then all go back further. At any step, and with the node.
        for time in (290, 300, 310):
            with self.subTest(time):
                self.restored("emptied", "cut", kill=None, options=(*BY_CALL, "--inject", f"kill rank 1 at {time}ms"))
        self.restored("emptied", "cut", kill="piece-came:6@1", nodes=3)

    def test_closed_files(self):
        # A rank fails while the next snapshot is made, between two, and with its node; and once more while it is restored.
        # And while it creates a file.
        for kill, how in (("image-saved:2@1", {}), ("stored:3@1", {"nodes": 1}), ("piece-came:6@1", {"nodes": 3}),
                          ("file-wanted:80@1", {}), ("file-made:80@1", {}), ("file-made:81@1", {"nodes": 1})):
            with self.subTest(kill):
                self.restored("appended", "together", "created", "by-pointer", kill=kill, **how)
        with self.subTest("any moment"):
            self.restored("appended", "together", "created", kill="image-files@2", options=(*EVERY, "--inject", "kill rank 1 at 300ms"))

    def test_a_small_file_is_changed(self):
        # What the program reads again is what it had at the snapshot. In each way a rank fails while a snapshot is made, between two,
        # with its node, and while it changes a file.
        for kill, how in self.CHANGED:
            with self.subTest(kill):
                self.restored("counter", "in-place", "replaced", "kept-open", kill=kill, **how)
        for mode in ("counter", "in-place", "replaced", "kept-open"):
            with self.subTest("any moment", mode=mode):
                self.restored(mode, kill=None, options=(*BY_CALL, "--inject", "kill rank 1 at 300ms"))

    def test_a_small_file_that_is_open_is_cut(self):
        # It is right, and not from its start: what it had is kept.
        for kill, how in self.CHANGED[:3]:
            with self.subTest(kill):
                result = self.restored("kept-cut", kill=kill, **how)
                self.assertNotIn("cannot continue", result.err)

    def test_a_silent_node_writes_no_more(self):
        # Its daemon is stopped, and it is excluded. Its processes would write on beside those in their place.
        report, steps = f"{self.folder}/report", 3
        process = self.start("--oversubscribe", "-n", "3", "--nodes", "3", "--timeout", rig.HANG, "--report", report, *BY_CALL, self.PROGRAM,
                             "alone", str(steps), self.own_folder())
        daemons = self.await_members(3, 3)["rzd"]

        def says(event):
            with open(report) as events:
                return f"event={event} " in events.read()
        self.assertTrue(rig.await_true(lambda: says("committed")))
        os.kill(daemons[-1].pid, signal.SIGSTOP)
        self.assertTrue(rig.await_true(lambda: says("restored")))
        result = self.finish(process)
        self.assertEqual((result.status, result.out.count(f"alone: {100 * steps} lines of {100 * steps}\n")), (0, 3), result.out + result.err)

    def test_all_ranks_lose_their_node(self):
        # No other node has ranks. All know the marks, and those restore that get the ranks.
        modes = "turned-large,appended,counter,in-place,created,together"
        for time in (150, 330):
            with self.subTest(time):
                folder = self.own_folder()
                result = self.job("--ppn", "3", self.PROGRAM, modes, "200", folder, ranks=3, nodes=3,
                                  options=(*EVERY, "--inject", f"kill node 0 at {time}ms"))
                undisturbed = self.job(self.PROGRAM, modes, "200", self.own_folder(), options=(), ranks=3, nodes=1)
                self.assertEqual(sorted(result.out.splitlines()), sorted(undisturbed.out.splitlines()))

    def test_what_is_written_again_is_read(self):
        # It is newer than the restoration. What was appended is cut off, and is no news.
        for kill, how in self.CHANGED[:3]:
            with self.subTest(kill):
                result = self.restored("rewritten", "removed-small", kill=kill, **how)
                self.assertNotIn("cannot continue", result.err)

    def test_a_mapped_file_is_overwritten(self):
        for kill, how in self.CHANGED[:3]:
            with self.subTest(kill):
                self.restored("mapped-over", kill=kill, **how)

    def test_a_file_is_read_while_others_write(self):
        # By the name of the one that is read there may be another one. A log is the same one while it grows.
        for kill, how in self.CHANGED[:3]:
            with self.subTest(kill):
                self.restored("read-on", kill=kill, **how)
                result = self.restored("followed", kill=kill, **how)
                self.assertNotIn("cannot continue", result.err)


class Large(Changed):
    """They get their names back. What is rolled back is not read."""

    def test_a_large_file_is_changed(self):
        # It is right, from its start if it was read after the snapshot.
        for kill, how in self.CHANGED:
            with self.subTest(kill):
                self.restored("large", kill=kill, **how)
                self.restored("moved", kill=kill, **how)

    def test_what_was_undone_is_not_read(self):
        # A large file that is read and written in place, or by several ranks, is not restored: the images are given up that would lead to it.
        modes = ("kept-large", "kept-stream", "opened-large", "grown-large", "by-fdopen", "read-elsewhere", "others", "replaced-large")
        for kill, how in self.CHANGED[:3]:
            for mode in modes:
                with self.subTest(kill, mode=mode):
                    self.restored(mode, kill=kill, **how)
        said = ""
        for mode in modes:
            with self.subTest("any moment", mode=mode):
                said += self.restored(mode, kill=None, options=(*BY_CALL, "--inject", "kill rank 1 at 300ms")).err
        self.assertIn("the program would read what was written to ", said)  # not all are killed just after a snapshot

    def test_large_files_get_their_names_back(self):
        # Whoever has renamed them. A rank also fails between two renames, of which the others know nothing.
        for kill, how in (*self.CHANGED[:3], ("file-kept:7@0", {}), ("file-kept:30@0", {"nodes": 3})):
            for mode in ("turned-large", "turned-elsewhere", "claimed-large", "made-alone"):
                with self.subTest(kill, mode=mode):
                    result = self.restored(mode, kill=kill, **how)
                    self.assertNotIn("cannot continue", result.err)
            with self.subTest(kill, mode="kept-before"):
                self.restored("kept-before", kill=kill, **how)  # from its start if its image has a name that is missing now
        for mode in ("turned-large", "turned-elsewhere", "kept-before", "made-alone"):
            with self.subTest("any moment", mode=mode):
                result = self.restored(mode, kill=None, options=(*BY_CALL, "--inject", "kill rank 1 at 300ms"))
                if mode == "made-alone":  # also what it makes as soon as it is saved
                    self.assertNotIn("cannot continue", result.err)

    def test_two_nodes_fail_that_know_the_files(self):
        said = ""
        kills = ("--inject", "kill node 1 at 300ms", "--inject", "kill node 2 at 300ms")
        for mode in ("counter", "turned-large", "large"):
            with self.subTest(mode):
                said += self.restored(mode, kill=None, nodes=4, options=(*BY_CALL, "--rewind-scheme", "rs:2+2", *kills)).err
        self.assertIn("nodes 1 and 2 have failed, and no other one knows which files were written to after it", said)

    def test_several_ranks_give_names(self):
        # In turn: nobody knows which of them was the last one.
        said = ""
        for kill, how in (("file-kept:7@0", {}), ("file-kept:30@0", {"nodes": 3}), ("file-kept:30@1", {"nodes": 1}), ("piece-came:6@1", {"nodes": 3})):
            with self.subTest(kill):
                said += self.restored("passed-on", kill=kill, **how).err
        with self.subTest("any moment"):
            said += self.restored("passed-on", kill=None, options=(*BY_CALL, "--inject", "kill rank 1 at 300ms")).err
        self.assertRegex(said, "ranks 0 and 1 have renamed files from or to .*/passed-. after it")

    def test_a_large_file_is_missing(self):
        # Another rank has taken its name away. The program fails by itself, soon after a snapshot.
        said = self.restored("read-before", kill=None, options=BY_CALL).err
        self.assertRegex(said, "the program would use the name .*/read-before, which another file may have had at it")


class Again(Changed):
    """The whole job goes on from files, or begins at its start."""

    def begun_again(self, modes, *options, steps=1000):
        """The whole job ends some time after its fifth snapshot, and goes on from files."""
        files, folder, report = (*EVERY, "--checkpoint-dir", self.own_folder()), self.own_folder(), f"{self.folder}/report"
        line = ("--oversubscribe", "-n", "3", "--nodes", "2", "--timeout", rig.HANG, *files)
        program = (self.PROGRAM, modes, str(steps), folder)
        process = self.start(*line, "--report", report, *program)

        def saved():
            with open(report) as events:
                return "value=5 " in "".join(line for line in events if "event=committed " in line)
        self.assertTrue(rig.await_true(lambda: os.path.exists(report) and saved()))
        process.kill()
        self.finish(process)
        self.assertTrue(rig.await_true(lambda: not any(self.members().values())))
        again = f"{self.folder}/again"
        result = self.runs(*line, "--restart", "--report", again, *options, *program)
        with open(again) as events:
            result.events = events.read()
        # It is protected again: an image of this run follows.
        self.assertTrue("the job starts from its beginning" in result.err or self.count(result, "committed") > 0, result.events)
        undisturbed = self.job(self.PROGRAM, modes, str(steps), self.own_folder(), options=(), ranks=3, nodes=1)
        self.assertEqual(sorted(result.out.splitlines()), sorted(undisturbed.out.splitlines()))
        return result.err

    def test_files_of_a_job_that_begins_again(self):
        # An image has what was in small files that its process reads and changes. What was in others is not read.
        self.assertNotIn("cannot continue", self.begun_again("counter,in-place,replaced,removed-small,appended"))
        # And a rank fails once more.
        self.assertNotIn("cannot continue", self.begun_again("counter,in-place,appended", "--inject", "kill rank 1 at 300ms"))
        said = self.begun_again("opened-large")
        self.assertIn("the program would read what was written to", said)
        self.assertIn("the job starts from its beginning", said)

    def test_names_of_a_job_that_begins_again(self):
        # Nobody has marks of renames. What has another name than at the snapshot is not used.
        said = "".join(self.begun_again(mode) for mode in ("turned-large", "turned-elsewhere", "passed-on", "kept-before"))
        self.assertIn("the program would use the name ", said)
        self.begun_again("claimed-large")
        # What is written anew in each step, and gets the name of the one before, is.
        self.assertNotIn("cannot continue", self.begun_again("written-anew"))

    def test_files_of_the_failed_run_are_named(self):
        # Each rank names its own, though both nodes know those of all ranks.
        result = self.job(self.PROGRAM, "appended", "30", self.own_folder(), kill="image-saved:1@1", options=BY_CALL, ranks=3)
        said = re.findall(r"rank (\d+) begins again from its start, and \S+/(\S+) has what was appended to it before; so it is with 1 more\n",
                          result.err)
        self.assertEqual(sorted(said), [(str(rank), f"stdio.{rank}") for rank in range(3)], result.err)

    def test_a_log_with_the_name_of_another_one_is_named(self):
        # The images are of no use, and by then the log is no file that the program has made: its content was written back in a new one.
        # On a busy machine the third snapshot may begin before there was a step after the second one, whose image is of use then.
        for _ in range(20):
            result = self.restored("log-rotated", kill="image-saved:3@1")
            if "the program starts from its beginning" in result.err:
                break
        self.assertIn("the program starts from its beginning", result.err)
        said = re.findall(r"rank (\d+) begins again from its start, and \S+/log\.(\d+) has what was appended to it before", result.err)
        self.assertEqual(sorted(said), [(str(rank), str(rank)) for rank in range(3)], result.err)


rig.main()
