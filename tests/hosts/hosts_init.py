# SPDX-License-Identifier: BSD-3-Clause
"""What runs in a host of the rig from its boot on: process 1 of its PID namespace. It makes the host's own places, starts sshd and slurm's
daemons, says that they answer, and takes in the processes that have lost their parents, until it is killed or the rig has ended.

All namespaces of the host hang on its processes alone, and all of these are ended by the kernel when process 1 ends.
"""
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

import hosts_files as files
import hosts_system as system
from hosts_files import HANG_S, RIG

# Each host's own places in memory, with the rights of their top folders.
OWN = {"/tmp": 0o1777, "/dev/shm": 0o1777, "/run": 0o755, "/var/tmp": 0o1777, "/var/log": 0o755}
POLL_S = 0.02  # between two attempts to connect: a listening port is no event
SSH_PORT, SLURMCTLD_PORT, SLURMD_PORT = 22, 6817, 6818


class Failed(Exception):
    """Something could not be done, in words for the user."""


# ---- its own places

def make_places(k, folder, shared):
    """The mounts of a host; folder: what it sees as RIG; shared: paths of the machine that it sees although they lie in own places."""
    system.mount(None, "/", None, system.MS_REC | system.MS_PRIVATE)
    kept = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in shared}
    rig = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    cgroup = os.open("/sys/fs/cgroup", os.O_PATH | os.O_CLOEXEC) if os.path.ismount("/sys/fs/cgroup") else None
    system.mount("proc", "/proc", "proc", system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC)
    for path in OWN:
        if os.path.isdir(path):
            system.mount("tmpfs", os.path.realpath(path), "tmpfs", system.MS_NOSUID | system.MS_NODEV, f"mode={OWN[path]:o}")
    system.mount("sysfs", "/sys", "sysfs", system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC)  # shows this network's devices
    if cgroup is not None:
        system.bind(cgroup, "/sys/fs/cgroup")
    system.mount("devpts", "/dev/pts", "devpts", system.MS_NOSUID | system.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,gid=5")
    if os.path.isdir("/dev/mqueue"):
        system.mount("mqueue", "/dev/mqueue", "mqueue", system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC)
    os.umask(0o022)
    os.makedirs(RIG)
    system.bind(rig, RIG)
    for inner, mode in (("sshd", 0o755), ("lock", 0o1777), ("slurmd", 0o755)):
        os.mkdir(f"/run/{inner}")
        os.chmod(f"/run/{inner}", mode)
    for path, fd in kept.items():
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "a").close()
        system.bind(fd, path)
    for fd in (rig, cgroup, *kept.values()):
        if fd is not None:
            os.close(fd)
    make_identity(k)


def make_identity(k):
    """Files of the machine that are another one in each host. One that the machine lacks is lacking in the host, too."""
    files.write("/run/boot_id", f"{uuid.uuid4()}\n")
    files.write("/run/machine-id", f"{k + 1:032x}\n")
    own = {"/etc/hosts": f"{RIG}/etc/hosts", "/etc/hostname": f"{RIG}/etc/hostname.{files.name(k)}", "/etc/shadow": f"{RIG}/etc/shadow",
           "/etc/passwd": f"{RIG}/etc/passwd", "/etc/ssh/ssh_config": files.SSH_CONFIG, "/etc/slurm": f"{RIG}/slurm",
           "/etc/machine-id": "/run/machine-id", "/proc/sys/kernel/random/boot_id": "/run/boot_id"}
    for path, source in own.items():
        if os.path.exists(path) and os.path.exists(source):
            system.bind(source, os.path.realpath(path))
    if os.path.isdir(f"{RIG}/munge"):
        os.mkdir("/run/munge")
        system.bind(f"{RIG}/munge", "/run/munge")
    socket.sethostname(files.name(k))


def make_network(k):
    for switch in ("disable_ipv6", "accept_dad"):
        for scope in ("all", "default", "eth0"):
            path = f"/proc/sys/net/ipv6/conf/{scope}/{switch}"
            if os.path.exists(path):
                files.write(path, "0\n")
    lines = ["link set dev lo up", "link set dev eth0 up", f"addr add {files.address(k)}/24 dev eth0"]
    if os.path.exists("/proc/sys/net/ipv6"):
        lines.append(f"addr add {files.address6(k)}/64 dev eth0 nodad")
    ip(lines)


