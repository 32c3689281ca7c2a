/* SPDX-License-Identifier: BSD-3-Clause */
/* The start of a daemon by an agent: reads BEGIN, starts the hosts below, connects to rzrun. */
#include "daemon/launcher/remote_daemon.h"

#include "base/no_memory.h"
#include "port/child_process.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "port/interface.h"
#include "port/process.h"
#include "port/signals.h"
#include "remote/agent.h"
#include "wire/launch_messages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An agent passes on within this time what rzrun wrote. */
#define BEGIN_WITHIN (60 * RZ_SECOND)
/* How long a connection to each address of rzrun may take at first, where there are several. */
#define FIRST_WITHIN (2 * RZ_SECOND)
/* How often the way to rzrun is tried again where it closed the connection without a word: it had
 * too many at that moment. */
#define AGAIN_MS 200
/* How long agents may take to end after their daemons. */
#define AGENTS_END_MS 2000
/* Words of an agent; children of a host. */
enum { WORDS_MAX = RZ_AGENT_WORDS_MAX, CHILDREN_MAX = 4096 };

/* ---- What it begins with ---- */

static bool read_exactly(uint8_t *bytes, size_t n, rz_time deadline)
{
    const int fds[] = {STDIN_FILENO};
    for (size_t at = 0; at < n;) {
        rz_time now = rz_clock_now();
        if (now >= deadline ||
            !rz_descriptor_await(fds, 1, (int)((deadline - now) / RZ_MILLISECOND) + 1)) {
            return false;
        }
        ssize_t got = read(STDIN_FILENO, bytes + at, n - at);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
            return false;
        }
        at += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* False: *why. The message refers to memory that stays. */
static bool read_begin(struct rz_remote_begin *begin, const char **why)
{
    uint8_t header[4];
    struct rz_wire_reader r;
    struct rz_remote_message message;
    rz_time deadline = rz_clock_now() + BEGIN_WITHIN;
    *why = "nothing was read from standard input; rzd --remote is started by rzrun";
    if (!read_exactly(header, sizeof(header), deadline)) {
        return false;
    }
    rz_wire_reader_init(&r, header, sizeof(header));
    uint32_t n = rz_wire_get_u32(&r);
    *why = "what was read from standard input is not from an rzrun of this version (" RZ_VERSION
           "); install one version on all hosts";
    if (n > RZ_REMOTE_MAX) {
        return false;
    }
    static uint8_t *bytes; /* the texts of BEGIN are there as long as the process runs */
    bytes = malloc(n);
    rz_need_memory(bytes, "for the start of the daemon");
    if (!read_exactly(bytes, n, deadline) || rz_remote_decode(&message, bytes, n) != RZ_OK) {
        free(bytes);
        return false;
    }
    *begin = message.begin;
    static char text[200];
    *why = text;
    snprintf(text, sizeof(text),
             "rzrun is of version %.40s, rzd here of version %s; install one version on all hosts",
             begin->release, RZ_VERSION);
    return begin->version == RZ_REMOTE_VERSION && strcmp(begin->release, RZ_VERSION) == 0 &&
           begin->key_length == RZ_PROOF_KEY_BYTES;
}

/* ---- The hosts below ---- */

/* Lines that rzrun, or the starter above, reads. They are whole, and a reader that is gone does no
 * harm. */
static void said(void *arg, uint32_t node, const char *line)
{
    (void)arg;
    printf(RZ_AGENT_MARK "%u said %s\n", node, line);
    fflush(stdout);
}

static void agent_ended(void *arg, uint32_t node, int status)
{
    (void)arg;
    printf(RZ_AGENT_MARK "%u ended %d\n", node, status);
    fflush(stdout);
}

struct starter {
    struct event_base *base;
    struct rz_agents *agents;
    pid_t keeper;
    int status; /* of the keeper, once it has ended */
};

/* Ends with the keeper: the daemons below do not need their agents. */
static void look_at_keeper(evutil_socket_t fd, short what, void *arg)
{
    struct starter *starter = arg;
    int status;
    (void)fd, (void)what;
    if (rz_child_process_reap_ended(starter->keeper, &status)) {
        starter->status = rz_child_process_exit_of(status);
        event_base_loopbreak(starter->base);
    }
}

/* Returns the number of words, or -1. */
static int read_words(const struct rz_remote_begin *begin, const char *words[WORDS_MAX + 1])
{
    struct rz_wire_reader r;
    int n = 0;
    rz_wire_reader_init(&r, begin->agent, begin->agent_length);
    while (r.at != r.end && n < WORDS_MAX) {
        words[n++] = rz_wire_get_text(&r);
    }
    words[n] = NULL;
    return r.malformed || r.at != r.end ? -1 : n;
}

static uint32_t read_children(const struct rz_remote_begin *begin, struct rz_remote_host *hosts)
{
    struct rz_wire_reader r;
    uint32_t n = 0;
    rz_wire_reader_init(&r, begin->children, begin->children_length);
    while (r.at != r.end && n < CHILDREN_MAX && !r.malformed) {
        hosts[n].node = rz_wire_get_u32(&r);
        hosts[n].name = rz_wire_get_text(&r);
        n += !r.malformed;
    }
    return n;
}

/* The parent of the keeper: looks after the agents of the hosts below. */
static _Noreturn void start_children(const struct rz_remote_begin *begin, pid_t keeper,
                                     const struct rz_remote_host *hosts, uint32_t n)
{
    const char *words[WORDS_MAX + 1];
    const struct timeval often = {.tv_usec = 100000};
    struct starter starter = {.base = event_base_new(), .keeper = keeper};
    rz_need_memory(starter.base, "to start other hosts");
    rz_signals_ignore_losses();
    rz_child_process_name("rzd-starter");
    struct event *looking = event_new(starter.base, -1, EV_PERSIST, look_at_keeper, &starter);
    rz_need_memory(looking, "to start other hosts");
    if (read_words(begin, words) <= 0) {
        for (uint32_t i = 0; i < n; i++) {
            said(NULL, hosts[i].node, "the command of the agent is not complete");
            agent_ended(NULL, hosts[i].node, EXIT_FAILURE);
        }
    } else {
        const struct rz_agents_config config = {.base = starter.base,
                                                .words = words,
                                                .command = begin->command,
                                                .begin = *begin,
                                                .said = said,
                                                .ended = agent_ended};
        rz_agents_open(&starter.agents, &config);
        rz_agents_start(starter.agents, hosts, n);
    }
    event_add(looking, &often);
    event_base_dispatch(starter.base);
    if (starter.agents) {
        rz_agents_close(starter.agents, AGENTS_END_MS);
    }
    exit(starter.status);
}

/* One agent has started all hosts, which have read the same: finds this one by its name, as the
 * batch system or the system has it. */
static bool find_own(struct rz_remote_begin *begin, const struct rz_remote_host *hosts, uint32_t n)
{
    char own[256] = "";
    const char *name = getenv("SLURMD_NODENAME");
    gethostname(own, sizeof(own) - 1);
    for (uint32_t i = 0; i < n; i++) {
        if (rz_host_same_name(hosts[i].name, name ? name : own)) {
            begin->node = hosts[i].node;
            begin->host = hosts[i].name;
            return true;
        }
    }
    fprintf(stderr, "rzd: this host, %s, is not in the list of rzrun, which begins with %s\n",
            name ? name : own, n > 0 ? hosts[0].name : "nothing");
    return false;
}

static bool fork_starter(struct rz_remote_begin *begin)
{
    static struct rz_remote_host hosts[CHILDREN_MAX];
    uint32_t n = read_children(begin, hosts);
    if (begin->node == RZ_ID_NONE) {
        return find_own(begin, hosts, n);
    }
    if (n == 0) {
        return true;
    }
    pid_t keeper = fork();
    if (keeper > 0) {
        start_children(begin, keeper, hosts, n);
    }
    if (keeper < 0) {
        fprintf(stderr, "rzd: cannot start other hosts: %s\n", strerror(errno));
    }
    return keeper == 0;
}

/* ---- The connection to rzrun ---- */

/* Tries all addresses in turn, each with its share of the time, and with no more than `most` for
 * the connection itself. *late: one of them has not answered in time. */
static rz_status_t try_each(const char *addresses, const struct rz_stream_terms *terms,
                            rz_time deadline, rz_time most, bool *late, struct rz_stream **stream)
{
    char list[2048], *save, *one;
    rz_status_t status = RZ_ERR_SYSTEM;
    unsigned left = 1;
    for (const char *at = addresses; *at; at++) {
        left += *at == ',';
    }
    snprintf(list, sizeof(list), "%s", addresses);
    for (one = strtok_r(list, ",", &save); one && left > 0; one = strtok_r(NULL, ",", &save)) {
        struct rz_address to;
        rz_time now = rz_clock_now(), share = deadline > now ? (deadline - now) / left : 0;
        left--;
        if (rz_address_parse(one, &to) == RZ_OK) {
            status = rz_stream_connect(stream, &to, terms, RZ_LAUNCH_JOB_MAX,
                                       now + (share < most ? share : most), now + share);
            *late |= status == RZ_ERR_TIMEOUT;
        }
        if (status == RZ_OK || status == RZ_ERR_CANCELLED) {
            break;
        }
    }
    return status;
}

/* A network that swallows what is sent to one address must not delay the start by its whole share
 * of the time: first each address has a moment. */
static rz_status_t try_addresses(const char *addresses, const struct rz_stream_terms *terms,
                                 rz_time deadline, struct rz_stream **stream)
{
    bool late = false;
    rz_status_t status = RZ_ERR_TIMEOUT;
    if (strchr(addresses, ',')) {
        status = try_each(addresses, terms, deadline, FIRST_WITHIN, &late, stream);
    }
    if (status != RZ_OK && status != RZ_ERR_CANCELLED && (late || status == RZ_ERR_TIMEOUT)) {
        status = try_each(addresses, terms, deadline, RZ_TIME_NEVER, &late, stream);
    }
    return status;
}

static rz_status_t reach(const struct rz_remote_begin *begin, enum rz_stream_purpose purpose,
                         rz_time deadline, struct rz_stream **stream)
{
    struct rz_stream_terms terms = {.job = begin->job, .node = begin->node, .purpose = purpose};
    rz_status_t status;
    memcpy(terms.key, begin->key, sizeof(terms.key));
    while ((status = try_addresses(begin->rzrun, &terms, deadline, stream)) ==
               RZ_ERR_AUTHENTICATION &&
           rz_clock_now() < deadline) {
        rz_descriptor_await(NULL, 0, AGAIN_MS);
    }
    rz_proof_wipe(&terms, sizeof(terms));
    return status;
}

/* The address at which other hosts reach this one: that of its connection to rzrun, or one of the
 * same family at the interface that was named. False: *why. */
static bool choose_address(struct rz_remote_daemon *remote, const struct rz_remote_begin *begin,
                           const char **why)
{
    struct rz_address *address = &remote->address;
    struct rz_address here;
    *why = "the address of its connection to rzrun is not known";
    if (rz_socket_own(rz_stream_fd(remote->messages), &here) != RZ_OK) {
        return false;
    }
    *address = rz_address_at(&here, 0);
    *why = "no interface here is the one of --interface";
    if (*begin->interface && !rz_interface_find(begin->interface, &here, address)) {
        return false;
    }
    *why = "it reaches rzrun from a link-local address alone, at which not all hosts reach it; see "
           "--interface of rzrun";
    return !rz_address_is_link_local(address);
}

/* Where one agent has started many hosts, rzrun learns by a report which of them has failed. */
static int give_up(const struct rz_remote_begin *begin, int status, const char *why)
{
    char line[500];
    snprintf(line, sizeof(line), "rzd: %s", why);
    fprintf(stderr, "%s\n", line);
    said(NULL, begin->node, line);
    agent_ended(NULL, begin->node, status);
    return status;
}

static int connect_to_rzrun(struct rz_remote_daemon *remote, const struct rz_remote_begin *begin)
{
    const char *why;
    char text[400];
    rz_time deadline = rz_clock_now() + begin->within_ns;
    /* One that is named is looked for first: rzrun hears of a failure only before the connection.
     */
    if (*begin->interface && !rz_interface_find(begin->interface, NULL, &remote->address)) {
        return give_up(begin, RZ_REMOTE_EXIT_REFUSED,
                       "no interface here is the one of --interface");
    }
    rz_status_t status = reach(begin, RZ_STREAM_MESSAGES, deadline, &remote->messages);
    if (status == RZ_OK) {
        status = reach(begin, RZ_STREAM_ALIVE, deadline, &remote->alive);
    }
    if (status == RZ_ERR_CANCELLED) { /* another daemon has come for this node */
        return RZ_REMOTE_EXIT_REFUSED;
    }
    if (status != RZ_OK) {
        snprintf(text, sizeof(text),
                 "cannot reach rzrun at %.200s: %s; is there a firewall? See --interface and "
                 "--port-range of rzrun",
                 begin->rzrun, rz_status_text(status));
        return give_up(begin, RZ_REMOTE_EXIT_UNREACHED, text);
    }
    if (!choose_address(remote, begin, &why)) {
        return give_up(begin, RZ_REMOTE_EXIT_REFUSED, why);
    }
    return 0;
}

int rz_remote_daemon_begin(struct rz_remote_daemon *remote)
{
    struct rz_remote_begin begin;
    const char *why;
    if (!read_begin(&begin, &why)) {
        fprintf(stderr, "rzd: %s\n", why);
        return RZ_REMOTE_EXIT_REFUSED;
    }
    if (!fork_starter(&begin)) {
        return RZ_REMOTE_EXIT_REFUSED;
    }
    if (*begin.port_range) {
        setenv(RZ_PORT_RANGE, begin.port_range, 1); /* also of the ranks */
    }
    *remote = (struct rz_remote_daemon){.node = begin.node};
    return connect_to_rzrun(remote, &begin);
}
