#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints in files: what is kept, what is removed, which job may continue from it, and the effect of damaged files."""
import os
import shutil
import subprocess

import checkpoint_rig
from checkpoint_rig import CHECKPOINT, fails, rig


class Life(checkpoint_rig.CheckpointTest):
    def test_nothing_is_left_after_success(self):
        self.solves()
        self.assertEqual(os.listdir(self.directory), [])

    def test_with_buddies_too(self):
        self.solves(scheme="buddy")
        self.assertEqual(os.listdir(self.directory), [])

    def test_they_stay_where_they_are_wanted(self):
        self.solves("--keep-checkpoints", "--checkpoint-keep", "3")
        self.assertIn(list(self.committed()), ([6, 7, 8], [7, 8, 9]))
        self.assertEqual(self.unfinished(), [])

    def test_a_later_job_goes_on(self):
        newest = max(self.leaves_checkpoints())
        self.solves("--restart")
        self.assertEqual(self.restored(), {newest})
        self.assertTrue(self.from_files())
        self.assertEqual(os.listdir(self.directory), [])

    def test_on_fewer_and_on_more_nodes(self):
        newest = max(self.leaves_checkpoints())
        copy = f"{self.folder}/copy"
        shutil.copytree(self.directory, copy)
        for nodes in (1, 5):
            shutil.rmtree(self.directory)
            shutil.copytree(copy, self.directory)
            self.solves("--restart", nodes=nodes)
            self.assertEqual(self.restored(), {newest})

    def test_and_back_to_there_until_it_has_more(self):
        """A process fails before the first checkpoint of the new run: all go back to what they began from."""
        newest = max(self.leaves_checkpoints())
        for scheme in ("file", "buddy"):
            result = self.solves("--restart", "--keep-checkpoints", environment=fails("send:3@1"), scheme=scheme)
            self.assertNotIn("restarts", result.err)
            again = [event for event in self.events("restored") if event["epoch"] == "2"]
            self.assertEqual({event["value"] for event in again}, {str(newest)})
            self.assertEqual(len(again), checkpoint_rig.RANKS)
            newest = max(self.committed())

    def test_numbers_go_on(self):
        newest = max(self.leaves_checkpoints())
        self.solves("--restart", "--keep-checkpoints")
        self.assertEqual(self.restored(), {newest})
        # Checkpoints are taken at iterations 4, 8, ... 36: the last one is the ninth, however often the job began. No process
        # waits for it.
        self.assertIn(max(self.committed()), (8, 9))

    def test_what_a_killed_writer_left_is_cleared_up(self):
        found = self.leaves_checkpoints()
        newest = max(found)
        beside = found[newest].replace(f"generation-{newest}", f"generation-{newest + 1}")
        shutil.copytree(found[newest], beside, dirs_exist_ok=True)
        os.remove(f"{beside}/committed")
        shutil.copy(f"{beside}/piece-0", f"{beside}/piece-0.0.part")
        self.solves("--restart", "--keep-checkpoints")
        self.assertEqual(self.restored(), {newest}, "what has no mark is not used")
        self.assertEqual(self.unfinished(), [])

    def test_without_slots_it_ends_and_a_later_job_goes_on(self):
        """Node 1 fails when it is about to write its sixth piece, and slots are limits."""
        result = self.run_it("-n", "4", "--host", "localhost:2,localhost:2", *checkpoint_rig.PATIENCE, "--checkpoint", "file",
                             "--checkpoint-dir", self.directory, *self.program(), environment=fails("file-begin:6@1"))
        self.assertEqual(result.status, rig.NO_SLOTS, result.err)
        self.assertIn("4 ranks do not fit into the 2 slots of the nodes that are left", result.err)
        self.assertIn(f"checkpoints are in {self.job}: --restart continues from them", result.err)
        newest = max(self.committed())
        self.solves("--restart")
        self.assertEqual(self.restored(), {newest})

    def test_nothing_to_go_on_from_is_said(self):
        result = self.solves("--restart")
        self.assertIn("holds no checkpoint to continue from: the job starts from its beginning", result.err)