def ip(lines):
    done = subprocess.run(["ip", "-batch", "-"], input="".join(f"{line}\n" for line in lines), text=True, capture_output=True, timeout=HANG_S)
    if done.returncode != 0:
        raise Failed(f"ip: {done.stderr.strip()}")


# ---- its daemons

def commands(k, slurm):
    """What is started on the host, each with the port where it answers: in this order."""
    host = files.name(k)
    found = {"sshd": ([shutil.which("sshd"), "-D", "-e", "-f", f"{RIG}/ssh/sshd_config", "-h", f"{RIG}/ssh/{host}_key"], SSH_PORT)}
    if slurm:
        daemon, port = ("slurmctld", SLURMCTLD_PORT) if k == 0 else ("slurmd", SLURMD_PORT)
        found[daemon] = ([shutil.which(daemon), "-D", "-f", files.SLURM_CONF], port)
    return found


def answers(k, port):
    try:
        with socket.create_connection((files.address(k), port), HANG_S) as connection:
            return port != SSH_PORT or connection.recv(4) == b"SSH-"
    except OSError:
        return False


def tail(path):
    with open(path, errors="replace") as file:
        return "; ".join(file.read().splitlines()[-3:]) or "it has said nothing"


def start_daemons(k, slurm):
    """Their numbers, once all answer."""
    end, started = time.monotonic() + HANG_S, {}
    for daemon, (words, _) in commands(k, slurm).items():
        with open(f"{RIG}/log/{files.name(k)}.{daemon}.out", "a") as log:
            started[daemon] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
                                               env=dict(os.environ, HOME=files.HOME))
    for daemon, (_, port) in commands(k, slurm).items():
        while not answers(k, port):
            if started[daemon].poll() is not None or time.monotonic() > end:
                raise Failed(f"{daemon} does not answer: {tail(f'{RIG}/log/{files.name(k)}.{daemon}.out')}")
            time.sleep(POLL_S)
    return [process.pid for process in started.values()]


# ---- process 1

def keep_only(channel):
    """Ends of other hosts' channels, inherited from the supervisor, would keep those open."""
    for fd in [int(name) for name in os.listdir("/proc/self/fd")]:
        if fd > 2 and fd != channel.fileno():
            try:
                os.close(fd)
            except OSError:
                pass  # the listing's own


def take_in(channel):
    """Reaps, until the supervisor's end of the channel is closed."""
    awake, wake = os.pipe()
    for fd in (awake, wake):
        os.set_blocking(fd, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    poll = select.poll()
    poll.register(awake, select.POLLIN)
    poll.register(channel, select.POLLIN)
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        ready = [fd for fd, _ in poll.poll()]  # bounded by the life of the supervisor, which holds the channel
        if channel.fileno() in ready:
            return
        if awake in ready:
            os.read(awake, 4096)


def run(k, channel, folder, shared, slurm):
    """The whole life of process 1, forked from the supervisor; never returns. It tells: made, for its device; then ready, or what failed."""
    status = 1
    try:
        system.end_with_parent()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # blocked by the supervisor until here
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        keep_only(channel)
        os.setsid()
        os.chdir("/")
        system.set_name(f"{files.name(k)}-init")
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1):
            os.dup2(null, fd)
        system.unshare(system.CLONE_NEWNS | system.CLONE_NEWUTS | system.CLONE_NEWIPC | system.CLONE_NEWNET)
        channel.send(b"made")
        make_places(k, folder, shared)
        if channel.recv(16):
            make_network(k)
            channel.send(json.dumps({"ready": start_daemons(k, slurm)}).encode())
            os.dup2(null, 2)
            take_in(channel)
            status = 0
    except BaseException as error:  # also what no line above expects: process 1 tells it, and ends
        try:
            channel.send(json.dumps({"error": f"{files.name(k)}: {error}"}).encode())
        except OSError:
            pass
        print(f"hosts: {files.name(k)}: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(status)
