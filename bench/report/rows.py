# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rows of the benches' CSV files, and what the benches said beside them."""
import csv
import dataclasses
import json
import pathlib

HEADER = "bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra".split(",")
MODEL = "sim"  # this bench predicts; its rows never lie among the measured ones


@dataclasses.dataclass
class Row:
    """One line of a CSV file. extra: its key=value pairs, numbers where they are some."""

    bench: str
    scenario: str
    mode: str
    threads: int
    depth: float
    paths: int
    ns: float
    mops: float
    best: float
    worst: float
    extra: dict
    fields: list  # as in the file

    def number(self, key):
        """The number that extra has under key, else None."""
        value = self.extra.get(key)
        return value if isinstance(value, float) else None


@dataclasses.dataclass
class Run:
    """What is known of one bench in this run."""

    name: str
    state: str  # "ran", or why there is nothing
    seconds: float
    rows: list
    machine: str


class BadFile(Exception):
    """A CSV file that no bench wrote."""


def parse_extra(text):
    extra = {}
    for pair in filter(None, text.split(";")):
        key, _, value = pair.partition("=")
        try:
            extra[key] = float(value)
        except ValueError:
            extra[key] = value
    return extra


def parse_row(fields):
    depth, paths, *times = (float(field or 0) for field in fields[4:10])
    return Row(*fields[:3], int(fields[3]), depth, int(paths), *times,
               parse_extra(fields[10]), fields)


def read_rows(path):
    """All rows of a file; an unfinished last line, of a bench that was ended, is left out."""
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    if not lines or lines[0] != HEADER:
        raise BadFile(f"{path}: the first line is not that of a bench's CSV file")
    if len(lines) > 1 and len(lines[-1]) != len(HEADER):
        lines.pop()
    try:
        return [parse_row(fields) for fields in lines[1:]]
    except (ValueError, TypeError, IndexError) as error:
        raise BadFile(f"{path}: a row that cannot be read: {error}") from error


def read_machine(path):
    """The line that each table ends with: processors, pinning, compiler, flags, versions."""
    if not path.exists():
        return ""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = [line[4:].strip() for line in text.splitlines() if line.startswith("on: ")]
    # Tables from before the first cell know of no pinned threads yet.
    pinned = [line for line in lines if "threads pinned" in line]
    return (pinned or lines or [""])[-1]


def read_states(folder):
    """What run.sh noted: name, seconds and state of each bench, separated by tabs."""
    path = folder / "runs"
    if not path.exists():
        return {p.stem: (0.0, "ran") for p in sorted(folder.glob("*.csv")) if is_input(p)}
    states = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, seconds, state = line.split("\t")
        states[name] = (float(seconds), state)
    return states


def is_input(path):
    return path.stem not in ("results", "experiments")


def read_runs(folder):
    """Every bench of a run. A missing or empty file is a state, not a fault."""
    folder = pathlib.Path(folder)
    runs = []
    for name, (seconds, state) in read_states(folder).items():
        path = folder / f"{name}.csv"
        rows = read_rows(path) if path.exists() and path.stat().st_size else []
        if not rows and state == "ran":
            state = "wrote no rows"
        runs.append(Run(name, state, seconds, rows, read_machine(folder / f"{name}.txt")))
    return runs


def measured(runs):
    return [row for run in runs for row in run.rows if row.bench != MODEL]


def predicted(runs):
    return [row for run in runs for row in run.rows if row.bench == MODEL]


def as_object(row):
    names = ("bench", "scenario", "mode", "threads", "depth", "paths")
    plain = {name: getattr(row, name) for name in names}
    times = dict(ns_per_op=row.ns, mops=row.mops, min=row.best, max=row.worst)
    return {**plain, **times, "extra": row.extra}


def write_results(runs, kind, out):
    """results.csv and results.json: measured rows alone, as the benches wrote them."""
    rows = measured(runs)
    with open(out / "results.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(row.fields for row in rows)
    runs_told = [{"bench": run.name, "state": run.state, "seconds": run.seconds,
                  "machine": run.machine} for run in runs]
    content = {"kind": kind, "benches": runs_told, "rows": [as_object(row) for row in rows]}
    with open(out / "results.json", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
