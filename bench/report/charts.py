# SPDX-License-Identifier: LGPL-2.1-or-later
"""Charts of a run, drawn by gnuplot as SVG files."""
import collections
import dataclasses
import html
import shutil
import subprocess

# Okabe and Ito's colours, which colour-blind readers tell apart, each with a sign of its own.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#7f7f7f")
POINTS = (7, 5, 9, 11, 13, 4, 6, 8)
# A mode looks the same in all charts; no chart has two of one number.
LOOKS = {
    "rcu": 0, "lockref_wait1000": 0,
    "lockref": 1, "p50": 0, "p99": 1, "p999": 2,
    "rcu-walk": 2, "rcuref": 2, "lockref_wait1": 2,
    "word": 3, "lfht": 3,
    "locked": 4, "locked_mutex": 4,
    "lockref_pause": 5, "syscall": 5,
    "rcu-many": 6, "percpu": 6, "lockref_wait100": 6,
    "locked_mcs": 7, "tbb": 7,
}
QUANTILES = (("p50", "half"), ("p99", "99 of 100"), ("p999", "999 of 1000"))

# points: (x, y), sorted. look: a key of LOOKS.
Series = collections.namedtuple("Series", "label look points")


@dataclasses.dataclass
class Chart:
    """What gnuplot draws. names: of the x axis where it has places in place of numbers."""

    file: str
    bench: str
    title: str
    caption: str
    xlabel: str
    ylabel: str
    series: list
    xlog: int = 0  # the base; 0: linear
    names: tuple = ()
    style: str = "linespoints"


def of_modes(rows, modes, x, y):
    """One series for each mode that has points, in the order given."""
    found = []
    for mode in modes:
        points = {x(row): y(row) for row in rows if row.mode == mode and x(row) is not None}
        points = sorted((at, value) for at, value in points.items() if value)
        if points:
            found.append(Series(mode, mode, points))
    return found


def select(rows, bench, scenarios, threads=None):
    return [row for row in rows if row.bench == bench and row.scenario in scenarios and
            (threads is None or row.threads == threads)]


def most_threads(rows):
    return max((row.threads for row in rows), default=0)


LOOKUPS = ("rcu", "rcu-many", "rcu-walk", "lockref", "locked", "lfht", "tbb", "syscall")
COUNTED = ("rcu", "percpu", "word", "rcuref", "lockref", "lockref_pause", "locked_mcs",
           "locked_mutex")


def threads_counted(rows):
    rows = select(rows, "lockref", ("open3",))
    series = of_modes(rows, COUNTED, lambda row: row.threads, lambda row: row.mops)
    return Chart("threads-open3.svg", "lockref", "One object, get and put, by threads: more is better",
                 "All threads take and drop a reference on the same object.",
                 "threads", "million pairs a second", series, 2)


def threads_lookup(rows):
    rows = select(rows, "lookup", ("same_file",))
    series = of_modes(rows, LOOKUPS, lambda row: row.threads, lambda row: row.mops)
    return Chart("threads-lookup.svg", "lookup", "stat of one file, by threads: more is better",
                 "All threads ask for the same path; what writes to it shares its line.",
                 "threads", "million lookups a second", series, 2)


def depth(rows):
    rows = select(rows, "lookup", ("depth",), 1)
    series = of_modes(rows, LOOKUPS, lambda row: row.number("components"), lambda row: row.ns)
    return Chart("depth.svg", "lookup", "stat by depth: less is better",
                 "One thread, 500 paths in random order; a memo does not see the depth.",
                 "components of the path", "ns a lookup", series, 2)


def working_set(rows):
    sets = ("hot500", "paths5k", "paths100k", "paths400k", "paths1m")
    rows = select(rows, "lookup", sets, 1)
    series = of_modes(rows, LOOKUPS, lambda row: row.paths, lambda row: row.ns)
    return Chart("working-set.svg", "lookup", "stat by number of paths: less is better",
                 "One thread, paths in random order: from the CPU's caches out into memory.",
                 "paths", "ns a lookup", series, 10)


RENAMES = ("rename_none", "rename_1", "rename_1k", "rename_storm")


