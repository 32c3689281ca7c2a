/* SPDX-License-Identifier: BSD-3-Clause */
/* rztop: a job as it runs, on a terminal (docs/rztop.md). Asks the daemons of this machine,
 * and of other hosts, again and again; the view and what it shows are in src/view. */
#include "cli/cli.h"
#include "cli/quantity.h"
#include "base/no_memory.h"
#include "cmd/look_options.h"
#include "launch/host_options.h"
#include "port/clock.h"
#include "view/look.h"
#include "view/top_screen.h"
#include "view/top_waits.h"

#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Exit status. */
enum { RZTOP_GOOD = 0, RZTOP_NO_JOB = 1 };

/* Hosts whose answer has not come by then are shown as silent. */
#define ANSWER_WITHIN (3 * RZ_SECOND)

enum { HEAR_MS = 100 }; /* the ends of agents are noticed in between */

enum { ONCE_ROWS = 24, ONCE_COLUMNS = 80, KEY_ESCAPE = 27 };

struct options {
    struct rz_look_options look;
    bool once, plain;
    rz_time every;
    enum rz_top_page page;
};

struct rztop {
    struct options options;
    char job[20];      /* the number of the job, once it is found */
    json_int_t uid;    /* and its user; -1: the one that looks */
    char refused[300]; /* why none was chosen, of several; "": there is none */
    const char *prefix;
    struct rz_top top;
    struct rz_top_view view;
    struct rz_look_hosts *hosts; /* others than this machine, or NULL */
    bool asked;                  /* their answers are gathered, until give_up */
    rz_time next;                /* when the daemons are asked again */
    rz_time give_up;
    uint64_t typed;
    bool typing, quits;
};

static volatile sig_atomic_t ended_by; /* a signal */

/* ---- Options ---- */

#define OPTIONS ((struct options *)target)
RZ_CLI_TAKE_FLAG(once, OPTIONS->once)
RZ_CLI_TAKE_FLAG(all, OPTIONS->look.all)
RZ_CLI_TAKE_FLAG(plain, OPTIONS->plain)

RZ_CLI_TAKE(every)
{
    bool good = rz_quantity_seconds(value, &OPTIONS->every) && OPTIONS->every >= RZ_SECOND / 10 &&
                OPTIONS->every <= 3600 * RZ_SECOND;
    *why = "it is a time from 100ms to 1h";
    return good;
}

static const char *const page_names[] = {[RZ_TOP_PAGE_MAP] = "map",
                                         [RZ_TOP_PAGE_RANKS] = "ranks",
                                         [RZ_TOP_PAGE_WAITS] = "waits",
                                         [RZ_TOP_PAGE_EVENTS] = "events"};

RZ_CLI_TAKE(page)
{
    for (size_t i = 0; i < sizeof(page_names) / sizeof(*page_names); i++) {
        if (strcmp(value, page_names[i]) == 0) {
            OPTIONS->page = (enum rz_top_page)i;
            return true;
        }
    }
    *why = "it is map, ranks, waits or events";
    return false;
}

static const struct rz_cli_option table[] = {
    {"--every", "-d", "T", "Ask the daemons each time T (1s; at least 100ms).", take_every},
    {"--page", NULL, "map|ranks|waits|events", "The page that is shown first (map).", take_page},
    {"--once", "-1", NULL,
     "Print one screen of 80 columns and 24 lines (COLUMNS and LINES set others) and end; needs no "
     "terminal.",
     take_once},
    {"--no-color", NULL, NULL,
     "Use no colours, as with the environment variable NO_COLOR. Nothing is said by a colour "
     "alone.",
     take_plain},
    {"--all", "-a", NULL,
     "Also jobs of other users (they answer to root only): one is shown if no job of yours fits, "
     "and no other of theirs.",
     take_all},
    {NULL, NULL, NULL, NULL, NULL}};

static const struct rz_cli_option *const more_tables[] = {rz_look_options_hosts,
                                                          rz_host_options_agents, NULL};

static const struct rz_cli cli = {
    .name = "rztop",
    .summary = "a job as it runs: a map of its nodes and ranks, on a terminal",
    .synopsis = "[OPTION]... [JOB]",
    .description =
        "Shows a job that has a daemon on this machine, or on a host of --host, started here or "
        "elsewhere, detached or not: the state of each node and rank, iterations, what each rank "
        "waits for, failures and "
        "recoveries as they happen, the newest checkpoint, heartbeats, dynamic groups. JOB is its "
        "number, or the first digits of it (rzps lists them); without it your newest job is shown. "
        "The key ? explains the keys.",
    .options = table,
    .more = more_tables,
    .epilogue = "Exit status\n  0  the job was shown\n  1  there is no such job, or not one "
                "alone\n  2  bad command "
                "line, or no terminal\n  9  standard output could not be written"};

