#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzrun --attach to a daemon that sends what no daemon sends: nothing of it reaches the terminal as a command, and none of its
numbers is believed."""
import os
import re
import secrets
import socket
import struct
import threading

import launch_rig as rig

ANYWHERE = 2**64 - 1
LISTENING, OUTPUT, WAITING, RESULT = 0, 3, 11, 19
IN_CALL = 5
with open(f"{rig.SOURCE}/src/wire/launch_messages.h", encoding="ascii") as header:
    VERSION = int(re.search(r"RZ_LAUNCH_VERSION (\d+)", header.read()).group(1))


def u32(*numbers):
    return b"".join(struct.pack("<I", n) for n in numbers)


def u64(*numbers):
    return b"".join(struct.pack("<Q", n) for n in numbers)


def text(words):
    return u32(len(words) + 1) + words + b"\0"


def output(rank, data):
    return u32(OUTPUT, rank, 1, 0) + u64(ANYWHERE) + u32(len(data)) + data


def waiting(rank, call, communicator):
    return (u32(WAITING, rank, 1, IN_CALL) + text(call) + text(communicator) + u64(1) + u32(0) + u64(0) + u32(0, 0, 0)
            + u64(10**9, 0, 0))


def result(code, nodes=1, cause=b""):
    return u32(RESULT, code, 0, nodes) + text(cause)


class Attach(rig.LaunchTest):
    def to(self, *frames, status=0):
        """rzrun --attach to a daemon that sends these frames."""
        job = secrets.token_hex(8)
        greeting = u32(LISTENING, VERSION, 0, 1) + u32(16) + bytes(16) + u32(0, 0) + u32(0) + u32(0, 0)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"\0rhizome/{os.geteuid()}/{job}/0")
            listener.listen()

            def answer():
                while not over.is_set():
                    visitor, _ = listener.accept()
                    with visitor:
                        try:
                            visitor.sendall(b"".join(u32(len(f)) + f for f in (greeting, *frames)))
                            while visitor.recv(4096):
                                pass
                        except OSError:
                            pass  # it hung up
            over = threading.Event()
            thread = threading.Thread(target=answer)
            thread.start()
            try:
                return self.runs("--attach", job, status=status)
            finally:
                over.set()
                with socket.socket(socket.AF_UNIX) as last:
                    last.connect(listener.getsockname())
                thread.join()

    def test_no_text_is_a_command_for_the_terminal(self):
        said = self.to(waiting(0, b"\x1b]0;taken\x07\x1b[31mMPI_X", b"\x1b[2J\xc2\x9bcomm"), result(0, cause=b"c\x1b[1mx")).err
        self.assertIn("?]0;taken??[31mMPI_X on ?[2J??comm", said)
        self.assertIsNone(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", said), repr(said))

    def test_numbers_that_no_daemon_has(self):
        """None is memory here, nor an exit status."""
        for frames in ([output(1 << 26, b"abc\n")], [output(2**32 - 2, b"abc")], [waiting(1 << 26, b"c", b"d")], [result(256)],
                       [result(0, nodes=2**32 - 1)]):
            with self.subTest(frame=frames[0]):
                result_ = self.to(*frames, output(0, b"not believed\n"), result(0), status=rig.LOST)
                self.assertIn("node 0 sent a malformed message", result_.err)
                self.assertEqual(result_.out, "")
        self.assertEqual(self.to(output(65536, b"spawned\n"), output(2**32 - 1, b"daemon\n"), result(7), status=7).out, "spawned\ndaemon\n")


if __name__ == "__main__":
    rig.main()
