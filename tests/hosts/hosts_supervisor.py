# SPDX-License-Identifier: BSD-3-Clause
"""The process that holds a rig of hosts: boots them, does to them what it is told through a socket, and ends them when it ends itself.

It lives in a network namespace of its own, in which the bridge of the rig is. Process 1 of each host is its child, and is killed by the
kernel when the supervisor ends, whatever the reason.
"""
import array
import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import time

import hosts_files as files
import hosts_init as init
import hosts_system as system
from hosts_files import HANG_S
from hosts_init import Failed

BRIDGE = "switch"
CONTROL = "control"  # the socket, in the rig's folder
REQUEST_BYTES = 65536
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# What the rig itself has in the own places of a host: with all that lies in it, or only the folder.
TREES = {files.RIG, "/run/munge", "/run/sshd", "/run/sshd.pid", "/run/slurmd", "/run/slurmd.pid", "/run/slurmctld.pid", "/run/boot_id",
         "/run/machine-id"}
FOLDERS = {"/run/lock"}
LOOKED_AT = ("/tmp", "/dev/shm", "/run", "/var/tmp")


class Stop(Exception):
    """The supervisor is to end."""


def stop(*_):
    raise Stop


class Host:
    """What the supervisor knows of a host. pid is None while it is off."""

    def __init__(self, k):
        self.k, self.name = k, files.name(k)
        self.pid = self.pidfd = self.channel = None
        self.namespace, self.daemons, self.stopped, self.connected = None, [], False, True

    def start(self, *rest):
        """Forks process 1, which makes its namespaces."""
        self.channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sys.stderr.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        pid = system.fork_init(files.ahead_s(self.k))
        if pid == 0:
            init.run(self.k, other, *rest)
        self.pid, self.pidfd, self.stopped = pid, os.pidfd_open(pid), False
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        other.close()
        self.namespace = system.namespace(pid, "pid")

    def hear(self, end):
        """The next message of process 1."""
        if not system.await_readable(self.channel, end):
            raise Failed(f"{self.name} is not ready after {HANG_S} s")
        try:
            message = self.channel.recv(REQUEST_BYTES)
        except ConnectionResetError:
            message = b""
        if not message:
            raise Failed(f"process 1 of {self.name} has ended")
        if message == b"made":
            return {}
        told = json.loads(message)
        if "error" in told:
            raise Failed(told["error"])
        return told

    def processes(self):
        return system.processes_in(self.namespace)

    def end(self):
        """Kills all that runs on it, and waits until the kernel is done."""
        if self.pid is None:
            return
        signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        if not system.await_readable(self.pidfd, time.monotonic() + HANG_S):
            raise Failed(f"process 1 of {self.name} ({self.pid}) cannot be ended")
        os.waitpid(self.pid, 0)
        os.close(self.pidfd)
        self.channel.close()
        self.pid = self.pidfd = self.channel = None

    # ---- an overloaded host

    def stop(self):
        """Stops all its processes. One that is being forked meanwhile is found by the next look; the last look has found none that runs."""
        end = time.monotonic() + HANG_S
        self.stopped = True
        while running := [process for process in self.processes().values() if process.state not in "TtZX"]:
            if time.monotonic() > end:
                raise Failed(f"{self.name}: these do not stop: {[process.command for process in running]}")
            self.signal(running, signal.SIGSTOP)
            time.sleep(init.POLL_S)  # until the kernel has stopped them: the state is no event

    def cont(self):
        self.signal(self.processes().values(), signal.SIGCONT)
        self.stopped = False

    @staticmethod
    def signal(processes, number):
        for process in processes:
            try:
                os.kill(process.pid, number)
            except ProcessLookupError:
                pass

    # ---- what is left on it

    def left_processes(self):
        """All but process 1, its daemons, and what descends from a command that `run` started and that still runs."""
        found = self.processes()

        def excused(pid):
            while pid in found:
                if pid == self.pid or found[pid].parent not in found:  # of `run`: its parent is outside
                    return pid != self.pid
                if found[pid].command.startswith("slurmctld:"):  # a child of the daemon, for its lifetime
                    return True
                pid = found[pid].parent
            return False
        return [f"{self.name}: process {process.inner_pid}: {process.command}" for process in found.values()
                if process.pid != self.pid and process.inner_pid not in self.daemons and process.state not in "ZX" and not excused(process.pid)]

    def left_files(self, shared):
        """All but the rig's, below the host's own places; of a folder with other things in it only the things."""
        left = []

        def look(folder):
            entries = os.listdir(f"/proc/{self.pid}/root{folder}")
            for path in (f"{folder}/{entry}" for entry in entries):
                if path in TREES or path in shared:
                    continue
                above = path in FOLDERS or any(other.startswith(f"{path}/") for other in shared)
                if above and stat.S_ISDIR(os.lstat(f"/proc/{self.pid}/root{path}").st_mode):
                    look(path)
                else:
                    left.append(f"{self.name}: {path}")
        for folder in LOOKED_AT:
            if os.path.isdir(f"/proc/{self.pid}/root{folder}"):
                look(folder)
        return sorted(left)


