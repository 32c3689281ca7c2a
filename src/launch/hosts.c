/* SPDX-License-Identifier: BSD-3-Clause */
/* Listens for the daemons of other hosts, starts these by agents, and notices which do not come. */
#include "launch/hosts.h"

#include "base/linked_list.h"
#include "base/no_memory.h"
#include "launch/host_options.h"
#include "launch/surroundings.h"
#include "port/clock.h"
#include "port/processor.h"
#include "port/socket.h"
#include "remote/agent.h"
#include "remote/tree.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a connection may take to prove itself, and how many may be about it at a time beside two
 * of each host; when one more arrives, the oldest is closed. */
#define PROVE_WITHIN (30 * RZ_SECOND)
#define GUESTS_MAX 256
/* Connections that are accepted before those that are there are heard. */
#define ACCEPTED_AT_ONCE 32

/* The hosts below one that has not answered for this time are started without it. */
#define STALLED_AFTER (3 * RZ_SECOND)
#define LOOK_MS 250

/* An agent ends with its daemon, after its keeper's grace at most; that of a host that has failed
 * does not. */
#define AGENTS_END_MS 6000
#define FAILED_AGENTS_END_MS 1000

enum { ABSENT_TOLD_MAX = 3, WORD_MAX = 240 };

/* A node on another host. */
struct host {
    const char *name;
    uint32_t parent; /* the node that starts it; RZ_ID_NONE: rzrun, or it is not remote */
    rz_time ordered; /* when its turn came: its parent was there */
    bool remote, here, failed, passed_over;
    bool up; /* both of its connections are there */
    int status;
    char word[WORD_MAX]; /* the last line that was said of it */
    struct rz_stream *alive;
};

/* A connection that has not proved itself. */
struct guest {
    struct guest *next;
    struct rz_hosts *hosts;
    struct rz_stream *stream;
    struct event *readable;
    rz_time prove_by;
};

struct rz_hosts {
    struct rz_hosts_config config;
    struct rz_stream_terms terms;
    int listen_fd;
    struct event *accepting, *looking;
    struct guest *guests; /* the newest first */
    unsigned n_guests;
    struct host *all; /* [layout.n_nodes] */
    struct rz_agents *agents;
    char addresses[RZ_RZRUN_ADDRESSES_MAX * RZ_ADDRESS_TEXT]; /* of rzrun, for BEGIN */
    uint8_t words[4096];                                      /* of the agent, for BEGIN */
    bool ending;
    bool paused;    /* no connections are accepted */
    rz_time looked; /* time of the last look */
};

static uint32_t count(const struct rz_hosts *hosts)
{
    return hosts->config.options->layout.n_nodes;
}

/* ---- Connections of daemons ---- */

static void guest_free(struct guest *guest, bool keep_stream)
{
    struct rz_hosts *hosts = guest->hosts;
    rz_list_unlink(&hosts->guests, guest);
    hosts->n_guests--;
    event_free(guest->readable);
    if (!keep_stream) {
        rz_stream_close(guest->stream);
    }
    free(guest);
}

/* Whether a line was written by a daemon, not by its agent or a shell. */
static bool of_daemon(const char *line)
{
    return strncmp(line, "rzd", 3) == 0;
}

static void show(const char *name, const char *line)
{
    fprintf(stderr, "rzrun: %s: %s\n", name, line);
}

/* What a daemon says may overtake its connection. */
static void show_kept_word(const struct rz_hosts *hosts, struct host *host)
{
    if (hosts->config.options->verbosity == 0 && of_daemon(host->word)) {
        show(host->name, host->word);
    }
    host->word[0] = '\0';
}

/* Takes the connection of a daemon that has proved itself, or refuses it. */
static void take_daemon(struct rz_hosts *hosts, struct rz_stream *stream, uint32_t number,
                        enum rz_stream_purpose purpose)
{
    struct host *host = number < count(hosts) ? &hosts->all[number] : NULL;
    bool known = host && host->remote && !hosts->ending;
    bool first = known && purpose == RZ_STREAM_MESSAGES && !host->here && !host->failed;
    bool second = known && purpose == RZ_STREAM_ALIVE && host->here && !host->up;
    if (!first && !second) { /* one that was started a second time, and is late */
        rz_stream_refuse(stream);
    } else if (rz_stream_welcome(stream) != RZ_OK) {
        rz_stream_close(stream);
    } else if (first) {
        host->here = true;
        show_kept_word(hosts, host);
        rz_node_attach(&hosts->config.nodes[number], stream, hosts->config.base);
    } else {
        host->alive = stream;
        host->up = true;
    }
}

