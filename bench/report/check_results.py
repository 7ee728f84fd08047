#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""usage: check_results.py FOLDER PUBLISHED

Is each row of a run in results.csv and results.json, none of the model's there, and
each published figure in experiments.csv with a figure or a reason beside it?
"""
import csv
import json
import pathlib
import sys


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def key(fields):
    return fields[0], fields[1], fields[2], int(fields[3]), float(fields[6]), float(fields[7])


def inputs(folder):
    own = ("results", "experiments")
    return [fields for path in sorted(folder.glob("*.csv")) if path.stem not in own
            for fields in read(path)[1:] if len(fields) == 11]


def faults(folder, published):
    rows = inputs(folder)
    measured = sorted(fields for fields in rows if fields[0] != "sim")
    if sorted(read(folder / "results.csv")[1:]) != measured:
        yield "results.csv does not have the measured rows, all of them and no others"
    content = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    told = sorted((row["bench"], row["scenario"], row["mode"], row["threads"],
                   row["ns_per_op"], row["mops"]) for row in content["rows"])
    if told != sorted(key(fields) for fields in measured):
        yield "results.json does not have the measured rows, all of them and no others"
    compared = {fields[0]: fields for fields in read(folder / "experiments.csv")[1:]}
    for fields in read(published)[1:]:
        row = compared.get(fields[0])
        if not row:
            yield f"{fields[0]} is missing in experiments.csv"
        elif not (row[8] or row[10]) or not (row[11] or row[12]):
            yield f"{fields[0]}: neither a figure nor a reason"


def main():
    found = list(faults(pathlib.Path(sys.argv[1]), sys.argv[2]))
    for fault in found:
        print(f"check_results.py: {fault}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
