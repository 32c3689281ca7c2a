/* SPDX-License-Identifier: BSD-3-Clause */
/* One step as SVG: members, the lines between them, and the messages under way. */
#include "explain/explain_state.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
#define CENTRE_X 360.0
#define CENTRE_Y 240.0
#define CIRCLE 180.0
#define TREE_TOP 46.0
#define TREE_DEPTH 370.0
#define LEGEND_Y 504

/* Colours that people with colour blindness can tell apart; messages differ in their dashes, too.
 */
const char rz_explain_style[] =
    "svg{font-family:system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif}"
    ".paper{fill:#fff}"
    ".edge{stroke:#e3e7ec;stroke-width:1.5;fill:none}.strong{stroke:#b4bdc9;stroke-width:2}"
    ".node{stroke-width:2}.t0{fill:#fff;stroke:#6b7684}.t1{fill:#dcebfd;stroke:#1f62b0}"
    ".t2{fill:#d8f1df;stroke:#1c7a3a}.t3{fill:#ffe7c2;stroke:#a86200}"
    ".t4{fill:#ececef;stroke:#858a94;stroke-dasharray:4 3}"
    ".halo{fill:none;stroke:#1b2430;stroke-opacity:.16;stroke-width:7}"
    ".id{font-weight:600;fill:#1b2430;text-anchor:middle}.label{fill:#414b58;stroke:#fff;stroke-"
    "width:4px;paint-order:stroke;stroke-linejoin:round}"
    ".caption{fill:#1b2430;font-size:14px}.number{font-weight:700}"
    ".cross{stroke:#b3261e;stroke-width:2.2;stroke-opacity:.7;fill:none}"
    ".m{fill:none;stroke-width:2.4}.m0{stroke:#1f62b0}.m1{stroke:#1c7a3a}"
    ".m2{stroke:#a8480b;stroke-dasharray:7 4}.m3{stroke:#7a3e9d;stroke-dasharray:2 3}"
    ".h0{fill:#1f62b0}.h1{fill:#1c7a3a}.h2{fill:#a8480b}.h3{fill:#7a3e9d}"
    ".old{opacity:.34;stroke-width:1.8}.fly{opacity:.28;stroke-width:1.4;stroke-dasharray:2 5}"
    ".lane{stroke:#b4bdc9;stroke-width:1.5}.gone{stroke-dasharray:3 4;stroke:#c9ced6}"
    ".thin{stroke-width:1.3;stroke-opacity:.8}.faint{stroke-opacity:.25}"
    ".cursor{fill:#f3c64b;fill-opacity:.28}";

void rz_explain_escape(const char *text, FILE *out)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

void rz_explain_draw_heads(FILE *out)
{
    fputs("<defs>", out);
    for (int kind = 0; kind < RZ_EXPLAIN_KINDS; kind++) {
        fprintf(out,
                "<marker id=\"head%d\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" "
                "markerWidth=\"11\" markerHeight=\"11\" markerUnits=\"userSpaceOnUse\" "
                "orient=\"auto\"><path class=\"h%d\" d=\"M0,0.8 L10,5 L0,9.2 L2.4,5 z\"/></marker>",
                kind, kind);
    }
    fputs("</defs>\n", out);
}

/* ---- places ---- */

struct place {
    double x, y;
};

static uint32_t level_of(rz_id id)
{
    return 31 - (uint32_t)__builtin_clz(id + 1);
}

static struct place place_of(const struct rz_explain *explain, rz_id id)
{
    uint32_t n = explain->members;
    if (!explain->subject->tree) {
        double angle = 2 * PI * id / n - PI / 2;
        return (struct place){CENTRE_X + CIRCLE * cos(angle), CENTRE_Y + CIRCLE * sin(angle)};
    }
    uint32_t level = level_of(id), levels = level_of(n - 1);
    double wide = (double)(1u << level);
    return (struct place){RZ_EXPLAIN_WIDTH * ((id + 1 - wide) + 0.5) / wide,
                          TREE_TOP + TREE_DEPTH * level / (levels > 0 ? levels : 1)};
}

