/* SPDX-License-Identifier: BSD-3-Clause */
/* SVG files: one step, all steps side by side, and the run as lines in time. */
#include "explain/explain_state.h"

#include <string.h>

enum {
    COLUMNS_MAX = 3,
    CAPTION_LINES_MAX = 24,
    LINE = 20,       /* height of a line of a caption */
    LANE = 34,       /* between two members of a timeline */
    LANES_LEFT = 84, /* space for their names */
    LANES_TOP = 40
};

static void head(unsigned width, unsigned height, const char *title, FILE *out)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u "
            "%u\" role=\"img\">\n<title>",
            width, height, width, height);
    rz_explain_escape(title, out);
    fprintf(out, "</title>\n<style>%s</style>\n", rz_explain_style);
    rz_explain_draw_heads(out);
    fprintf(out, "<rect class=\"paper\" width=\"%u\" height=\"%u\"/>\n", width, height);
}

/* ---- captions ---- */

struct caption {
    char line[CAPTION_LINES_MAX][128];
    uint32_t n;
};

/* Adds a sentence, broken at spaces into lines of at most `columns` characters. */
static void wrap(struct caption *caption, const char *text, size_t columns)
{
    while (*text && caption->n < CAPTION_LINES_MAX) {
        size_t n = strlen(text);
        if (n > columns) {
            for (n = columns; n > 0 && text[n] != ' '; n--) {
            }
            n = n > 0 ? n : columns;
        }
        snprintf(caption->line[caption->n++], sizeof(caption->line[0]), "%.*s", (int)n, text);
        text += n;
        text += strspn(text, " ");
    }
}

static void caption_of(const struct rz_explain *explain, uint32_t step, size_t columns,
                       struct caption *caption)
{
    const struct rz_explain_frame *frame = rz_explain_shown(explain, step);
    char text[512];
    caption->n = 0;
    for (uint32_t i = 0; i < frame->n_sentences; i++) {
        int used = i == 0 ? snprintf(text, sizeof(text), "%u.  ", step) : 0;
        rz_explain_sentence_text(explain, &frame->sentence[i], text + used,
                                 sizeof(text) - (size_t)used);
        wrap(caption, text, columns);
    }
}

static void draw_caption(const struct caption *caption, double x, double y, FILE *out)
{
    for (uint32_t i = 0; i < caption->n; i++) {
        fprintf(out, "<text class=\"caption\" x=\"%.0f\" y=\"%.0f\">", x, y + i * LINE);
        rz_explain_escape(caption->line[i], out);
        fputs("</text>\n", out);
    }
}

/* ---- steps ---- */

void rz_explain_draw_step(const struct rz_explain *explain, uint32_t step, FILE *out)
{
    struct caption caption;
    caption_of(explain, step, 96, &caption);
    head(RZ_EXPLAIN_WIDTH, RZ_EXPLAIN_HEIGHT + 14 + caption.n * LINE, explain->subject->title, out);
    rz_explain_draw_frame(explain, step, out);
    draw_caption(&caption, 24, RZ_EXPLAIN_HEIGHT + 18, out);
    fputs("</svg>\n", out);
}

void rz_explain_draw_sheet(const struct rz_explain *explain, FILE *out)
{
    const unsigned wide = 400, high = wide * RZ_EXPLAIN_HEIGHT / RZ_EXPLAIN_WIDTH;
    uint32_t columns = explain->n_shown < COLUMNS_MAX ? explain->n_shown : COLUMNS_MAX;
    uint32_t rows = (explain->n_shown + COLUMNS_MAX - 1) / COLUMNS_MAX, lines = 1;
    struct caption caption;
    for (uint32_t step = 1; step <= explain->n_shown; step++) {
        caption_of(explain, step, 50, &caption);
        lines = caption.n > lines ? caption.n : lines;
    }
    unsigned row = high + 34 + lines * LINE;
    head(columns * (wide + 20) + 20, 20 + rows * row, explain->subject->title, out);
    for (uint32_t step = 1; step <= explain->n_shown; step++) {
        unsigned x = 20 + (step - 1) % COLUMNS_MAX * (wide + 20);
        unsigned y = 10 + (step - 1) / COLUMNS_MAX * row;
        fprintf(out, "<g transform=\"translate(%u,%u) scale(%.4f)\">\n", x, y,
                (double)wide / RZ_EXPLAIN_WIDTH);
        rz_explain_draw_frame(explain, step, out);
        fputs("</g>\n", out);
        caption_of(explain, step, 50, &caption);
        draw_caption(&caption, x + 8, y + high + 20, out);
    }
    fputs("</svg>\n", out);
}

/* ---- the timeline ---- */

static double step_width(const struct rz_explain *explain)
{
    return explain->n_shown > 40 ? 26 : 44;
}

/* A frame that is not shown lies between its neighbours. */
static double lane_x(const struct rz_explain *explain, uint32_t at)
{
    for (uint32_t i = at + 1; i-- > 0;) {
        if (explain->frame[i].shown) {
            double behind = i < at ? 0.5 : 0;
            return LANES_LEFT + (explain->frame[i].number - 0.5 + behind) * step_width(explain);
        }
    }
    return LANES_LEFT;
}

