# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of a run: one HTML file, and the charts beside it."""
import html
import itertools
import pathlib

import experiments
import rows as rows_

TABLES = {
    "open3": "open3: every worker opens and closes the same file",
    "stat2": "stat2: every worker asks for the attributes of the same file",
    "relax": "Conditional relax: a mix of references and lock sections",
    "limit": "A limit to the retries",
    "spin": "Waiting for a held lock to be released",
    "degrade": "What a sporadic lock taker leaves behind",
    "arm": "A queued lock against unbounded compare-and-exchange",
    "percpu": "Reader counts of each CPU, x86",
    "percpu_arm": "Reader counts of each CPU, arm64",
    "neighbours": "Neighbours: other systems and papers",
    "prototype": "This project's prototype: paths",
    "prototype_calls": "This project's prototype: system calls",
    "prototype_refs": "This project's prototype: references",
}


def escape(text):
    return html.escape(str(text), quote=True)


def number(value):
    """Three or four digits that count, and no more."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}" if value == int(value) else f"{value:.1f}"
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}"


def cell(text, kind=""):
    attribute = f' class="{kind}"' if kind else ""
    return f"<td{attribute}>{escape(text)}</td>"


class Notes:
    """Reasons below a table, each told once; cells without a figure link to theirs."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.texts = []

    def link(self, text):
        if text not in self.texts:
            self.texts.append(text)
        at = self.texts.index(text) + 1
        return f'<a href="#{self.prefix}-{at}">({at})</a>'

    def none(self, text):
        return f'<td class="none">none {self.link(text)}</td>'

    def listed(self):
        if not self.texts:
            return ""
        lines = "".join(f'<li id="{self.prefix}-{at}">{escape(text)}</li>'
                        for at, text in enumerate(self.texts, 1))
        return f'<ol class="why">{lines}</ol>'


def table(caption, explained, heads, body, on):
    """heads: (text, class). body: rows of finished cells. on: what it was measured with."""
    head = "".join(f'<th class="{kind}" scope="col">{escape(text)}</th>' for text, kind in heads)
    lines = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in body)
    below = "".join(f'<p class="on">on: {escape(line)}</p>' for line in on)
    return (f'<div class="wide"><table><caption><b>{escape(caption)}</b> {escape(explained)}'
            f"</caption><thead><tr>{head}</tr></thead>\n<tbody>{lines}\n</tbody></table></div>{below}")


def machine_of(run):
    if run.name == rows_.MODEL:
        return "a model: no machine"
    if not run.rows:
        return "nothing was measured"
    return run.machine or "not told by the bench"


def machine_lines(runs, names=None):
    """Each distinct one, with the benches that told it where they are not all the same."""
    by_line = {}
    for run in runs:
        if run.rows and (names is None or run.name in names):
            by_line.setdefault(machine_of(run), []).append(run.name)
    if len(by_line) <= 1:
        return list(by_line)
    return [f"{', '.join(benches)}: {line}" for line, benches in by_line.items()]


# ---- sections ----

def section_ran(runs, kind):
    heads = [("bench", "text"), ("state", "text"), ("seconds", ""), ("rows", ""),
             ("on", "text")]
    body = []
    for run in runs:
        body.append([cell(run.name, "text"), cell(run.state, "long"),
                     cell(number(run.seconds)), cell(len(run.rows)), cell(machine_of(run), "long")])
    return table("What ran", f"({kind} run)", heads, body, []) if body else (
        '<p class="why">Nothing ran.</p>')


def section_charts(charts, missing, runs):
    figures, absent = [], []
    for chart in charts:
        if chart.file in missing:
            absent.append(f"<li>{escape(chart.title)}: {escape(missing[chart.file])}</li>")
            continue
        on = "; ".join(machine_lines(runs, [chart.bench]))
        figures.append(
            f'<figure><img src="charts/{escape(chart.file)}" alt="{escape(chart.title)}" '
            f'width="820" height="440"><figcaption>{escape(chart.caption)} On: {escape(on)}'
            "</figcaption></figure>")
    left_out = f'<p>Not drawn:</p><ul class="why">{"".join(absent)}</ul>' if absent else ""
    return f'<div class="charts">{"".join(figures)}</div>{left_out}'


def figure_cells(found, shape, is_ratio, notes, kind=""):
    """A figure, with the note that qualifies it, and its ratio to the column's first row."""
    if found.value is None:
        return [notes.none(found.note)] * 2
    link = f" {notes.link(found.note)}" if found.note else ""
    attribute = f' class="{kind}"' if kind else ""
    return [f"<td{attribute}>{number(found.value)}{link}</td>",
            cell("itself" if is_ratio else number(shape), kind)]