static double radius(const struct rz_explain *explain)
{
    double space = explain->subject->tree
                       ? RZ_EXPLAIN_WIDTH / (double)(1u << level_of(explain->members - 1))
                       : 2 * PI * CIRCLE / explain->members;
    return fmin(25, 0.36 * space);
}

/* ---- lines and messages ---- */

static void draw_edges(const struct rz_explain *explain, const struct rz_explain_frame *frame,
                       FILE *out)
{
    for (int strong = 0; strong < 2; strong++) {
        for (uint32_t i = 0; i < frame->n_edges; i++) {
            const struct rz_explain_edge *edge = &frame->edge[i];
            struct place a = place_of(explain, edge->a), b = place_of(explain, edge->b);
            if (edge->strong == strong) {
                fprintf(
                    out,
                    "<line class=\"edge%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                    strong ? " strong" : "", a.x, a.y, b.x, b.y);
            }
        }
    }
}

/* A point at this distance from a, towards b. */
static struct place towards(struct place a, struct place b, double distance)
{
    double x = b.x - a.x, y = b.y - a.y, length = hypot(x, y);
    return (struct place){a.x + x / length * distance, a.y + y / length * distance};
}

/* Bent to the right of its direction, so that two that cross each other stay apart. */
static void draw_arrow(const struct rz_explain *explain, const struct rz_explain_arrow *arrow,
                       const char *how, FILE *out)
{
    struct place a = place_of(explain, arrow->from), b = place_of(explain, arrow->to);
    double x = b.x - a.x, y = b.y - a.y, r = radius(explain);
    struct place bend = {(a.x + b.x) / 2 - 0.09 * y, (a.y + b.y) / 2 + 0.09 * x};
    struct place from = towards(a, bend, r + 2), to = towards(b, bend, r + 3);
    uint8_t kind = rz_explain_kind(arrow->type);
    if (!arrow->lost) {
        fprintf(out,
                "<path class=\"m m%u%s\" marker-end=\"url(#head%u)\" "
                "d=\"M%.1f,%.1f Q%.1f,%.1f %.1f,%.1f\"/>\n",
                kind, how, kind, from.x, from.y, bend.x, bend.y, to.x, to.y);
        return;
    }
    struct place half = {(from.x + bend.x) / 2, (from.y + bend.y) / 2};
    fprintf(out,
            "<path class=\"m m%u%s\" d=\"M%.1f,%.1f L%.1f,%.1f\"/>"
            "<path class=\"cross\" d=\"M%.1f,%.1f l12,12 m-12,0 l12,-12\"/>\n",
            kind, how, from.x, from.y, half.x, half.y, half.x - 6, half.y - 6);
}

static void draw_arrows(const struct rz_explain *explain, uint32_t at, FILE *out)
{
    for (uint32_t i = 0; i < explain->n_arrows; i++) {
        const struct rz_explain_arrow *arrow = &explain->arrow[i];
        bool quiet = explain->subject->quiet >> arrow->type & 1;
        if (arrow->sent == at) {
            draw_arrow(explain, arrow, "", out);
        } else if (arrow->lost || arrow->received == RZ_EXPLAIN_NEVER || quiet) {
            continue;
        } else if (arrow->received == at) {
            draw_arrow(explain, arrow, " old", out);
        } else if (arrow->sent < at && arrow->received > at) {
            draw_arrow(explain, arrow, " fly", out);
        }
    }
}

/* ---- members ---- */

/* On a circle outside of it; in a tree below the leaves, and beside the others. */
static void draw_labels(const struct rz_explain *explain, rz_id id,
                        const struct rz_explain_look *look, FILE *out)
{
    struct place at = place_of(explain, id);
    double r = radius(explain), x = at.x, y = at.y + r + 17;
    const char *anchor = "middle";
    uint32_t lines = (look->label[0][0] != 0) + (look->label[1][0] != 0);
    bool small = r < 20 || (explain->subject->tree && explain->members > 8);
    if (explain->subject->tree && explain->members > 15) {
        return; /* no space: the colour says it */
    }
    if (explain->subject->tree && 2 * id + 1 < explain->members) {
        bool right = at.x < 0.75 * RZ_EXPLAIN_WIDTH;
        double beside = r + (small ? 5 : 9);
        x = at.x + (right ? beside : -beside);
        y = at.y - (lines > 1 ? 4 : -5);
        anchor = right ? "start" : "end";
    } else if (!explain->subject->tree) {
        double c = (at.x - CENTRE_X) / CIRCLE, s = (at.y - CENTRE_Y) / CIRCLE;
        x = at.x + c * (r + 9);
        y = at.y + s * (r + 13) + 4 - (lines > 1 ? 7 - 7 * s : 0);
        anchor = c > 0.25 ? "start" : c < -0.25 ? "end" : "middle";
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (look->label[i][0]) {
            fprintf(out,
                    "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" "
                    "text-anchor=\"%s\">",
                    x, y, small ? 11 : 15, anchor);
            rz_explain_escape(look->label[i], out);
            fputs("</text>\n", out);
            y += small ? 13 : 17;
        }
    }
}

static void draw_member(const struct rz_explain *explain, const struct rz_explain_frame *frame,
                        rz_id id, FILE *out)
{
    const struct rz_explain_look *look = &frame->look[id];
    struct place at = place_of(explain, id);
    double r = radius(explain);
    if (frame->acted & rz_explain_bit(id)) {
        fprintf(out, "<circle class=\"halo\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", at.x, at.y,
                r + 4);
    }
    fprintf(out, "<circle class=\"node t%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", (int)look->tone,
            at.x, at.y, r);
    if (look->tone == RZ_TONE_FAILED) {
        double c = r * 0.62;
        fprintf(out, "<path class=\"cross\" d=\"M%.1f,%.1f L%.1f,%.1f M%.1f,%.1f L%.1f,%.1f\"/>\n",
                at.x - c, at.y - c, at.x + c, at.y + c, at.x - c, at.y + c, at.x + c, at.y - c);
    }
    fprintf(out, "<text class=\"id\" x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\">%u</text>\n", at.x,
            at.y + 0.25 * r, r * 0.72, id);
    draw_labels(explain, id, look, out);
}

/* The kinds of messages that occur in the run. */
static void draw_legend(const struct rz_explain *explain, FILE *out)
{
    double x = 24;
    for (uint8_t type = 0; type < 8; type++) {
        bool occurs = false;
        for (uint32_t i = 0; i < explain->n_arrows; i++) {
            occurs |= explain->arrow[i].type == type;
        }
        const char *name = explain->subject->type[type];
        if (occurs && name) {
            fprintf(out,
                    "<path class=\"m m%u\" marker-end=\"url(#head%u)\" d=\"M%.0f,%d h34\"/>"
                    "<text class=\"label\" x=\"%.0f\" y=\"%d\" font-size=\"15\">",
                    rz_explain_kind(type), rz_explain_kind(type), x, LEGEND_Y, x + 42,
                    LEGEND_Y + 5);
            rz_explain_escape(name, out);
            fputs("</text>\n", out);
            x += 66 + 8.2 * (double)strlen(name);
        }
    }
}

void rz_explain_draw_frame(const struct rz_explain *explain, uint32_t step, FILE *out)
{
    const struct rz_explain_frame *frame = rz_explain_shown(explain, step);
    fprintf(out, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", RZ_EXPLAIN_WIDTH,
            RZ_EXPLAIN_HEIGHT);
    draw_edges(explain, frame, out);
    draw_arrows(explain, (uint32_t)(frame - explain->frame), out);
    for (rz_id id = 0; id < explain->members; id++) {
        draw_member(explain, frame, id, out);
    }
    draw_legend(explain, out);
}