def mutation(rows, on_path):
    rows = [row for row in select(rows, "lookup", RENAMES, 1)
            if row.scenario == RENAMES[0] or row.number("on_path") == on_path]
    series = of_modes(rows, tuple(mode for mode in LOOKUPS if mode != "syscall"),
                      lambda row: RENAMES.index(row.scenario), lambda row: row.ns)
    where = ("elsewhere", "above all paths")[on_path]
    return Chart(f"mutation-{where.split()[0]}.svg", "lookup",
                 f"stat while a directory is renamed {where}: less is better"
                 if on_path else "stat while a file is renamed elsewhere: less is better",
                 "One reader beside one thread that renames there and back.",
                 "renames", "ns a lookup", series,
                 names=("none", "once a turn", "1,000 a second", "without pause"))


TAKERS = ("sporadic_10", "sporadic_1k", "sporadic_100k")


def lock_taker(rows):
    rows = select(rows, "lockref", TAKERS)
    rows = [row for row in rows if row.threads == most_threads(rows)]
    modes = ("word", "lockref", "lockref_pause", "lockref_wait1", "lockref_wait100",
             "lockref_wait1000", "locked_mcs", "locked_mutex")
    series = of_modes(rows, modes, lambda row: TAKERS.index(row.scenario), lambda row: row.mops)
    return Chart("lock-taker.svg", "lockref", "Get and put beside a thread that takes the lock: more is better",
                 "A word without a lock in it has nothing to be degraded to.",
                 "times a second that the lock is taken", "million pairs a second", series,
                 names=("10", "1,000", "100,000"))


def latency(rows, bench, scenario, modes, name, title):
    rows = select(rows, bench, (scenario,))
    rows = [row for row in rows if row.threads == most_threads(rows) and row.number("p999")]
    by_mode = {row.mode: row for row in rows}
    names = tuple(mode for mode in modes if mode in by_mode)
    series = [Series(label, key, [(names.index(mode), by_mode[mode].number(key)) for mode in names
                                  if by_mode[mode].number(key)])
              for key, label in QUANTILES] if names else []
    return Chart(name, bench, title,
                 "Single operations, timed one by one, the clock's own cost taken off: "
                 f"{most_threads(rows)} threads.", "", "ns at most", series, names=names,
                 style="points")


def model_modes(rows):
    rows = [row for row in select(rows, "sim", ("open3",))
            if row.extra.get("machine") == "x86-64 2x24x2"]
    series = of_modes(rows, COUNTED, lambda row: row.threads, lambda row: row.mops)
    return Chart("model-modes.svg", "sim",
                 "MODEL, not measured: get and put of one object, 2 x 24 cores x 2",
                 "Predicted, without the work of a program around it: more is better.",
                 "workers", "million pairs a second", series, 2)


def model_published(compared, table):
    """Published and predicted, by the work of the programs that were measured."""
    series = []
    for mode in ("lockref", "lockref_pause"):
        own = [item for item in compared if item.published["table"] == table and
               item.published["variant"] == mode and item.predicted.value]
        for which, value in (("model", lambda item: item.predicted.value),
                             ("published", lambda item: float(item.published["value"]))):
            points = [(int(item.published["workers"]), value(item) / 1e6) for item in own]
            if points:
                series.append(Series(f"{mode}, {which}", mode, points))
    return Chart(f"model-{table}.svg", "sim",
                 f"MODEL, not measured: {table} on 2 x 24 cores x 2",
                 "Predicted beside published: more is better.",
                 "workers", "million operations a second", series, 2)


def all_charts(measured, predicted, compared):
    return [
        threads_counted(measured),
        threads_lookup(measured),
        depth(measured),
        working_set(measured),
        mutation(measured, 0),
        mutation(measured, 1),
        lock_taker(measured),
        latency(measured, "lookup", "hot500", LOOKUPS, "latency-lookup.svg",
                "How long single lookups take: less is better"),
        latency(measured, "lockref", "open3", COUNTED, "latency-open3.svg",
                "How long a single get and put takes: less is better"),
        model_published(compared, "open3"),
        model_published(compared, "stat2"),
        model_modes(predicted),
    ]


# ---- gnuplot ----

def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("_", "\\\\_") + '"'