class Begun_anew(checkpoint_rig.CheckpointTest):
    """Node 1, of rank 2, fails when it is about to write its sixth piece."""
    FAILURE = fails("file-begin:6@1")

    def test_after_the_failure_of_a_process(self):
        self.solves("--on-failure", "restart", environment=fails("send:150@1"))
        self.assertTrue(self.restored() and self.from_files())

    def test_after_the_failure_of_a_node(self):
        result = self.solves("--on-failure", "restart", environment=self.FAILURE)
        self.assertIn("the job restarts (1)", result.err)
        self.assertTrue(self.restored() and self.restored() <= {4, 5}, self.restored())
        self.assertTrue(self.from_files())

    def test_more_than_once(self):
        """Rank 1 fails in each attempt after as much work, so that they must build on one another."""
        calm = self.runs("-n", str(checkpoint_rig.RANKS), *checkpoint_rig.PATIENCE, *self.program(iterations=120)).out
        result = self.runs(*self.line("--on-failure", "restart", "-x", "RZ_KILL_AT=send:150@1"), *self.program(iterations=120))
        self.assertEqual(result.out, calm)
        self.assertIn("the job restarts (2)", result.err)

    def test_with_buddies_files_are_a_little_behind(self):
        self.solves("--on-failure", "restart", environment=fails("file-begin:8@1"), scheme="buddy")
        self.assertTrue(self.restored() and self.from_files())

    def test_two_generations_behind_at_most(self):
        """The node fails that writes the marks, anywhere or when it is about to write one, and its pieces are in no other's memory."""
        for options, point in ((["--inject", "kill node 0 at iteration 20"], None), ([], "mark-begin:16@0"), ([], "mark-synced:17@0")):
            result = self.runs(*self.line(*options, scheme="memory"), *self.program(iterations=60, every=1),
                               environment=fails(point) if point else None)
            self.assertIn("the job restarts (1)", result.err)
            begun = min(int(event["at_ns"]) for event in self.events("restored") if event["value"] != "0")
            newest = max(int(event["value"]) for event in self.events("committed") if int(event["at_ns"]) < begun)
            self.assertLessEqual({newest - at for at in self.restored()}, {0, 1, 2})

    def test_in_place_when_memory_is_lost(self):
        """MPIX_Reinit, and the pieces of a node were nowhere else in memory."""
        result = self.solves(environment=fails("file-begin:8@1"), scheme="memory")
        self.assertIn("the checkpoints in memory are lost with the nodes that held them; the job restarts (1)", result.err)
        self.assertTrue(self.restored() and self.from_files())

    def test_from_the_beginning_when_nothing_is_left(self):
        """The node fails that has all there is in memory, before the first generation has its mark."""
        result = self.solves(environment=fails("mark-synced:1@0"), scheme="memory")
        self.assertIn("holds no checkpoint to continue from: the job starts from its beginning", result.err)
        self.assertEqual(self.restored(), set())

    def test_not_when_it_is_not(self):
        result = self.solves(environment=self.FAILURE, scheme="buddy")
        self.assertNotIn("restarts", result.err)
        self.assertNotIn("file", self.sources().values())
        result = self.solves(environment=self.FAILURE)
        self.assertNotIn("restarts", result.err)
        self.assertEqual(self.sources()["2"], "file", "its owner is another node now")
        self.assertEqual(self.sources()["0"], "node", "a rank with its piece in memory needs no file")

    def sources(self):
        return {event["rank"]: event["note"] for event in self.events("restored") if event["epoch"] != "1"}


