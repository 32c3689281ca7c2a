/* SPDX-License-Identifier: BSD-3-Clause */
/* The screen of rztop: its head, its frame, and the map of ranks. */
#include "view/top_screen.h"

#include "base/no_memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Of the lines between head and keys the events below a map that needs all have so many. */
#define EVENTS_BELOW 6u
/* Beside the signs of a node, ranks and iteration, there is room for what they use. */
#define USE_MARGIN 46u
/* Up to "node 1234 FAILED ", and where signs begin. */
#define MAP_MARGIN 16u
/* What the title has at the left beside the program's name: " rztop  " and "  job 01234567 ". */
#define TITLE_WORDS 23u

/* ---- The screen ---- */

void rz_top_screen_open(struct rz_top_screen *screen, uint32_t rows, uint32_t columns)
{
    screen->rows = rows < RZ_TOP_ROWS_MIN ? RZ_TOP_ROWS_MIN : rows;
    screen->columns = columns < RZ_TOP_COLUMNS_MIN ? RZ_TOP_COLUMNS_MIN : columns;
    size_t n = (size_t)screen->rows * screen->columns;
    screen->cells = malloc(n * sizeof(*screen->cells));
    rz_need_memory(screen->cells, "for a screen");
    for (size_t i = 0; i < n; i++) {
        screen->cells[i] = (struct rz_top_cell){' ', RZ_TOP_PLAIN};
    }
}

void rz_top_screen_close(struct rz_top_screen *screen)
{
    free(screen->cells);
    screen->cells = NULL;
}

uint32_t rz_top_put(struct rz_top_screen *screen, uint32_t row, uint32_t column,
                    enum rz_top_style style, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    for (const char *at = text; *at && row < screen->rows && column < screen->columns; at++) {
        screen->cells[(size_t)row * screen->columns + column++] =
            (struct rz_top_cell){*at, (uint8_t)style};
    }
    return column;
}

static void bar(struct rz_top_screen *screen, uint32_t row)
{
    for (uint32_t i = 0; i < screen->columns; i++) {
        rz_top_put(screen, row, i, RZ_TOP_BAR, " ");
    }
}

void rz_top_screen_print(const struct rz_top_screen *screen, FILE *out)
{
    for (uint32_t row = 0; row < screen->rows; row++) {
        const struct rz_top_cell *cells = &screen->cells[(size_t)row * screen->columns];
        uint32_t n = screen->columns;
        while (n > 0 && cells[n - 1].character == ' ') {
            n--;
        }
        for (uint32_t i = 0; i < n; i++) {
            fputc(cells[i].character, out);
        }
        fputc('\n', out);
    }
}

/* ---- Words ---- */

char rz_top_sign(enum rz_top_state state)
{
    static const char signs[] = {[RZ_TOP_ENDED] = '.',
                                 [RZ_TOP_RUNS] = '#',
                                 [RZ_TOP_WAITS] = 'w',
                                 [RZ_TOP_BEGINS] = '+',
                                 [RZ_TOP_FAILED] = 'X'};
    return signs[state];
}

enum rz_top_style rz_top_state_style(enum rz_top_state state)
{
    static const enum rz_top_style styles[] = {[RZ_TOP_ENDED] = RZ_TOP_FAINT,
                                               [RZ_TOP_RUNS] = RZ_TOP_GOOD,
                                               [RZ_TOP_WAITS] = RZ_TOP_SLOW,
                                               [RZ_TOP_BEGINS] = RZ_TOP_NEW,
                                               [RZ_TOP_FAILED] = RZ_TOP_BAD};
    return styles[state];
}

const char *rz_top_state_name(enum rz_top_state state)
{
    static const char *const names[] = {[RZ_TOP_ENDED] = "ended",
                                        [RZ_TOP_RUNS] = "runs",
                                        [RZ_TOP_WAITS] = "waits",
                                        [RZ_TOP_BEGINS] = "begins",
                                        [RZ_TOP_FAILED] = "failed"};
    return names[state];
}