static void guest_readable(evutil_socket_t fd, short what, void *arg)
{
    struct guest *guest = arg;
    struct rz_hosts *hosts = guest->hosts;
    uint32_t number;
    enum rz_stream_purpose purpose;
    (void)fd, (void)what;
    rz_status_t status = rz_stream_prove(guest->stream, &number, &purpose);
    if (status == RZ_IN_PROGRESS) {
        return;
    }
    struct rz_stream *stream = guest->stream;
    guest_free(guest, status == RZ_OK);
    if (status == RZ_OK) {
        take_daemon(hosts, stream, number, purpose);
    }
}

static struct guest *oldest(struct rz_hosts *hosts)
{
    struct guest *guest = hosts->guests;
    while (guest && guest->next) {
        guest = guest->next;
    }
    return guest;
}

static void accept_guest(evutil_socket_t listening, short what, void *arg)
{
    struct rz_hosts *hosts = arg;
    int fd;
    rz_status_t status = RZ_OK;
    (void)what;
    for (unsigned i = 0; i < ACCEPTED_AT_ONCE; i++) {
        struct rz_stream *stream;
        status = rz_socket_accept(listening, &fd, NULL);
        if (status != RZ_OK) {
            break;
        }
        if (rz_stream_accept(&stream, fd, &hosts->terms, RZ_LAUNCH_JOB_MAX) != RZ_OK) {
            continue;
        }
        if (hosts->n_guests == GUESTS_MAX + 2 * hosts->config.options->n_remote) {
            guest_free(oldest(hosts), false);
        }
        struct guest *guest = calloc(1, sizeof(*guest));
        rz_need_memory(guest, "for a connection of a daemon");
        *guest = (struct guest){.next = hosts->guests,
                                .hosts = hosts,
                                .stream = stream,
                                .prove_by = rz_clock_now() + PROVE_WITHIN};
        guest->readable =
            event_new(hosts->config.base, fd, EV_READ | EV_PERSIST, guest_readable, guest);
        rz_need_memory(guest->readable, "for a connection of a daemon");
        event_add(guest->readable, NULL);
        hosts->guests = guest;
        hosts->n_guests++;
    }
    if (status != RZ_OK &&
        status != RZ_IN_PROGRESS) { /* too many descriptors: until the next look */
        event_del(hosts->accepting);
        hosts->paused = true;
    }
}

/* ---- Hosts that do not come ---- */

/* Whether hosts start hosts; else one agent starts all. */
static bool is_tree(const struct rz_hosts *hosts)
{
    enum rz_launcher_choice launcher = hosts->config.options->launcher;
    return launcher != RZ_LAUNCHER_SLURM && launcher != RZ_LAUNCHER_PMIX;
}

static void order_agents(struct rz_hosts *hosts, const uint32_t *numbers, uint32_t n)
{
    struct rz_remote_host *list = calloc(n, sizeof(*list));
    uint32_t *parents = calloc(n, sizeof(*parents));
    rz_time now = rz_clock_now();
    rz_need_memory(list && parents, "to start daemons on other hosts");
    rz_tree_parents(n, RZ_TREE_FAN_OUT, parents);
    for (uint32_t i = 0; i < n; i++) {
        struct host *host = &hosts->all[numbers[i]];
        list[i] = (struct rz_remote_host){.node = numbers[i], .name = host->name};
        bool by_host = is_tree(hosts) && parents[i] != RZ_ID_NONE;
        host->parent = by_host ? numbers[parents[i]] : RZ_ID_NONE;
        host->ordered = now;
    }
    if (is_tree(hosts)) {
        rz_agents_start(hosts->agents, list, n);
    } else {
        rz_agents_start_together(hosts->agents, list, n);
    }
    free(parents);
    free(list);
}

static bool is_below(const struct rz_hosts *hosts, uint32_t number, uint32_t above)
{
    while (number != RZ_ID_NONE && number != above) {
        number = hosts->all[number].parent;
    }
    return number == above;
}