static double lane_y(rz_id id)
{
    return LANES_TOP + (id + 0.5) * LANE;
}

void rz_explain_timeline_size(const struct rz_explain *explain, unsigned *width, unsigned *height)
{
    *width = LANES_LEFT + (unsigned)((explain->n_shown + 0.5) * step_width(explain));
    *height = LANES_TOP + explain->members * LANE + 10;
}

/* The frame in which the member failed or was stopped; n_frames: it lives. */
static uint32_t end_of(const struct rz_explain *explain, rz_id id)
{
    uint32_t at = 0;
    while (at < explain->n_frames && explain->frame[at].look[id].tone != RZ_TONE_FAILED) {
        at++;
    }
    return at;
}

static void draw_lane(const struct rz_explain *explain, rz_id id, double right, FILE *out)
{
    uint32_t end = end_of(explain, id);
    double y = lane_y(id), stop = end < explain->n_frames ? lane_x(explain, end) : right;
    fprintf(out,
            "<text class=\"label\" x=\"%d\" y=\"%.1f\" font-size=\"13\" text-anchor=\"end\">%s "
            "%u</text><path class=\"lane\" d=\"M%d,%.1f H%.1f\"/>",
            LANES_LEFT - 8, y + 4, explain->subject->one, id, LANES_LEFT, y, stop);
    if (end < explain->n_frames) {
        fprintf(out, "<path class=\"lane gone\" d=\"M%.1f,%.1f H%.1f\"/>", stop, y, right);
    }
    fputc('\n', out);
}

static void draw_lane_events(const struct rz_explain *explain, rz_id id, FILE *out)
{
    uint32_t end = end_of(explain, id);
    double y = lane_y(id);
    for (uint32_t i = 0; i < explain->n_frames; i++) {
        const struct rz_explain_frame *frame = &explain->frame[i];
        if (frame->shown && (frame->acted & rz_explain_bit(id)) && i != end) {
            fprintf(out, "<circle class=\"node t%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>",
                    (int)frame->look[id].tone, lane_x(explain, i), y);
        }
    }
    if (end < explain->n_frames) {
        fprintf(out, "<path class=\"cross\" d=\"M%.1f,%.1f l12,12 m-12,0 l12,-12\"/>",
                lane_x(explain, end) - 6, y - 6);
    }
    fputc('\n', out);
}

static void draw_lane_messages(const struct rz_explain *explain, FILE *out)
{
    for (uint32_t i = 0; i < explain->n_arrows; i++) {
        const struct rz_explain_arrow *arrow = &explain->arrow[i];
        uint8_t kind = rz_explain_kind(arrow->type);
        char end[32] = "";
        bool quiet = explain->subject->quiet >> arrow->type & 1;
        if (!explain->frame[arrow->sent].shown && quiet) {
            continue;
        }
        double x1 = lane_x(explain, arrow->sent), y1 = lane_y(arrow->from);
        double x2 = x1 + step_width(explain) / 2, y2 = lane_y(arrow->to);
        if (arrow->lost) {
            x2 = x1 + step_width(explain) / 4;
            y2 = y1 + (y2 - y1) / 4;
        } else if (arrow->received != RZ_EXPLAIN_NEVER) {
            x2 = lane_x(explain, arrow->received);
        }
        if (!arrow->lost) {
            snprintf(end, sizeof(end), "marker-end=\"url(#head%u)\" ", kind);
        }
        fprintf(out, "<path class=\"m thin m%u%s\" %sd=\"M%.1f,%.1f L%.1f,%.1f\"/>\n", kind,
                quiet ? " faint" : "", end, x1, y1, x2, y2);
    }
}

void rz_explain_draw_lines(const struct rz_explain *explain, FILE *out)
{
    unsigned width, height;
    rz_explain_timeline_size(explain, &width, &height);
    fprintf(out,
            "<rect class=\"cursor\" x=\"%d\" y=\"4\" width=\"%.0f\" height=\"%u\" rx=\"6\"/>\n",
            LANES_LEFT, step_width(explain), height - 8);
    for (uint32_t step = 1; step <= explain->n_shown; step++) {
        fprintf(out,
                "<text class=\"label\" x=\"%.1f\" y=\"22\" font-size=\"12\" "
                "text-anchor=\"middle\">%u</text>",
                LANES_LEFT + (step - 0.5) * step_width(explain), step);
    }
    for (rz_id id = 0; id < explain->members; id++) {
        draw_lane(explain, id, width - 6, out);
    }
    draw_lane_messages(explain, out);
    for (rz_id id = 0; id < explain->members; id++) {
        draw_lane_events(explain, id, out);
    }
}

void rz_explain_draw_timeline(const struct rz_explain *explain, FILE *out)
{
    unsigned width, height;
    rz_explain_timeline_size(explain, &width, &height);
    head(width, height, explain->subject->title, out);
    fputs("<style>.cursor{display:none}</style>\n", out);
    rz_explain_draw_lines(explain, out);
    fputs("</svg>\n", out);
}