void rz_top_bytes_text(uint64_t bytes, char *text, size_t max)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1000 && unit < 6) {
        value /= 1000;
        unit++;
    }
    snprintf(text, max, unit > 0 && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void rz_top_age_text(double seconds, char *text, size_t max)
{
    unsigned long s = seconds > 0 && seconds < 1e12 ? (unsigned long)seconds : 0;
    if (s < 60) {
        snprintf(text, max, "%.1f s", s > 0 || seconds > 0 ? seconds : 0.0);
    } else {
        snprintf(text, max, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
    }
}

void rz_top_rate_text(double per_second, char *text, size_t max)
{
    snprintf(text, max, per_second < 999.5 ? "%.3g" : "%.0f", per_second);
}

void rz_top_use_text(const struct rz_top_use *use, char *text, size_t max)
{
    char bytes[32];
    text[0] = 0;
    if (use->n == 0) {
        return;
    }
    rz_top_bytes_text(use->resident_bytes, bytes, sizeof(bytes));
    if (use->n_rates > 0) {
        snprintf(text, max, "%.2f processors, %s, waiting %.0f %%", use->processors, bytes,
                 100 * use->waiting);
    } else {
        snprintf(text, max, "%s", bytes);
    }
}

void rz_top_ranks_text(const struct rz_top_rank *const *ranks, uint32_t n, char *text, size_t max)
{
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0, j; i < n; i = j) {
        char part[40];
        for (j = i + 1; j < n && ranks[j]->rank == ranks[j - 1]->rank + 1; j++) {
            ;
        }
        int bytes = j - i == 1
                        ? snprintf(part, sizeof(part), "%s%u", i > 0 ? "," : "", ranks[i]->rank)
                        : snprintf(part, sizeof(part), "%s%u-%u", i > 0 ? "," : "", ranks[i]->rank,
                                   ranks[j - 1]->rank);
        if (used + (size_t)bytes + 5 > max) {
            snprintf(text + used, max - used, ",...");
            return;
        }
        memcpy(text + used, part, (size_t)bytes + 1);
        used += (size_t)bytes;
    }
}

/* ---- The head ---- */

static void draw_title(const struct rz_top *top, const struct rz_top_view *view,
                       struct rz_top_screen *screen)
{
    char age[32], right[80], user[24] = "";
    bool detached = top->detached[0] && strcmp(top->detached, "no") != 0;
    rz_top_age_text(top->age_s, age, sizeof(age));
    snprintf(right, sizeof(right), "%s%s  %s ", view->paused ? "PAUSED  " : "",
             top->over || top->ended ? "OVER"
             : detached              ? "detached"
                                     : "",
             age);
    bar(screen, 0);
    uint32_t n = (uint32_t)strlen(right);
    uint32_t at = n < screen->columns ? screen->columns - n : 0; /* of what is at the right */
    if (top->foreign) {
        snprintf(user, sizeof(user), " of uid %u", top->uid);
    }
    uint32_t words = TITLE_WORDS + (uint32_t)strlen(user), room = at > words ? at - words : 0;
    rz_top_put(screen, 0, 1, RZ_TOP_BAR, "rztop  %.*s  job %.8s%s", (int)room, top->program,
               top->job, user);
    rz_top_put(screen, 0, at > 0 ? at - 1 : 0, RZ_TOP_BAR, " %s", right);
}

static void draw_counts(const struct rz_top *top, const struct rz_top_sums *sums,
                        struct rz_top_screen *screen)
{
    static const enum rz_top_state order[] = {RZ_TOP_RUNS, RZ_TOP_WAITS, RZ_TOP_BEGINS,
                                              RZ_TOP_FAILED, RZ_TOP_ENDED};
    char use[80];
    uint32_t at = rz_top_put(screen, 1, 1, RZ_TOP_HEAD, "ranks ");
    at = rz_top_put(screen, 1, at, RZ_TOP_PLAIN, "%u:", top->n_ranks);
    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
        if (sums->states[order[i]] > 0) {
            at = rz_top_put(screen, 1, at, rz_top_state_style(order[i]), " %u %s",
                            sums->states[order[i]], rz_top_state_name(order[i]));
        }
    }
    at = rz_top_put(screen, 1, at, RZ_TOP_HEAD, "   nodes ");
    at = rz_top_put(screen, 1, at, RZ_TOP_PLAIN, "%u", top->n_nodes);
    if (sums->failed_nodes > 0) {
        at = rz_top_put(screen, 1, at, RZ_TOP_BAD, ", %u failed", sums->failed_nodes);
    }
    rz_top_use_text(&sums->use, use, sizeof(use));
    if (use[0]) {
        at = rz_top_put(screen, 1, at, RZ_TOP_HEAD, "   use ");
        rz_top_put(screen, 1, at, RZ_TOP_PLAIN, "%s", use);
    }
}

