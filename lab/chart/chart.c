/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart in memory: panels, curves and points; rz_chart_draw draws it by gnuplot. */
#include "chart/chart_state.h"

#include "base/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct rz_chart_panel *last_panel(struct rz_chart *chart)
{
    return &chart->panels[chart->n_panels - 1];
}

static void free_panel(struct rz_chart_panel *panel)
{
    for (uint32_t i = 0; i < panel->n_lines; i++) {
        free(panel->lines[i].label);
        free(panel->lines[i].dots);
    }
    free(panel->lines);
    free(panel->title);
    free(panel->x_label);
    free(panel->y_label);
}

void rz_chart_panel(struct rz_chart *chart, const char *title, const char *x_label,
                    const char *y_label)
{
    if (chart->n_panels == 1 && chart->panels[0].n_lines == 0) {
        free_panel(&chart->panels[--chart->n_panels]);
    }
    chart->panels = rz_chart_memory(chart->panels, chart->n_panels + 1, sizeof(*chart->panels));
    chart->panels[chart->n_panels++] = (struct rz_chart_panel){.title = rz_chart_copy(title),
                                                               .x_label = rz_chart_copy(x_label),
                                                               .y_label = rz_chart_copy(y_label),
                                                               .x_low = NAN,
                                                               .x_high = NAN,
                                                               .y_low = NAN,
                                                               .y_high = NAN};
}

struct rz_chart *rz_chart_create(const char *title, const char *x_label, const char *y_label)
{
    struct rz_chart *chart = rz_chart_memory(NULL, 1, sizeof(*chart));
    *chart = (struct rz_chart){0};
    rz_chart_panel(chart, title, x_label, y_label);
    return chart;
}

void rz_chart_destroy(struct rz_chart *chart)
{
    if (!chart) {
        return;
    }
    for (uint32_t i = 0; i < chart->n_panels; i++) {
        free_panel(&chart->panels[i]);
    }
    free(chart->panels);
    free(chart);
}

static void relabel(char **label, const char *text)
{
    if (!text) {
        return;
    }
    free(*label);
    *label = rz_chart_copy(text);
}

void rz_chart_labels(struct rz_chart *chart, const char *title, const char *x_label,
                     const char *y_label)
{
    struct rz_chart_panel *panel = last_panel(chart);
    relabel(&panel->title, title);
    relabel(&panel->x_label, x_label);
    relabel(&panel->y_label, y_label);
}

void rz_chart_scales(struct rz_chart *chart, enum rz_chart_scale x, enum rz_chart_scale y)
{
    last_panel(chart)->x_scale = x;
    last_panel(chart)->y_scale = y;
}

void rz_chart_range_x(struct rz_chart *chart, double low, double high)
{
    last_panel(chart)->x_low = low;
    last_panel(chart)->x_high = high;
}

void rz_chart_range_y(struct rz_chart *chart, double low, double high)
{
    last_panel(chart)->y_low = low;
    last_panel(chart)->y_high = high;
}

void rz_chart_curve(struct rz_chart *chart, const char *label, enum rz_chart_style style)
{
    struct rz_chart_panel *panel = last_panel(chart);
    panel->lines = rz_chart_memory(panel->lines, panel->n_lines + 1, sizeof(*panel->lines));
    panel->lines[panel->n_lines++] =
        (struct rz_chart_line){.label = rz_chart_copy(label), .style = style};
}

void rz_chart_point_spread(struct rz_chart *chart, double x, double y, double low, double high)
{
    struct rz_chart_panel *panel = last_panel(chart);
    rz_assert(panel->n_lines > 0);
    struct rz_chart_line *line = &panel->lines[panel->n_lines - 1];
    if ((line->n_dots & (line->n_dots - 1)) == 0) { /* room doubles */
        line->dots = rz_chart_memory(line->dots, line->n_dots > 0 ? 2 * (size_t)line->n_dots : 1,
                                     sizeof(*line->dots));
    }
    line->dots[line->n_dots++] = (struct rz_chart_dot){x, y, low, high};
}

void rz_chart_point(struct rz_chart *chart, double x, double y)
{
    rz_chart_point_spread(chart, x, y, NAN, NAN);
}

static bool has_points(const struct rz_chart *chart)
{
    for (uint32_t i = 0; i < chart->n_panels; i++) {
        for (uint32_t line = 0; line < chart->panels[i].n_lines; line++) {
            if (chart->panels[i].lines[line].n_dots > 0) {
                return true;
            }
        }
    }
    return false;
}

static bool draw(const struct rz_chart *chart, const char *kind, FILE *drawing, const char **why)
{
    FILE *script = tmpfile();
    if (!script) {
        return rz_chart_say(why, "no temporary file for gnuplot's script");
    }
    rz_chart_script(chart, kind, script);
    bool good = fflush(script) == 0 && !ferror(script);
    if (!good) {
        rz_chart_say(why, "cannot write gnuplot's script");
    }
    rewind(script);
    good = good && rz_gnuplot(script, drawing, why);
    fclose(script);
    return good;
}

const char *rz_chart_kind(const char *path)
{
    static const char *const kinds[] = {"svg", "png", "pdf"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(dot + 1, kinds[i]) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

bool rz_chart_draw(const struct rz_chart *chart, const char *path, const char **why)
{
    const char *kind = rz_chart_kind(path);
    struct rz_outfile out;
    if (!kind) {
        return rz_chart_say(why, "'%s' does not end in .svg, .png or .pdf", path);
    }
    if (!has_points(chart)) {
        return rz_chart_say(why, "there is nothing to draw: the chart has no points");
    }
    if (!rz_outfile_open(&out, path, why)) {
        return false;
    }
    return rz_outfile_close(&out, draw(chart, kind, out.file, why), why);
}
