#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on nodes with networks of their own, whose daemons are killed and stopped and whose cables are pulled.

In each case the side that has a quorum continues to the exact result, all its daemons through the same epochs; every
other daemon stops and reports why; and nothing is left behind, no process, socket, shared memory or network namespace.

    cluster.py                                    each scenario once: the sample
    cluster.py --seeds 1..100 [--budget S]        scenario after scenario, with random times and places
    cluster.py --only NAME ...                    scenarios whose names begin so
    cluster.py --measure silence|calm --budget S  how soon a silent node is noticed; whether live nodes are reported

RZ_TEST_BUILD names the build tree. Skipped (exit status 77) where the system allows no namespaces.
"""
import argparse
import concurrent.futures
import itertools
import os
import random
import signal
import subprocess
import sys
import time

import cluster_rig as rig
from cluster_rig import when

AT_ONCE = 3  # scenarios of the sample
PERIOD_S, TIMEOUT_S = 0.1, 0.6  # of the scenarios: short, but longer than a loaded machine holds a daemon up
WARM_S = 0.5  # from the first checkpoint on, until the first heartbeats have come everywhere


class Wrong(Exception):
    """Something that must hold does not."""


def expect(condition, what):
    if not condition:
        raise Wrong(what)


def heartbeats(timeout_s=TIMEOUT_S):
    return ["--hb-period", f"{PERIOD_S * 1000:.0f}ms", "--hb-timeout", f"{timeout_s * 1000:.0f}ms"]


class Run:
    """One scenario on one job."""

    def __init__(self, draw, nodes, detections, options=None, **more):
        self.draw, self.detections = draw, detections
        self.all = list(range(nodes))
        self.cluster = rig.Cluster(nodes, options or heartbeats(), **more)
        try:
            self.cluster.await_run()
        except rig.Silent as silent:
            raise Wrong(f"{silent}\n{self.cluster.text('err')}{'; '.join(self.cluster.close())}")
        time.sleep(WARM_S + draw.uniform(0, PERIOD_S))  # the moment of a fault is random on purpose

    def others(self, nodes):
        return [node for node in self.all if node not in nodes]

    def noticed_by_silence(self, node, by, cut, timeout_s=TIMEOUT_S):
        """Each of its own observers has noticed it, not sooner than it should; how much later is reported, and not assessed."""
        seen = self.cluster.await_failure(node, by)
        expect(seen["note"] == "silence", f"the unplugged node {node} was noticed by {seen['note']}")
        latest, earliest = when(seen) - cut[0], when(seen) - cut[1]
        self.detections.append((latest + earliest) / 2)
        # Two periods: the last heartbeat may itself have left late.
        expect(latest > timeout_s - 2 * PERIOD_S, f"node {node} was reported {latest:.3f} s after it fell silent")
        return seen

    def goes_on(self, survivors, since, repaired=True):
        """The survivors run on, in an epoch that all of them and only they have entered."""
        if repaired:
            self.cluster.await_run(since)
        # An epoch that ran may be followed by one of a failure that is noticed later.
        self.cluster.await_true(lambda: not rig.one_decision(self.cluster, survivors), "an epoch of all survivors, and of no others,")
        failed = set(self.others(survivors))
        for node in survivors:
            self.cluster.await_true(lambda: rig.known_failed(self.cluster, node) == failed, f"all failures at node {node}")

    def stops(self, nodes, words=("no quorum", "declared this node failed", "hears too few others")):
        """Each of these daemons stops, and reports why; its processes have ended."""
        for node in nodes:
            told = self.cluster.await_true(lambda: self.cluster.events("stopping", node=node), f"the stop of node {node}")
            expect(any(word in told[0]["note"] for word in words), f"node {node} stops because: {told[0]['note']}")
            self.cluster.await_true(lambda: not os.path.exists(f"/proc/{self.cluster.daemon(node)}"), f"the end of daemon {node}")

    def ends_well(self, survivors):
        status = self.cluster.stop()
        expect(status == 0, f"exit status {status}")
        out = self.cluster.text("out")
        expect(out.startswith("exact after"), f"another result: {out}")
        problem = rig.one_decision(self.cluster, survivors)
        expect(not problem, problem)
        for node in self.others(survivors):  # a node that was declared failed never runs an epoch in which it is
            late = [e for e in self.cluster.events("run", by=node) if int(e["epoch"]) > self.epoch_of_failure(node, survivors)]
            expect(not late, f"node {node} ran on after its failure: {late}")

    def epoch_of_failure(self, node, survivors):
        told = [int(e["epoch"]) for e in self.cluster.events("failure_news", rank=-1, node=node) if int(e["by"]) in survivors]
        return min(told)


# ---- scenarios: (draw, detections) -> the run; it is closed outside

def calm(draw, detections):
    """Nothing happens, and what goes from node to node goes over the cables."""
    run = Run(draw, 8, detections)
    yield run
    expect(rig.namespaces_left(), "the test cannot see the namespaces of the nodes")
    for node in run.all:
        expect(run.cluster.received_bytes(node) > 32768, f"node {node} has received next to nothing over its cable")
    run.ends_well(run.all)
    expect(not run.cluster.events("failure_seen"), "a living node was reported")


def silent(draw, detections):
    """A cable is taken out; plugged in again, the node learns that it is failed, and stops."""
    run = Run(draw, 8, detections)
    yield run
    node = draw.randrange(8)
    cut = run.cluster.unplug([node])
    run.noticed_by_silence(node, run.others([node]), cut)
    run.goes_on(run.others([node]), cut[0])
    run.cluster.plug_in([node])
    run.stops([node])
    run.ends_well(run.others([node]))


def partition(of):
    """The nodes `of` draws are cut off together; the larger part continues, of equal ones the one with the lowest node."""
    def scenario(draw, detections):
        run = Run(draw, 16, detections)
        yield run
        apart = of(draw)
        rest = run.others(apart)
        winners, losers = (rest, apart) if (len(rest), -min(rest)) > (len(apart), -min(apart)) else (apart, rest)
        cut = run.cluster.partition(apart)
        run.stops(losers)
        run.goes_on(winners, cut[0])
        run.cluster.heal(apart)
        run.ends_well(winners)
    return scenario


def every_other(first, n):
    """n of 16 nodes, each one's predecessor on the other side: all are noticed at the same time."""
    return lambda draw: list(range(first, 16, 2))[:n]