/* ---- The job ---- */

static const char *text_of(const json_t *job)
{
    const char *number = json_string_value(json_object_get(job, "job"));
    return number ? number : "";
}

/* The job to show: the one found before, or else the one that the user means. */
static const json_t *choose(struct rztop *rztop, const json_t *jobs)
{
    if (rztop->job[0]) {
        return rz_look_find(jobs, rztop->job, rztop->uid);
    }
    struct rz_look_choice choice = rz_look_choose(jobs, rztop->prefix != NULL);
    if (!choice.job && choice.n > 1) {
        snprintf(rztop->refused, sizeof(rztop->refused),
                 "%zu jobs begin with '%s', as %s of uid %u and %s of uid %u; give more digits "
                 "(rzps shows them), or call rztop as the user of the job",
                 choice.n, rztop->prefix ? rztop->prefix : "", text_of(choice.two[0]),
                 rz_look_owner(choice.two[0]), text_of(choice.two[1]),
                 rz_look_owner(choice.two[1]));
    }
    return choice.job;
}

static const char *number_of(const struct rztop *rztop)
{
    return rztop->job[0] ? rztop->job : rztop->prefix;
}

/* Takes the documents of a look. While a host is silent, a job that no other daemon knows is not
 * over. */
static void take(struct rztop *rztop, rz_status_t status, json_t *jobs)
{
    struct rz_look_silent silent;
    if (status != RZ_OK) {
        snprintf(rztop->view.message, sizeof(rztop->view.message),
                 "the sockets of this machine cannot be listed: is /proc mounted?");
        return;
    }
    const json_t *job = choose(rztop, jobs);
    if (job || !rztop->hosts || !rz_look_hosts_silent(rztop->hosts, 0, &silent)) {
        rz_top_take(&rztop->top, job);
    }
    rztop->uid = rztop->top.foreign ? (json_int_t)rztop->top.uid : -1;
    memcpy(rztop->job, rztop->top.job, sizeof(rztop->job));
    rz_look_options_notice(&rztop->options.look, rztop->hosts, rztop->view.notice,
                           sizeof(rztop->view.notice));
    json_decref(jobs);
}

/* The first look, which waits for all hosts. */
static void look(struct rztop *rztop)
{
    json_t *jobs = NULL;
    rz_status_t status =
        rz_look_options_look(&rztop->options.look, rztop->hosts, rztop->prefix, &jobs);
    take(rztop, status, jobs);
}

/* A look of the view: begins it when it is time, and ends it when the hosts have answered, or at
 * give_up. */
static void go_on_looking(struct rztop *rztop)
{
    rz_time now = rz_clock_now();
    json_t *jobs = NULL;
    if (!rztop->asked && (rztop->view.paused || now < rztop->next)) {
        return;
    }
    if (!rztop->asked) {
        rztop->asked = true;
        rztop->give_up = now + ANSWER_WITHIN;
        if (rztop->hosts) {
            rz_look_hosts_ask(rztop->hosts, number_of(rztop), rztop->options.look.all);
        }
    }
    if (!rztop->hosts || !rz_look_hosts_hear(rztop->hosts, -1, 0) || now >= rztop->give_up) {
        rz_status_t status =
            rz_look_options_take(&rztop->options.look, rztop->hosts, number_of(rztop), &jobs);
        take(rztop, status, jobs);
        rztop->asked = false;
        rztop->next = rz_clock_now() + rztop->options.every;
    }
}

/* Waits for a key, for what hosts say, or until it is time to look again. */
static void await_news(struct rztop *rztop)
{
    struct pollfd key = {.fd = STDIN_FILENO, .events = POLLIN};
    rz_time now = rz_clock_now(), wait = rztop->next > now ? rztop->next - now : 0;
    int within_ms = rztop->view.paused ? 1000 : (int)(wait / RZ_MILLISECOND) + 1;
    if (rztop->asked) {
        rz_look_hosts_hear(rztop->hosts, STDIN_FILENO, HEAR_MS);
    } else {
        poll(&key, 1, within_ms);
    }
}

/* ---- Hang report ---- */

