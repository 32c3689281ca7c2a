/* SPDX-License-Identifier: BSD-3-Clause */
/* A screen of characters, as rztop shows it, and the functions that draw its parts. Only ASCII. */
#ifndef RZ_VIEW_TOP_SCREEN_H
#define RZ_VIEW_TOP_SCREEN_H

#include "view/top_model.h"

#define RZ_TOP_ROWS_MIN 8
#define RZ_TOP_COLUMNS_MIN 40

/* How a character looks. Nothing is said by it alone: without colours all is legible. */
enum rz_top_style {
    RZ_TOP_PLAIN,
    RZ_TOP_BAR, /* the first and the last line */
    RZ_TOP_HEAD,
    RZ_TOP_FAINT,
    RZ_TOP_GOOD,
    RZ_TOP_SLOW, /* waits */
    RZ_TOP_NEW,  /* begins, or recovers */
    RZ_TOP_BAD,
    RZ_TOP_CHOSEN,
    RZ_TOP_STYLE_COUNT
};

struct rz_top_cell {
    char character;
    uint8_t style; /* enum rz_top_style */
};

struct rz_top_screen {
    uint32_t rows, columns;
    struct rz_top_cell *cells; /* row by row */
};

enum rz_top_page {
    RZ_TOP_PAGE_MAP,
    RZ_TOP_PAGE_RANKS,
    RZ_TOP_PAGE_WAITS,
    RZ_TOP_PAGE_EVENTS,
    RZ_TOP_PAGE_ONE, /* one rank */
    RZ_TOP_PAGE_HELP
};

/* What the user has chosen to see. */
struct rz_top_view {
    enum rz_top_page page;
    uint32_t first;    /* the first line shown of a list; the drawing corrects it */
    uint32_t chosen;   /* the index of a rank in the model; the drawing corrects it */
    bool paused;       /* nothing new is taken */
    char message[120]; /* in the last line; "": the keys */
    char notice[200];  /* in a line of the head: hosts that do not answer; "": none */
};

/* A screen of spaces; the caller closes it. Smaller than the minimum it is made larger. */
void rz_top_screen_open(struct rz_top_screen *screen, uint32_t rows, uint32_t columns);
void rz_top_screen_close(struct rz_top_screen *screen);

/* Writes text at a place; what is beyond the edge is cut. Returns the column behind it. */
uint32_t rz_top_put(struct rz_top_screen *screen, uint32_t row, uint32_t column,
                    enum rz_top_style style, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The whole screen. */
void rz_top_draw(const struct rz_top *top, struct rz_top_view *view, struct rz_top_screen *screen);

/* The screen as text, a line each, without spaces at their ends. */
void rz_top_screen_print(const struct rz_top_screen *screen, FILE *out);

/* ---- parts of rz_top_draw ---- */

/* Lines of a screen that a page may use: from `from`, before `until`. */
struct rz_top_lines {
    uint32_t from, until;
};

/* The sign and the style of a state. */
char rz_top_sign(enum rz_top_state state);
enum rz_top_style rz_top_state_style(enum rz_top_state state);
const char *rz_top_state_name(enum rz_top_state state);

/* "1.4 MB", "12.3 s", "1:02:03"; "45.6" and "1234". */
void rz_top_bytes_text(uint64_t bytes, char *text, size_t max);
void rz_top_age_text(double seconds, char *text, size_t max);
void rz_top_rate_text(double per_second, char *text, size_t max);

/* "0.97 processors, 120 MB, waiting 12 %": what is known of it. */
void rz_top_use_text(const struct rz_top_use *use, char *text, size_t max);

/* The numbers of ranks that are sorted: "0-2,5"; what does not fit is "...". */
void rz_top_ranks_text(const struct rz_top_rank *const *ranks, uint32_t n, char *text, size_t max);

void rz_top_draw_ranks(const struct rz_top *top, struct rz_top_view *view,
                       struct rz_top_screen *screen, struct rz_top_lines lines);
void rz_top_draw_waits(const struct rz_top *top, struct rz_top_view *view,
                       struct rz_top_screen *screen, struct rz_top_lines lines);
void rz_top_draw_events(const struct rz_top *top, struct rz_top_screen *screen,
                        struct rz_top_lines lines, uint32_t *first);
void rz_top_draw_one(const struct rz_top *top, const struct rz_top_view *view,
                     struct rz_top_screen *screen, struct rz_top_lines lines);
void rz_top_draw_help(struct rz_top_screen *screen, struct rz_top_lines lines);

#endif