def healed(draw, detections):
    """A partition that is over before a node is reported has no effect."""
    patience_s = 20.0  # on a loaded machine cutting and healing alone take seconds
    run = Run(draw, 16, detections, heartbeats(patience_s))
    yield run
    apart = draw.sample(run.all, 8)
    run.cluster.partition(apart)
    time.sleep(0.3)
    run.cluster.heal(apart)
    time.sleep(patience_s)
    expect(not run.cluster.events("failure_seen"), "a living node was reported")
    run.ends_well(run.all)


def one_way(chain):
    """A node receives nothing (INPUT), or no other receives from it (OUTPUT): it stops; a node that receives nothing takes at most one more with
    it, which it has reported and which cannot refute that."""
    def scenario(draw, detections):
        run = Run(draw, 8, detections)
        yield run
        node = draw.randrange(8)
        run.cluster.drop(node, chain=chain)
        seen = run.cluster.await_failure(node, run.others([node]))
        run.cluster.await_run(when(seen))
        if not run.cluster.events("stopping", node=node):
            run.cluster.drop_no_more(node)
        run.stops([node])
        last = max(int(e["epoch"]) for e in run.cluster.events("epoch"))
        survivors = sorted({int(e["by"]) for e in run.cluster.events("epoch", epoch=last)})
        expect(len(survivors) >= 6, f"one node's trouble has cost the job all but {survivors}")
        run.ends_well(survivors)
    return scenario