class Supervisor:
    def __init__(self, n, folder, slurm, shared):
        self.folder, self.slurm = os.path.realpath(folder), slurm
        self.shared = [path for path in map(os.path.realpath, shared) if any(path.startswith(f"{own}/") for own in init.OWN)]
        self.hosts = [Host(k) for k in range(n + 1)]
        self.munged = self.listener = None

    # ---- its own beginning and end

    def open(self):
        files.make(f"{self.folder}/rig", range(len(self.hosts)), self.slurm, self.folder)
        system.unshare(system.CLONE_NEWNET)
        init.ip([f"link add {BRIDGE} type bridge stp_state 0 forward_delay 0 mcast_snooping 0", f"link set dev {BRIDGE} up"])
        self.listen()
        if self.slurm:
            self.start_munged()
            self.boot(self.hosts[:1])
            self.boot(self.hosts[1:])
            self.await_slurm(self.hosts[1:])
        else:
            self.boot(self.hosts)

    def listen(self):
        """By a path that is short: that of a socket has a bound."""
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        at = os.open(self.folder, os.O_PATH)
        self.listener.bind(f"/proc/self/fd/{at}/{CONTROL}")
        os.close(at)
        self.listener.listen(64)

    def start_munged(self):
        rig, end = f"{self.folder}/rig", time.monotonic() + HANG_S
        os.chmod(f"{rig}/munge", 0o755)
        words = ["munged", "--foreground", "--force", f"--key-file={rig}/munge.key", f"--socket={rig}/munge/munge.socket.2",
                 f"--pid-file={rig}/munge.pid", f"--seed-file={rig}/munge.seed", f"--log-file={rig}/log/munged"]
        with open(f"{rig}/log/munged.out", "w") as log:
            self.munged = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                           preexec_fn=system.end_with_parent)
        while not self.munged_answers():
            if self.munged.poll() is not None or time.monotonic() > end:
                raise Failed(f"munged does not answer: {init.tail(f'{rig}/log/munged.out')}")
            time.sleep(init.POLL_S)

    def munged_answers(self):
        done = subprocess.run(["munge", "--no-input", f"--socket={self.folder}/rig/munge/munge.socket.2"], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=HANG_S)
        return done.returncode == 0

    def close(self):
        for host in self.hosts:  # first all, then each: so that they end at the same time
            if host.pid:
                signal.pidfd_send_signal(host.pidfd, signal.SIGKILL)
        for host in self.hosts:
            host.end()
        if self.munged:
            self.munged.kill()
            self.munged.wait(HANG_S)
        if self.listener:
            self.listener.close()
            if os.path.exists(f"{self.folder}/{CONTROL}"):
                os.unlink(f"{self.folder}/{CONTROL}")

    # ---- what is done to hosts

    def boot(self, hosts):
        end = time.monotonic() + HANG_S
        try:
            for host in hosts:
                host.start(f"{self.folder}/rig", self.shared, self.slurm)
            for host in hosts:
                host.hear(end)
            lines = []
            for host in hosts:
                lines += [f"link add {host.name} type veth peer name eth0 address {files.hardware_address(host.k)} netns {host.pid}",
                          f"link set dev {host.name} master {BRIDGE}", f"link set dev {host.name} {'up' if host.connected else 'down'}"]
            init.ip(lines)
            for host in hosts:
                host.channel.send(b"connected")
            for host in hosts:
                host.daemons = host.hear(end)["ready"]
        except (Failed, OSError) as error:
            for host in hosts:
                host.end()
            raise Failed(str(error))

    def await_slurm(self, hosts):
        """Waits until slurmctld has heard of these hosts' slurmd and would start jobs on them."""
        end, names = time.monotonic() + HANG_S, ",".join(host.name for host in hosts)
        while True:
            done = subprocess.run(["sinfo", "--noheader", "--Node", "--format=%T", f"--nodes={names}"], stdin=subprocess.DEVNULL, cwd="/",
                                  capture_output=True, text=True, timeout=HANG_S, env=dict(os.environ, SLURM_CONF=files.SLURM_CONF),
                                  preexec_fn=lambda: system.setns(self.hosts[0].pidfd, system.OF_A_HOST))
            states = set(done.stdout.split())
            if done.returncode == 0 and states and states <= {"idle", "mixed", "allocated"}:
                return
            if time.monotonic() > end:
                raise Failed(f"slurm is not ready: {' '.join(states)} {done.stderr.strip()}")
            time.sleep(init.POLL_S)

    def power_off(self, host):
        """As if its power failed: first nothing goes out any more, then all its processes are gone. Others hear nothing of it."""
        if host.pid:
            init.ip([f"link set dev {host.name} nomaster"])
            host.end()
            self.remove_cable(host)

    def remove_cable(self, host):
        """The kernel removes the network of a host some time after its last process; its device goes now, for the next boot."""
        if os.path.exists(f"/proc/sys/net/ipv4/conf/{host.name}"):
            try:
                init.ip([f"link del dev {host.name}"])
            except Failed:
                if os.path.exists(f"/proc/sys/net/ipv4/conf/{host.name}"):
                    raise

    def cable(self, host, on):
        host.connected = on
        if host.pid:
            init.ip([f"link set dev {host.name} {'up' if on else 'down'}"])

    def has_ended(self, host):
        """Process 1 of a host has ended by itself: reboot(2) called in it does so."""
        host.end()
        self.remove_cable(host)
        print(f"hosts: {host.name} is off: its process 1 has ended", file=sys.stderr)

    # ---- requests

    def host(self, request):
        k = request["k"]
        if not isinstance(k, int) or not 0 <= k < len(self.hosts):
            raise Failed(f"there is no host {k}: they are 0 to {len(self.hosts) - 1}")
        return self.hosts[k]

    def running(self, request):
        host = self.host(request)
        if not host.pid:
            raise Failed(f"{host.name} is off")
        return host

    def answer(self, request):
        """The value of the answer, and a descriptor that goes with it."""
        what = request["do"]
        if what == "state":
            return {"pid": os.getpid(), "slurm": self.slurm, "on": [host.k for host in self.hosts if host.pid], "hosts": len(self.hosts),
                    "init": {host.name: host.pid for host in self.hosts if host.pid}}, None
        if what == "end":
            raise Stop
        if what == "enter":
            host = self.running(request)
            if host.stopped:
                raise Failed(f"{host.name} is stopped")
            return {"slurm": self.slurm}, host.pidfd
        if what == "boot":
            host = self.host(request)
            if not host.pid:
                self.boot([host])
        elif what == "power_off":
            self.power_off(self.host(request))
        elif what == "cable":
            self.cable(self.host(request), request["on"])
        elif what == "stop":
            self.running(request).stop()
        elif what == "cont":
            self.running(request).cont()
        elif what == "free_check":
            host = self.running(request)
            return host.left_processes() + host.left_files(self.shared), None
        else:
            raise Failed(f"there is no '{what}'")
        return None, None

    def serve(self, connection):
        """One request of one client, which has come whole."""
        descriptor, fds = None, []
        try:
            request = json.loads(connection.recv(REQUEST_BYTES) or b"{}")
            if not request:
                return
            value, descriptor = self.answer(request)
            reply = {"value": value}
        except (Failed, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            reply = {"error": str(error)}
        if descriptor is not None:
            fds = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
        try:
            connection.sendmsg([json.dumps(reply).encode()], fds, socket.MSG_DONTWAIT)
        except OSError:
            pass  # the client has ended

    def loop(self, watched):
        """Until watched is closed, a client asks for the end, or a signal comes."""
        clients = {}
        while True:
            poll = select.poll()
            inits = {host.pidfd: host for host in self.hosts if host.pid}
            for fd in (watched, self.listener.fileno(), *clients, *inits):
                poll.register(fd, select.POLLIN)
            for fd, _ in poll.poll():  # the wait for requests: it ends with stdin, or by a signal
                if fd == watched:
                    if not os.read(watched, 4096):
                        raise Stop
                elif fd == self.listener.fileno():
                    connection, _ = self.listener.accept()
                    clients[connection.fileno()] = connection
                elif fd in clients:
                    with clients.pop(fd) as connection:
                        self.serve(connection)
                    break  # hosts may be others now
                elif inits[fd].pidfd == fd:
                    self.has_ended(inits[fd])
                    break


def supervise(n, folder, slurm, shared):
    """The whole life of a supervisor; its exit status."""
    for number in ENDING:
        signal.signal(number, stop)
    supervisor, status = Supervisor(n, folder, slurm, shared), 0
    try:
        began = time.monotonic()
        supervisor.open()
        print(f"ready: h0 and {n} hosts after {time.monotonic() - began:.1f} s, {supervisor.folder}", flush=True)
        supervisor.loop(sys.stdin.fileno())
    except Stop:
        pass
    except (Failed, OSError, subprocess.SubprocessError) as error:
        print(f"hosts: {error}", file=sys.stderr)
        status = 1
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    try:
        supervisor.close()
    except (Failed, OSError, subprocess.SubprocessError) as error:
        print(f"hosts: {error}", file=sys.stderr)
        status = 1
    return status
