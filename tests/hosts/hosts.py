#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A rig of hosts on one machine, for tests of a launcher of clusters: h0, a front end, and h1 to hN, as real as namespaces allow.

    hosts.py up N [--slurm] [--share PATH ...] --folder D    holds the rig until its standard input is closed, or by SIGTERM, SIGINT
    hosts.py run --folder D K -- COMMAND...                  runs a command on host K, with its exit status
    hosts.py power-off | boot | stop | cont --folder D K     faults; boot waits until the host's daemons answer
    hosts.py cable --folder D K on|off
    hosts.py check --folder D [K]                            what is left over on a host, or on all; exit status 1: something
    hosts.py down --folder D                                 ends the rig and removes its folder

D is a new or an empty folder. Needs root, sshd and ip, with --slurm also slurm's daemons and munged. README.md says what a host is.
"""
import argparse
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hosts_files as files  # noqa: E402
import hosts_supervisor as supervisor  # noqa: E402
import hosts_system as system  # noqa: E402
from hosts_files import HANG_S, lacking  # noqa: E402, F401
from hosts_init import Failed  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
import scratch  # noqa: E402

CLIENT_S = 3 * HANG_S  # a request waits for the one before it, and for at most two bounds of its own
MARK = "RZ_HOSTS"  # in the environment of all processes of a rig; its value is the rig's folder


# ---- a client of the supervisor

def connect(folder):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(CLIENT_S)
    try:
        at = os.open(folder, os.O_PATH)
        try:
            client.connect(f"/proc/self/fd/{at}/{supervisor.CONTROL}")
        finally:
            os.close(at)
    except OSError as error:
        client.close()
        raise Failed(f"no rig of hosts is up in {folder}: {error.strerror}")
    return client


def ask(folder, what, **request):
    """The value of the supervisor's answer, and the descriptor that came with it, or None."""
    with connect(folder) as client:
        client.send(json.dumps({"do": what, **request}).encode())
        try:
            message, fds, _, _ = socket.recv_fds(client, supervisor.REQUEST_BYTES, 1)
        except socket.timeout:
            raise Failed(f"the rig of hosts in {folder} does not answer")
        except ConnectionResetError:
            message, fds = b"", []
    if not message:
        raise Failed(f"the rig of hosts in {folder} has ended")
    reply = json.loads(message)
    if "error" in reply:
        raise Failed(reply["error"])
    return reply["value"], fds[0] if fds else None


def run_here(folder, k, words):
    """Runs a command on a host, with the streams and the environment of this process; its exit status."""
    value, pidfd = ask(folder, "enter", k=k)
    environment = dict(os.environ, HOME=files.HOME, **{MARK: os.path.realpath(folder)})
    if value["slurm"]:
        environment["SLURM_CONF"] = files.SLURM_CONF
    return system.enter(pidfd, words, environment)