def published_rows(family, notes):
    """The rows of one curve: each column's figures to its own first one."""
    family = list(family)
    values = [float(item.published["value"]) for item in family]
    shapes = [experiments.shape(column) for column in (
        values, [item.measured.value for item in family],
        [item.predicted.value for item in family])]
    for at, item in enumerate(family):
        row = item.published
        is_ratio = row["unit"].startswith("x ")
        yield ([cell(row["scenario"], "text"), cell(row["variant"], "text"),
                cell(row["workers"]), cell(row["unit"], "text"), cell(row["machine"], "text"),
                cell(number(values[at])), cell("itself" if is_ratio else number(shapes[0][at]))] +
               figure_cells(item.measured, shapes[1][at], is_ratio, notes) +
               figure_cells(item.predicted, shapes[2][at], is_ratio, notes, "model"))


def published_table(name, compared, runs):
    notes = Notes(f"note-{name}")
    heads = [("experiment", "text"), ("variant", "text"), ("workers", ""), ("unit", "text"),
             ("their machine", "text"), ("published", ""), ("to first", ""),
             ("measured here", ""), ("to first", ""), ("predicted by the model", ""),
             ("to first", "")]
    body = [cells for _, family in itertools.groupby(compared, experiments.family)
            for cells in published_rows(family, notes)]
    on = machine_lines(runs, {experiments.bench_of(item.published) for item in compared})
    on = ["measured: " + line for line in on] or ["nothing was measured"]
    return table(TABLES.get(name, name), "", heads, body, on) + notes.listed()


def section_published(compared, runs):
    parts = []
    for name, group in itertools.groupby(compared, lambda item: item.published["table"]):
        parts.append(published_table(name, list(group), runs))
    return "".join(parts)


def extra_keys(rows):
    """In the order of their first use."""
    return list(dict.fromkeys(key for row in rows for key in row.extra))


def extra_cell(row, key):
    value = row.extra.get(key)
    if value in (None, "", "-"):
        return cell("n/a", "none"), True
    return cell(number(value) if isinstance(value, float) else value), False


def scenario_table(run, scenario, rows):
    keys = extra_keys(rows)
    timed = any(row.ns for row in rows)
    heads = [("mode", "text"), ("threads", ""), ("depth", ""), ("paths", "")]
    if timed:
        heads += [(text, "") for text in ("ns an operation", "best", "worst", "million/s")]
    heads += [(key, "") for key in keys]
    body, gaps = [], False
    for row in rows:
        cells = [cell(row.mode, "text"), cell(row.threads), cell(number(row.depth)),
                 cell(f"{row.paths:,}")]
        if timed:
            cells += [cell(number(v)) for v in (row.ns, row.best, row.worst, row.mops)]
        for key in keys:
            text, gap = extra_cell(row, key)
            cells.append(text)
            gaps = gaps or gap
        body.append(cells)
    why = '<p class="why">n/a: the bench tells no such figure of that row.</p>' if gaps else ""
    return table(scenario, f"bench_{run.name}", heads, body, [machine_of(run)]) + why


def section_rows(runs):
    parts = []
    for run in runs:
        if not run.rows:
            continue
        # The rows of a scenario may come in several cells.
        scenarios = {}
        for row in run.rows:
            scenarios.setdefault(row.scenario, []).append(row)
        tables = "".join(scenario_table(run, name, rows) for name, rows in scenarios.items())
        parts.append(f"<details><summary>bench_{escape(run.name)}: {len(run.rows)} rows"
                     f"</summary>{tables}</details>")
    return "".join(parts) or '<p class="why">No bench wrote a row.</p>'


HOW_TO_READ = """
<p>Absolute figures belong to a machine. What is compared is the shape: what collapses,
what stays flat, what scales, where curves cross. Hence each column of the tables with
published figures has its ratio to its own first row beside it. Measured: here, medians
of interleaved rounds. Predicted: by the model of bench_sim, for the machine that
published; no measurement.</p>"""


def page(run_kind, runs, charts, missing, compared):
    style = (pathlib.Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    own = [run for run in runs if run.name != rows_.MODEL]
    model = [run for run in runs if run.name == rows_.MODEL]
    sections = [
        ("ran", "What ran", section_ran(runs, run_kind)),
        ("charts", "Charts", section_charts(charts, missing, runs)),
        ("published", "Published, measured, predicted",
         HOW_TO_READ + section_published(compared, runs)),
        ("rows", "All that was measured", section_rows(own)),
        ("model", "All that the model predicts", section_rows(model)),
    ]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in sections)
    body = "\n".join(f'<section id="{name}"><h2>{title}</h2>{text}</section>'
                     for name, title, text in sections)
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>pathcache: benchmarks</title><style>\n{style}</style></head>"
            f"<body><h1>pathcache: benchmarks</h1><nav>{links}</nav>{body}</body></html>\n")