def x_ticks(chart):
    if chart.names:
        return ", ".join(f"{quoted(name)} {at}" for at, name in enumerate(chart.names))
    at = sorted({x for series in chart.series for x, _ in series.points})
    return ", ".join(f'"{x:,.0f}" {x:g}' for x in spread(at))


def spread(values):
    """Those of sorted positive values that are far enough apart for a label of their own."""
    kept = []
    for value in values:
        if not kept or value >= kept[-1] * 1.4:
            kept.append(value)
    return kept


def x_range(chart):
    xs = [x for series in chart.series for x, _ in series.points]
    if not chart.xlog:
        return min(xs) - 0.4, max(xs) + 0.4
    return min(xs) / 1.15, max(xs) * 1.15


def y_range(chart):
    ys = [y for series in chart.series for _, y in series.points]
    return min(ys) / 1.5, max(ys) * 1.6


def blocks(chart):
    for number, series in enumerate(chart.series):
        yield f"$data{number} << EOD"
        yield from (f"{x:g} {y:g}" for x, y in series.points)
        yield "EOD"


def curve(chart, number, series):
    look = LOOKS[series.look]
    dash = " dashtype 2" if "published" in series.label else ""
    return (f"$data{number} with {chart.style} linewidth 2{dash} "
            f'linecolor rgb "{PALETTE[look]}" pointtype {POINTS[look]} '
            f"pointsize 0.9 title {quoted(series.label)}")


def script(chart):
    low, high = x_range(chart)
    bottom, top = y_range(chart)
    lines = [
        'set terminal svg size 820,440 dynamic enhanced font "DejaVu Sans,Helvetica,Arial,14" '
        'background rgb "white"',
        f"set title {quoted(chart.title)} font ',16'",
        f"set xlabel {quoted(chart.xlabel)}",
        f"set ylabel {quoted(chart.ylabel)}",
        "set key outside right center vertical reverse Left samplen 2 spacing 1.25",
        'set border 3 linecolor rgb "#444444"',
        "set tics nomirror out",
        'set grid ytics linecolor rgb "#dddddd" linewidth 1',
        "set logscale y 10",
        'set format y "%.10g"',
        f"set yrange [{bottom:g}:{top:g}]",
        f"set xrange [{low:g}:{high:g}]",
        f"set xtics ({x_ticks(chart)})",
    ]
    if top / bottom < 1000:
        lines.append("set ytics add (" + ", ".join(y_ticks(bottom, top)) + ")")
    if chart.xlog:
        lines.append(f"set logscale x {chart.xlog}")
    if chart.names and max(map(len, chart.names)) * len(chart.names) > 60:
        lines.append("set xtics rotate by -25")
    plots = [curve(chart, number, series) for number, series in enumerate(chart.series)]
    return "\n".join(lines + list(blocks(chart)) + ["plot " + ", ".join(plots), ""])


def y_ticks(bottom, top):
    """1, 2, 5 of each power of ten: a narrow range has too few labels of its own."""
    scale = 1e-6
    while scale < top:
        for step in (1, 2, 5):
            if bottom <= scale * step <= top:
                yield f'"{scale * step:g}" {scale * step:g}'
        scale *= 10


def tidy(svg, title):
    """With a title that says something, and as a file in a repository should be."""
    svg = svg.replace("<title>Gnuplot</title>", f"<title>{html.escape(title)}</title>")
    return "".join(line.rstrip() + "\n" for line in svg.splitlines())


def draw(charts, folder):
    """Draw what has points. Return: why a chart is missing, by its file."""
    missing = {chart.file: "no rows for it in this run" for chart in charts if not chart.series}
    gnuplot = shutil.which("gnuplot")
    folder.mkdir(parents=True, exist_ok=True)
    for chart in charts:
        (folder / chart.file).unlink(missing_ok=True)
        if chart.file in missing:
            continue
        if not gnuplot:
            missing[chart.file] = "gnuplot is not installed"
            continue
        done = subprocess.run([gnuplot], input=script(chart), text=True, capture_output=True,
                              check=False)
        if done.returncode or done.stderr:
            missing[chart.file] = "gnuplot failed: " + done.stderr.strip()[:200]
            continue
        (folder / chart.file).write_text(tidy(done.stdout, chart.title), encoding="utf-8")
    return missing