def loss(draw, detections):
    """Every tenth packet is lost, everywhere: no node is reported, and nothing is lost."""
    run = Run(draw, 8, detections, heartbeats(1.5))
    yield run
    for node in run.all:
        run.cluster.drop(node, "-m", "statistic", "--mode", "random", "--probability", "0.1")
    time.sleep(3)
    expect(not run.cluster.events("failure_seen"), "a living node was reported")
    for node in run.all:
        run.cluster.drop_no_more(node)
    run.ends_well(run.all)


def neighbours_killed(draw, detections):
    """Three daemons side by side are killed at once."""
    run = Run(draw, 16, detections)
    yield run
    begin = draw.randrange(16)
    failed = [(begin + i) % 16 for i in range(3)]
    at = run.cluster.kill(failed)
    run.goes_on(run.others(failed), at)
    run.ends_well(run.others(failed))


def half_killed(draw, detections):
    """Half of the daemons are killed, among them the first: there is proof, and the others continue."""
    run = Run(draw, 16, detections)
    yield run
    failed = [0] + draw.sample(range(1, 16), 7)
    at = run.cluster.kill(failed)
    run.goes_on(run.others(failed), at)
    run.ends_well(run.others(failed))


def stopped(draw, detections):
    """A stopped daemon is failed to the others; woken, it learns so and stops."""
    run = Run(draw, 8, detections)
    yield run
    node = draw.randrange(8)
    at = run.cluster.signal(node, signal.SIGSTOP)
    run.noticed_by_silence(node, run.others([node]), (at, at))
    run.goes_on(run.others([node]), at)
    run.cluster.signal(node, signal.SIGCONT)
    run.stops([node])
    run.ends_well(run.others([node]))


def during_recovery(draw, detections):
    """While a failure is being repaired, others strike: one is killed, one unplugged."""
    run = Run(draw, 16, detections)
    yield run
    first, second, third = draw.sample(run.all, 3)
    run.cluster.kill([first])
    run.cluster.await_true(lambda: run.cluster.events("failure_news", rank=-1, node=first), "the news")
    time.sleep(draw.uniform(0, 0.01))
    at = run.cluster.kill([second])
    cut = run.cluster.unplug([third])
    survivors = run.others([first, second, third])
    run.noticed_by_silence(third, survivors, cut)
    run.goes_on(survivors, at)
    run.cluster.await_run(cut[1])
    run.cluster.plug_in([third])
    run.stops([third])
    run.ends_well(survivors)


def cut_in_recovery(draw, detections):
    """A node loses its cable just when all networks are opened anew: that ends the node, not the job."""
    run = Run(draw, 8, detections)
    yield run
    first, second = draw.sample(run.all, 2)
    run.cluster.kill([first])
    run.cluster.await_true(lambda: run.cluster.events("epoch", epoch=2, by=second), "the new epoch")
    cut = run.cluster.unplug([second])
    survivors = run.others([first, second])
    run.noticed_by_silence(second, survivors, cut)
    run.goes_on(survivors, cut[1])
    run.stops([second])
    run.ends_well(survivors)


def launcher_killed(draw, detections):
    """rzrun is killed while a node is cut off: everything ends, the network with it."""
    run = Run(draw, 8, detections)
    yield run
    run.cluster.remember_possessions()
    run.cluster.unplug([draw.randrange(8)])
    time.sleep(draw.uniform(0, 1))
    run.cluster.process.kill()
    run.cluster.wait()


def no_rights(draw, detections):
    """Without the rights to make namespaces rzrun says so, and what to do."""
    yield None
    done = subprocess.run(["setpriv", "--bounding-set=-all", rig.rig.RZRUN, "--nodes", "2", "--adapter", "netns", "true"],
                          capture_output=True, text=True, timeout=rig.rig.HANG_S)
    expect(done.returncode == 4 and "unshare -Ur rzrun" in done.stderr, f"exit status {done.returncode}: {done.stderr}")