static void draw_progress(const struct rz_top *top, const struct rz_top_sums *sums,
                          struct rz_top_screen *screen)
{
    char rate[32];
    uint32_t at = rz_top_put(screen, 2, 1, RZ_TOP_HEAD, "epoch ");
    at = rz_top_put(screen, 2, at, RZ_TOP_PLAIN, "%u, %s", top->epoch, top->phase);
    if (top->ended) {
        at = rz_top_put(screen, 2, at, top->status ? RZ_TOP_BAD : RZ_TOP_GOOD, " (exit status %d)",
                        top->status);
    }
    at = rz_top_put(screen, 2, at, RZ_TOP_PLAIN, "   ");
    at = rz_top_put(screen, 2, at, RZ_TOP_HEAD, "failed processes ");
    at = rz_top_put(screen, 2, at, sums->failures > 0 ? RZ_TOP_BAD : RZ_TOP_PLAIN, "%u   ",
                    sums->failures);
    at = rz_top_put(screen, 2, at, RZ_TOP_HEAD, "iteration ");
    if (sums->marked == 0) {
        rz_top_put(screen, 2, at, RZ_TOP_FAINT, "none is marked");
        return;
    }
    at = rz_top_put(screen, 2, at, RZ_TOP_PLAIN, "%" PRIu64, sums->least);
    if (sums->most > sums->least) {
        at = rz_top_put(screen, 2, at, RZ_TOP_PLAIN, " to %" PRIu64, sums->most);
    }
    if (sums->per_second > 0) {
        rz_top_rate_text(sums->per_second, rate, sizeof(rate));
        rz_top_put(screen, 2, at, RZ_TOP_PLAIN, ", %s per second", rate);
    }
}

static void draw_checkpoint(const struct rz_top *top, struct rz_top_screen *screen)
{
    char bytes[32], age[32];
    uint32_t at = rz_top_put(screen, 3, 1, RZ_TOP_HEAD, "checkpoint ");
    if (top->generation == 0) {
        rz_top_put(screen, 3, at, RZ_TOP_FAINT, "none");
        return;
    }
    rz_top_bytes_text(top->checkpoint_bytes, bytes, sizeof(bytes));
    at = rz_top_put(screen, 3, at, RZ_TOP_PLAIN, "%" PRIu64 ", %s", top->generation, bytes);
    if (top->checkpoint_age_s >= 0) {
        rz_top_age_text(top->checkpoint_age_s, age, sizeof(age));
        at = rz_top_put(screen, 3, at, RZ_TOP_PLAIN, ", %s ago", age);
    }
    if (top->checkpoint_safe) {
        rz_top_put(screen, 3, at, RZ_TOP_GOOD, ", safe");
    } else {
        rz_top_put(screen, 3, at, RZ_TOP_BAD, ", NOT SAFE YET");
    }
}

/* Returns the first line below the head. */
static uint32_t draw_head(const struct rz_top *top, const struct rz_top_view *view,
                          struct rz_top_screen *screen)
{
    struct rz_top_sums sums = rz_top_sums(top);
    draw_title(top, view, screen);
    draw_counts(top, &sums, screen);
    draw_progress(top, &sums, screen);
    draw_checkpoint(top, screen);
    uint32_t at = rz_top_put(screen, 4, 1, RZ_TOP_HEAD, "heartbeats ");
    if (strcmp(top->detector, "none") == 0) {
        rz_top_put(screen, 4, at, RZ_TOP_FAINT, "none");
    } else {
        at = rz_top_put(screen, 4, at, RZ_TOP_PLAIN, "%s, each %.0f ms, failed after %.0f ms",
                        top->detector, 1e3 * top->hb_period_s, 1e3 * top->hb_timeout_s);
        if (top->hb_bytes_per_s > 0) {
            rz_top_put(screen, 4, at, RZ_TOP_PLAIN, ", %.0f B/s per node", top->hb_bytes_per_s);
        }
    }
    uint32_t row = 5;
    if (view->notice[0]) {
        rz_top_put(screen, row++, 1, RZ_TOP_BAD, "%s", view->notice);
    }
    if (top->n_groups == 0) {
        return row;
    }
    at = rz_top_put(screen, row, 1, RZ_TOP_HEAD, "groups ");
    for (uint32_t i = 0; i < top->n_groups; i++) {
        const struct rz_top_group *group = &top->groups[i];
        at = rz_top_put(screen, row, at, group->n_excluded > 0 ? RZ_TOP_BAD : RZ_TOP_PLAIN,
                        "%s%s: %u of %u, round %u", i > 0 ? ";  " : "", group->name,
                        group->n_members, group->n_members + group->n_excluded, group->round);
    }
    return row + 1;
}

/* ---- The map ---- */