class Refused(checkpoint_rig.CheckpointTest):
    def refused(self, words, *options, status=CHECKPOINT, **kind):
        result = self.fails(status, *options, **kind)
        self.assertIn(words, result.err)
        self.assertNotIn("residual", result.out)

    def test_an_earlier_job_is_not_overwritten(self):
        found = self.leaves_checkpoints()
        self.refused(f"holds checkpoints of an earlier job, up to generation {max(found)}: use --restart")
        self.assertEqual(self.committed(), found)
        self.solves("--checkpoint-name", "another")
        self.assertEqual(self.committed(), found)

    def test_another_number_of_ranks(self):
        found = self.leaves_checkpoints()
        self.refused("is of a job of 4 ranks, this one has 3", "--restart", ranks=3)
        self.assertEqual(self.committed(), found)

    def test_what_another_user_could_have_written(self):
        """Memory, registers and stack of a restored process come from there."""
        found = self.leaves_checkpoints()
        newest = found[max(found)]
        for path in (self.job, os.path.dirname(newest), newest, f"{newest}/committed"):
            mode = os.stat(path).st_mode
            self.assertEqual(mode & 0o077, 0, path)
            os.chmod(path, mode | 0o002)
            self.refused(f"others may write to {path}", "--restart")
            os.chmod(path, mode)
        os.chmod(self.directory, 0o777)
        self.refused(f"everyone may write to {self.directory}", "--restart")
        os.chmod(self.directory, 0o1777)
        self.solves("--restart", "--keep-checkpoints")

    def test_what_belongs_to_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to be another user")
        found = self.leaves_checkpoints()
        for path in (self.job, found[max(found)]):
            os.chown(path, 65534, 65534)
            self.refused(f"{path} belongs to uid 65534, not to uid 0", "--restart")
            os.chown(path, 0, 0)
        os.chmod(self.directory, 0o1777)
        os.chown(self.directory, 65534, 65534)
        self.refused("this user could exchange what is in it", "--restart")

    def test_links_that_another_user_has_laid(self):
        """They lead to files of the user who runs the job: these stay as they are."""
        if os.geteuid() != 0:
            self.skipTest("needs root, to be another user")
        victim = self.file("victim", "precious")
        os.makedirs(f"{self.job}/run-1/generation-1.1")
        os.chmod(self.directory, 0o1777)
        for rank in range(checkpoint_rig.RANKS):
            for node in range(checkpoint_rig.NODES):
                os.symlink(victim, f"{self.job}/run-1/generation-1.1/piece-{rank}.{node}.part")
        for folder, folders, files in os.walk(self.job):
            for name in (folder, *(f"{folder}/{name}" for name in folders + files)):
                os.lchown(name, 65534, 65534)
        self.refused(f"{self.job} belongs to uid 65534, not to uid 0")
        shutil.rmtree(self.job)
        os.symlink(self.folder, self.job)
        os.lchown(self.job, 65534, 65534)
        self.refused(f"{self.job} is a symbolic link")
        with open(victim) as file:
            self.assertEqual(file.read(), "precious")

    def test_links_on_the_way(self):
        """One of the user's own leads to the folder, one of another user does not."""
        there, link = self.directory, f"{self.folder}/link"
        os.mkdir(there)
        os.symlink(there, link)
        self.directory = link
        self.solves("--keep-checkpoints")
        self.assertTrue(os.listdir(there))
        if os.geteuid() == 0:
            os.lchown(link, 65534, 65534)
            self.refused(f"{link} belongs to uid 65534", "--restart")

    def test_two_jobs_at_a_time(self):
        one = self.start(*self.line("--inject", "stop rank 1 at iteration 9 for 30s"), *self.program())
        self.assertTrue(rig.await_true(lambda: os.path.exists(f"{self.job}/lock")))
        self.refused("another rzrun keeps its checkpoints in")
        one.terminate()
        self.finish(one)

    def test_lines_that_make_no_sense(self):
        for line, words in ((["--checkpoint", "file"], "--checkpoint file needs a directory"),
                            (["--restart"], "--restart needs a directory"),
                            (["--keep-checkpoints"], "--keep-checkpoints needs a directory"),
                            (["--checkpoint-dir", self.directory, "--no-ft"], "with --no-ft checkpoints are not kept"),
                            (["--checkpoint-dir", self.directory, "--detach"], "rzrun must stay"),
                            (["--checkpoint-dir", self.directory, "--checkpoint-keep", "1"], "from 2 to 1000"),
                            (["--checkpoint-dir", self.directory, "--checkpoint-name", "a/b"], "letters, digits")):
            result = self.runs("-n", "1", *line, *self.program(), status=rig.BAD_LINE)
            self.assertIn(words, result.err)

    def test_directories_that_cannot_be(self):
        self.directory = self.file("file", "")
        self.refused(f"--checkpoint-dir: cannot make the directory {self.directory}: Not a directory")
        self.directory = f"{self.folder}/no/such"
        self.refused("No such file or directory")


