#!/usr/bin/python3
"""Draw the curves of recall and speed in a result of `make bench` or bench/index.sh: draw.py RESULT.csv [OUT.svg]

Without OUT.svg, the drawing is written beside the result. Each case that has both a recall and a rate is a point. Cases that differ
only in their last number, such as a value of hybrid.target_recall, are one curve. Each set of rows and each section has its own axes.
"""
import csv
import os
import re
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

RECALLS = ("recall", "recall_at_10")
RATES = ("queries_per_s", "qps")
COLORS = {"hybrid": "tab:blue", "pgvector": "tab:gray"}


def main():
    """Read, draw and write."""
    result = sys.argv[1]
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.splitext(result)[0] + ".svg"
    with open(result, encoding="utf-8", newline="") as file:
        panels = curves(csv.DictReader(file))
    if not panels:
        sys.exit(f"{result} has no case with a recall and a rate")
    draw(panels, out)
    print(out)


def curves(rows):
    """{what is searched: {(side, curve): [(recall, rate)], in the order of recall}}"""
    cases = {}
    for row in rows:
        if row["metric"] in RECALLS + RATES:
            what = "recall" if row["metric"] in RECALLS else "rate"
            cases.setdefault(row["case"], {})[what] = float(row["value"])
    panels = {}
    for case, point in cases.items():
        words = re.fullmatch(r"(?P<panel>.*?)\b(?P<side>hybrid|pgvector)\b(?P<curve>.*?)\s*[\d.]*", case)
        if words and len(point) == 2:
            panel = panels.setdefault(words["panel"].strip(), {})
            panel.setdefault((words["side"], words["curve"].strip()), []).append((point["recall"], point["rate"]))
    return {name: {curve: sorted(points) for curve, points in panel.items()} for name, panel in panels.items()}


def draw(panels, out):
    """Axes beside each other, two in a row."""
    lines = (len(panels) + 1) // 2
    figure, axes = plt.subplots(lines, min(len(panels), 2), figsize=(5.5 * min(len(panels), 2), 4 * lines), squeeze=False, layout="constrained")
    for place, (name, panel) in zip(axes.flat, panels.items()):
        for number, ((side, curve), points) in enumerate(panel.items()):
            place.plot(*zip(*points), marker="os^vD"[number % 5], color=COLORS[side], label=f"{side} {curve}".strip())
        place.set(title=name, xlabel="recall of the ten nearest", ylabel="queries per second", yscale="log")
        place.grid(True, which="both", alpha=0.3)
        place.legend()
    for place in axes.flat[len(panels):]:
        place.set_axis_off()
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bench"})
    figure.savefig(out, bbox_inches="tight", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))


if __name__ == "__main__":
    main()