/* Starts the hosts below this one, which does not answer or has failed, without it. */
static void pass_over(struct rz_hosts *hosts, uint32_t above)
{
    uint32_t *numbers = calloc(count(hosts), sizeof(*numbers)), n = 0;
    rz_need_memory(numbers, "to start daemons on other hosts");
    hosts->all[above].passed_over = true;
    for (uint32_t i = 0; i < count(hosts); i++) {
        const struct host *host = &hosts->all[i];
        if (i != above && host->remote && !host->here && !host->failed &&
            is_below(hosts, i, above)) {
            numbers[n++] = i;
        }
    }
    if (n > 0) {
        order_agents(hosts, numbers, n);
    }
    free(numbers);
}

/* The first of the hosts that failed or are missing, with what is known of each. */
static const char *list_of_absent(const struct rz_hosts *hosts, bool failed)
{
    static char
        text[ABSENT_TOLD_MAX * (WORD_MAX + 200) + 300]; /* names, words and agents are bounded */
    uint32_t n = 0;
    size_t at = 0;
    const char *help = "";
    text[0] = '\0';
    for (uint32_t i = 0; i < count(hosts); i++) {
        const struct host *host = &hosts->all[i];
        const char *none = host->here ? "only one of its two connections has come" : "no answer";
        if (!host->remote || (failed ? !host->failed : host->up) || n++ >= ABSENT_TOLD_MAX) {
            continue;
        }
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s: %.*s", n > 1 ? "; " : "",
                               host->name, WORD_MAX, *host->word ? host->word : none);
        if (host->failed) {
            bool told = *help || strncmp(host->word, "rzd: ", 5) == 0; /* it says what helps */
            help = told ? help : rz_host_options_remedy(hosts->config.options, host->status);
            at += (size_t)snprintf(text + at, sizeof(text) - at, " (%.40s ended with status %d)",
                                   hosts->config.options->agent.texts[0], host->status);
        }
    }
    if (n > ABSENT_TOLD_MAX) {
        at +=
            (size_t)snprintf(text + at, sizeof(text) - at, "; and %u others", n - ABSENT_TOLD_MAX);
    }
    if (n > 0 && !failed && !*help && is_tree(hosts) && !hosts->config.options->agent_given) {
        help = "is it up, and does `ssh HOST true` end there?";
    }
    if (*help) {
        snprintf(text + at, sizeof(text) - at, "; %s", help);
    }
    return text;
}

const char *rz_hosts_missing(const struct rz_hosts *hosts)
{
    return list_of_absent(hosts, false);
}

bool rz_hosts_lacks(const struct rz_hosts *hosts, uint32_t node)
{
    return hosts->all[node].remote && !hosts->all[node].here;
}

/* Whether all hosts have come or failed. */
static bool all_known(const struct rz_hosts *hosts)
{
    for (uint32_t i = 0; i < count(hosts); i++) {
        const struct host *host = &hosts->all[i];
        if (host->remote && !host->here && !host->failed) {
            return false;
        }
    }
    return true;
}

static bool any_failed(const struct rz_hosts *hosts)
{
    bool failed = false;
    for (uint32_t i = 0; i < count(hosts); i++) {
        failed |= hosts->all[i].failed;
    }
    return failed;
}

static void look_at_hosts(evutil_socket_t fd, short what, void *arg)
{
    struct rz_hosts *hosts = arg;
    rz_time now = rz_clock_now(), passed = now - hosts->looked;
    bool busy = rz_processors_busy();
    (void)fd, (void)what;
    hosts->looked = now;
    if (hosts->paused) {
        hosts->paused = false;
        event_add(hosts->accepting, NULL);
    }
    for (struct guest *guest = hosts->guests, *next; guest; guest = next) {
        next = guest->next;
        if (now > guest->prove_by) {
            guest_free(guest, false);
        }
    }
    for (uint32_t i = 0; i < count(hosts) && !hosts->ending; i++) {
        struct host *host = &hosts->all[i];
        bool waits = host->remote && !host->here && !host->failed;
        if (waits && busy) {
            host->ordered += passed / 4 * 3; /* agents here may wait for a processor */
        }
        if (waits && host->parent != RZ_ID_NONE && !hosts->all[host->parent].here) {
            host->ordered = now; /* its turn has not come */
        } else if (waits && !host->passed_over && now > host->ordered + STALLED_AFTER &&
                   is_tree(hosts)) {
            pass_over(hosts, i);
        }
    }
    if (!hosts->ending && all_known(hosts) && any_failed(hosts)) {
        hosts->config.failed(hosts->config.arg, list_of_absent(hosts, true));
    }
}

