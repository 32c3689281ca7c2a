/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart as a gnuplot script. */
#include "chart/chart_state.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define PANEL_WIDTH 900
#define PANEL_HEIGHT 480

/* Colours that the colour-blind tell apart too (Okabe and Ito 2008). */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000", "#8C564B"};
#define COLOURS (sizeof(colours) / sizeof(*colours))

/* All but letters, digits and blanks as octal, so that no title becomes a command. A digit after an
 * octal escape, too: gnuplot would take it for a part of the number. */
static void quoted(FILE *out, const char *text)
{
    bool octal = false;
    fputc('"', out);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        bool plain = isalpha(byte) || byte <= ' ' || byte >= 0x80 || (isdigit(byte) && !octal);
        if (plain) {
            fputc(byte < ' ' ? ' ' : byte, out);
        } else {
            fprintf(out, "\\%03o", byte);
        }
        octal = !plain;
    }
    fputc('"', out);
}

static void set_text(FILE *out, const char *what, const char *text)
{
    fprintf(out, "set %s ", what);
    quoted(out, text);
    fputs(" noenhanced\n", out);
}

/* Values that a logarithmic axis cannot show are left out. */
static double placed(double value, enum rz_chart_scale scale)
{
    return scale != RZ_CHART_LINEAR && !(value > 0) ? NAN : value;
}

static void write_number(FILE *out, double value, char end)
{
    if (isfinite(value)) {
        fprintf(out, "%.12g%c", value, end);
    } else {
        fprintf(out, "NaN%c", end);
    }
}

static bool shown(const struct rz_chart_panel *panel, const struct rz_chart_dot *dot)
{
    return isfinite(placed(dot->x, panel->x_scale)) && isfinite(placed(dot->y, panel->y_scale));
}

/* Whether a line has points to show; spread: with error bars. */
static bool any_shown(const struct rz_chart_panel *panel, const struct rz_chart_line *line,
                      bool spread)
{
    for (uint32_t i = 0; i < line->n_dots; i++) {
        if (shown(panel, &line->dots[i]) && (!spread || isfinite(line->dots[i].low))) {
            return true;
        }
    }
    return false;
}

/* wide: the numbers along it are written as powers. */
static void axis(FILE *out, char name, enum rz_chart_scale scale, double low, double high,
                 bool wide)
{
    char from[40] = "*", to[40] = "*";
    int base = scale == RZ_CHART_LOG2 ? 2 : 10;
    if (scale != RZ_CHART_LINEAR) {
        fprintf(out, "set logscale %c %d\n", name, base);
        if (wide) {
            fprintf(out, "set format %c '%d^{%%L}'\n", name, base);
        }
    }
    if (isfinite(low)) {
        snprintf(from, sizeof(from), "%.12g", low);
    }
    if (isfinite(high)) {
        snprintf(to, sizeof(to), "%.12g", high);
    }
    fprintf(out, "set %crange [%s:%s]\n", name, from, to);
}

/* Whether numbers along an axis are better shown as powers. */
static bool is_wide(const struct rz_chart_panel *panel, bool x)
{
    double least = INFINITY, most = 0;
    for (uint32_t i = 0; i < panel->n_lines; i++) {
        for (uint32_t dot = 0; dot < panel->lines[i].n_dots; dot++) {
            const struct rz_chart_dot *at = &panel->lines[i].dots[dot];
            double value = x ? at->x : at->y;
            if (!shown(panel, at) || !(value > 0)) {
                continue;
            }
            least = fmin(least, value);
            most = fmax(most, value);
        }
    }
    return most >= 16384 || least < 0.001;
}

/* The distance and the width of bars, so that bars of several curves are side by side. */
static void bar_layout(const struct rz_chart_panel *panel, double *width, uint32_t *n)
{
    double apart = INFINITY;
    *n = 0;
    for (uint32_t i = 0; i < panel->n_lines; i++) {
        const struct rz_chart_line *line = &panel->lines[i];
        if (line->style != RZ_CHART_BARS) {
            continue;
        }
        ++*n;
        for (uint32_t dot = 1; dot < line->n_dots; dot++) {
            double step = fabs(line->dots[dot].x - line->dots[dot - 1].x);
            apart = step > 0 ? fmin(apart, step) : apart;
        }
    }
    *width = (isfinite(apart) ? apart : 1) * 0.8 / (*n > 0 ? *n : 1);
}

static void data(FILE *out, const struct rz_chart_panel *panel, uint32_t number)
{
    const struct rz_chart_line *line = &panel->lines[number];
    double width, shift = 0;
    uint32_t bars, before = 0;
    bar_layout(panel, &width, &bars);
    for (uint32_t i = 0; i < number; i++) {
        before += panel->lines[i].style == RZ_CHART_BARS;
    }
    if (line->style == RZ_CHART_BARS && panel->x_scale == RZ_CHART_LINEAR) {
        shift = (before - (bars - 1) / 2.0) * width;
    }
    fprintf(out, "$line%u << END\n", number);
    for (uint32_t i = 0; i < line->n_dots; i++) {
        const struct rz_chart_dot *dot = &line->dots[i];
        bool spread = isfinite(dot->low) && isfinite(dot->high);
        write_number(out, placed(dot->x, panel->x_scale) + shift, ' ');
        write_number(out, placed(dot->y, panel->y_scale), ' ');
        write_number(out, spread ? placed(dot->low, panel->y_scale) : NAN, ' ');
        write_number(out, spread ? dot->high : NAN, ' ');
        write_number(out, width, '\n');
    }
    fputs("END\n", out);
}