/* The worst state of ranks[from], ... */
static enum rz_top_state worst(const struct rz_top *top, uint32_t from, uint32_t n)
{
    enum rz_top_state state = RZ_TOP_ENDED;
    for (uint32_t i = from; i < from + n && i < top->n_ranks; i++) {
        state = top->ranks[i].state > state ? top->ranks[i].state : state;
    }
    return state;
}

static uint32_t map_width(const struct rz_top_screen *screen)
{
    return screen->columns - MAP_MARGIN - 1;
}

/* The greatest number of ranks that a node has. */
static uint32_t most_on_a_node(const struct rz_top *top)
{
    uint32_t *n = calloc(top->n_nodes + 1, sizeof(*n)), most = 0;
    rz_need_memory(n, "for a screen");
    for (uint32_t i = 0; i < top->n_ranks; i++) {
        if (top->ranks[i].node < top->n_nodes && ++n[top->ranks[i].node] > most) {
            most = n[top->ranks[i].node];
        }
    }
    free(n);
    return most;
}

/* Beside the signs of a node: which ranks these are, and their iteration. */
static void draw_beside(const struct rz_top_rank *const *ranks, uint32_t n,
                        struct rz_top_screen *screen, uint32_t row, uint32_t column)
{
    struct rz_top_use use = {.n = 0};
    uint64_t least = UINT64_MAX;
    char text[80];
    uint32_t use_at = column + USE_MARGIN;
    if (n == 0 || column + 40 > screen->columns) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        least = ranks[i]->marked && ranks[i]->iteration < least ? ranks[i]->iteration : least;
        rz_top_use_add(&use, ranks[i]);
    }
    rz_top_ranks_text(ranks, n, text, 24);
    column = rz_top_put(screen, row, column, RZ_TOP_FAINT, "rank%s %-*s", n > 1 ? "s" : "",
                        n > 1 ? 10 : 11, text);
    if (least < UINT64_MAX) {
        rz_top_put(screen, row, column, RZ_TOP_FAINT, "  iteration %" PRIu64, least);
    }
    rz_top_use_text(&use, text, sizeof(text));
    if (use_at + strlen(text) <= screen->columns) {
        rz_top_put(screen, row, use_at, RZ_TOP_FAINT, "%s", text);
    }
}

static void draw_nodes(const struct rz_top *top, struct rz_top_screen *screen,
                       struct rz_top_lines lines, uint32_t most)
{
    const struct rz_top_rank **here = calloc(top->n_ranks + 1, sizeof(*here));
    rz_need_memory(here, "for a screen");
    for (uint32_t i = 0; i < top->n_nodes && lines.from + i < lines.until; i++) {
        const struct rz_top_node *node = &top->nodes[i];
        uint32_t row = lines.from + i, at = MAP_MARGIN, n = 0;
        uint32_t label = rz_top_put(screen, row, 1, RZ_TOP_PLAIN, "node %-4u ", node->node);
        rz_top_put(screen, row, label, node->failed ? RZ_TOP_BAD : RZ_TOP_GOOD, "%s",
                   node->failed ? "FAIL" : "up");
        for (uint32_t j = 0; j < top->n_ranks; j++) {
            const struct rz_top_rank *rank = &top->ranks[j];
            if (rank->node == node->node) {
                here[n++] = rank;
                at = rz_top_put(screen, row, at, rz_top_state_style(rank->state), "%c",
                                rz_top_sign(rank->state));
            }
        }
        draw_beside(here, n, screen, row, MAP_MARGIN + most + 3);
    }
    free(here);
}

/* Ranks in their order, each sign for `each` of them. */
static void draw_blocks(const struct rz_top *top, struct rz_top_screen *screen,
                        struct rz_top_lines lines, uint32_t each)
{
    uint32_t per_line = map_width(screen) / 8 * 8;
    for (uint32_t row = lines.from, i = 0; row < lines.until && i < top->n_ranks; row++) {
        uint32_t at = MAP_MARGIN;
        rz_top_put(screen, row, 1, RZ_TOP_PLAIN, "rank %u", top->ranks[i].rank);
        for (uint32_t j = 0; j < per_line && i < top->n_ranks; j++, i += each) {
            enum rz_top_state state = worst(top, i, each);
            at = rz_top_put(screen, row, at, rz_top_state_style(state), "%c", rz_top_sign(state));
        }
    }
}

static void draw_legend(struct rz_top_screen *screen, uint32_t row, uint32_t each)
{
    uint32_t at = 1;
    for (int state = RZ_TOP_STATE_COUNT - 1; state >= 0; state--) {
        at = rz_top_put(screen, row, at, rz_top_state_style((enum rz_top_state)state), "%c",
                        rz_top_sign((enum rz_top_state)state));
        at = rz_top_put(screen, row, at, RZ_TOP_FAINT, " %s   ",
                        rz_top_state_name((enum rz_top_state)state));
    }
    if (each > 1) {
        rz_top_put(screen, row, at, RZ_TOP_FAINT, "a sign: %u ranks, the worst", each);
    }
}

