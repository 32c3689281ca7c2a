#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Streams of rzrun that fill, block or close: every byte arrives, or the exit status and a line say why; failures are
handled all the while."""
import os
import pty
import signal
import subprocess
import threading

import launch_rig as rig

SH = "/bin/sh"
OUTPUT_LOST = 9
MEBI = 1 << 20
FLOOD = "head -c 8000000 /dev/zero | tr '\\0' x"


def read_all(fd):
    parts = []
    while data := os.read(fd, 1 << 16):
        parts.append(data)
    return b"".join(parts)


class FullStreams(rig.LaunchTest):
    def blocked(self, *arguments, stream="stdout", **options):
        """A run whose stream is a pipe that is not read yet; its reading end."""
        reader, writer = os.pipe()
        process = self.start(*arguments, **{stream: writer}, **options)
        os.close(writer)
        self.addCleanup(os.close, reader)
        return process, reader

    def status_of(self, process):
        try:
            return process.wait(timeout=rig.HANG_S)
        except subprocess.TimeoutExpired:
            return self.fail(f"it hangs: {process.args}")

    def text(self, path):
        if not os.path.exists(path):
            return ""
        with open(path) as file:
            return file.read()

    # ---- full

    def test_full_disk(self):
        for stream, redirect in (("output", ""), ("error", " >&2")):
            with self.subTest(stream=stream), open("/dev/full", "wb") as full:
                streams = {"stdout" if stream == "output" else "stderr": full}
                result = self.runs("-n", "2", SH, "-c", "echo lost" + redirect, status=OUTPUT_LOST, **streams)
                if stream == "output":
                    self.assertIn("standard output cannot be written: No space left", result.err)

    def test_full_disk_leaves_the_status_of_the_job(self):
        with open("/dev/full", "wb") as full:
            self.runs(SH, "-c", "echo lost; exit 3", status=3, stdout=full)

    def test_full_disk_does_not_end_the_job(self):
        mark = f"{self.folder}/mark"
        with open("/dev/full", "wb") as full:
            self.runs(SH, "-c", f"echo lost; head -c 3000000 /dev/zero; echo lost; touch {mark}", status=OUTPUT_LOST, stdout=full)
        self.assertTrue(os.path.exists(mark))

    def test_nothing_to_write_is_nothing_lost(self):
        with open("/dev/full", "wb") as full:
            self.runs("/bin/true", stdout=full, stderr=full)

    def test_pipe_that_does_not_block(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        process = self.start("-n", "2", SH, "-c", FLOOD, stdout=writer)
        os.close(writer)
        rig.await_true(lambda: len(self.members()["process"]) > 0)
        out = read_all(reader)
        os.close(reader)
        self.assertEqual((self.status_of(process), len(out)), (0, 16000000))

    def test_reader_that_comes_long_after_the_end(self):
        """All of it is there still, though rzrun's bounds for nodes that are slow to end have passed."""
        reader, writer = os.pipe()
        process = self.start(SH, "-c", "head -c 300000 /dev/zero", stdout=writer)
        os.close(writer)
        rig.await_true(lambda: "rzd" in self.members())
        rig.await_true(lambda: not self.members().get("rzd"))
        threading.Event().wait(3)  # such a bound is 2 s, and nothing is to be seen of it
        out = read_all(reader)
        os.close(reader)
        self.assertEqual((self.status_of(process), len(out)), (0, 300000))

    # ---- closed

    def test_reader_that_goes_ends_the_job(self):
        process, reader = self.blocked(SH, "-c", "while :; do echo line; sleep 0.01; done")
        self.assertTrue(os.read(reader, 5))
        os.dup2(os.open("/dev/null", os.O_RDONLY), reader)
        self.assertEqual(self.status_of(process), -signal.SIGPIPE)
        self.assertEqual(process.stderr.read(), b"")

    def test_reader_of_errors_that_goes_ends_the_job(self):
        process, reader = self.blocked(SH, "-c", "while :; do echo line >&2; sleep 0.01; done", stream="stderr")
        self.assertTrue(os.read(reader, 5))
        os.dup2(os.open("/dev/null", os.O_RDONLY), reader)
        self.assertEqual(self.status_of(process), -signal.SIGPIPE)

    def test_head(self):
        line = f'"{rig.RZRUN}" -n 2 sh -c "while :; do echo line; sleep 0.01; done" | head -n 1'
        result = self.finish(self.start("-c", f"{line}; echo ${{PIPESTATUS[0]}}", rzrun="/bin/bash"))
        self.assertEqual(result.out, "line\n141\n", result.err)

    def test_viewer_whose_reader_goes_leaves_the_job(self):
        job = self.runs("--detach", SH, "-c", "while :; do echo line; sleep 0.05; done").out.strip()
        line = f'"{rig.RZRUN}" --attach {job} | head -n 1; echo ${{PIPESTATUS[0]}}'
        result = self.finish(self.start("-c", line, rzrun="/bin/bash"))
        self.assertEqual(result.out, "line\n141\n", result.err)
        self.runs("--end", job)

    def test_reader_that_goes_where_sigpipe_is_ignored(self):
        reader, writer = os.pipe()
        os.close(reader)
        result = self.finish(self.start("-c", f"trap '' PIPE; exec \"{rig.RZRUN}\" sh -c 'echo line; exec sleep 100'", rzrun=SH, stdout=writer))
        os.close(writer)
        self.assertEqual(result.status, 128 + signal.SIGPIPE, result.err)

    def test_output_that_is_closed(self):
        for close, says in ((">&-", "standard output cannot be written: Bad file"), ("2>&-", "")):
            line = f'exec "{rig.RZRUN}" {SH} -c "echo line; echo line >&2" {close}'
            result = self.finish(self.start("-c", line, rzrun=SH))
            self.assertEqual(result.status, OUTPUT_LOST, result.err)
            self.assertIn(says, result.err)

    # ---- blocked

    def test_blocked_output_holds_the_writers(self):
        count = f"{self.folder}/count"
        script = f"i=0; while [ $i -lt 400 ]; do head -c 65536 /dev/zero; i=$((i+1)); echo $i > {count}.$RZ_RANK; done"
        process, reader = self.blocked("-n", "2", "--nodes", "2", SH, "-c", script)
        last = [None]

        def stands_still():  # twice the same within half a second
            now = [self.text(f"{count}.{rank}") for rank in (0, 1)]
            still = all(now) and now == last[0]
            last[0] = now
            threading.Event().wait(0.5)
            return still
        self.assertTrue(rig.await_true(stands_still))
        self.assertTrue(all(int(n) < 400 for n in last[0]), last)
        self.assertEqual(len(read_all(reader)), 2 * 400 * 65536)
        self.assertEqual(self.status_of(process), 0)

    def test_blocked_output_stops_no_failure_handling(self):
        """The failure of a rank ends the job; the news reaches rzrun although the output is not read."""
        report = f"{self.folder}/report"
        script = f"if [ $RZ_RANK = 1 ]; then sleep 1; kill -9 $$; fi; {FLOOD}; exec sleep 100"
        process, reader = self.blocked("-n", "2", "--nodes", "2", "--on-failure", "abort", "--report", report, SH, "-c", script)
        self.assertTrue(rig.await_true(lambda: "event=failure" in self.text(report)), self.text(report))
        read_all(reader)
        self.assertEqual(self.status_of(process), 137)

    def test_blocked_output_and_timeout(self):
        process, _ = self.blocked("--timeout", "1s", SH, "-c", f"{FLOOD}; sleep 100")
        self.assertEqual(self.status_of(process), rig.TIMED_OUT)

    def test_blocked_output_after_the_end_and_timeout(self):
        process, _ = self.blocked("--timeout", "3s", SH, "-c", "head -c 200000 /dev/zero")
        self.assertIn(self.status_of(process), (OUTPUT_LOST, rig.TIMED_OUT))  # the job itself may take that long
        self.assertRegex(process.stderr.read().decode(), r"the last \d+ bytes of output were not read")

    def test_blocked_streams_and_an_interrupt(self):
        for stream, redirect in (("stdout", ""), ("stderr", " >&2")):
            with self.subTest(stream=stream):
                process, reader = self.blocked("-n", "2", "-v", SH, "-c", f"({FLOOD}){redirect}; sleep 100", stream=stream)
                os.read(reader, MEBI)
                process.send_signal(signal.SIGINT)
                self.assertEqual(self.status_of(process), -signal.SIGINT)

    def test_blocked_errors_stop_no_daemon(self):
        """Daemons that say much, to a reader that does not read, are alive: no node is declared failed."""
        process, reader = self.blocked("-n", "4", "--nodes", "4", "-v", "-v", SH, "-c", f"({FLOOD}) >&2; echo done",
                                       stream="stderr")
        threading.Event().wait(2)
        err = read_all(reader)
        self.assertEqual(self.status_of(process), 0, err[-500:])
        self.assertEqual(err.count(b"x"), 32000000 + err.count(b"exit"))

    # ---- input

    def test_input_without_end(self):
        with open("/dev/zero", "rb") as zero:
            self.runs("-n", "2", SH, "-c", "exit 0", stdin=zero)
            self.assertEqual(len(self.runs(SH, "-c", "head -c 1000000", stdin=zero).out), 1000000)

    def test_input_that_cannot_be_read(self):
        """Ranks see its end; the exit status shows that it was an error."""
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        result = self.runs("/bin/cat", stdin=folder, status=OUTPUT_LOST)
        self.assertEqual(result.err, "rzrun: standard input cannot be read: Is a directory\n")
        self.runs(SH, "-c", "cat; exit 3", stdin=folder, status=3)

    def test_input_is_a_terminal(self):
        terminal, other = pty.openpty()
        process = self.start(SH, "-c", "read line; echo got $line", stdin=other)
        os.write(terminal, b"hello\n")
        self.assertEqual(self.finish(process).out, "got hello\n")
        os.close(terminal)
        os.close(other)

    # ---- lines

    def test_lines_of_ranks_do_not_mix(self):
        """Long lines in pieces, by eight ranks at once, with labels and without."""
        script = ("some=$(head -c 3000 /dev/zero | tr '\\0' $RZ_RANK); i=0;"
                  "while [ $i -lt 40 ]; do printf %s $some; printf %s $some; echo $RZ_RANK; i=$((i+1)); done")
        for label in ([], ["--label"]):
            # Where there is much to do, a writer may rest within a line for longer than rzrun waits for the end of the line.
            self.assertTrue(any(self.whole(self.runs("-n", "8", "--nodes", "2", *label, SH, "-c", script).out, label) for _ in range(30)))

    def whole(self, out, label):
        lines = out.splitlines()
        ranks = [line[1:2] if label else line[:1] for line in lines]
        return len(lines) == 320 and all(line == (f"[{rank}] " if label else "") + rank * 6001 for line, rank in zip(lines, ranks))

    def test_a_question_is_seen_before_its_answer(self):
        process = self.start(SH, "-c", "printf 'name? '; read name; echo $name", stdin=subprocess.PIPE)
        self.assertEqual(os.read(process.stdout.fileno(), 100), b"name? ")
        self.assertEqual(self.finish(process, b"me\n").out, "me\n")


rig.main()