SAMPLE = {
    "no-rights": no_rights,
    "partition-8-8-blocks": partition(lambda draw: list(range(8, 16))),
    "calm": calm,
    "silent": silent,
    "stopped": stopped,
    "one-way-deaf": one_way("INPUT"),
    "one-way-mute": one_way("OUTPUT"),
    "loss": loss,
    "healed": healed,
    "partition-8-8": partition(every_other(1, 8)),
    "partition-9-7": partition(every_other(0, 7)),
    "partition-15-1": partition(lambda draw: [draw.randrange(16)]),
    "neighbours-killed": neighbours_killed,
    "half-killed": half_killed,
    "during-recovery": during_recovery,
    "cut-in-recovery": cut_in_recovery,
    "launcher-killed": launcher_killed,
}

# The failed nodes are neighbours and are noticed one by one: connections opened meanwhile cannot reach the others. The first
# of this kind is in the sample: this once counted as proof of their failures, and both sides continued.
LONG = {"partition-9-7-blocks": partition(lambda draw: list(range(7))),
        "partition-any": partition(lambda draw: draw.sample(range(16), draw.randint(1, 15)))}


def run_scenario(name, scenario, seed, detections):
    """What is wrong, or None."""
    steps, run, problem = scenario(random.Random(f"{name} {seed}"), detections), None, None
    try:
        run = next(steps)
        next(steps, None)
    except (Wrong, rig.Silent) as wrong:
        problem = str(wrong)
    left = run.cluster.close() if run else []
    if left and not problem:
        problem = "left behind: " + "; ".join(left)
    if problem and run:
        problem += f"\n{run.cluster.text('report')}{run.cluster.text('err')}"
    return problem


def sample():
    """Each scenario once, some at once: they wait for failure reports. Each has a user namespace of its own, so that none sees, or
    forbids, the networks of another."""
    rig.look_at_surroundings()

    def alone(name):
        done = subprocess.run([sys.executable, "-B", sys.argv[0], "--only", name, "--exactly"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout
    violations = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for status, words in pool.map(alone, SAMPLE):
            print(words if status else words.splitlines()[0], flush=True)
            violations += status != 0
    print(f"{len(SAMPLE)} scenarios, {violations} violations")
    return 1 if violations else 0


def spread_of(values):
    ordered = sorted(values)
    def at(part):
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))] * 1000
    return (f"{len(ordered)} detections: least {at(0):.0f} ms, median {at(0.5):.0f}, nine of ten below {at(0.9):.0f}, "
            f"99 of 100 below {at(0.99):.0f}, most {ordered[-1] * 1000:.0f}") if ordered else "no detections"


def campaign(scenarios, seeds, budget_s, report):
    detections, rows, violations, began = [], [], 0, time.monotonic()
    for seed, name in itertools.product(seeds, scenarios):
        if budget_s and time.monotonic() - began > budget_s:
            break
        start = time.monotonic()
        problem = run_scenario(name, scenarios[name], seed, detections)
        rows.append((seed, name, time.monotonic() - start, (problem or "good").splitlines()[0]))
        print(f"seed {seed:4}  {name:22} {rows[-1][2]:6.1f} s  {rows[-1][3]}", flush=True)
        if problem:
            violations += 1
            print(f"{problem}\nagain: {sys.argv[0]} --only {name} --seeds {seed}..{seed}", flush=True)
    goodbye_s = rig.await_no_namespaces()
    if goodbye_s is None:
        violations += 1
        print("left behind: a network namespace", flush=True)
    gone_s = rig.rig.HANG_S if goodbye_s is None else goodbye_s
    summary = (f"{len(rows)} runs, {violations} violations; the last network was gone after {gone_s:.1f} s; "
               f"silent nodes noticed (timeout {TIMEOUT_S * 1000:.0f} ms): {spread_of(detections)}")
    print(summary)
    if report:
        with open(report, "w") as out:
            out.write(summary + "\n\n" + "".join(f"{s:4}  {n:22} {t:6.1f} s  {w}\n" for s, n, t, w in rows))
    return 1 if violations else 0