static void write_hang_report(struct rztop *rztop)
{
    char path[80], stamp[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    snprintf(path, sizeof(path), "hang-%.8s-%s.txt", rztop->top.job, stamp);
    FILE *out = fopen(path, "wx");
    bool good = out != NULL;
    if (out) {
        rz_top_waits_report(&rztop->top, out);
        good = !ferror(out);
        good = fclose(out) == 0 && good;
    }
    if (good) {
        snprintf(rztop->view.message, sizeof(rztop->view.message), "hang report: %s", path);
    } else {
        snprintf(rztop->view.message, sizeof(rztop->view.message), "cannot write %s: %s", path,
                 strerror(errno));
    }
}

/* ---- Keys ---- */

static void move_by(struct rztop *rztop, int64_t lines)
{
    struct rz_top_view *view = &rztop->view;
    uint32_t *at = view->page == RZ_TOP_PAGE_RANKS ? &view->chosen : &view->first;
    int64_t to = (int64_t)*at + lines;
    *at = to < 0 ? 0 : to > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)to;
}

static void show_page(struct rztop *rztop, enum rz_top_page page)
{
    rztop->view.page = page;
    rztop->view.first = 0;
}

static void show_typed(struct rztop *rztop)
{
    const struct rz_top_rank *rank = rz_top_rank(&rztop->top, (int64_t)rztop->typed);
    rztop->typing = false;
    if (!rank) {
        snprintf(rztop->view.message, sizeof(rztop->view.message), "there is no rank %" PRIu64,
                 rztop->typed);
        return;
    }
    rztop->view.chosen = (uint32_t)(rank - rztop->top.ranks);
    show_page(rztop, RZ_TOP_PAGE_ONE);
}

/* Digits, and what ends them. False: the key means something else. */
static bool take_typing(struct rztop *rztop, int key)
{
    bool digit = key >= '0' && key <= '9';
    if (digit) {
        rztop->typed = (rztop->typing ? rztop->typed % 100000000 * 10 : 0) + (uint64_t)(key - '0');
        rztop->typing = true;
        snprintf(rztop->view.message, sizeof(rztop->view.message),
                 "rank %" PRIu64 " (Enter shows it)", rztop->typed);
        return true;
    }
    if (rztop->typing && (key == '\n' || key == '\r' || key == KEY_ENTER)) {
        show_typed(rztop);
        return true;
    }
    rztop->typing = false;
    return false;
}

static bool take_moving(struct rztop *rztop, int key)
{
    static const struct {
        int key;
        int64_t lines;
    } moves[] = {{KEY_UP, -1},     {'k', -1},       {KEY_DOWN, 1},          {'j', 1},
                 {KEY_PPAGE, -10}, {KEY_NPAGE, 10}, {KEY_HOME, -INT32_MAX}, {KEY_END, INT32_MAX}};
    for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
        if (moves[i].key == key) {
            move_by(rztop, moves[i].lines);
            return true;
        }
    }
    return false;
}

static void take_key(struct rztop *rztop, int key)
{
    rztop->view.message[0] = 0;
    if (take_typing(rztop, key) || take_moving(rztop, key)) {
        return;
    }
    switch (key) {
    case 'm':
    case KEY_ESCAPE:
        show_page(rztop, RZ_TOP_PAGE_MAP);
        break;
    case 'r':
        show_page(rztop, RZ_TOP_PAGE_RANKS);
        break;
    case 'w':
        show_page(rztop, RZ_TOP_PAGE_WAITS);
        break;
    case 'e':
        show_page(rztop, RZ_TOP_PAGE_EVENTS);
        break;
    case '?':
        show_page(rztop, RZ_TOP_PAGE_HELP);
        break;
    case '\n':
    case '\r':
    case KEY_ENTER:
        if (rztop->view.page == RZ_TOP_PAGE_RANKS) {
            show_page(rztop, RZ_TOP_PAGE_ONE);
        }
        break;
    case 'h':
        write_hang_report(rztop);
        break;
    case 'p':
        rztop->view.paused = !rztop->view.paused;
        break;
    case 'q':
        rztop->quits = true;
        break;
    default:
        break;
    }
}

/* ---- The terminal ---- */

static void on_end(int signal)
{
    ended_by = signal;
}

static void set_colors(void)
{
    static const short colors[RZ_TOP_STYLE_COUNT] = {[RZ_TOP_GOOD] = COLOR_GREEN,
                                                     [RZ_TOP_SLOW] = COLOR_CYAN,
                                                     [RZ_TOP_NEW] = COLOR_YELLOW,
                                                     [RZ_TOP_BAD] = COLOR_RED};
    start_color();
    use_default_colors();
    for (short i = 0; i < RZ_TOP_STYLE_COUNT; i++) {
        init_pair(i + 1, colors[i] ? colors[i] : -1, -1);
    }
}