class Damaged(checkpoint_rig.CheckpointTest):
    def change(self, path, at):
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))

    def test_an_older_generation_is_used(self):
        kinds = (("is missing", lambda folder, _: os.remove(f"{folder}/piece-2")),
                 ("is truncated", lambda folder, _: os.truncate(f"{folder}/piece-3", 1000)),
                 ("does not match its checksum", lambda folder, _: self.change(f"{folder}/piece-1", 3000)),
                 ("its header is wrong", lambda folder, _: self.change(f"{folder}/piece-1", 70)),
                 ("does not belong here", lambda folder, older: shutil.copy(f"{older}/piece-0", f"{folder}/piece-0")),
                 ("not what its name says", lambda folder, _: shutil.copy(f"{folder}/piece-1", f"{folder}/piece-0")),
                 ("committed is truncated", lambda folder, _: os.truncate(f"{folder}/committed", 10)))
        found = self.leaves_checkpoints()
        older, newest = sorted(found)[-2:]
        copy = f"{self.folder}/copy"
        shutil.copytree(self.directory, copy)
        for words, damage in kinds:
            shutil.rmtree(self.directory)
            shutil.copytree(copy, self.directory)
            damage(found[newest], found[older])
            result = self.solves("--restart")
            self.assertIn(f"generation {newest} cannot be used: {self.directory}", result.err)
            self.assertIn(words, result.err)
            self.assertIn("trying an older one", result.err)
            self.assertEqual(self.restored(), {older}, words)

    def test_all_of_them(self):
        found = self.leaves_checkpoints()
        for folder in found.values():
            os.remove(f"{folder}/piece-2")
        result = self.fails(CHECKPOINT, "--restart")
        self.assertIn(f"--restart: no generation in {self.job} is complete; remove it to start from the beginning", result.err)
        self.assertNotIn("--restart continues from them", result.err)
        self.assertEqual(self.committed(), found)

    def test_while_the_job_runs(self):
        """The replacement of a failed node finds its file damaged: the job rolls back to an older one, by itself."""
        program, self.job = rig.program("checkpoint_job"), f"{self.directory}/checkpoint_job"
        calm = self.runs(*self.line(), program, "20", "20", "true").out
        # The newest three are damaged: their piece of the last rank. The mark is written last: it is not written again.
        damage = f"cd {self.job}/run-1; n=0; until test -e generation-12.1/committed; do " \
                 "n=$((n + 1)); test $n -lt 3000 || exit 1; sleep 0.01; done; for g in 10 11 12; do " \
                 "printf x | dd of=generation-$g.1/piece-3 bs=1 seek=300 conv=notrunc status=none; done"
        result = self.runs(*self.line("--checkpoint-keep", "6", "--verbose"), program, "20", "12", damage)
        self.assertEqual(result.out, calm, result.err)
        self.assertIn("is damaged: its content does not match its checksum; the job restarts (1)", result.err)
        self.assertIn("trying an older one", result.err)
        self.assertEqual(self.restored(), {9})

    def test_an_old_generation_that_cannot_be_removed(self):
        """Newer generations are as safe as before: the job continues, reports it once, and reports what is left at the end."""
        program, self.job = rig.program("checkpoint_job"), f"{self.directory}/checkpoint_job"
        calm = self.runs(*self.line(), program, "20", "20", "true").out
        # A file of ours that is none, in each generation but those that are just removed.
        in_the_way = f"cd {self.job}/run-1 && for g in generation-*; do mkdir $g/piece-7; done; ls -d generation-*/piece-7 > {os.devnull}"
        result = self.runs(*self.line(), program, "20", "12", in_the_way)
        self.assertEqual(result.out, calm, result.err)
        self.assertEqual(result.err.count("an old checkpoint stays: cannot remove "), 1, result.err)
        self.assertIn("rzrun: some checkpoint files could not be removed: cannot remove ", result.err)

    def test_a_directory_that_vanishes(self):
        """With buddies the job continues, and reports it once; with files alone it ends."""
        for scheme, status in (("buddy", 0), ("file", CHECKPOINT)):
            job = self.start(*self.line(scheme=scheme), *self.program(iterations=400))
            self.assertTrue(rig.await_true(self.committed))
            os.rename(self.directory, f"{self.folder}/away-{scheme}")
            result = self.finish(job)
            self.assertEqual(result.status, status, result.err)
            said = result.err.count("the job continues, with checkpoints in memory alone")
            self.assertTrue(0 < said <= checkpoint_rig.NODES if scheme == "buddy" else said == 0, result.err)
            if scheme == "file":
                self.assertIn("No such file or directory", result.err)

    def test_a_full_disk(self):
        disk = f"{self.folder}/disk"
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "none", disk], capture_output=True).returncode != 0:
            self.skipTest("no leave to mount a small file system")
        try:
            self.directory = f"{disk}/checkpoints"
            self.job = f"{self.directory}/hpccg"
            result = self.fails(CHECKPOINT)
            self.assertIn("No space left on device", result.err)
            self.assertIn("with --checkpoint file nothing else keeps checkpoints", result.err)
            shutil.rmtree(self.directory)
            result = self.solves(scheme="buddy")
            self.assertIn("the job continues, with checkpoints in memory alone", result.err)
            self.assertEqual(os.listdir(self.directory), [])
        finally:
            subprocess.run(["umount", "-l", disk], check=True)


if __name__ == "__main__":
    rig.main()
