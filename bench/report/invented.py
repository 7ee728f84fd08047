#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""usage: invented.py FOLDER

Write a run of invented rows into FOLDER, by the names that the benches use, so that
the report can be tried without them. No figure in it was measured.
"""
import pathlib
import sys

HEADER = "bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra"
ON = "on: 2 CPUs (invented), threads pinned; gcc 0, -O2; liburcu 0; Linux 0 none\n"

# mode -> million operations a second, of one thread and of two together.
COUNTED = {
    "word": (78, 40), "word_cas": (80, 33), "lockref": (80, 33), "lockref_pause": (80, 31),
    "lockref_unbounded": (80, 32), "lockref_wait1": (79, 30), "lockref_wait100": (79, 29),
    "lockref_wait700": (79, 29), "lockref_wait1000": (78, 29), "locked_tas": (66, 10),
    "locked_mcs": (50, 8), "locked_mutex": (34, 12), "rcuref": (77, 39), "percpu": (300, 590),
    "rcu": (900, 1800),
}
LOOKUPS = {
    "rcu": (40, 79), "rcu-many": (45, 88), "rcu-walk": (8, 15), "lockref": (7, 4),
    "locked": (2, 1), "lfht": (38, 76), "tbb": (20, 12), "syscall": (0.5, 0.9),
}
SHARED = ("open3", "stat2", "mix", "sporadic_10", "sporadic_1k", "sporadic_100k",
          "near_readmostly_shared", "near_readmostly_apart")
SETS = {"hot500": 500, "paths5k": 5000, "paths100k": 100000, "paths400k": 400000}
RENAMES = {"rename_1": 1.1, "rename_1k": 1.5, "rename_storm": 4}


def row(bench, scenario, mode, threads, mops, extra, paths=1):
    ns = threads * 1000 / mops
    return (f"{bench},{scenario},{mode},{threads},0.00,{paths},{ns:.2f},{mops:.4f},"
            f"{ns * 0.97:.2f},{ns * 1.08:.2f},{extra}")


def times(ns):
    return f"fairness=0.970;p50={ns:.0f};p99={ns * 4:.0f};p999={ns * 30:.0f}"


def lockref():
    for scenario in SHARED:
        for mode, both in COUNTED.items():
            for threads, mops in enumerate(both, 1):
                taken = scenario.startswith("sporadic") and mode.startswith("lock")
                mops /= {"sporadic_1k": 2, "sporadic_100k": 9}.get(scenario, 1) if taken else 1
                rel = COUNTED["word"][threads - 1] / mops
                yield row("lockref", scenario, mode, threads, mops, f"retries=0.3;rel={rel:.4f};"
                          + times(threads * 1000 / mops))
    for mode in COUNTED:
        yield row("lockref", "recover", mode, 2, 30, "before=33.1;during=9.5;after=30.2")
    for mode, mops in (("rwsem_percpu", 231), ("rwsem_percpu_atomic", 120)):
        yield row("lockref", "percpu", mode, 2, mops, "rel=1.0000;fairness=0.990")


def lookup():
    plain = "floor_ns=100.0"
    for mode, both in LOOKUPS.items():
        for threads, mops in enumerate(both, 1):
            for scenario, paths in SETS.items():
                slower = (paths / 500) ** 0.4
                yield row("lookup", scenario, mode, threads, mops / slower,
                          f"{plain};" + times(threads * 1000 / mops * slower), paths)
            for scenario in ("same_file", "disjoint", "rename_none"):
                yield row("lookup", scenario, mode, threads, mops, plain)
        for components in (1, 2, 4, 8, 16):
            slower = 1 if mode in ("rcu", "lfht") else components ** 0.7
            yield row("lookup", "depth", mode, 1, both[0] / slower,
                      f"{plain};components={components}")
        for scenario, slower in RENAMES.items():
            for on_path in (0, 1):
                yield row("lookup", scenario, mode, 1, both[0] / (1 + on_path) / slower,
                          f"{plain};on_path={on_path};renames_per_s=-")


def sim():
    machines = (("x86-64 2x24x2", 96), ("x86-64 2x48x2", 192), ("arm64 2x28x4", 224))
    for machine, most in machines:
        for workers in (1, 2, 8, 24, 48, 96, 192, 224):
            for mode, both in COUNTED.items():
                for scenario in ("open3", "stat2", "sporadic_1k") if workers <= most else ():
                    mops = both[0] / 40 * (workers if mode in ("rcu", "percpu") else 1.2)
                    yield row("sim", scenario, mode, workers, mops, f"machine={machine}")
    for mode, name in (("pause", "lockref_pause"), ("nopause", "lockref")):
        for workers in (1, 2, 8, 24, 48, 96):
            standing = "solved" if workers <= 2 else "predicted"
            for table, mops in zip(("open3", "stat2"), COUNTED[name]):
                yield (f"sim,published,{name},{workers},0.00,0,0.00,{mops / 10:.4f},0.00,0.00,"
                       f"published={table}/{mode}/{workers};value={mops}00000;standing={standing}")


def replay():
    yield row("replay", "compile", "rcu", 1, 20, "pass=hot;queries=1000;hit_rate=1.0")
    yield row("replay", "compile", "rcu-walk", 1, 5, "pass=cold;asked_per_query=0.04")


def evidence():
    yield "evidence,hit,rcu,1,0.00,1,0.00,0.0000,0.00,0.00,instructions=300;shared_stores=0;rmw=0"
    yield "evidence,ref,locked_mcs,1,0.00,1,0.00,0.0000,0.00,0.00,instructions=40;rmw=asm"


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for bench in (lockref, lookup, replay, sim, evidence):
        lines = [HEADER, *bench()]
        (folder / f"{bench.__name__}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / f"{bench.__name__}.txt").write_text(ON, encoding="utf-8")
    (folder / "runs").write_text("lookup\t61.5\tran\nlockref\t40\tran\nsim\t3\tran\n"
                                 "evidence\t9\tran\nreplay\t9\tran\nbound\t0\twas not built\n"
                                 "miss\t100\ttook longer than there was time\n", encoding="utf-8")


if __name__ == "__main__":
    main()
