#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Make results.csv, results.json, experiments.csv, charts and report.html of a run.

The folder holds NAME.csv and NAME.txt, the rows and the output of each bench, and
runs, in which run.sh noted what became of each. Needs nothing but Python's own
library, and gnuplot for the charts.
"""
import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # the sources' folder stays as it is

import charts
import experiments
import page
import rows

PUBLISHED = pathlib.Path(__file__).resolve().parent.parent / "published.csv"


def cpus_of(runs):
    found = (re.match(r"(\d+) CPUs", run.machine) for run in runs if run.rows)
    return next((match.group(1) for match in found if match), "fewer")


def make(folder, kind, published_path):
    runs = rows.read_runs(folder)
    measured, predicted = rows.measured(runs), rows.predicted(runs)
    published = experiments.read_published(published_path)
    states = {run.name: run.state for run in runs}
    predictions = experiments.read_predictions(predicted)
    compared = experiments.compare(published, measured, predictions, states, cpus_of(runs))
    drawings = charts.all_charts(measured, predicted, compared)
    missing = charts.draw(drawings, folder / "charts")
    rows.write_results(runs, kind, folder)
    experiments.write(compared, folder / "experiments.csv")
    text = page.page(kind, runs, drawings, missing, compared)
    (folder / "report.html").write_text(text, encoding="utf-8")
    return len(measured), len(drawings) - len(missing)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kind", default="quick", help="what the page calls the run")
    parser.add_argument("--published", type=pathlib.Path, default=PUBLISHED)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    try:
        count, drawn = make(options.folder, options.kind, options.published)
    except (OSError, rows.BadFile) as error:
        sys.exit(f"report.py: {error}")
    print(f"{count} rows, {drawn} charts: {options.folder / 'report.html'}")


if __name__ == "__main__":
    main()
