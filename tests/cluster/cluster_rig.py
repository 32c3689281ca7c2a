# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of clusters share: a job on nodes with networks of their own, and functions that cut its links.

The whole test runs in a user namespace of its own. So it needs no root where users may have namespaces, and the kernel
counts exactly whether a network namespace of a job is left: /proc/sys/user/max_net_namespaces counts those made here.
"""
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../launch")
import launch_rig as rig  # noqa: E402

SKIPPED = 77
INSIDE = "RZ_CLUSTER_INSIDE"
NAMESPACES = "/proc/sys/user/max_net_namespaces"
NETWORK = "10.77.0.0/16"
GONE = "Cannot find device"  # as ip says it


folder = None  # of all that these tests write; goes with this process


class Silent(Exception):
    """What was waited for did not come, or what was to be done could not be."""


# ---- surroundings

def look_at_surroundings():
    """Ends with SKIPPED where the system forbids what these tests need."""
    for words, what in ((["unshare", "-Ur", "unshare", "-n", "true"], "namespaces (as root, or where users may have them)"),
                        (["ip", "-V"], "ip (package iproute2)"), (["iptables", "--version"], "iptables"),
                        (["unshare", "-Ur", "unshare", "-n", "iptables", "-S"], "a kernel with netfilter")):
        try:
            allowed = subprocess.run(words, capture_output=True, timeout=rig.HANG_S).returncode == 0
        except FileNotFoundError:
            allowed = False
        if not allowed:
            print(f"skipped: this test needs {what}")
            sys.exit(SKIPPED)


def enter_surroundings():
    """Starts this program again in a user namespace; ends with SKIPPED where the system forbids it."""
    global folder
    if os.environ.get(INSIDE):
        folder = tempfile.TemporaryDirectory(prefix="cluster-test-")
        return
    look_at_surroundings()
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-Ur", sys.executable, "-B", *sys.argv])


def bound_namespaces(bound):
    with open(NAMESPACES, "w") as file:
        file.write(bound)


def namespaces_left():
    """Whether any network namespace that was made in these surroundings is still there: then a bound of one is reached."""
    with open(NAMESPACES) as file:
        before = file.read()
    bound_namespaces("1")
    try:
        return subprocess.run(["unshare", "-n", "true"], capture_output=True, timeout=rig.HANG_S).returncode != 0
    finally:
        bound_namespaces(before)


def await_no_namespaces():
    """Waits until all jobs' networks are removed; the seconds that it took, or None. They stay as long as the kernel tries
    to close connections that their process has left: after a partition about as long as that was."""
    begin = time.monotonic()
    gone = rig.await_true(lambda: not namespaces_left(), rig.HANG_S)  # asked again, it would see the one that it tried
    return time.monotonic() - begin if gone else None


def at(network, *words, data=None, harmless=None):
    """Runs a command in a network; when it began and when it had ended, in seconds of the events' clock. Complaints that
    all hold the words `harmless` are none."""
    before = time.monotonic()
    environment = dict(os.environ, XTABLES_LOCKFILE=f"{folder.name}/xtables")
    done = subprocess.run(["nsenter", f"--net={network}", *words], input=data, text=True, timeout=rig.HANG_S, capture_output=True,
                          env=environment)
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("Command failed")]
    if done.returncode != 0 and not (harmless and complaints and all(harmless in line for line in complaints)):
        raise Silent(f"{' '.join(words)}: {done.stderr.strip()}")
    return before, time.monotonic()


# ---- a job

class Cluster:
    """A job of cluster_job: runs until it is stopped. Its events, its nodes, and actions on them."""

    def __init__(self, nodes, options=(), ranks=None, pause_us=1000, program=None):
        self.n_nodes, self.n_ranks = nodes, ranks or nodes
        self.folder = tempfile.mkdtemp(dir=folder.name)
        self.mark = f"{os.getpid()}.{time.monotonic_ns()}"
        self.names_before = rig.names()
        self.report = f"{self.folder}/report"
        self.nodes, self.switch, self.possessions = {}, None, set()
        self.read_to, self.seen = 0, []
        self.cut_off, self.bridges = set(), itertools.count(1)
        program = program or [rig.program("cluster_job"), self.folder, str(pause_us)]
        self.command = [rig.RZRUN, "-n", str(self.n_ranks), "--nodes", str(nodes), "--adapter", "netns", "--max-restarts", "0",
                        "--report", self.report, "--timeout", rig.HANG, *options, *program]
        self.out = open(f"{self.folder}/out", "w+")
        self.err = open(f"{self.folder}/err", "w+")
        self.process = subprocess.Popen(self.command, env=dict(os.environ, RZ_TEST_MARK=self.mark), stdin=subprocess.DEVNULL,
                                        stdout=self.out, stderr=self.err)

    # ---- its events

    def events(self, kind=None, **fields):
        """All events so far of this kind whose fields have these values."""
        self.read_events()
        wanted = {name: str(value) for name, value in fields.items()}
        return [event for event in self.seen
                if kind in (None, event["event"]) and all(event.get(name) == value for name, value in wanted.items())]

    def read_events(self):
        if not os.path.exists(self.report):
            return
        with open(self.report) as lines:
            lines.seek(self.read_to)
            text = lines.read()
        whole = text[:text.rfind("\n") + 1]
        self.read_to += len(whole)
        for line in whole.splitlines():
            line, _, note = line.partition(" note=")
            event = dict(word.split("=", 1) for word in line.split())
            event["note"] = note
            self.seen.append(event)
            if event["event"] == "node":
                self.nodes[int(event["node"])] = event
            elif event["event"] == "switch":
                self.switch = event["network"]

    def await_true(self, condition, what, bound_s=rig.HANG_S):
        rig.await_true(lambda: condition() or self.ended(), bound_s)
        value = condition()
        if not value:
            raise Silent(f"{what} did not come" + (": the job has ended" if self.ended() else f" within {bound_s} s"))
        return value

    def await_run(self, after_s=0):
        """Waits until an epoch runs that was agreed after this time, and has a checkpoint; its number."""
        def running():
            runs = [event for event in self.events("run") if when(event) > after_s]
            newest = max((int(event["epoch"]) for event in runs), default=0)
            return newest if newest and self.events("committed", epoch=newest) else 0
        return self.await_true(running, "a running epoch")

    def await_failure(self, node, by=None, bound_s=rig.HANG_S):
        """Waits until some node of `by` (any) has noticed that node is failed; the event."""
        def noticed():
            found = [event for event in self.events("failure_seen", rank=-1, node=node)
                     if by is None or int(event["by"]) in by]
            return found and min(found, key=when)
        return self.await_true(noticed, f"the failure of node {node}", bound_s)

    def ended(self):
        return self.process.poll() is not None

    def text(self, stream):
        with open(f"{self.folder}/{stream}") as file:
            return file.read()

    # ---- what is done to it

    def daemon(self, node):
        return int(self.nodes[node]["daemon"])

    def network(self, node):
        return self.nodes[node]["network"]

    def kill(self, nodes):
        for node in nodes:
            os.kill(self.daemon(node), signal.SIGKILL)
        return time.monotonic()

    def signal(self, node, number):
        os.kill(self.daemon(node), number)
        return time.monotonic()

    def unplug(self, nodes):
        """Cuts the links, at the switch: no connection breaks, nothing arrives any more."""
        return at(self.switch, "ip", "-batch", "-", data="".join(f"link set dev node{node} down\n" for node in nodes))

    def plug_in(self, nodes):
        """The link of a node that has stopped meanwhile may be removed."""
        return at(self.switch, "ip", "-force", "-batch", "-", harmless=GONE,
                  data="".join(f"link set dev node{node} up\n" for node in nodes))

    def partition(self, nodes):
        """These nodes get a switch of their own."""
        bridge = f"other{next(self.bridges)}"
        return at(self.switch, "ip", "-batch", "-", data=f"link add {bridge} type bridge\nlink set dev {bridge} up\n" +
                  "".join(f"link set dev node{node} master {bridge}\n" for node in nodes))

    def heal(self, nodes):
        return at(self.switch, "ip", "-force", "-batch", "-", harmless=GONE,
                  data="".join(f"link set dev node{node} master switch\n" for node in nodes))

    def drop(self, node, *match, chain="INPUT"):
        """Node's firewall drops what matches: e.g. "-s", address of another; "-m", "statistic", ..."""
        return at(self.network(node), "iptables", "-w", "-A", chain, "-i" if chain == "INPUT" else "-o", "rz0", *match, "-j", "DROP")

    def drop_no_more(self, node):
        return at(self.network(node), "iptables", "-w", "-F")

    def address(self, node):
        return self.nodes[node]["address"]

    def received_bytes(self, node):
        """What has come over the node's device."""
        with open(f"/proc/{self.daemon(node)}/net/dev") as devices:
            return int(next(line for line in devices if "rz0:" in line).split(":")[1].split()[0])

    # ---- its end

    def remember_possessions(self):
        for process in rig.marked(self.mark):
            try:
                if process.name != "rzrun":
                    self.possessions |= process.possessions()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass

    def stop(self):
        """Tells the program to end; the exit status."""
        self.remember_possessions()
        open(f"{self.folder}/stop", "w").close()
        return self.wait()

    def wait(self):
        try:
            self.process.wait(rig.HANG_S)
        except subprocess.TimeoutExpired:
            raise Silent("the job does not end")
        self.read_events()
        return self.process.returncode

    def left_behind(self):
        processes = [f"process {p.pid} ({p.name}): {p.command}" for p in rig.marked(self.mark)]
        held = [f"process {p.pid} ({p.name}) holds a socket or memory of the job" for p in rig.holders(self.possessions)]
        # No program of these tests makes a folder in memory; those that are there are of jobs of tests that run beside this one,
        # whose processes cannot be seen from this user namespace.
        names = [name for name in rig.names() - self.names_before if not rig.SCRATCH.fullmatch(name)]
        return processes + held + sorted(names)

    def close(self):
        """Whatever was, nothing stays; what had to be cleared away."""
        if not self.ended():
            self.process.kill()
            self.process.wait()
        left = rig.lasting(self.left_behind)
        for process in rig.marked(self.mark):
            os.kill(process.pid, signal.SIGKILL)
        self.out.close()
        self.err.close()
        return left


def when(event):
    return int(event["at_ns"]) / 1e9


# ---- what must hold

def one_decision(cluster, survivors):
    """What is wrong with the epochs, if anything: all survivors went through the same last epoch, with the same generation,
    and no other did; no epoch had two decisions."""
    epochs = {}
    for event in cluster.events("epoch"):
        epochs.setdefault(int(event["epoch"]), {})[int(event["by"])] = event["value"]
    for epoch, told in sorted(epochs.items()):
        if len(set(told.values())) > 1:
            return f"epoch {epoch} began with different generations: {told}"
    last = max(epochs)
    if set(epochs[last]) != set(survivors):
        return f"epoch {last} was entered by nodes {sorted(epochs[last])}, not by {sorted(survivors)}"
    return None


def known_failed(cluster, by):
    """The nodes whose failure this one knows."""
    return {int(event["node"]) for event in cluster.events("failure_news", rank=-1, by=by)}