/* ---- What agents say ---- */

/* Whether a daemon says it that is here, and not because the end of the job has cut it off while it
 * connected. */
static bool is_news(const struct rz_hosts *hosts, uint32_t node, const char *line)
{
    const struct host *host = &hosts->all[node];
    return of_daemon(line) && host->here && (host->up || !hosts->ending);
}

/* Likewise of a line of the agent of all hosts, which names none. */
static bool is_news_of_any(const struct rz_hosts *hosts, const char *line)
{
    bool any = false;
    for (uint32_t i = 0; i < count(hosts); i++) {
        any |= is_news(hosts, i, line);
    }
    return any && all_known(hosts);
}

/* A word of the agent of all hosts is kept for each that is not there. */
static void agent_said(void *arg, uint32_t node, const char *line)
{
    struct rz_hosts *hosts = arg;
    bool all = node == RZ_ID_NONE;
    const char *name = hosts->config.options->launcher == RZ_LAUNCHER_SLURM ? "srun" : "rzd";
    if (!all && node >= count(hosts)) {
        return;
    }
    for (uint32_t i = all ? 0 : node; i < (all ? count(hosts) : node + 1); i++) {
        struct host *host = &hosts->all[i];
        name = all ? name : host->name;
        if (host->remote && !host->here) {
            snprintf(host->word, sizeof(host->word), "%s", line);
        }
    }
    if (hosts->config.options->verbosity > 0 ||
        (all ? is_news_of_any(hosts, line) : is_news(hosts, node, line))) {
        show(name, line);
    }
}

static void fail(struct rz_hosts *hosts, uint32_t node, int status)
{
    struct host *host = &hosts->all[node];
    if (!host->remote || host->here || host->failed) {
        return;
    }
    host->failed = true;
    host->status = status;
    hosts->config.nodes[node].gone = true;
}

static void agent_ended(void *arg, uint32_t node, int status)
{
    struct rz_hosts *hosts = arg;
    if (hosts->ending) {
        return;
    }
    if (node == RZ_ID_NONE) {
        for (uint32_t i = 0; i < count(hosts); i++) {
            fail(hosts, i, status);
        }
    } else if (node < count(hosts) && !hosts->all[node].here && !hosts->all[node].failed) {
        fail(hosts, node, status);
        pass_over(hosts, node);
    }
}

/* ---- Start and end ---- */

static void list_addresses(struct rz_hosts *hosts, uint16_t port)
{
    const struct rz_rzrun_options *options = hosts->config.options;
    size_t n = 0;
    for (unsigned i = 0; i < options->n_addresses; i++) {
        char text[RZ_ADDRESS_TEXT];
        const struct rz_address here = rz_address_at(&options->addresses[i], port);
        n += (size_t)snprintf(hosts->addresses + n, sizeof(hosts->addresses) - n, "%s%s",
                              i > 0 ? "," : "", rz_address_text(&here, text));
    }
}

/* False: the command does not fit. */
static bool open_agents(struct rz_hosts *hosts)
{
    static char command[1200];
    const struct rz_rzrun_options *options = hosts->config.options;
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, hosts->words, sizeof(hosts->words));
    for (uint32_t i = 0; i < options->agent.n; i++) {
        rz_wire_put_text(&w, options->agent.texts[i]);
    }
    /* In quotes for the shell of the other host. */
    const char *path = options->remote_daemon ? options->remote_daemon : hosts->config.daemon;
    int n = snprintf(command, sizeof(command), "exec '%s' --remote", path);
    if (w.overflow || n >= (int)sizeof(command) || strchr(path, '\'')) {
        return false;
    }
    const struct rz_agents_config config = {
        .base = hosts->config.base,
        .words = (const char *const *)options->agent.texts,
        .command = command,
        .restore = rz_surroundings_restore,
        .begin = {.version = RZ_REMOTE_VERSION,
                  .release = RZ_VERSION,
                  .job = hosts->config.job,
                  .key = hosts->config.key,
                  .key_length = RZ_PROOF_KEY_BYTES,
                  .rzrun = hosts->addresses,
                  .interface = options->interface ? options->interface : "",
                  .port_range = options->port_range ? options->port_range : "",
                  .within_ns = options->start_timeout,
                  .agent = hosts->words,
                  .agent_length = (uint32_t)(w.at - w.start),
                  .command = command},
        .arg = hosts,
        .said = agent_said,
        .ended = agent_ended};
    rz_agents_open(&hosts->agents, &config);
    return true;
}

