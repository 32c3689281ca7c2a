# SPDX-License-Identifier: BSD-3-Clause
"""A table as a picture, in gnuplot's words, as lab/chart draws those of rzsim."""
import math
import os
import subprocess

# Colours that the colour-blind tell apart too (Okabe and Ito 2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C564B")
MARKS = (7, 5, 9, 11, 13)
DRAW_S = 60
TERMINALS = {"svg": "svg size 900,480 background rgb 'white' font 'sans,12'", "png": "pngcairo size 900,480 background rgb 'white' font 'sans,12'",
             "pdf": "pdfcairo size 20cm,10.6667cm font 'sans,10'"}
LOOKS = """reset
set grid lt 1 lw 0.5 lc rgb '#D0D0D0'
set border lc rgb '#555555'
set key outside below height 1 samplen 3 font ',10' noenhanced
set style fill solid 0.6
set errorbars 0.6"""


def quoted(text):
    """All but letters, digits and blanks as octal, so that no title becomes a command; a digit behind octal, too, which would be taken for a part of
    the number."""
    out, octal = b"", False
    for byte in text.encode():
        octal = not (byte <= 32 or byte >= 128 or chr(byte).isalpha() or (chr(byte).isdigit() and not octal))
        out += b"\\%03o" % byte if octal else bytes([max(byte, 32)])
    return f'"{out.decode()}"'


def number(value):
    return f"{value:.12g}" if math.isfinite(value) else "NaN"


def curves_of(table):
    """(label, points (x, y, low, high), whether it is a trend) of each column."""
    curves, log = [], "log" in table.shown
    for column in table.columns:
        points = []
        for row in table.rows:
            stats, interval = table.at(row, column).summary(), table.at(row, column).interval()
            low, high = (interval.low, interval.high) if "intervals" in table.shown and interval.n > 1 else (stats.low, stats.high)
            if log and low <= 0 and "intervals" in table.shown:
                low = stats.median  # a logarithmic axis has no room for it
            if math.isfinite(high):
                points.append((table.x_of(row), stats.median, low, high))
        curves.append((column, [tuple(math.nan if log and i in (1, 2) and value <= 0 else value for i, value in enumerate(point)) for point in points], False))
        trend = table.trend(column) if "trends" in table.shown else None
        if trend:
            curves.append((f"{trend[0]:.3g} log2({table.rows_are}) {trend[1]:+.3g}",
                           [(x, trend[0] * math.log2(x) + trend[1], math.nan, math.nan) for x, *_ in points], True))
    return curves


def axis(name, base, values, low="*", high="*"):
    """base: of a logarithmic axis; None: it is linear. Numbers far apart are written as powers."""
    lines = [f"set logscale {name} {base}"] if base else []
    if base and values and (max(values) >= 16384 or min(values) < 0.001):
        lines.append(f"set format {name} '{base}^{{%L}}'")
    return [*lines, f"set {name}range [{low}:{high}]"]


def script(table, curves, kind):
    shown = [point for _, points, _ in curves for point in points if math.isfinite(point[1])]
    lines = ["set encoding utf8", f"set terminal {TERMINALS[kind]}", LOOKS]
    lines += [f"set {what} {quoted(text)} noenhanced" for what, text in (("title", table.title), ("xlabel", table.rows_are), ("ylabel", table.unit))]
    named = not table.shown & {"linear", "log2"}
    lines += axis("x", 2 if "log2" in table.shown else None, [x for x, *_ in shown if x > 0], *((-0.5, len(table.rows) - 0.5) if named else ()))
    lines += axis("y", 10 if "log" in table.shown else None, [y for _, y, *_ in shown if y > 0], "*" if table.shown & {"log", "below-zero"} else 0)
    if named:
        lines.append("set xtics rotate by -25 noenhanced (" + ", ".join(f"{quoted(row)} {i}" for i, row in enumerate(table.rows)) + ")")
    parts, counts = [], [0, 0]
    for i, (label, points, trend) in enumerate(curves):
        lines += [f"$line{i} << END", *(" ".join(map(number, point)) for point in points), "END"]
        colour, mark = COLOURS[counts[trend] % len(COLOURS)], MARKS[counts[trend] % len(MARKS)]
        counts[trend] += 1
        style = f"lines dt 2 lw 1.5 lc rgb '{colour}'" if trend else \
            f"points pt {mark} ps 0.8 lc rgb '{colour}'" if "trends" in table.shown else f"linespoints pt {mark} ps 0.7 lw 2 lc rgb '{colour}'"
        if any(math.isfinite(y) for _, y, *_ in points):
            if any(math.isfinite(low) for _, _, low, _ in points):
                parts.append(f"$line{i} using 1:2:3:4 with yerrorbars pt 0 lw 1 lc rgb '{colour}' notitle")
            parts.append(f"$line{i} using 1:2 with {style} title {quoted(label)}")
    return "\n".join([*lines, "plot " + ", \\\n    ".join(parts), ""])


def draw(table, path):
    """OSError or ValueError: why there is no plot. The file appears whole or not at all; devices, pipes and links are written into."""
    kind, curves = path.rpartition(".")[2], curves_of(table)
    if kind not in TERMINALS:
        raise ValueError(f"'{path}' does not end in .svg, .png or .pdf")
    if not any(math.isfinite(y) for _, points, _ in curves for _, y, *_ in points):
        raise ValueError("there is nothing to draw: the chart has no points")
    try:
        done = subprocess.run(["gnuplot", "-d"], input=script(table, curves, kind).encode(), capture_output=True, timeout=DRAW_S)
    except FileNotFoundError:
        raise ValueError("gnuplot is not installed") from None
    except subprocess.TimeoutExpired:
        raise ValueError(f"gnuplot took longer than {DRAW_S} s") from None
    if done.returncode != 0:
        raise ValueError("gnuplot: " + (done.stderr.decode(errors="replace").strip(" ^\n").rpartition("\n")[2].strip() or "it says nothing"))
    stays = os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path))
    part = path if stays else f"{path}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            file.write(done.stdout)
        if not stays:
            os.replace(part, path)
    finally:
        if not stays and os.path.exists(part):
            os.unlink(part)