def end(folder):
    """Ends the supervisor of a folder, if there is one, and waits for it."""
    try:
        client = connect(folder)
    except Failed:
        return
    with client:
        pid = int.from_bytes(client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        client.send(json.dumps({"do": "end"}).encode())
        if not system.await_readable(pidfd, time.monotonic() + CLIENT_S):
            raise Failed(f"the supervisor ({pid}) does not end")
        os.close(pidfd)


def remove(folder):
    if not os.path.isdir(f"{folder}/rig"):
        raise Failed(f"{folder} is no folder of a rig of hosts")
    shutil.rmtree(folder)


# ---- for tests

class Hosts:
    """A rig of hosts h0 to h<n>, which goes with this object, and with this process. What fails raises Failed."""

    ssh_config, slurm_conf = files.SSH_CONFIG, files.SLURM_CONF  # as the hosts see them

    def __init__(self, n, slurm=False, folder=None, share=()):
        """folder: a new or empty one, which stays the caller's; share: paths that all hosts see, if they lie in /tmp or the like."""
        self.n, self.own_folder = n, not folder
        self.folder = os.path.realpath(folder or scratch.folder("hosts-"))
        command = [sys.executable, "-B", os.path.abspath(__file__), "up", str(n), "--folder", self.folder]
        command += ["--slurm"] * slurm + [word for path in share for word in ("--share", path)]
        self.supervisor = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
                                           env=dict(os.environ, **{MARK: self.folder}))
        try:
            ready, _, _ = select.select([self.supervisor.stdout], [], [], CLIENT_S)
            if not ready or not self.supervisor.stdout.readline().startswith("ready"):
                raise Failed("the rig of hosts is not ready; it has said why")
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends all that runs on the hosts, and the hosts."""
        self.supervisor.stdin.close()
        try:
            self.supervisor.wait(CLIENT_S)
        except subprocess.TimeoutExpired:
            self.supervisor.kill()
            self.supervisor.wait()
            raise Failed("the supervisor does not end")
        finally:
            self.supervisor.stdout.close()
            if self.own_folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    # ---- commands

    def command(self, k, words):
        """What to start, on this machine, for a command on host k."""
        return [sys.executable, "-B", os.path.abspath(__file__), "run", "--folder", self.folder, str(k), "--", *words]

    def start(self, k, words, **options):
        """A command on host k, as subprocess.Popen has it. It ends with that process, and gets the signals sent to it."""
        return subprocess.Popen(self.command(k, words), **{"stdin": subprocess.DEVNULL, **options})

    def run(self, k, words, **options):
        """A command on host k, as subprocess.run has it: with what it wrote, as text, unless the options say otherwise."""
        defaults = {"text": True, "timeout": HANG_S}
        if "input" not in options:
            defaults["stdin"] = subprocess.DEVNULL
        if not {"stdout", "stderr", "capture_output"} & set(options):
            defaults["capture_output"] = True
        return subprocess.run(self.command(k, words), **{**defaults, **options})

    # ---- faults

    def power_off(self, k):
        """All on it is gone at once, and others hear nothing of it: no connection of theirs breaks."""
        ask(self.folder, "power_off", k=k)

    def boot(self, k):
        """The same host again, with empty places in memory; returns when its daemons answer."""
        ask(self.folder, "boot", k=k)

    def cable(self, k, on):
        """Plugs its cable in or takes it out; that outlasts a boot."""
        ask(self.folder, "cable", k=k, on=bool(on))

    def stop(self, k):
        """Stops all its processes. Its kernel still answers to others."""
        ask(self.folder, "stop", k=k)

    def cont(self, k):
        ask(self.folder, "cont", k=k)

    # ---- looks

    def state(self):
        """pid (of the supervisor), hosts, on (the numbers of those that run), init (the process 1 of each, by name), slurm."""
        return ask(self.folder, "state")[0]

    def free_check(self, k=None):
        """What is left over on a host, or on all that run, a line each: processes that are neither the host's own nor of a command of `run`
        that still runs; files in its places in memory. A session of sshd ends some time after its client."""
        hosts = self.state()["on"] if k is None else [k]
        return [line for host in hosts for line in ask(self.folder, "free_check", k=host)[0]]


# ---- the command

def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    found = {}
    for name in ("up", "run", "power-off", "boot", "stop", "cont", "cable", "check", "down"):
        found[name] = commands.add_parser(name)
        found[name].add_argument("--folder", required=True, metavar="D")
    found["up"].add_argument("n", type=int, metavar="N")
    found["up"].add_argument("--slurm", action="store_true")
    found["up"].add_argument("--share", action="append", default=[], metavar="PATH")
    for name in ("run", "power-off", "boot", "stop", "cont", "cable"):
        found[name].add_argument("k", type=int, metavar="K")
    found["check"].add_argument("k", type=int, metavar="K", nargs="?")
    found["cable"].add_argument("on", choices=("on", "off"))
    found["run"].add_argument("words", nargs="+", metavar="COMMAND")
    return parser.parse_args()


def up(options):
    if reason := lacking(options.slurm):
        raise Failed(f"hosts need {reason}")
    if not 1 <= options.n <= files.HOSTS_MAX:
        raise Failed(f"N is 1 to {files.HOSTS_MAX}")
    os.makedirs(options.folder, mode=0o700, exist_ok=True)
    if os.listdir(options.folder):
        raise Failed(f"{options.folder} is not empty")
    os.mkdir(f"{options.folder}/rig")
    return supervisor.supervise(options.n, options.folder, options.slurm, options.share)


def check(options):
    hosts = ask(options.folder, "state")[0]["on"] if options.k is None else [options.k]
    left = [line for k in hosts for line in ask(options.folder, "free_check", k=k)[0]]
    print("".join(f"{line}\n" for line in left), end="")
    return 1 if left else 0


def main():
    options = arguments()
    try:
        if options.command == "up":
            return up(options)
        if options.command == "run":
            return run_here(options.folder, options.k, options.words)
        if options.command == "check":
            return check(options)
        if options.command == "down":
            end(options.folder)
            remove(options.folder)
        elif options.command == "cable":
            ask(options.folder, "cable", k=options.k, on=options.on == "on")
        else:
            ask(options.folder, options.command.replace("-", "_"), k=options.k)
    except Failed as failed:
        print(f"hosts: {failed}", file=sys.stderr)
        return 125
    return 0


if __name__ == "__main__":
    sys.exit(main())
