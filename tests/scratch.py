# SPDX-License-Identifier: BSD-3-Clause
"""A folder of a test that goes with it, also when the test is killed: a process apart waits for the end of a pipe that the test alone holds. A test
that ends its orphans ends that process, too, and removes the folder itself."""
import atexit
import os
import shutil
import subprocess
import tempfile

# The pipe as descriptor 3: standard input of what runs in the background is /dev/null.
REMOVE = 'exec 3<&0; (cat <&3; rm -rf -- "$1") >/dev/null 2>&1 &'
held = []


def folder(prefix):
    path = tempfile.mkdtemp(prefix=prefix)
    # In the background of a shell that ends, so that a kill of the test with all its children does not reach it.
    shell = subprocess.Popen(["sh", "-c", REMOVE, "sh", path], stdin=subprocess.PIPE, start_new_session=True)
    shell.wait()
    held.append(shell.stdin)
    atexit.register(remove, path, os.getpid())
    return path


def remove(path, owner):
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
