/* SPDX-License-Identifier: BSD-3-Clause */
/* The pages of rztop that are lists or texts: ranks, one rank, events, keys. */
#include "view/top_screen.h"

#include <inttypes.h>

/* From so many columns on the list of ranks says what each uses. */
#define USE_COLUMNS 100u

static uint32_t bounded(uint32_t value, uint32_t max)
{
    return value > max ? max : value;
}

/* ---- Ranks ---- */

static void wait_text(const struct rz_top_rank *rank, char *text, size_t max)
{
    char age[32];
    if (!rank->call[0]) {
        text[0] = 0;
        return;
    }
    rz_top_age_text(rank->waits_s, age, sizeof(age));
    int n = snprintf(text, max, "%s for %s", rank->call, age);
    if (rank->peer >= 0 && n > 0 && (size_t)n < max) {
        snprintf(text + n, max - (size_t)n, " (rank %" PRId64 ")", rank->peer);
    }
}

/* What a rank uses, in the columns of the list. */
struct use_texts {
    char processor[16], memory[32], waiting[16];
};

static void use_texts(const struct rz_top_rank *rank, struct use_texts *use)
{
    bool lives = rank->used_known && rank->state != RZ_TOP_ENDED && rank->state != RZ_TOP_FAILED;
    *use = (struct use_texts){"-", "-", "-"};
    if (lives) {
        rz_top_bytes_text(rank->resident_bytes, use->memory, sizeof(use->memory));
    }
    if (lives && rank->processors >= 0) {
        snprintf(use->processor, sizeof(use->processor), "%.0f", 100 * rank->processors);
    }
    if (lives && rank->waiting >= 0) {
        snprintf(use->waiting, sizeof(use->waiting), "%.0f", 100 * rank->waiting);
    }
}

static void draw_rank(const struct rz_top_rank *rank, struct rz_top_screen *screen, uint32_t row,
                      bool chosen)
{
    enum rz_top_style plain = chosen ? RZ_TOP_CHOSEN : RZ_TOP_PLAIN;
    char incarnation[16], pid[24] = "-", iteration[24] = "-", rate[24] = "-", waits[120];
    struct use_texts use;
    snprintf(incarnation, sizeof(incarnation), ".%u", rank->incarnation);
    if (rank->pid > 0) {
        snprintf(pid, sizeof(pid), "%" PRId64, rank->pid);
    }
    if (rank->marked) {
        snprintf(iteration, sizeof(iteration), "%" PRIu64, rank->iteration);
    }
    if (rank->per_second > 0) {
        rz_top_rate_text(rank->per_second, rate, sizeof(rate));
    }
    wait_text(rank, waits, sizeof(waits));
    uint32_t at = rz_top_put(screen, row, 0, plain, "%c%5u%-3s%5u %7s ", chosen ? '>' : ' ',
                             rank->rank, rank->incarnation > 1 ? incarnation : "", rank->node, pid);
    at = rz_top_put(screen, row, at, chosen ? plain : rz_top_state_style(rank->state), "%-6s",
                    rz_top_state_name(rank->state));
    if (screen->columns >= USE_COLUMNS) {
        use_texts(rank, &use);
        at = rz_top_put(screen, row, at, plain, " %5s %8s %6s ", use.processor, use.memory,
                        use.waiting);
    }
    rz_top_put(screen, row, at, plain, "%9s %6s %s", iteration, rate, waits);
}

void rz_top_draw_ranks(const struct rz_top *top, struct rz_top_view *view,
                       struct rz_top_screen *screen, struct rz_top_lines lines)
{
    uint32_t room = lines.until - lines.from - 1;
    bool use = screen->columns >= USE_COLUMNS;
    rz_top_put(screen, lines.from, 1, RZ_TOP_HEAD, "%5s%-3s%5s %7s %-6s%s%9s %6s %s", "RANK", "",
               "NODE", "PID", "STATE", use ? "  CPU%   MEMORY  WAIT% " : "", "ITERATION", "PER S",
               "WAITS");
    if (top->n_ranks == 0) {
        return;
    }
    view->chosen = bounded(view->chosen, top->n_ranks - 1);
    if (view->chosen < view->first) {
        view->first = view->chosen;
    } else if (view->chosen >= view->first + room) {
        view->first = view->chosen - room + 1;
    }
    view->first = bounded(view->first, top->n_ranks > room ? top->n_ranks - room : 0);
    for (uint32_t i = 0; i < room && view->first + i < top->n_ranks; i++) {
        draw_rank(&top->ranks[view->first + i], screen, lines.from + 1 + i,
                  view->first + i == view->chosen);
    }
}

/* ---- One rank ---- */

static void draw_peer(const struct rz_top *top, const struct rz_top_rank *rank,
                      struct rz_top_screen *screen, uint32_t row)
{
    const struct rz_top_rank *peer = rz_top_rank(top, rank->peer);
    char waits[120];
    if (!peer) {
        rz_top_put(screen, row, 3, RZ_TOP_PLAIN,
                   rank->peer == RZ_TOP_PEER_ANY ? "for a message of any rank"
                                                 : "for no single rank");
        return;
    }
    wait_text(peer, waits, sizeof(waits));
    uint32_t at = rz_top_put(screen, row, 3, RZ_TOP_PLAIN, "for rank %u on node %u, which ",
                             peer->rank, peer->node);
    at = rz_top_put(screen, row, at, rz_top_state_style(peer->state), "%s",
                    peer->state == RZ_TOP_FAILED  ? "has failed"
                    : peer->state == RZ_TOP_ENDED ? "has ended"
                                                  : rz_top_state_name(peer->state));
    rz_top_put(screen, row, at, RZ_TOP_PLAIN, "%s%s", waits[0] ? ": " : "", waits);
}

