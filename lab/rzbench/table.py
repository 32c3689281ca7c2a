# SPDX-License-Identifier: BSD-3-Clause
"""Samples, and how they are shown: medians with the smallest and largest value, or with the 95 % interval of the mean."""
import math
import re
import statistics
from dataclasses import dataclass

from .layout import grid

# The t of 95 % (two-sided) for 1 to 20 degrees of freedom, and that for infinitely many.
T95 = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
       2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860)
Z95 = 1.959964


def t95(freedom):
    """Beyond the table by the expansion of Cornish and Fisher, which is right to four digits from there on; nan for 0."""
    if freedom <= len(T95):
        return T95[freedom - 1] if freedom else math.nan
    return Z95 + (Z95 ** 3 + Z95) / (4 * freedom) + (5 * Z95 ** 5 + 16 * Z95 ** 3 + 3 * Z95) / (96 * freedom ** 2)


def number_text(value):
    """Three digits that mean something."""
    decimals = next((n for bound, n in ((0.01, 5), (1, 3), (10, 2), (100, 1)) if 0 < abs(value) < bound), 0)
    return f"{value:.{decimals}f}"


@dataclass
class Summary:
    """low and high: the smallest and the largest value."""
    n: int = 0
    median: float = math.nan
    low: float = math.nan
    high: float = math.nan
    around = " [{}..{}]"

    def text(self):
        """"-" where there is nothing."""
        return ("-" if self.n == 0 else number_text(self.median)) + (self.around.format(number_text(self.low), number_text(self.high)) if self.n > 1 else "")


class Interval(Summary):
    """low and high: of the mean, by Student's t; with fewer than two values they are nan."""
    around = " ({}..{})"


class Samples:
    """A value for each repetition: nan where it was left out, infinite where the run was over the limit."""

    def __init__(self, values=()):
        self.values = list(values)
        self.limit_s = None  # of the run that was over it
        self.failed = False  # a run did not end well, and this is to be shown

    def put(self, repetition, value):
        self.values += [math.nan] * (repetition + 1 - len(self.values))
        self.values[repetition] = value

    def summary(self):
        there = [value for value in self.values if not math.isnan(value)]
        return Summary(len(there), statistics.median(there), min(there), max(there)) if there else Summary()

    def interval(self):
        there = list(filter(math.isfinite, self.values))
        if not there:
            return Interval()
        half = t95(len(there) - 1) * math.sqrt(statistics.variance(there) / len(there)) if len(there) > 1 else math.nan
        return Interval(len(there), self.summary().median, statistics.fmean(there) - half, statistics.fmean(there) + half)

    def over(self, other):
        """This over the other, repetition by repetition, in which both ran one after the other."""
        return Samples(a / b if math.isfinite(a) and math.isfinite(b) and b > 0 else math.nan for a, b in zip(self.values, other.values))

    def text(self, intervals, n_usual):
        if self.limit_s:
            return f"run > {self.limit_s:.0f} s"
        summary = self.summary()
        if self.failed and not summary.n:
            return "failed"
        return (self.interval() if intervals else summary).text() + (f" (n={summary.n})" if summary.n not in (0, n_usual) else "")


class Table:
    """name: in the CSV file and in names of plots. shown: words of what it is shown with: ratios (the first column over each other one, where nothing was
    asked of the rows), intervals (of the mean), untold (in the CSV file and the plot alone), plot, and of the plot: log (its y axis), below-zero, linear
    or log2 (its x axis has the numbers that rows begin with, else their names), trends (a line through the medians of each column)."""

    def __init__(self, name, title, rows_are, unit="", shown="", columns=()):
        self.name, self.title, self.rows_are, self.unit = name, title, rows_are, unit
        self.shown = set(shown.split())
        self.rows, self.columns, self.cells = [], list(columns), {}
        self.asked = {}  # {what was asked: {row: the claim}}

    def cell(self, row, column):
        """The cell of this row and column, made when it is new."""
        for names, name in ((self.rows, row), (self.columns, column)):
            if name not in names:
                names.append(name)
        return self.cells.setdefault((row, column), Samples())

    def append(self, row, columns, values):
        """A value of each column for each further repetition."""
        for column, value in zip(columns, values):
            cell = self.cell(row, column)
            cell.put(len(cell.values), value)

    def at(self, row, column):
        """The same, which is empty where there is none."""
        return self.cells.get((row, column), Samples())

    def put(self, row, column, repetition, value):
        """None: only the cell is made."""
        cell = self.cell(row, column)
        if value is not None:
            cell.put(repetition, value)

    def ratio(self, row, a, b):
        return self.at(row, a).over(self.at(row, b))

    def x_of(self, row):
        return float(re.match(r"[\d.]+", row).group(0)) if self.shown & {"linear", "log2"} else float(self.rows.index(row))

    def trend(self, column, log2=True):
        """a, b and r2 of a * log2(x) + b, or a * x + b, by least squares over the medians, r2 being the share of the variance that it explains. None:
        fewer than two points."""
        points = [(math.log2(self.x_of(row)) if log2 else self.x_of(row), self.at(row, column).summary().median) for row in self.rows]
        xs, ys = zip(*[(x, y) for x, y in points if math.isfinite(y)] or [((), ())])
        if len(xs) < 2:
            return None
        a, b = statistics.linear_regression(xs, ys)
        return a, b, statistics.correlation(xs, ys) ** 2 if len(set(ys)) > 1 else 1.0

    def markdown(self):
        others = self.columns[1:] if "ratios" in self.shown and not self.asked else []
        heads, rows = [self.rows_are, *self.columns, *(f"{self.columns[0]} / {other}" for other in others), *self.asked, "n"], []
        for row in self.rows:
            n = self.at(row, self.columns[0]).summary().n
            rows.append([row, *(self.at(row, column).text("intervals" in self.shown, n) for column in self.columns),
                         *(self.ratio(row, self.columns[0], other).summary().text() for other in others),
                         *(claims[row].cell(n) if row in claims else "-" for claims in self.asked.values()), str(n)])
        return grid(self.title, heads, rows)

    def csv(self):
        return "".join(f'{self.name},"{row}","{column}",{repetition},{value:.9g}\n' for row in self.rows for column in self.columns
                       for repetition, value in enumerate(self.at(row, column).values, 1) if not math.isnan(value))