/* The marks of a curve: each kind of curve counts its colours separately, so that stated values
 * have the colours of the measured ones. */
static void style(FILE *out, const struct rz_chart_line *line, uint32_t number)
{
    static const int filled[] = {7, 5, 9, 11, 13}, hollow[] = {6, 4, 8, 10, 12};
    const char *colour = colours[number % COLOURS];
    int mark = filled[number % 5];
    switch (line->style) {
    case RZ_CHART_LINES:
        fprintf(out, "with lines lw 2 lc rgb '%s'", colour);
        break;
    case RZ_CHART_POINTS:
        fprintf(out, "with points pt %d ps 0.8 lc rgb '%s'", mark, colour);
        break;
    case RZ_CHART_LINES_POINTS:
        fprintf(out, "with linespoints pt %d ps 0.7 lw 2 lc rgb '%s'", mark, colour);
        break;
    case RZ_CHART_STEPS:
        fprintf(out, "with steps lw 2 lc rgb '%s'", colour);
        break;
    case RZ_CHART_BARS:
        fprintf(out, "with boxes fill solid 0.6 noborder fc rgb '%s'", colour);
        break;
    case RZ_CHART_DASHED:
        fprintf(out, "with lines dt 2 lw 1.5 lc rgb '%s'", colour);
        break;
    case RZ_CHART_STATED:
        fprintf(out, "with points pt %d ps 1.5 lw 1.5 lc rgb '%s'", hollow[number % 5], colour);
        break;
    }
}

/* 0: measured, 1: dashed, 2: stated. */
static unsigned kind(const struct rz_chart_line *line)
{
    return line->style == RZ_CHART_DASHED ? 1 : line->style == RZ_CHART_STATED ? 2 : 0;
}

static void error_bars(FILE *out, uint32_t line, const char *colour)
{
    fprintf(out, "$line%u using 1:2:3:4 with yerrorbars pt 0 lw 1 lc rgb '%s' notitle", line,
            colour);
}

static void plot(FILE *out, const struct rz_chart_panel *panel)
{
    uint32_t count[3] = {0}, n = 0;
    for (uint32_t i = 0; i < panel->n_lines; i++) {
        const struct rz_chart_line *line = &panel->lines[i];
        uint32_t number = count[kind(line)]++;
        bool bars = line->style == RZ_CHART_BARS, spread = any_shown(panel, line, true);
        if (!any_shown(panel, line, false)) {
            continue;
        }
        fputs(n++ == 0 ? "plot " : ", \\\n    ", out);
        if (spread && !bars) { /* drawn below the marks */
            error_bars(out, i, colours[number % COLOURS]);
            fputs(", ", out);
        }
        fprintf(out, "$line%u using 1:2%s ", i, bars ? ":5" : "");
        style(out, line, number);
        fputs(line->label[0] ? " title " : " notitle", out);
        if (line->label[0]) {
            quoted(out, line->label);
        }
        if (spread && bars) {
            fputs(", ", out);
            error_bars(out, i, "#333333");
        }
    }
    fputc('\n', out);
}

static bool is_empty(const struct rz_chart_panel *panel)
{
    for (uint32_t i = 0; i < panel->n_lines; i++) {
        if (any_shown(panel, &panel->lines[i], false)) {
            return false;
        }
    }
    return true;
}

static void write_panel(FILE *out, const struct rz_chart_panel *panel)
{
    fputs("reset\nset grid lt 1 lw 0.5 lc rgb '#D0D0D0'\nset border lc rgb '#555555'\n"
          "set key outside below height 1 samplen 3 font ',10' noenhanced\n"
          "set style fill solid 0.6\nset errorbars 0.6\n",
          out);
    set_text(out, "title", panel->title);
    set_text(out, "xlabel", panel->x_label);
    set_text(out, "ylabel", panel->y_label);
    if (is_empty(panel)) { /* gnuplot refuses to plot nothing */
        fputs("set label 'no points' at graph 0.5,0.5 center\nset xrange [0:1]\n"
              "set yrange [0:1]\nplot NaN notitle\n",
              out);
        return;
    }
    axis(out, 'x', panel->x_scale, panel->x_low, panel->x_high, is_wide(panel, true));
    axis(out, 'y', panel->y_scale, panel->y_low, panel->y_high, is_wide(panel, false));
    for (uint32_t i = 0; i < panel->n_lines; i++) {
        data(out, panel, i);
    }
    plot(out, panel);
}

static void set_terminal(FILE *out, const char *kind, unsigned height)
{
    if (strcmp(kind, "pdf") == 0) {
        fprintf(out, "set terminal pdfcairo size %gcm,%gcm font 'sans,10'\n", PANEL_WIDTH / 45.0,
                height / 45.0);
    } else {
        fprintf(out, "set terminal %s size %u,%u background rgb 'white' font 'sans,12'\n",
                strcmp(kind, "png") == 0 ? "pngcairo" : "svg", PANEL_WIDTH, height);
    }
}

void rz_chart_script(const struct rz_chart *chart, const char *kind, FILE *out)
{
    uint32_t n = chart->n_panels;
    fputs("set encoding utf8\n", out);
    set_terminal(out, kind, PANEL_HEIGHT * n);
    if (n > 1) {
        fprintf(out, "set multiplot layout %u,1\n", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        write_panel(out, &chart->panels[i]);
    }
    if (n > 1) {
        fputs("unset multiplot\n", out);
    }
}
