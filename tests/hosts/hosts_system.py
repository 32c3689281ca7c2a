# SPDX-License-Identifier: BSD-3-Clause
"""What the rig of hosts needs of Linux and Python's library does not have: namespaces, mounts, and a look at processes by namespace."""
import ctypes
import os
import select
import signal
import sys
import time

CLONE_NEWTIME = 0x80
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
OF_A_HOST = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET  # besides those of its PIDs and clocks, which are those of children
HAS_CLOCKS = os.path.exists("/proc/self/ns/time")  # Linux 5.6
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 2, 4, 8, 0x1000, 0x2000, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
GONE = (FileNotFoundError, ProcessLookupError)

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    words = [argument.encode() if isinstance(argument, str) else argument for argument in arguments]
    if getattr(libc, name)(*words) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def unshare(flags):
    call("unshare", flags)


def setns(fd, flags):
    call("setns", fd, flags)


def mount(source, target, kind=None, flags=0, data=None):
    try:
        call("mount", source, target, kind, ctypes.c_ulong(flags), data)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} ({source or kind} on {target})")


def bind(source, target):
    """source: a path, or the number of an open file."""
    mount(f"/proc/self/fd/{source}" if isinstance(source, int) else source, target, None, MS_BIND | MS_REC)


def end_with_parent():
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def set_name(name):
    call("prctl", PR_SET_NAME, name[:15], 0, 0, 0)


def fork_init(ahead_s):
    """Like fork, but the child is process 1 of a new PID namespace, and its clocks since the boot are ahead. Later children of this process
    are in its own namespaces again."""
    kinds = {"pid": CLONE_NEWPID, **({"time": CLONE_NEWTIME} if HAS_CLOCKS else {})}
    own = {kind: os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds}
    try:
        unshare(sum(kinds.values()))
        if HAS_CLOCKS:
            with open("/proc/self/timens_offsets", "w") as offsets:
                offsets.write(f"monotonic {ahead_s} 0\nboottime {ahead_s} 0\n")
        pid = os.fork()
        for kind, flag in kinds.items() if pid else ():
            setns(own[kind], flag)
        return pid
    finally:
        for fd in own.values():
            os.close(fd)


def enter(pidfd, words, environment):
    """Runs a command in all namespaces of a process; its exit status, 128 + N after signal N. The command ends with this process, and gets
    the signals that other processes send to this one; those of a terminal reach it anyway."""
    passed_on = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, passed_on | {signal.SIGCHLD})
    folder = os.getcwd()
    lives, life = os.pipe()
    setns(pidfd, CLONE_NEWPID)
    child = os.fork()  # it alone enters the others: this process keeps none of them
    if child == 0:
        try:
            end_with_parent()
            os.close(life)
            if await_readable(lives, 0):  # the parent has ended just before
                os._exit(1)
            setns(pidfd, OF_A_HOST | (CLONE_NEWTIME if HAS_CLOCKS else 0))
            os.chdir(folder if os.path.isdir(folder) else "/")
            for name in ("TMPDIR", "TMP", "TEMP", "XDG_RUNTIME_DIR"):
                if not os.path.isdir(environment.get(name, "/")):
                    del environment[name]
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.execvpe(words[0], words, environment)
        except OSError as error:
            print(f"hosts: {words[0]}: {error.strerror}", file=sys.stderr, flush=True)
            os._exit(126 if isinstance(error, PermissionError) else 127)
    while True:
        told = signal.sigwaitinfo(passed_on | {signal.SIGCHLD})  # the wait for the command's end, which is its user's to bound
        if told.si_signo != signal.SIGCHLD:
            if told.si_code <= 0:  # by a process
                os.kill(child, told.si_signo)
        else:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def await_readable(fd, end):
    """Waits until a descriptor can be read, or its other end is closed; False: not before this time of the monotonic clock."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0, end - time.monotonic()) * 1000))


# ---- processes

class Process:
    def __init__(self, pid):
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
        with open(f"/proc/{pid}/status") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        fields = stat[stat.rindex(b")") + 2:].split()
        self.pid, self.state, self.parent = pid, fields[0].decode(), int(fields[1])
        self.inner_pid = int(status["NSpid"].split()[-1])  # its number in its own namespace
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            self.command = file.read().replace(b"\0", b" ").decode(errors="replace").strip() or f"[{status['Name']}]"


def namespace(pid, kind):
    """What names a namespace of a process; None: the process is gone, or may not be seen."""
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except (*GONE, PermissionError):
        return None


def processes_in(pid_namespace):
    """The processes of a PID namespace, by number. Those of namespaces within it are not among them."""
    found = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        if namespace(pid, "pid") == pid_namespace:
            try:
                found[pid] = Process(pid)
            except GONE:
                pass
    return found