static attr_t attributes(uint8_t style, bool colors)
{
    static const attr_t of[RZ_TOP_STYLE_COUNT] = {[RZ_TOP_BAR] = A_REVERSE,
                                                  [RZ_TOP_HEAD] = A_BOLD,
                                                  [RZ_TOP_BAD] = A_BOLD,
                                                  [RZ_TOP_CHOSEN] = A_REVERSE};
    return of[style] | (colors ? COLOR_PAIR(style + 1) : 0);
}

static void show(struct rztop *rztop, bool colors)
{
    struct rz_top_screen screen;
    int rows, columns;
    getmaxyx(stdscr, rows, columns);
    rz_top_screen_open(&screen, rows > 0 ? (uint32_t)rows : 0, columns > 0 ? (uint32_t)columns : 0);
    rz_top_draw(&rztop->top, &rztop->view, &screen);
    erase();
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < columns; column++) {
            struct rz_top_cell cell = screen.cells[(size_t)row * screen.columns + (size_t)column];
            mvaddch(row, column,
                    (chtype)(unsigned char)cell.character | attributes(cell.style, colors));
        }
    }
    refresh();
    rz_top_screen_close(&screen);
}

static SCREEN *open_terminal(void)
{
    const char *terminal = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        rz_cli_refuse(&cli, "standard input and output must be a terminal; without one use --once");
    }
    if (!terminal || !*terminal) {
        rz_cli_refuse(&cli, "TERM is not set; try TERM=vt100, or --once");
    }
    SCREEN *on = newterm(NULL, stdout, stdin);
    if (!on) {
        rz_cli_refuse(&cli, "the terminal '%s' is not known here; try TERM=vt100, or --once",
                      terminal);
    }
    if (!tigetstr("cup")) { /* as of dumb ones */
        endwin();
        delscreen(on);
        rz_cli_refuse(&cli, "the terminal '%s' cannot place text; use --once", terminal);
    }
    return on;
}

static int run(struct rztop *rztop)
{
    SCREEN *on = open_terminal();
    bool colors = !rztop->options.plain && !getenv("NO_COLOR") && has_colors();
    signal(SIGINT, on_end);
    signal(SIGTERM, on_end);
    signal(SIGHUP, on_end);
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    set_escdelay(50);
    if (colors) {
        set_colors();
    }
    timeout(0); /* await_news waits */
    while (!rztop->quits && !ended_by) {
        int key;
        go_on_looking(rztop);
        show(rztop, colors);
        await_news(rztop);
        while (!rztop->quits && (key = getch()) != ERR) {
            take_key(rztop, key);
        }
        if (!isatty(STDIN_FILENO)) {
            break; /* the terminal has gone */
        }
    }
    endwin();
    delscreen(on);
    return ended_by ? 128 + ended_by : RZTOP_GOOD;
}

static uint32_t size_of(const char *variable, uint32_t otherwise)
{
    const char *text = getenv(variable);
    long value = text ? strtol(text, NULL, 10) : 0;
    return value > 0 && value <= 1000 ? (uint32_t)value : otherwise;
}

static void print_once(struct rztop *rztop)
{
    struct rz_top_screen screen;
    rz_top_screen_open(&screen, size_of("LINES", ONCE_ROWS), size_of("COLUMNS", ONCE_COLUMNS));
    rz_top_draw(&rztop->top, &rztop->view, &screen);
    rz_top_screen_print(&screen, stdout);
    rz_top_screen_close(&screen);
}

int main(int argc, char **argv)
{
    static struct rztop rztop = {.options = {.every = RZ_SECOND}};
    rz_no_memory_speaker(RZ_EXIT_USAGE, "rztop");
    int at = rz_cli_parse(&cli, argc, argv, &rztop.options), status = RZTOP_GOOD;
    if (argc - at > 1) {
        rz_cli_refuse(&cli, "one JOB can be shown, not '%s' too", argv[at + 1]);
    }
    rztop.prefix = at < argc ? argv[at] : NULL;
    rztop.view.page = rztop.options.page;
    rz_look_options_open(&rztop.options.look, &cli, &rztop.hosts);
    look(&rztop);
    if (!rztop.top.known) {
        rz_look_options_complain(&rztop.options.look, rztop.hosts, cli.name);
        if (rztop.refused[0]) {
            fprintf(stderr, "rztop: %s\n", rztop.refused);
        } else {
            fprintf(stderr, "rztop: no job here begins with '%s'\n",
                    rztop.prefix ? rztop.prefix : "");
        }
        status = RZTOP_NO_JOB;
    } else if (rztop.options.once) {
        print_once(&rztop);
    } else {
        status = run(&rztop);
    }
    rz_look_options_close(&rztop.options.look, rztop.hosts);
    rz_top_clear(&rztop.top);
    return rz_cli_finish(cli.name, status);
}
