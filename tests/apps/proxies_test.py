#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The proxies survive in each of their ways with the result of the undisturbed run: proxies_test.py BUILD CASE, where CASE is

PROXY WAY   hpccg, comd, eam or lulesh; reinit, replace, spawn, files (replace, and checkpoints in files) or restart: a process
            fails, a node fails, several crash in turn
twice WAY   the next fails before there is another checkpoint: what was restored can be restored again
during WAY  replace or spawn: one more fails at a named step of the repair itself
lost WAY    a process and its buddy crash at once: all begin again at the beginning, and say so
damage      with files: a failed process's newest one is damaged, then both; a directory that cannot be
wrong       options that cannot be: one line that says so
plain PROXY no failures: every way, and more checkpoints or none, give the same result
alone       so does every way for one process without a launcher
"""
import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
import scratch  # noqa: E402
from patience import HANG, HANG_S  # noqa: E402

BUILD = sys.argv[1]
RZRUN = f"{BUILD}/bin/rzrun"
MARK = "RZ_TEST_MARK"  # the variable that tells which processes belong to which job
# Failures are proved here; a longer timeout avoids false ones on a loaded machine.
# Of the ULFM way; a directory for each run of this test, and empty after each job.
FILES = scratch.folder("proxies-test-files-")
tempfile.tempdir = scratch.folder("proxies-test-")  # all else that is made here
NODES = ["--oversubscribe", "--hb-timeout", "5s", "--timeout", HANG, "-n", "8", "--nodes", "4"]
COMD = ["comd", "-x", "8", "-y", "8", "-z", "8", "--temperature", "20000", "--print-every", "5"]
PROXIES = {
    "hpccg": ["hpccg", "8", "8", "8", "--iterations", "60"],
    "comd": [*COMD, "-N", "30"],
    "eam": [*COMD, "--eam", "-N", "12"],
    "lulesh": ["lulesh", "-s", "3", "-i", "60", "--print-every", "20"],
}
WAYS = {
    "reinit": ["--method", "reinit"],
    "replace": ["--method", "ulfm", "--repair", "replace"],
    "spawn": ["--method", "ulfm", "--repair", "spawn"],
    "files": ["--method", "ulfm", "--checkpoint-files", FILES],
    "restart": ["--method", "restart"],
}
# Where the second one fails, NTH counted from the failure of the first: while all agree that they repair, that some are failed,
# that all is well again; and at the steps of the repair itself.
STEPS = {
    "replace": ["decided:{2}@{other}", "decided:{3}@{other}", "decided:{4}@{other}", "replace-agreed@{other}", "replace-asked@{other}",
                "replace-bootstrapped@0", "replace-last@{other}", "comm:2@{other}"],
    "spawn": ["decided:{2}@{other}", "decided:{3}@{other}", "decided:{4}@{other}", "spawn@0", "spawned@0", "go@0", "comm:2@{other}"],
}
WRONG = [
    (["--method", "prayer"], "hpccg: --method 'prayer' is not"),
    (["--method"], "hpccg: --method '' is not"),
    (["--repair", "glue"], "hpccg: --repair 'glue' is not replace or spawn"),
    (["--checkpoint-files"], "hpccg: --checkpoint-files '' is not a directory"),
    (["--fail", "rank"], "hpccg: --fail 'rank' is not process or node"),
    (["--fail-count", "65"], "hpccg: --fail-count '65' is not a whole number from 0 to 64"),
    (["--fail-seed", "-1"], "hpccg: --fail-seed '-1' is not a whole number"),
    (["--checkpoint-every", "often"], "hpccg: --checkpoint-every 'often' is not a whole number"),
]


def run(command, status=0):
    """stdout's lines, and stderr; with another status than the one expected the check fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * HANG_S)
    if done.returncode != status:
        sys.exit(f"{shlex.join(command)}\nended with {done.returncode} instead of {status}:\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines(), done.stderr


def job(proxy, arguments, options=()):
    return [RZRUN, *NODES, *options, f"{BUILD}/apps/{PROXIES[proxy][0]}", *PROXIES[proxy][1:], *arguments]


def has_files():
    return any("--checkpoint-dir" in line for line in run([RZRUN, "--help"])[0])


def undisturbed(proxy):
    return run(job(proxy, ["--method", "plain"]))[0]


def same(calm, lines, said, command, resumed):
    """Rank 0 prints again what it had printed since the checkpoint: the same lines. The result is printed once. A line that its node still
    held when it failed is lost, as on any machine that loses its power."""
    node_failed = "--fail node" in " ".join(command)
    told = set(lines) <= set(calm) if node_failed else set(lines) == set(calm)
    once = [line for line in calm if re.match(r"(residual|state) ", line)] + (["step 0 "] if resumed and calm[0].startswith("step 0 ") else [])
    times = [sum(found.startswith(line) for found in lines) for line in once]
    bad = not told or lines[-2:] != calm[-2:] or max(times) != 1 or (min(times) != 1 and not node_failed)
    if bad:
        sys.exit(f"{shlex.join(command)}\nundisturbed:\n" + "\n".join(calm) + "\nwith failures:\n" + "\n".join(lines) + f"\n{said}")


def times_are_told(said, command):
    found = re.findall(r"^times total (\S+) application (\S+) checkpoint (\S+) restore (\S+) recovery (\S+)$", said, re.MULTILINE)
    if len(found) != 1:
        sys.exit(f"{shlex.join(command)}\nno line of times, or several:\n{said}")
    total, *parts = map(float, found[0])
    if abs(sum(parts) - total) > 1e-3 + 1e-3 * total or min(parts) < 0:
        sys.exit(f"{shlex.join(command)}\nthe parts are not the total: {found[0]}")


def nothing_is_left(command):
    if os.listdir(FILES):
        sys.exit(f"{shlex.join(command)}\nleft {glob.glob(FILES + '/**', recursive=True)}")


def survive(proxy, way):
    calm, folder = undisturbed(proxy), tempfile.mkdtemp(prefix="proxies-test-")
    launch = []
    if way == "restart":
        launch = ["--on-failure", "restart", *(["--checkpoint", "file", "--checkpoint-dir", folder] if has_files() else [])]
    # A checkpoint is committed before the first failure: no process needs to begin again at the beginning.
    resumed = way != "restart" or has_files()
    for failure, count, seed in ("process", 1, 3), ("node", 1, 4), ("process", 4, 5):
        command = job(proxy, [*WAYS[way], "--fail", failure, "--fail-count", str(count), "--fail-seed", str(seed)], launch)
        lines, said = run(command)
        if "failures requested by --fail" in said:
            sys.exit(f"{shlex.join(command)}\nnot all failed:\n{said}")
        same(calm, lines, said, command, resumed)
        times_are_told(said, command)
        nothing_is_left(command)
    shutil.rmtree(folder)


def twice(way):
    """Of the copies that there are after a repair all are on two nodes again."""
    calm = undisturbed("comd")
    arguments = [*WAYS[way], "--checkpoint-every", "10", "--fail", "process", "--fail-count", "5", "--fail-seed", "1"]
    command = job("comd", arguments)
    lines, said = run(command)
    failed = [tuple(map(int, found)) for found in re.findall(r"rank (\d+) ends its process at iteration (\d+)", said)]
    if len(failed) != 5 or min(at for _, at in failed) <= 10 or not any(10 < at <= 20 and next_at <= 20 for (_, at), (_, next_at) in zip(failed, failed[1:])):
        sys.exit(f"{shlex.join(command)}\nanother seed, please: not two crash between two checkpoints, or one before the first:\n{said}")
    same(calm, lines, said, command, True)


def failed(report):
    with open(report) as events:
        return len(set(re.findall(r"event=failure_news \S+ (\S+ \S+ \S+) ", events.read())))


def during(way):
    calm, faults = undisturbed("hpccg"), ["--fail", "process", "--fail-seed", "3"]
    _, said = run(job("hpccg", [*WAYS[way], *faults]))
    first, at = map(int, re.search(r"rank (\d+) ends its process at iteration (\d+)", said).groups())
    if first == 0:
        sys.exit("this seed kills rank 0: choose another")
    # Until the first failure there was an agreement at the start and one at each checkpoint, after each iteration.
    nth, other = {str(k): at + k for k in range(2, 5)}, 6 if first != 6 else 5
    with tempfile.NamedTemporaryFile(prefix="proxies-test-") as report:
        for step in STEPS[way]:
            step = re.sub(r"\{(\d)\}", lambda found: str(nth[found.group(1)]), step).replace("{other}", str(other))
            # All processes have the variable; those with another rank ignore it.
            command = job("hpccg", [*WAYS[way], *faults], ["--report", report.name, "-x", f"RZ_KILL_AT={step}"])
            lines, said = run(command)
            same(calm, lines, said, command, False)
            if failed(report.name) < 2:
                sys.exit(f"{shlex.join(command)}\nnobody failed at {step}")


def lost(way):
    """Node 1 has the copies of rank 0, which fails while that is replaced."""
    calm = undisturbed("hpccg")
    step = {"replace": "replace-asked@0", "files": "replace-asked@0", "spawn": "spawn@0"}[way]
    command = job("hpccg", WAYS[way], ["--inject", "kill node 1 at iteration 25", "-x", f"RZ_KILL_AT={step}"])
    lines, said = run(command)
    same(calm, lines, said, command, False)
    if ("begin again at the beginning" in said) == (way == "files"):
        sys.exit(f"{shlex.join(command)}\nsaid something else of the checkpoints than what became of them:\n{said}")
    nothing_is_left(command)


def change(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def of_rank(rank):
    """Its files, the newest first; but those it is about to write or to remove."""
    return sorted(glob.glob(f"{FILES}/*/rank-{rank}.*[0-9]"), key=lambda path: -int(path.rsplit(".", 1)[1]))


def process_of(rank, mark):
    """The process that runs as this rank of the job with this mark; None: it has not begun."""
    wanted = {f"RZ_RANK={rank}".encode(), f"{MARK}={mark}".encode()}
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                found += [int(pid)] if wanted <= set(environ.read().split(b"\0")) else []
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    if len(found) > 1:
        sys.exit(f"rank {rank} is not one process, but {found}")
    return found[0] if found else None


def stands(pid):
    """Whether the process is stopped."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


def damage():
    """Rank 5 stands still in an iteration, all others wait for it, and is killed when its files were changed."""
    calm = undisturbed("hpccg")
    kinds = (("cut", 1, "is truncated", lambda path: os.truncate(path, 20)),
             ("short", 1, "has another length than its header says", lambda path: os.truncate(path, 200)),
             ("head", 1, "is damaged: its header is wrong", lambda path: change(path, 2)),
             ("foreign", 1, "is not what its name says", lambda path: change(path, 9)),
             ("content", 1, "is damaged: its content does not match its checksum", lambda path: change(path, 1000)),
             ("both", 2, "all begin again at the beginning", lambda path: change(path, 1000)))
    for kind, n, words, harm in kinds:
        command = job("hpccg", WAYS["files"], ["--inject", f"stop rank 5 at iteration 30 for {2 * HANG_S}s"])
        mark = f"{os.getpid()}-{kind}"
        started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, **{MARK: mark}))
        bound, pid = time.monotonic() + HANG_S, None
        while time.monotonic() < bound and not (pid and stands(pid)):  # in iteration 30, or a little later
            time.sleep(0.1)
            pid = pid or process_of(5, mark)
        before = of_rank(5)
        for path in before if n > 1 else before[:1]:  # three where it stopped before it removed the oldest
            harm(path)
        os.kill(pid, signal.SIGKILL)
        out, said = started.communicate(timeout=2 * HANG_S)
        if started.returncode != 0 or words not in said or f"the checkpoint {before[0]} " not in said:
            sys.exit(f"{shlex.join(command)}\n{kind}: ended with {started.returncode}, or did not say '{words}' of {before}:\n{out}{said}")
        same(calm, out.splitlines(), said, command, False)
        nothing_is_left(command)
    command = job("hpccg", ["--method", "ulfm", "--checkpoint-files", f"{FILES}/no/such"])
    if "cannot make the directory" not in run(command, 1)[1]:
        sys.exit(f"{shlex.join(command)}\ndid not say that there is no such directory")
    command = job("hpccg", ["--method", "reinit", "--checkpoint-files", FILES])
    if "--checkpoint-files is for --method ulfm" not in run(command, 1)[1]:
        sys.exit(f"{shlex.join(command)}\nhas taken an option that it does not know")


def wrong():
    for arguments, words in WRONG:
        command = [f"{BUILD}/apps/hpccg", "8", "8", "8", *arguments]
        lines, said = run(command, 2)
        if lines or said.count("\n") != 1 or words not in said:
            sys.exit(f"{shlex.join(command)}\nexpected one line with '{words}':\n{said}")


def plain(proxy):
    calm = undisturbed(proxy)
    for more in *WAYS.values(), ["--method", "reinit", "--checkpoint-every", "0"], ["--method", "ulfm", "--checkpoint-every", "7"], \
            ["--method", "ulfm", "--checkpoint-every", "0"]:
        command = job(proxy, more)
        lines, said = run(command)
        same(calm, lines, said, command, True)
        times_are_told(said, command)
    lines, said = run(job(proxy, []))
    same(calm, lines, said, job(proxy, []), True)


def alone():
    program = [f"{BUILD}/apps/hpccg", *PROXIES["hpccg"][1:]]
    calm = run([*program, "--method", "plain"])[0]
    for way in WAYS.values():
        command = [*program, *way]
        same(calm, *run(command), command, True)


CASES = {"during": during, "twice": twice, "lost": lost, "damage": damage, "wrong": wrong, "plain": plain, "alone": alone}
try:
    if sys.argv[2] in CASES:
        CASES[sys.argv[2]](*sys.argv[3:])
    else:
        survive(*sys.argv[2:])
finally:
    for work in FILES, tempfile.tempdir:
        shutil.rmtree(work)
