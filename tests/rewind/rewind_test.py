#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzrun --rewind with programs that know nothing of failures: what is shown, what is refused, what a command line may be, and that nothing
is left behind. A kill point decides when a rank fails; a program that ends before is run again, for longer.

    rewind_test.py [CLASS ...]     RZ_TEST_BUILD names the build tree
"""
import os
import random
import re
import signal
import subprocess
import sys
import tempfile

import rewind_jobs as jobs
from rewind_jobs import BY_CALL, EVERY, Rewind, rig

OUTPUT, DIFFER, REFUSED = rig.program("rewind_output"), rig.program("rewind_differ"), rig.program("rewind_refused")
REINIT = rig.program("rewind_reinit")
NONE_FOR = {  # what a program has, and the words that say it
    "socket": "socket", "pipe": "pipe", "child": "child", "shared": "shared", "window": "a window exists", "file": "a file is open",
    "port": "a port is open", "name": "it has published a name",
}
HOLD = ("--rewind-output", "hold")


class Beginning(Rewind):
    def test_a_rank_fails_in_init(self):
        for kill in ("joined@0", "entering@1", "entered@2", "at-start@3", "start-told@0"):
            for nodes in (2, 4):
                with self.subTest(kill=kill, nodes=nodes):
                    result = self.job(OUTPUT, "20", kill=kill, nodes=nodes, options=BY_CALL)
                    self.assertIn("event=epoch epoch=2", result.events)
                    Output.lines(self, result, 20)

    def test_a_rank_fails_before_init(self):
        # Another one comes to MPI_Init late: the others wait for it, and then all begin again.
        script = ('if [ "$RZ_INCARNATION" = 1 ]; then [ "$RZ_RANK" != 2 ] || kill -9 $$; [ "$RZ_RANK" != 1 ] || sleep 0.5; fi; exec "$@"')
        result = self.job("sh", "-c", script, "sh", OUTPUT, "20", options=BY_CALL)
        self.assertIn("event=epoch epoch=2", result.events)
        Output.lines(self, result, 20)


    def test_a_rank_comes_back_late(self):
        # The others wait for it, and do not hang.
        script = '[ "$RZ_INCARNATION.$RZ_RANK" != 2.1 ] || sleep 5; exec "$@"'
        steps, result = self.killed(lambda steps: ("--hang-timeout", "3s", "--hang-report", "1s", "sh", "-c", script, "sh", OUTPUT, str(steps)))
        self.assertNotIn("hangs", result.err)
        self.assertRegex(result.err, r"ranks 0,2-3 wait [0-9.]+ s in a restoration")
        self.assertNotIn("epoch=3", result.events)


class Output(Rewind):
    def lines(self, result, steps, label=False, ranks=4):
        """The lines of each rank, in their order; and that of all streams none is missing, changed, or there twice."""
        for rank in range(ranks):
            begin = f"[{rank}] " if label else ""
            want = [f"{begin}rank {rank} {word} {step}" for step in range(steps) for word in ("out", "written")]
            got = [line for line in result.out.split("\n") if line.startswith(f"{begin}rank {rank} ") and not line.endswith("end")]
            self.assertEqual(got, want)
            want = [f"{begin}rank {rank} error {step}" for step in range(steps)]
            self.assertEqual([line for line in result.err.split("\n") if line.startswith(f"{begin}rank {rank} ")], want)
            self.assertEqual(result.out.count(f"{begin}rank {rank} end"), 1)
        self.assertEqual(result.out.count("begins\n"), ranks)

    def test_before_the_first_snapshot(self):
        # What a rank writes before MPI_Init, and at once behind it, comes before its daemon may have asked it anything.
        result = self.job(OUTPUT, "300", options=(*BY_CALL, "--inject", "kill rank 1 at 100ms"))
        self.lines(result, 300)

    def test_each_line_is_shown_once(self):
        steps, result = self.killed(lambda steps: (OUTPUT, str(steps)))
        self.lines(result, steps)

    def test_with_an_address_sanitizer(self):
        # It looks for leaks at the end of the restored process, and its own memory is in the image.
        if os.path.exists(rig.program("rewind_asan")):
            steps, result = self.killed(lambda steps: (rig.program("rewind_asan"), str(steps)))
            self.lines(result, steps)
            self.assertNotIn("LeakSanitizer: detected", result.err)

    def test_with_labels(self):
        steps, result = self.killed(lambda steps: (OUTPUT, str(steps)), options=(*EVERY, "--label"))
        self.lines(result, steps, label=True)

    def test_a_node_fails(self):
        # Its daemon has read what it showed; the end of what its ranks wrote is written again.
        steps, result = self.killed(lambda steps: (OUTPUT, str(steps)), kill="piece-came:6@1", nodes=3)
        self.lines(result, steps)

    def test_repeat_shows_all(self):
        steps, result = self.killed(lambda steps: (OUTPUT, str(steps)), options=(*EVERY, "--rewind-output", "repeat"))
        for rank in range(4):
            got = [int(step) for step in re.findall(rf"^rank {rank} out (\d+)$", result.out, re.MULTILINE)]
            self.assertEqual(sorted(set(got)), list(range(steps)))
            # They grow, and go back at most once: there was one failure.
            self.assertLessEqual(sum(a >= b for a, b in zip(got, got[1:])), 1)

    def test_hold_shows_each_line_once(self):
        steps, result = self.killed(lambda steps: (OUTPUT, str(steps)), options=(*EVERY, *HOLD, "--label"))
        self.lines(result, steps, label=True)

    def happened(self, result, steps):
        """What was shown is what the ranks remember that they wrote: nothing that was taken back, nothing twice."""
        for rank in range(4):
            shown = re.findall(rf"^rank {rank} step (\d+) in (\d+)(\.*)$", result.out, re.MULTILINE)
            self.assertTrue(all(len(dots) == int(process) % 7 for _, process, dots in shown))
            errors = re.findall(rf"^rank {rank} error (\d+) in (\d+)$", result.err, re.MULTILINE)
            want = re.findall(rf"^rank {rank} wrote (\d+) in (\d+) and (\d+)$", result.out, re.MULTILINE)
            self.assertEqual([int(step) for step, _, _ in want], list(range(steps)))
            self.assertEqual([(step, process) for step, process, _ in shown], [(step, process) for step, process, _ in want])
            self.assertEqual(errors, [(step, process) for step, _, process in want])
        self.assertEqual(len(result.out.splitlines()), 4 * (2 * steps + 1))

    def test_hold_shows_what_happened(self):
        for kill, nodes in (("stored:2@1", 2), ("image-saved:3@2", 2), ("piece-came:6@1", 3), ("restore-over@0", 2)):
            with self.subTest(kill):
                inject = ("--inject", "kill rank 3 at 300ms") if kill.startswith("restore") else ()
                steps, result = self.killed(lambda steps: (DIFFER, str(steps)), kill=kill, nodes=nodes, options=(*EVERY, *HOLD, *inject))
                self.happened(result, steps)

    def test_hold_before_the_first_snapshot(self):
        result = self.job(DIFFER, "300", options=(*BY_CALL, *HOLD, "--inject", "kill rank 1 at 100ms"))
        self.happened(result, 300)

    def test_hold_is_bounded(self):
        # Each rank writes 20 MB in a line for each, without a snapshot: what is too much is shown, and that is said.
        script = "import os; line = b'x' * 999 + b'\\n'; [os.write(1, line * 1000) for _ in range(20)]"
        result = self.job(sys.executable, "-c", script, options=(*BY_CALL, *HOLD))
        self.assertEqual(len(result.out), 4 * 20 * 1000000)
        self.assertEqual(result.err.count("more output than 64 MiB waits"), 1)

    def test_images_in_finalize(self):
        _, result = self.killed(lambda steps: (rig.program("rewind_early"), str(steps)), kill="stored:3@3")
        self.assertEqual(sorted(result.out.splitlines()), [f"rank {rank} ends" for rank in range(4)])

    def test_threads_access_files_together(self):
        result = self.job(rig.program("rewind_file_ops"), self.folder, "60", ranks=3, options=("--map-by", "node", "--rewind", "10ms"))
        self.assertEqual(result.out, "all right\n")

    def test_a_revocation_while_images_are_taken(self):
        for nodes in (1, 4):  # payloads that senders have withdrawn, messages that never left: no image waits for them
            result = self.job(rig.program("rewind_early"), "40", "revoke", nodes=nodes, options=("--with-ft", "mpi", "--rewind", "10ms"))
            self.assertEqual(sorted(result.out.splitlines()), [f"rank {rank} ends" for rank in range(4)])


class Pace(Rewind):
    """When snapshots begin and are over, as the daemon of rank 0 records it."""
    def times(self, result):
        begun, committed = [], []
        for line in result.events.splitlines():
            fields = dict(field.split("=", 1) for field in line.split(" note=")[0].split())
            if fields["event"] in ("snapshot", "committed") and fields["by"] == "0":
                {"snapshot": begun, "committed": committed}[fields["event"]].append(int(fields["at_ns"]))
        return begun, committed

    def test_half_of_the_time_is_the_programs(self):
        # Each takes longer than the 10 ms to the next one. The two times are written down a little apart: hence not 0.5.
        for steps in (25, 100, 400, 1600, 6400):
            begun, committed = self.times(self.job(rig.program("rewind_torture"), str(steps), "1", nodes=3, options=("--rewind", "10ms")))
            if len(committed) >= 5:
                break
        self.assertGreaterEqual(len(committed), 5)
        self.assertGreaterEqual(2 * len(committed), len(begun) - 1)  # ranks do not stop for one that must be refused
        disturbed = sum(min([at for at in committed if at > begin], default=begin) - begin for begin in begun[:-1])
        self.assertLess(disturbed, 0.6 * (begun[-1] - begun[0]))


class Refused(Rewind):
    def job(self, *line, options=BY_CALL, **how):
        return super().job(*line, options=options, **how)

    def sentences(self, result):
        return re.findall(r"no snapshot of rank \d+: .*", result.err)

    def test_the_program_runs_on(self):
        want = self.job(REFUSED, "nothing", "30", options=(), nodes=1).out
        for what, words in NONE_FOR.items():
            with self.subTest(what):
                result = self.job(REFUSED, what, "30", self.folder, nodes=1)
                said = self.sentences(result)
                self.assertEqual(len(said), 1, result.err)
                self.assertIn(words, said[0])
                self.assertEqual(self.count(result, "committed"), 0)
                self.assertEqual(result.out, want)

    def test_once_for_several_nodes(self):
        self.assertEqual(len(self.sentences(self.job(REFUSED, "pipe", "30", nodes=2))), 1)

    def test_or_abort(self):
        result = self.job(REFUSED, "child", "100000", options=(*BY_CALL, "--rewind-or-abort"), status=1)
        self.assertIn(NONE_FOR["child"], result.err)
        self.assertEqual(result.out, "")

    def test_begins_at_the_start_without_a_snapshot(self):
        for what in ("pipe", "forbid", "port", "name"):
            with self.subTest(what):
                result = self.job(REFUSED, what, "300", options=(*BY_CALL, "--inject", "kill rank 1 at 100ms"))
                self.assertEqual(result.out, self.job(REFUSED, "nothing", "300", options=()).out)
                self.assertEqual(self.count(result, "committed") + self.count(result, "restored"), 0)

    def test_forbidden_is_not_told(self):
        result = self.job(REFUSED, "forbid", "30")
        self.assertEqual((self.sentences(result), self.count(result, "committed")), ([], 0), result.err)

    def test_saved_when_it_can_be(self):
        # In the second half there is nothing that keeps it: no thread of the library, and no name at the daemons, either.
        for what in ("pipe", "window", "file", "port", "name"):
            with self.subTest(what):
                steps, result = self.killed(lambda steps, what=what: (REFUSED, f"later-{what}", str(steps), self.folder),
                                            options=BY_CALL)
                said = self.sentences(result)  # once in each epoch
                self.assertIn(len(said), (1, 2), result.err)
                self.assertTrue(all(NONE_FOR[what] in one for one in said), result.err)
                self.assertEqual(result.out, self.job(REFUSED, "nothing", str(steps), options=()).out)

    def test_windows_that_another_thread_makes(self):
        # The sentence is about them, whatever of them there is at that moment.
        for steps in (200, 1600, 6400):
            result = self.job(REFUSED, "later-windows", str(steps), ranks=2, options=EVERY)
            for said in self.sentences(result):
                self.assertRegex(said, "a window (exists|is being made) ")
            if self.count(result, "committed") > 0:
                break
        self.assertGreater(self.count(result, "committed"), 0, result.err)

    def test_connected_through_a_port_that_is_closed(self):
        steps, result = self.killed(lambda steps: (REFUSED, "connected", str(steps)), options=BY_CALL)
        self.assertEqual(result.out, self.job(REFUSED, "nothing", str(steps), options=()).out)

    def test_spawn(self):
        result = self.job(REFUSED, "spawn", "100", self.folder)
        self.assertEqual(result.err.count("no process can be started with --rewind, in any call of this job"), 4, result.err)
        self.assertGreater(self.count(result, "committed"), 0, result.events)

    def test_now(self):
        result = self.job(REFUSED, "nothing", "30")
        self.assertGreater(self.count(result, "committed"), 0, result.events)

    def test_excluded_memory_is_zero(self):
        steps, result = self.killed(lambda steps: (REFUSED, "exclude", str(steps)), options=BY_CALL)
        self.assertEqual(result.out, self.job(REFUSED, "nothing", str(steps), options=()).out + "4 computed again\n")

    def test_calls_do_nothing_without_rewind(self):
        for what in ("exclude", "forbid"):
            self.assertEqual(self.job(REFUSED, what, "30", options=()).out, self.job(REFUSED, "nothing", "30", options=()).out)


class Sessions(Rewind):
    PROGRAM = rig.program("rewind_session")

    def test_the_job_ends(self):
        for how in ("open", "over", "alone", "again"):
            with self.subTest(how):
                steps, result = self.killed(lambda steps, how=how: (self.PROGRAM, how, str(steps)))
                self.assertEqual(sorted(result.out.splitlines()), sorted(self.job(self.PROGRAM, how, str(steps), options=()).out.splitlines()))


class State(jobs.State):
    """Each kind of state that Linux keeps for a process (docs/process-state.md): restored, or refused in words."""
    REFUSED = {  # what the sentence says
        "pipe-on-output": "is no regular file, and not what rzrun gave",
        "socket": "socket:[", "pipe": "pipe:[", "epoll": "[eventpoll]", "eventfd": "[eventfd", "timerfd": "[timerfd]", "signalfd": "[signalfd]",
        "inotify": "inotify", "pidfd": "pidfd", "io_uring": "io_uring", "userfaultfd": "[userfaultfd]", "memfd": "memfd:state",
        "nameless-file": "has no name any more", "timer": "timer_create", "child": "child process", "child-without-signal": "child process",
        "child-with-memory": "child process", "shared-memory": "/dev/zero",
        "segment": "SYSV", "mapped-file": "/mapped", "removed-folder": "working directory", "several-locks": "several locks",
        "renamed-link": "does not lead to", "file-of-a-process": "a file of one process", "watched-folder": "when its folder changes",
        "file-limit": "ulimit -f", "all-descriptors": "ulimit -n", "securebits": "securebits", "no-new-code": "memory-deny-write-execute",
        "user": "Uid", "group": "Gid", "groups": "Groups", "session": "session or process group", "memory-errors": "what a memory error does",
        "lease": "lease", "seccomp": "Seccomp", "capabilities": "CapBnd", "namespace": "namespace (uts)", "root": "/proc cannot be read",
        "keyring": "keyring", "protection-keys": "protection keys", "segments": "modify_ldt", "all-signals": "(rt_sigtimedwait)",
        "own-rseq": "(rseq)", "sealed": "(mseal)", "time-stamps": "PR_SET_TSC",
        "thread-filter": "Seccomp", "thread-namespace": "namespace (uts)", "thread-folder": "working directory and a umask of its own",
        "thread-files": "descriptors of its own", "thread-user": "Uid", "thread-capabilities": "CapBnd", "thread-keyring": "keyring",
        "thread-securebits": "securebits", "thread-privileges": "no-new-privileges",
    }

    def test_streams(self):
        self.restored("streams")
        self.restored("numbers")

    def test_threads(self):
        # In the process that saved, and in another one on another node.
        for kill, nodes in (("stored:2@1", 2), ("piece-came:6@1", 3)):
            with self.subTest(kill):
                self.restored("threads", "signal-thread", "timed-wait", "owner-ends", kill=kill, nodes=nodes)

    def test_signals(self):
        self.restored("signals", "itimer")
        self.restored("sent")

    def test_properties(self):
        self.restored("properties", "registers", "stack", "deep", "locks", "files", "many-files", "process", "mappings", "thrown-away",
                      "guards", "grows-down", "advice", "huge-pages", "locked")

    def test_who_may_read_memory(self):
        """The processes of its node, also once another daemon has started it."""
        for kill, nodes in (("stored:2@1", 2), ("piece-came:6@1", 3)):
            with self.subTest(kill):
                self.killed(lambda steps: (rig.program("let_read"), "daemon", str(steps)), kill=kill, nodes=nodes, ranks=3)

    def test_the_page_names_each_mode(self):
        modes = subprocess.run([self.PROGRAM, "--modes"], capture_output=True, text=True, check=True).stdout.split()
        with open(f"{rig.SOURCE}/docs/process-state.md") as page:
            lines = [line.strip().strip("|").split("|") for line in page if line.startswith("| ") and not line.startswith("| kind")]
        named = set()
        for kind, what, test in lines:
            names = re.findall(r"`([^`]+)`", test)
            named.update(names)
            self.assertRegex(what, "^ (restored|harmless|refused|not seen)")
            self.assertLessEqual(set(names), set(modes), kind)
            self.assertTrue(names or not what.startswith(" restored"), kind)
        self.assertEqual(named, set(modes))

    def test_input(self):
        # Rank 0 reads on from where its image had read, or all of it again: from a pipe, and from a file.
        def line(steps):
            nonlocal data
            data = "".join(f"{step}\n" for step in range(steps)).encode() + b"rest\n"
            return self.PROGRAM, "input", str(steps), self.folder
        data = b""
        want = 'input: then "rest", end\n'
        for kill in ("stored:2@1", "stored:2@0"):
            with self.subTest(kill):
                steps, result = self.killed(line, kill=kill, ranks=3, data=lambda: data)
                self.assertEqual((result.out.count("steps"), result.out.count(want), result.out.count("has read")), (3, 1, 0), result.out)
        line(300)
        with open(self.file("input", data.decode()), "rb", buffering=0) as file:
            file.read(2)  # rzrun begins where it is
            result = self.job(self.PROGRAM, "input", "300", self.folder, kill="entered@1", options=BY_CALL, stdin=file)
        self.assertIn("step 0 has read 1\nstep 1 has read 2\n", result.out)
        self.assertIn("step 298 has read 299\n", result.out)
        result = self.job(*line(300), kill="stored:1@1", options=BY_CALL, data=lambda: data)
        self.assertEqual((result.out.count(want), result.out.count("has read")), (1, 0), result.out)

    def test_a_script_redirects(self):
        # It runs again, and empties the file. What that had is kept, and comes back.
        script = 'exec "$0" "$@" > "$3/$RZ_RANK"'
        folder = self.own_folder()
        steps, result = self.killed(lambda steps: ("sh", "-c", script, self.PROGRAM, "lines", str(steps), folder), ranks=3)
        self.assertNotIn("shorter", result.err)
        for rank in range(3):
            with open(f"{folder}/{rank}") as file:
                self.assertEqual(file.read().splitlines()[:steps], [f"step {step}" for step in range(steps)])

    def test_refused(self):
        for mode, words in self.REFUSED.items():
            with self.subTest(mode):
                result = self.job(self.PROGRAM, mode, "30", self.own_folder(), options=BY_CALL, nodes=1, ranks=1)
                if "not here" in result.out:
                    continue  # the system does not let a program have it
                said = Refused.sentences(self, result)
                self.assertEqual((len(said), self.count(result, "committed")), (1, 0), result.err)
                self.assertIn(words, said[0])


class Reinit(Rewind):
    def test_programs_with_a_restart_point(self):
        for way in ("", "told", "async"):
            for kill in ("stored:2@1", "image-saved:3@0"):
                with self.subTest(way=way, kill=kill):
                    steps, result = self.killed(lambda steps, way=way: (REINIT, str(steps), way), kill=kill)
                    self.assertEqual(result.out, self.job(REINIT, str(steps), way, options=()).out)

    def test_a_node_fails_inside(self):
        steps, result = self.killed(lambda steps: (REINIT, str(steps)), kill="piece-ack:4@1")
        self.assertEqual(result.out, self.job(REINIT, str(steps), options=()).out)


class Scheme(Rewind):
    def test_where_images_are_kept(self):
        # In the memory of their own nodes alone: the failure of a node loses them, which the sentence about that says.
        lost = "checkpoint [0-9]+ is lost with the nodes that held it \\(--checkpoint memory tolerates no more losses\\)"
        for scheme, what in (("buddy", ()), ("memory", ("--checkpoint", "memory"))):
            with self.subTest(scheme):
                steps, result = self.killed(lambda steps: (OUTPUT, str(steps)), options=(*EVERY, "--rewind-scheme", scheme, *what))
                Output.lines(self, result, steps)
        for steps in (100, 400, 1600, 6400):
            result = self.job(OUTPUT, str(steps), kill="piece-came:6@1", nodes=3, options=(*EVERY, "--rewind-scheme", "memory"))
            if re.search(lost, result.err):
                break
        self.assertRegex(result.err, lost)
        self.assertEqual(self.count(result, "restored"), 0)
        Output.lines(self, result, steps)


class Unrestored(Rewind):
    """Images from which no process can continue: all go back to those before, and at last to the start of the program."""
    GONE = rig.program("rewind_gone")
    FROM_START = "there are no older images to continue from: the program starts from its beginning\n"

    def goes_back(self, what, given_up, *before, once=True, **how):
        """Runs the program with more and more steps until the images of these generations are there and were given up."""
        for steps in (100, 400, 1600, 6400):
            folder = tempfile.mkdtemp(dir=self.folder)
            result = self.job(*before, self.GONE, what, str(steps), folder, options=(*BY_CALL, *how.get("options", ())), status=None,
                              nodes=how.get("nodes", 2))
            if what == "high" and result.status == 1 and "rewind_gone: Bad file descriptor" in result.err:
                continue  # no second image in time: from the first one the new process opens the file again, which it may not
            self.assertEqual(result.status, 0, result.err)
            values = set(re.findall(r"event=fell_back epoch=\d+ rank=-1 node=\d+ .*value=(\d+)", result.events))
            want = self.job(self.GONE, "nothing", str(steps), folder, options=())
            lines = sorted(result.out.splitlines() if once else set(result.out.splitlines()))
            self.assertEqual(lines, sorted(want.out.splitlines()))
            if values == {str(generation) for generation in given_up}:
                return result
        return self.fail(f"generations {given_up} were never given up:\n{result.err}\n{result.events}")

    def restored(self, result, epoch):
        return re.findall(rf"event=restored epoch={epoch} rank=\d+ .*value=(\d+)", result.events)

    def test_one_generation(self):
        result = self.goes_back("newer", [2])
        self.assertRegex(result.err, r"rank 2 cannot continue from its image of generation 2: .*/held, which was open, is missing\n")
        self.assertEqual(result.err.count("all ranks continue from their images of generation 1\n"), 1, result.err)
        self.assertEqual(self.restored(result, 3), ["1"] * 4, result.events)
        self.assertNotIn("epoch=4", result.events)
        self.assertNotIn("damaged", result.err)  # the memory was used again, no more

    def test_schemes_without_a_whole_copy(self):
        # The image before lies in memory that is used again as soon as the newest one is safe.
        for scheme, nodes in (("memory", 2), ("xor:4", 4)):
            with self.subTest(scheme):
                result = self.goes_back("newer", [1, 2], options=("--rewind-scheme", scheme), nodes=nodes)
                self.assertIn("(generation 1) was overwritten by a newer one, ", result.err)
                self.assertEqual(result.err.count(self.FROM_START), 1, result.err)
                self.assertNotIn("damaged", result.err)

    def test_both_generations(self):
        result = self.goes_back("both", [1, 2])
        for generation in (1, 2):
            self.assertEqual(len(re.findall(f"rank 2 cannot continue from its image of generation {generation}: ", result.err)), 1, result.err)
        self.assertEqual(result.err.count(self.FROM_START), 1, result.err)
        self.assertEqual(self.restored(result, 4), [], result.events)
        self.assertNotIn("epoch=5", result.events)

    def test_held_output(self):
        self.goes_back("both", [1, 2], options=HOLD)

    def test_what_the_system_refuses_late(self):
        # The process in place of rank 2 has no descriptor 100. The next one, which gets the older image, has.
        script = '[ "$RZ_RANK.$RZ_INCARNATION" != 2.2 ] || ulimit -n 90; exec "$@"'
        result = self.goes_back("high", [2], "sh", "-c", script, "sh")
        self.assertIn("rank 2 cannot continue from its image of generation 2: its process has ended with status 99\n", result.err)
        self.assertEqual(self.restored(result, 3), ["1"] * 4, result.events)

    def test_files(self):
        # They are the other source: rzrun continues the job from older ones, and at last from nothing, and shows again what is repeated.
        for what, words in (("newer", "generation 2 cannot be used: a rank could not be restored from it; trying an older one"),
                            ("both", "generation 1 cannot be used: a rank could not be restored from it")):
            for scheme in ("buddy", "file"):
                with self.subTest(what=what, scheme=scheme):
                    files = ("--rewind-scheme", scheme, "--checkpoint-dir", tempfile.mkdtemp(dir=self.folder))
                    result = self.goes_back(what, [2] if what == "newer" else [1, 2], once=False, options=files)
                    self.assertIn(words, result.err)


class Check(Rewind):
    """--rewind-check: each kind of program gets its answer. 200 are steps of some milliseconds."""
    PROGRAM, CAN = rig.program("rewind_check"), "this program can be rewound: all ranks were saved, ended, and restored in new processes "
    NONE = 11

    def check(self, *line, status=0, bound="300", every="20ms", **streams):
        result = self.run_it("-n", "3", "--nodes", "3", "--oversubscribe", "--timeout", bound, "--rewind", every, "--rewind-check", *line,
                             **streams)
        self.assertEqual(result.status, status, result.err)
        self.assertEqual(result.out, "")
        return result.err

    def test_what_prints_the_same(self):
        self.assertIn("; it printed what it prints undisturbed\n", self.check(self.PROGRAM, "steady", "200"))

    def test_what_differs_each_time(self):
        said = self.check(self.PROGRAM, "random", "200")
        self.assertIn(self.CAN, said)
        self.assertIn("; what it prints differs from run to run, and the 13 lines that do not are the same\n", said)

    def test_what_no_image_has(self):
        said = self.check(self.PROGRAM, "folders", "200", f"{self.folder}/count", status=1)
        self.assertRegex(said, r'this program differs when it is rewound: rank 0, standard output, line \d+: "step (\d+) value \d+"; '
                               r'undisturbed: "step \1 value')

    def test_what_must_not_be_read(self):
        said = self.check(self.PROGRAM, "file", "200", f"{self.folder}/count", status=1)
        self.assertRegex(said, ": the program would read what was written to .*/count after it\n")
        self.assertIn("this program cannot be rewound: a rank could not be restored", said)

    def test_what_cannot_be_saved(self):
        said = self.check(REFUSED, "pipe", "4000", status=1)
        self.assertRegex(said, "this program cannot be rewound: rank [0-2] cannot be saved: .*pipe")

    def test_what_cannot_be_restored(self):
        script = '[ "$RZ_RANK.$RZ_INCARNATION" != 2.2 ] || ulimit -n 90; exec "$@"'
        said = self.check("sh", "-c", script, "sh", Unrestored.GONE, "held", "9000", self.folder, status=1)
        self.assertIn("this program cannot be rewound: a rank could not be restored", said)
        self.assertNotIn("can be rewound:", said)

    def test_what_ends_at_once(self):
        said = self.check(self.PROGRAM, "forbid", "1", status=self.NONE)
        self.assertRegex(said, r"no answer: (in the \d+\.\d\d s until the program ended|the program ended after \d+\.\d\d s, before)")
        self.assertIn("no answer: the program ended without a call of MPI_Init", self.check(self.PROGRAM, "alone", status=self.NONE))

    def test_a_kill_after_the_end(self):
        # The first kill is due half a second after a snapshot, when all ranks have left MPI_Finalize.
        result = self.run_it("-n", "3", "--nodes", "3", "--oversubscribe", "--timeout", "300", "--rewind", "1s", "--rewind-check", self.PROGRAM,
                             "lingers", "80")
        self.assertIn(result.status, (0, self.NONE), result.err)
        self.assertNotIn("cannot be rewound", result.err)

    def test_what_is_never_saved(self):
        said = self.check(self.PROGRAM, "forbid", "1000000", status=self.NONE, bound="4")
        self.assertIn("no answer within 4 s (--timeout): ", said)

    def test_what_fails_by_itself(self):
        self.assertIn("it printed what it prints undisturbed\n", self.check(self.PROGRAM, "fails", "200"))
        said = self.check(self.PROGRAM, "file", "200", "/nowhere/file", status=self.NONE)
        self.assertIn("no answer: the program ends with status 9, without any failure", said)

    def test_what_does_not_end_again(self):
        for bound in ("10", "60"):  # the second one on a machine on which nothing was saved in the first one's time
            result = self.run_it("-n", "3", "--oversubscribe", "--timeout", bound, "--rewind", "40ms", "--rewind-check", self.PROGRAM, "hangs",
                                 "100")
            if "had not ended" in result.err:
                break
        self.assertRegex(result.err, "no answer within [0-9]+ s .--timeout.: the program had not ended [0-9.]+ s after it was restored")
        self.assertEqual(result.status, self.NONE)

    def test_interrupted(self):
        process = self.start("-n", "3", "--nodes", "3", "--oversubscribe", "--rewind-check", self.PROGRAM, "steady", "1000000")
        self.await_members(3, 3)
        process.send_signal(signal.SIGTERM)
        result = self.finish(process)
        self.assertEqual((result.status, result.out, result.err), (143, "", ""))

    def test_wrappers_and_input(self):
        numbers = f"{self.folder}/numbers"
        with open(numbers, "w") as file:
            file.write("\n".join(map(str, range(100))))
        script = 'exec "$@"'
        with open(numbers) as file:
            said = self.check("sh", "-c", script, "sh", self.PROGRAM, "input", "200", stdin=file)
        self.assertIn("; it printed what it prints undisturbed\n", said)


class Leftover(Rewind):
    """SIGKILL of anything at any moment, while all go back again and again."""
    PROGRAM = (rig.program("rewind_torture"), "100000", "1")

    def kill_one(self, victim, draw):
        process = self.start("--oversubscribe", "-n", "4", "--nodes", "2", "--timeout", rig.HANG, *EVERY, "--max-restarts", "0",
                             "--inject", f"every {draw.randint(150, 400)}ms kill random rank", *self.PROGRAM)
        self.await_members(4, 2)
        rig.await_true(lambda: process.poll() is not None, draw.uniform(0, 0.8))  # the moment of the kill is random on purpose
        there = self.members()[victim]
        if there:
            try:
                os.kill(draw.choice(there).pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if victim != "rzrun":
            rig.await_true(lambda: process.poll() is not None, 0.5)  # the others may go on: they are ended as a user would
            process.send_signal(signal.SIGINT)
        self.finish(process)
        left = rig.lasting(self.left_behind)
        self.assertFalse(left, victim)

    def test_kills(self):
        draw = random.Random(os.environ.get("RZ_TEST_SEED", "1"))
        for victim in ("rzrun", "rzd-keeper", "rzd", "process"):
            with self.subTest(victim):
                self.kill_one(victim, draw)


rig.main()
