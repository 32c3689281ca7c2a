# SPDX-License-Identifier: BSD-3-Clause
"""One command: started, listened to, bounded, and cleared away."""
import ctypes
import os
import re
import resource
import select
import signal
import subprocess
import time

OUTPUT_MAX = 4 << 20
GRACE_S = 2  # between asking a launcher to end and killing all that it started
LOOK_S = 0.02  # between two looks of a watch, or at a command where the kernel has no pidfd
CLEAR_S = 10
NOT_FOUND = 127

# How a command ended: by itself; over the limit; because the budget was used up, which says nothing about the command; or because its watch had
# seen enough.
ENDED, OVER, OUT_OF_TIME, ENOUGH = "ended", "over", "out of time", "enough"

libc = ctypes.CDLL(None)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def leading_number(text):
    found = re.match(r"\s*[+-]?(\d+\.?\d*(e[+-]?\d+)?|inf|nan)", text, re.I)
    return float(found.group(0)) if found else 0.0


class Run:
    """What came of it. status: its exit status, or 128 + signal; cpu_s: user and system time of the whole tree."""

    def __init__(self, output=""):
        self.end, self.status, self.wall_s, self.cpu_s, self.output = ENDED, NOT_FOUND, 0.0, 0.0, output

    def lines(self, word):
        """Of each line that begins with word and a blank, the rest."""
        return [line[len(word) + 1:] for line in self.output.split("\n") if line.startswith(word + " ")]

    def line(self, word):
        return next(iter(self.lines(word)), None)

    def numbers(self, word):
        """Of each such line the numbers."""
        return [list(map(leading_number, line.split())) for line in self.lines(word)]

    def value(self, word):
        """The first number of the first one; None: it was not printed."""
        return next((numbers[0] for numbers in self.numbers(word) if numbers), None)

    def good(self):
        return self.end == ENDED and self.status == 0


class Interrupt:
    """The user wants an end: signals set it, and a poll that is under way ends."""

    def __init__(self):
        self.set = False
        self.woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.note)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what a command leaves behind becomes a child of this process

    def note(self, *_):
        self.set = True


def start(words):
    """In a process group of its own, ended when this process is; OSError: it cannot be started."""
    parent = os.getpid()

    def become():
        os.setpgid(0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(NOT_FOUND)
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=become)
    try:
        return child, os.pidfd_open(child.pid)
    except (OSError, AttributeError):
        return child, None  # the kernel has none, so the command is looked for


def listen(child, pidfd, until, output, interrupt=None, watch=None):
    """Listens until the command has ended, its time is over, or its watch has seen enough. The end of the command counts, not that of its output:
    what it left behind may hold that open."""
    poll, pipe = select.poll(), child.stdout.fileno()
    for descriptor in [pipe] + [other for other in (pidfd, interrupt and interrupt.woken) if other is not None]:
        poll.register(descriptor, select.POLLIN)
    while True:
        now = time.monotonic()
        if watch and watch():
            return ENOUGH
        if now >= until or (interrupt and interrupt.set):
            return OVER
        look = min(until, now + LOOK_S) if watch or pidfd is None else until
        if pipe in [descriptor for descriptor, _ in poll.poll((look - now) * 1000 + 1)]:
            taken = os.read(pipe, 1 << 16)
            output += taken[:max(0, OUTPUT_MAX - len(output))]
            if not taken:
                poll.unregister(pipe)
        elif child.poll() is not None:
            return ENDED


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[1])
    except OSError:
        return None


def clear_away():
    """Kills and reaps what a command left behind: children of this process by adoption, and then what these leave behind."""
    until = time.monotonic() + CLEAR_S
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    try:
        while time.monotonic() < until:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            for pid in filter(str.isdigit, os.listdir("/proc")):
                if parent_of(pid) == os.getpid():
                    os.kill(int(pid), signal.SIGKILL)
            signal.sigtimedwait({signal.SIGCHLD}, LOOK_S)
    except ChildProcessError:
        pass  # no child is left
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def cpu_of_children_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_command(words, limit_s, deadline, interrupt, watch=None):
    """Runs a command to its end, to the limit, or to the deadline. Whatever it left behind is killed, so that nothing of one run disturbs the next."""
    output, cpu_before_s, begin = bytearray(), cpu_of_children_s(), time.monotonic()
    try:
        child, pidfd = start(words)
    except OSError as failure:
        return Run(f"{words[0]}: {failure.strerror}\n")
    result = Run()
    result.end = listen(child, pidfd, min(begin + limit_s, deadline), output, interrupt, watch)
    if result.end != ENDED:
        if result.end == OVER and (interrupt.set or deadline < begin + limit_s):
            result.end = OUT_OF_TIME
        child.terminate()
        listen(child, pidfd, time.monotonic() + GRACE_S, output)
    result.wall_s = time.monotonic() - begin
    clear_away()
    if child.returncode is None:
        child.returncode = -signal.SIGKILL
    result.status = child.returncode if child.returncode >= 0 else 128 - child.returncode
    result.cpu_s = cpu_of_children_s() - cpu_before_s
    os.set_blocking(child.stdout.fileno(), False)
    output += child.stdout.read() or b""  # what stands in the pipe: none is left that writes
    result.output = output[:OUTPUT_MAX].decode("utf-8", "replace")
    child.stdout.close()
    if pidfd is not None:
        os.close(pidfd)
    return result
