# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which measured and which predicted row stands beside a published figure.

A published row names its experiment in its own words. The rules below say what
of ours answers the same question. A row that has no such figure says why; none is
left out.
"""
import collections
import csv
import dataclasses

Pick = collections.namedtuple("Pick", "bench scenario mode where metric")
Found = collections.namedtuple("Found", "value threads note")

# Published scenario -> bench and scenario of ours.
SCENARIOS = {
    "open3": ("lockref", "open3"),
    "stat2": ("lockref", "stat2"),
    "mix": ("lockref", "mix"),
    "sporadic": ("lockref", "sporadic_1k"),
    "percpu": ("lockref", "percpu"),
    "hot": ("lockref", "open3"),
    "disjoint": ("lookup", "disjoint"),
    "same_file": ("lookup", "same_file"),
    "depth": ("lookup", "depth"),
    "hot500": ("lookup", "hot500"),
    "paths5k": ("lookup", "paths5k"),
    "paths100k": ("lookup", "paths100k"),
    "paths400k": ("lookup", "paths400k"),
}

# How a published row is answered where that is not plain from its names: id or its
# beginning -> pick. The longest beginning that fits counts.
RULES = {
    "degrade/": lambda p: Pick("lockref", "recover", p["variant"], {}, "after"),
    "degrade/before/": lambda p: Pick("lockref", "recover", p["variant"], {}, "before"),
    "reorder/": lambda p: Pick("lockref", f"{p['scenario']}_{p['variant']}", "lockref", {}, "rate"),
    "reorder/freebsd/": lambda p: Pick("lookup", "same_file", "rcu", {}, "rate"),
    "inc_not_zero/": lambda p: Pick("lockref", "open3", p["variant"], {}, "retries"),
    "prototype/vector/500": lambda p: Pick("lookup", "rename_storm", "rcu", {"on_path": 0.0}, "ns"),
    "fallback/vfstest/": lambda p: Pick("lookup", "rename_storm", "rcu-walk", {"on_path": 1.0},
                                        "restarts_per_lookup"),
    "fallback/missing_vfstest/": lambda p: Pick("lookup", "rename_storm", "rcu-walk",
                                                {"on_path": 1.0}, "misses_per_lookup"),
    "prototype/getppid/": lambda p: Pick("lookup", None, None, {}, "floor_ns"),
    "fallback/kbuild/": lambda p: Pick("replay", "compile", "rcu-walk", {"pass": "cold"},
                                      "restarts_per_query"),
    "fallback/missing_kbuild/": lambda p: Pick("replay", "compile", "rcu-walk", {"pass": "cold"},
                                              "asked_per_query"),
}

# What a figure is a second of, where it is not of all threads together: the published
# rates of reader counts do not grow with the readers, so they are those of each.
METRICS = {"percpu": "each"}

# What only resembles the published experiment: said beside the figure.
REMARKS = {
    "percpu/": "for each reader, as the published figures are read",
    "spin/": "a taker of the lock 1,000 times a second",
    "degrade/": "while readers go on, before the taker comes and after it has left",
    "hyperclock/": "the word against a mutex on one object, without a table around them",
    "freebsd/": "stat in place of access",
    "reorder/": "the word beside a field that is read, not a whole dentry",
    "file_ref/": "get and put in place of fstat",
    "fallback/": "a recorded build, replayed by one thread through an empty cache",
    "fallback/vfstest/": "the first directory of all paths renamed all the time",
    "fallback/missing_vfstest/": "the first directory of all paths renamed all the time",
    "prototype/": "the same question to the library, other paths",
    "prototype/vector/500": "another name is renamed all the time, so that each hit checks its "
                            "vector",
}

# What cannot be measured here, one sentence each.
REASONS = {
    "relax/share/": "a share of a profile of the kernel's spinlocks; no kernel is profiled here",
    "fallback/kbuild/": "a replay has one thread, so no change races a walk and none begins anew",
    "freeing/churn/": "every variant here frees after a grace period, so there is none to "
                      "compare with; scenario churn of bench_miss says what that costs",
    **{f"prototype/vector/{paths}": "a hit checks its vector only while changes go on, which is "
                                    "measured on 500 paths" for paths in (5000, 100000, 400000)},
    "prototype/walk/lfht": "the library walks its own tables only; docs/decisions.md says why",
    "prototype/epoch/hash": "a part of a hit, which is not timed apart here",
    "prototype/epoch/section": "a part of a hit, which is not timed apart here",
}


@dataclasses.dataclass
class Compared:
    """A published figure and what stands beside it; a value of None has its reason in note."""

    published: dict
    measured: Found
    predicted: Found


def read_published(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def rule_of(table, row_id):
    fitting = [start for start in table if row_id.startswith(start)]
    return table[max(fitting, key=len)] if fitting else None


def split_place(variant):
    """'rcu-walk at 8' is that mode at 8 components."""
    mode, _, components = variant.partition(" at ")
    return mode, {"components": float(components)} if components else {}


def pick_of(published):
    rule = rule_of(RULES, published["id"])
    if rule:
        return rule(published)
    if published["scenario"] not in SCENARIOS:
        return None
    mode, where = split_place(published["variant"])
    metric = METRICS.get(published["scenario"], "rate")
    if published["unit"] == "ns":
        metric = "ns"
    return Pick(*SCENARIOS[published["scenario"]], mode, where, metric)


def picks_of(published):
    """What to take, and what to divide it by: None for a figure that is no ratio."""
    pick = pick_of(published)
    if not published["unit"].startswith("x of ") or not pick:
        return pick, None
    mode, where = split_place(published["unit"][len("x of "):])
    metric = "ns" if where else "rate"
    pick = pick._replace(where=where or pick.where, metric=metric)
    return pick, pick._replace(mode=mode)


def is_fit(row, pick):
    return ((pick.scenario is None or row.scenario == pick.scenario) and
            (pick.mode is None or row.mode == pick.mode) and
            all(row.extra.get(key) == value for key, value in pick.where.items()))


def metric_of(row, metric):
    if metric == "rate":
        return row.mops * 1e6
    if metric == "ns":
        return row.ns
    if metric == "each":
        return 1e9 / row.ns
    value = row.number(metric)
    if value is not None and metric in ("before", "after"):
        return value * 1e6
    return value


def ratio(row, base, metric):
    """By the pairs of each round where the bench has them: what disturbs both cancels out."""
    own, other = row.number("rel"), base.number("rel")
    if own and other:
        return own / other if metric == "ns" else other / own
    value, by = metric_of(row, metric), metric_of(base, metric)
    return value / by if value is not None and by else None


def find(rows, pick, base, workers):
    """The row with so many threads, else with the most, and its value. None: no such row."""
    fit = [row for row in rows if is_fit(row, pick)]
    if base:
        bases = {row.threads: row for row in rows if is_fit(row, base)}
        fit = [row for row in fit if row.threads in bases]
    if not fit:
        return None
    row = next((row for row in fit if row.threads == workers), None)
    row = row or max(fit, key=lambda row: row.threads)
    if base:
        return row, ratio(row, bases[row.threads], pick.metric)
    return row, metric_of(row, pick.metric)


def sentence(*parts):
    return "; ".join(part for part in parts if part)


def measure(published, rows, states, cpus):
    reason = rule_of(REASONS, published["id"])
    pick, base = picks_of(published)
    if reason or not pick:
        return Found(None, None, reason or "nothing here asks this question")
    own = [row for row in rows if row.bench == pick.bench]
    found = find(own, pick, base, int(published["workers"]))
    if not found:
        missing = states.get(pick.bench, "was not built")
        if missing == "ran":
            missing = f"had no rows of {pick.scenario}, {pick.mode} in this run"
        return Found(None, None, f"not measured in this run: bench_{pick.bench} {missing}")
    row, value = found
    if value is None:
        return Found(None, None, f"bench_{pick.bench} does not tell {pick.metric}")
    fewer = ""
    if row.threads != int(published["workers"]):
        fewer = (f"{row.threads} threads, the most here: this machine has {cpus} CPUs"
                 if row.threads > 1 else f"one thread, the most of bench_{pick.bench}")
    return Found(value, row.threads, sentence(fewer, rule_of(REMARKS, published["id"])))


def read_predictions(rows):
    """The rows in which bench_sim says what it predicts for a published figure, by its id."""
    return {row.extra["published"]: row for row in rows if "published" in row.extra}


def predict(published, predictions):
    row = predictions.get(published["id"])
    if not predictions:
        return Found(None, None, "the model did not run")
    if not row:
        return Found(None, None, "outside the model, which knows who owns a line of memory, and "
                                 "nothing of walks, misses and the kernel")
    solved = row.extra.get("standing") == "solved"
    return Found(row.number("value"), row.threads,
                 "the model's constants were solved from this figure" if solved else "")


def bench_of(published):
    pick = pick_of(published)
    return pick.bench if pick else None


def compare(published_rows, measured, predictions, states, cpus):
    return [Compared(row, measure(row, measured, states, cpus), predict(row, predictions))
            for row in published_rows]


def shape(values):
    """Each value to the first one that is there; None stays None."""
    first = next((value for value in values if value), None)
    return [value / first if value is not None and first else None for value in values]


def family(compared):
    """Rows that are one curve: of a table, and of one source where it has several."""
    row = compared.published
    return row["table"], row["id"].split("/")[0], row["unit"]


COLUMNS = ("id,table,scenario,variant,workers,unit,machine,published,measured,measured_threads,"
           "measured_note,predicted,predicted_note").split(",")


def write(compared, path):
    """experiments.csv. An empty figure has its reason in the note beside it."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for item in compared:
            row = item.published
            writer.writerow(
                [row[name] for name in COLUMNS[:7]] + [row["value"]] +
                ["" if value is None else value for value in
                 (item.measured.value, item.measured.threads, item.measured.note,
                  item.predicted.value, item.predicted.note)])