void rz_top_draw_one(const struct rz_top *top, const struct rz_top_view *view,
                     struct rz_top_screen *screen, struct rz_top_lines lines)
{
    if (view->chosen >= top->n_ranks) {
        return;
    }
    const struct rz_top_rank *rank = &top->ranks[view->chosen];
    uint32_t row = lines.from, at;
    char age[32], rate[32], text[80];
    struct rz_top_use use = {.n = 0};
    at = rz_top_put(screen, row, 1, RZ_TOP_HEAD, "rank %u", rank->rank);
    rz_top_put(screen, row++, at, RZ_TOP_PLAIN, "%s, incarnation %u, on node %u",
               rank->spawned ? " (spawned)" : "", rank->incarnation, rank->node);
    at = rz_top_put(screen, row, 3, RZ_TOP_PLAIN, "state      ");
    rz_top_put(screen, row++, at, rz_top_state_style(rank->state), "%s",
               rz_top_state_name(rank->state));
    if (rank->pid == 0) {
        rz_top_put(screen, row, 3, RZ_TOP_FAINT,
                   "its daemon is on another machine, where rztop shows more of it");
        return;
    }
    rz_top_put(screen, row++, 3, RZ_TOP_PLAIN, "process    %" PRId64, rank->pid);
    rz_top_use_add(&use, rank);
    rz_top_use_text(&use, text, sizeof(text));
    if (text[0]) {
        rz_top_put(screen, row++, 3, RZ_TOP_PLAIN, "uses       %s", text);
    }
    if (rank->marked) {
        rz_top_rate_text(rank->per_second, rate, sizeof(rate));
        rz_top_put(screen, row++, 3, RZ_TOP_PLAIN, "iteration  %" PRIu64 ", %s per second",
                   rank->iteration, rate);
    }
    row++;
    if (!rank->call[0]) {
        rz_top_put(screen, row, 1, RZ_TOP_PLAIN, "It waits in no MPI call.");
        return;
    }
    rz_top_age_text(rank->waits_s, age, sizeof(age));
    rz_top_put(screen, row++, 1, RZ_TOP_PLAIN, "It has waited in %s for %s", rank->call, age);
    draw_peer(top, rank, screen, row++);
    rz_top_put(screen, row++, 3, RZ_TOP_PLAIN, "on the communicator %s", rank->communicator);
    if (rank->tag >= 0) {
        rz_top_put(screen, row, 3, RZ_TOP_PLAIN, "with tag %" PRId64, rank->tag);
    }
}

/* ---- Events ---- */

void rz_top_draw_events(const struct rz_top *top, struct rz_top_screen *screen,
                        struct rz_top_lines lines, uint32_t *first)
{
    uint32_t n = bounded(top->n_events, RZ_TOP_EVENTS_MAX), room = lines.until - lines.from;
    *first = bounded(*first, n > room ? n - room : 0);
    if (n == 0) {
        rz_top_put(screen, lines.from, 1, RZ_TOP_FAINT,
                   "nothing has happened since the view began");
    }
    for (uint32_t i = 0; i < room; i++) {
        const struct rz_top_event *event = rz_top_event(top, *first + i);
        if (!event) {
            break;
        }
        char at[32];
        if (event->at_s < 0) {
            snprintf(at, sizeof(at), "before");
        } else {
            rz_top_age_text(event->at_s, at, sizeof(at));
        }
        rz_top_put(screen, lines.from + i, 1, RZ_TOP_FAINT, "%10s", at);
        rz_top_put(screen, lines.from + i, 13, event->bad ? RZ_TOP_BAD : RZ_TOP_PLAIN, "%s",
                   event->text);
    }
}

/* ---- Keys ---- */

void rz_top_draw_help(struct rz_top_screen *screen, struct rz_top_lines lines)
{
    static const char *const keys[][2] = {{"m", "the map of nodes and ranks"},
                                          {"r", "the list of ranks"},
                                          {"w", "what each rank waits for, and cycles of waits"},
                                          {"e", "all events"},
                                          {"Enter", "in the list: one rank, and what it waits for"},
                                          {"0 to 9, Enter", "the rank with this number"},
                                          {"Up, Down, Page", "move in a list (also k, j)"},
                                          {"Home, End", "its first and its last line"},
                                          {"h", "write a hang report into a file here"},
                                          {"p", "pause: keep what is shown"},
                                          {"Escape", "back to the map"},
                                          {"q", "quit; the job is not affected"}};
    for (uint32_t i = 0; i < sizeof(keys) / sizeof(*keys) && lines.from + i < lines.until; i++) {
        rz_top_put(screen, lines.from + i, 3, RZ_TOP_HEAD, "%s", keys[i][0]);
        rz_top_put(screen, lines.from + i, 20, RZ_TOP_PLAIN, "%s", keys[i][1]);
    }
}