# ---- measurements

def measure_silence(budget_s, timeout_s, nodes):
    """Cables of random nodes are taken out one after the other, in job after job, while more than half are left."""
    began, latencies, draw, reported = time.monotonic(), [], random.Random(1), 0
    while time.monotonic() - began < budget_s:
        run = Run(draw, nodes, latencies, heartbeats(timeout_s))
        try:
            time.sleep(2)  # the detector is patient with the first heartbeats
            living, since = list(run.all), 0
            while len(living) > 4 and time.monotonic() - began < budget_s:
                node = draw.choice(living)
                living.remove(node)
                time.sleep(draw.uniform(0, PERIOD_S))
                cut = run.cluster.unplug([node])
                run.noticed_by_silence(node, living, cut, timeout_s)
                run.cluster.await_run(cut[1])
            reported += len({e["node"] for e in run.cluster.events("failure_seen", rank=-1)
                            if int(e["node"]) in living and int(e["by"]) in living})
            run.cluster.stop()
        finally:
            left = run.cluster.close()
            if left:
                print("left behind:", left)
    print(f"timeout {timeout_s * 1000:.0f} ms, period {PERIOD_S * 1000:.0f} ms, {nodes} nodes: {spread_of(latencies)}; "
          f"{reported} living nodes reported by living ones")


def measure_calm(budget_s, timeout_s, nodes, ranks, pause_us):
    """No node fails; which are reported?"""
    run = Run(random.Random(1), nodes, [], heartbeats(timeout_s), ranks=ranks, pause_us=pause_us)
    try:
        end = time.monotonic() + budget_s
        while time.monotonic() < end and not run.cluster.ended():
            time.sleep(0.5)
        failure_reports = run.cluster.events("failure_seen")
        status = run.cluster.stop()
        print(f"timeout {timeout_s * 1000:.0f} ms, {nodes} nodes, {ranks} ranks, pause {pause_us} us, {budget_s:.0f} s: "
              f"{len(failure_reports)} failure reports, exit status {status}, {run.cluster.text('out').strip()}")
    finally:
        run.cluster.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", help="first..last; also the long scenarios")
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME", help="scenarios whose names begin so")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which nothing further is begun; 0: no bound")
    parser.add_argument("--report", help="write a table of the runs to this file")
    parser.add_argument("--measure", choices=["silence", "calm"])
    parser.add_argument("--timeout", type=float, default=1.0, help="heartbeat timeout of a measurement, in seconds (1)")
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--pause", type=int, default=1000, help="rest of each rank in each iteration of a measurement, in us")
    parser.add_argument("--exactly", action="store_true", help="--only means whole names")
    options = parser.parse_args()
    if len(sys.argv) == 1:
        return sample()
    rig.enter_surroundings()
    if options.measure == "silence":
        return measure_silence(options.budget or 60, options.timeout, options.nodes)
    if options.measure == "calm":
        return measure_calm(options.budget or 60, options.timeout, options.nodes, options.ranks, options.pause)
    first, last = (int(word) for word in (options.seeds or "1..1").split(".."))
    known = {**SAMPLE, **LONG} if options.seeds or options.only != [""] else SAMPLE
    chosen = {name: scenario for name, scenario in known.items()
              if (name in options.only if options.exactly else name.startswith(tuple(options.only)))}
    if not chosen:
        sys.exit(f"there is no such scenario; there are {', '.join(known)}")
    return campaign(chosen, range(first, last + 1), options.budget, options.report)


sys.exit(main())