/* The lines that a map needs in which each sign is one rank. */
static uint32_t map_lines(const struct rz_top *top, const struct rz_top_screen *screen)
{
    uint32_t per_line = map_width(screen) / 8 * 8;
    uint32_t blocks = (top->n_ranks + per_line - 1) / (per_line ? per_line : 1);
    return most_on_a_node(top) <= map_width(screen) && top->n_nodes <= 4 * blocks + 16
               ? top->n_nodes
               : blocks;
}

static void draw_map(const struct rz_top *top, struct rz_top_screen *screen,
                     struct rz_top_lines lines, uint32_t *first)
{
    struct rz_top_lines map = {lines.from, lines.until - 1};
    uint32_t room = map.until - map.from, each = 1, most = most_on_a_node(top);
    *first = 0;
    if (top->n_nodes <= room && most <= map_width(screen)) {
        draw_nodes(top, screen, map, most);
    } else {
        uint64_t signs = (uint64_t)(map_width(screen) / 8 * 8) * room;
        while ((top->n_ranks + each - 1) / each > signs) {
            each *= 2;
        }
        draw_blocks(top, screen, map, each);
    }
    draw_legend(screen, lines.until - 1, each);
}

/* ---- All ---- */

static void draw_keys(const struct rz_top_view *view, struct rz_top_screen *screen)
{
    static const struct {
        enum rz_top_page page;
        const char *words;
    } pages[] = {{RZ_TOP_PAGE_MAP, "m map"},
                 {RZ_TOP_PAGE_RANKS, "r ranks"},
                 {RZ_TOP_PAGE_WAITS, "w waits"},
                 {RZ_TOP_PAGE_EVENTS, "e events"},
                 {RZ_TOP_PAGE_HELP, "? keys"}};
    uint32_t row = screen->rows - 1, at = 1;
    bar(screen, row);
    if (view->message[0]) {
        rz_top_put(screen, row, 1, RZ_TOP_BAR, "%s", view->message);
        return;
    }
    for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
        bool here = pages[i].page == view->page;
        at = rz_top_put(screen, row, at, RZ_TOP_BAR, here ? "[%s] " : " %s  ", pages[i].words);
    }
    rz_top_put(screen, row, at, RZ_TOP_BAR, " h hang report   q quit");
}

/* The map, and below it, in all lines that it leaves, the newest events. */
static void draw_first_page(const struct rz_top *top, struct rz_top_view *view,
                            struct rz_top_screen *screen, struct rz_top_lines lines)
{
    uint32_t room = lines.until - lines.from, none = 0, map = map_lines(top, screen) + 2;
    uint32_t below = room / 3 < EVENTS_BELOW ? room / 3 : EVENTS_BELOW;
    below = room > map && room - map > below ? room - map : below;
    draw_map(top, screen, (struct rz_top_lines){lines.from, lines.until - below}, &view->first);
    if (below > 1) {
        rz_top_put(screen, lines.until - below, 1, RZ_TOP_HEAD, "events");
        rz_top_draw_events(top, screen, (struct rz_top_lines){lines.until - below + 1, lines.until},
                           &none);
    }
}

void rz_top_draw(const struct rz_top *top, struct rz_top_view *view, struct rz_top_screen *screen)
{
    struct rz_top_lines lines = {draw_head(top, view, screen) + 1, screen->rows - 1};
    if (lines.from + 1 >= lines.until) {
        lines.from = lines.until - 2; /* a very low terminal: over the head */
    }
    switch (view->page) {
    case RZ_TOP_PAGE_MAP:
        draw_first_page(top, view, screen, lines);
        break;
    case RZ_TOP_PAGE_RANKS:
        rz_top_draw_ranks(top, view, screen, lines);
        break;
    case RZ_TOP_PAGE_WAITS:
        rz_top_draw_waits(top, view, screen, lines);
        break;
    case RZ_TOP_PAGE_EVENTS:
        rz_top_draw_events(top, screen, lines, &view->first);
        break;
    case RZ_TOP_PAGE_ONE:
        rz_top_draw_one(top, view, screen, lines);
        break;
    case RZ_TOP_PAGE_HELP:
        rz_top_draw_help(screen, lines);
        break;
    }
    draw_keys(view, screen);
}