rz_status_t rz_hosts_open(struct rz_hosts **result, const struct rz_hosts_config *config,
                          const char **why)
{
    const struct timeval often = {.tv_usec = LOOK_MS * 1000};
    const struct rz_launch_layout *layout = &config->options->layout;
    struct rz_address at = {0};
    struct rz_hosts *hosts = calloc(1, sizeof(*hosts));
    rz_need_memory(hosts, "for other hosts");
    hosts->config = *config;
    hosts->terms.job = config->job;
    memcpy(hosts->terms.key, config->key, sizeof(hosts->terms.key));
    *why = config->options->port_range ? "no port of --port-range is free"
                                       : "no port for the daemons of other hosts can be opened";
    if (rz_socket_listen(&at, &hosts->listen_fd) != RZ_OK) {
        free(hosts);
        return RZ_ERR_SYSTEM;
    }
    list_addresses(hosts, at.port);
    *why = "the command that starts daemons is too long, or the path of rzd has a quote in it";
    if (!open_agents(hosts)) {
        close(hosts->listen_fd);
        free(hosts);
        return RZ_ERR_INVALID;
    }
    hosts->all = calloc(layout->n_nodes, sizeof(*hosts->all));
    uint32_t *numbers = calloc(layout->n_nodes, sizeof(*numbers)), n = 0;
    hosts->accepting =
        event_new(config->base, hosts->listen_fd, EV_READ | EV_PERSIST, accept_guest, hosts);
    hosts->looking = event_new(config->base, -1, EV_PERSIST, look_at_hosts, hosts);
    rz_need_memory(hosts->all && numbers && hosts->accepting && hosts->looking, "for other hosts");
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        hosts->all[i].name = layout->nodes[i].host;
        hosts->all[i].parent = RZ_ID_NONE;
        hosts->all[i].remote = layout->nodes[i].remote;
        if (layout->nodes[i].remote) {
            numbers[n++] = i;
        }
    }
    event_add(hosts->accepting, NULL);
    event_add(hosts->looking, &often);
    hosts->looked = rz_clock_now();
    order_agents(hosts, numbers, n);
    free(numbers);
    *result = hosts;
    return RZ_OK;
}

static void stop_listening(struct rz_hosts *hosts)
{
    if (hosts->listen_fd < 0) {
        return;
    }
    event_free(hosts->accepting);
    event_free(hosts->looking);
    close(hosts->listen_fd);
    hosts->listen_fd = -1;
    while (hosts->guests) {
        guest_free(hosts->guests, false);
    }
}

void rz_hosts_ending(struct rz_hosts *hosts)
{
    hosts->ending = true;
    stop_listening(hosts);
}

/* The daemon of such an agent finds no rzrun any more. The agents of the others, and the one of all
 * hosts, pass on what daemons say last. */
static void end_agents_of_absent(const struct rz_hosts *hosts)
{
    for (uint32_t i = 0; i < count(hosts); i++) {
        if (rz_hosts_lacks(hosts, i)) {
            rz_agents_signal_node(hosts->agents, i, SIGTERM);
        }
    }
}

void rz_hosts_close(struct rz_hosts *hosts, bool detached)
{
    if (!hosts) {
        return;
    }
    rz_hosts_ending(hosts);
    bool all_here = true, none_lost = true;
    for (uint32_t i = 0; i < count(hosts); i++) {
        all_here &= !hosts->all[i].remote || hosts->all[i].here;
        none_lost &= !hosts->config.nodes[i].lost;
        if (hosts->all[i].alive) {
            rz_stream_close(hosts->all[i].alive);
        }
    }
    if (detached) {
        rz_agents_signal(hosts->agents, SIGTERM);
    } else if (!all_here) {
        end_agents_of_absent(hosts);
    }
    rz_agents_close(hosts->agents, all_here && none_lost ? AGENTS_END_MS : FAILED_AGENTS_END_MS);
    rz_proof_wipe(&hosts->terms, sizeof(hosts->terms));
    free(hosts->all);
    free(hosts);
}
