#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that know nothing of images are saved at random moments, killed, and restored in fresh processes; then their output must be
that of an undisturbed run.

    image_campaign.py RIG NAME [--runs N] [--seed N] [--keep] [--randomise] [--hashes] -- COMMAND ...

A run: twice, the program is saved once or more and then killed, and the last image is restored; at last it runs to its end. What it had
printed behind the save is cut off, as the daemon does it. With --keep, images are written over older ones. With --randomise, address
space randomisation stays on. The seed draws the moments; how far the program has come at a moment depends on the machine.
"""
import argparse
import ctypes
import os
import random
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import scratch  # noqa: E402
from patience import HANG_S  # noqa: E402

SAVE_SIGNAL, ANOTHER_PLACE = 50, 97  # image_rig.c
NO_RANDOMISATION = 0x0040000
libc = ctypes.CDLL(None)


def start(options, work, restore):
    """The program, or what the image says; its standard output continues where it was at the save."""
    env = dict(os.environ, LD_PRELOAD=options.rig, IMAGE_RIG_FILE=f"{work}/image", OPENBLAS_NUM_THREADS="1", LC_ALL="C.UTF-8")
    env.update({"IMAGE_RIG_KEEP": "1"} if options.keep else {}, **({"IMAGE_RIG_HASHES": "1"} if options.hashes else {}),
               **({"IMAGE_RIG_RESTORE": restore} if restore else {}))
    out = os.open(f"{work}/stdout", os.O_RDWR | os.O_CREAT)
    if restore:
        with open(f"{restore}.out", encoding="ascii") as file:
            offset = int(file.read())
        os.ftruncate(out, offset)
        os.lseek(out, offset, os.SEEK_SET)
    else:
        os.ftruncate(out, 0)
    with open(f"{work}/stderr", "ab") as err:
        process = subprocess.Popen(options.command, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   preexec_fn=None if options.randomise else lambda: libc.personality(NO_RANDOMISATION))
    os.close(out)
    return process


def begin(options, work, restore):
    """Started until the heap is in a place where it can be restored: by chance, with address space randomisation."""
    while True:
        process = start(options, work, restore)
        if not (restore and options.randomise):
            return process
        deadline = time.monotonic() + HANG_S
        while process.poll() is None and not is_restored(process, work) and time.monotonic() < deadline:
            time.sleep(0.001)
        if process.poll() != ANOTHER_PLACE:
            return process


def is_restored(process, work):
    """It has closed the image."""
    try:
        return not any(os.readlink(f"/proc/{process.pid}/fd/{fd}").startswith(f"{work}/image.") for fd in os.listdir(f"/proc/{process.pid}/fd")) \
            and os.path.exists(f"/proc/{process.pid}/fd/1")
    except OSError:
        return False


def newest(work):
    numbers = [int(name.split(".")[1]) for name in os.listdir(work) if name.startswith("image.") and name.split(".")[-1].isdigit()]
    return f"{work}/image.{max(numbers)}" if numbers else None


def await_file(process, path):
    deadline = time.monotonic() + HANG_S
    while process.poll() is None and not os.path.exists(path):
        if time.monotonic() > deadline:
            raise TimeoutError(path)
        time.sleep(0.001)


def save(process, work):
    """Whether another image is there now; the program may also have ended."""
    before = newest(work)
    path = f"{work}/image.{1 + int(before.rsplit('.', 1)[1])}" if before else f"{work}/image.1"
    process.send_signal(SAVE_SIGNAL)
    await_file(process, path)
    return os.path.exists(path)


def one(options, work, span, rng):
    """A run: how many saves, exit status and output."""
    saves, image = 0, None
    for _ in range(2):
        process = begin(options, work, image)
        await_file(process, f"{work}/image")
        for _ in range(rng.choice((1, 1, 2, 3))):
            time.sleep(rng.random() * span / 5)
            saves += process.poll() is None and save(process, work)
        image = newest(work)
        time.sleep(rng.random() * span / 8)
        process.kill()
        process.wait()
    process = begin(options, work, image)
    try:
        rc = process.wait(HANG_S)
    except subprocess.TimeoutExpired:
        process.kill()
        rc = f"hangs: {process.wait()}"
    with open(f"{work}/stdout", "rb") as file:
        return saves, rc, file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rig")
    parser.add_argument("name")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", random.randrange(1 << 30))))
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--randomise", action="store_true")
    parser.add_argument("--hashes", action="store_true")
    split = sys.argv.index("--")
    options = parser.parse_args(sys.argv[1:split])
    options.command = sys.argv[split + 1:]
    options.rig = os.path.abspath(options.rig)
    print(f"again: SEED={options.seed} {' '.join(shlex.quote(word) for word in sys.argv)}", flush=True)
    work = scratch.folder(f"image-{options.name}-")
    began = time.monotonic()
    reference = subprocess.run(options.command, cwd=work, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True,
                               env=dict(os.environ, OPENBLAS_NUM_THREADS="1", LC_ALL="C.UTF-8")).stdout
    span = time.monotonic() - began
    good = saved = 0
    for run in range(options.runs):
        rng = random.Random(f"{options.seed}.{run}")
        for name in os.listdir(work):
            os.remove(f"{work}/{name}")
        saves, rc, output = one(options, work, span, rng)
        saved += saves
        good += rc == 0 and output == reference
        if rc != 0 or output != reference:
            print(f"run {run}: after {saves} saves: status {rc}, output {'as it must be' if output == reference else 'differs'}")
            with open(f"{work}/stderr", encoding="utf-8", errors="replace") as file:
                print(file.read()[-2000:], flush=True)
            if os.environ.get("IMAGE_KEEP_FAILED"):
                subprocess.run(["cp", "-r", work, f"{os.environ['IMAGE_KEEP_FAILED']}/{options.name}.{run}"], check=True)
    print(f"{options.name}: {good} of {options.runs} runs as undisturbed, {saved} saves")
    return good != options.runs


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
