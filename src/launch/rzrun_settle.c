/* SPDX-License-Identifier: BSD-3-Clause */
/* Completes the options after the command line was read: defaults that depend on other options or
 * on the machine, and checks of their combinations. */
#include "launch/rzrun_private.h"

#include "base/assert.h"
#include "cli/quantity.h"
#include "launch/host_options.h"
#include "launch/silent.h"
#include "outcome/exit_codes.h"
#include "place/machine.h"
#include "port/netns.h"
#include "port/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --spares all: the first nodes with enough slots for the ranks are used, the others are spares. */
static void settle_spares(struct rz_rzrun_options *options)
{
    const struct rz_launch_layout *layout = &options->layout;
    uint64_t n_ranks = 0, places = 0;
    uint32_t used = 0;
    if (!options->all_spares) {
        return;
    }
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        if (options->contexts[i].n_ranks == 0) {
            rz_cli_refuse(&rz_rzrun_cli, "--spares all needs the number of ranks: -n N");
        }
        n_ranks += options->contexts[i].n_ranks;
    }
    while (used < layout->n_nodes && places < n_ranks) {
        uint32_t slots = layout->nodes[used++].place.slots;
        places += slots > 0 ? slots : 1;
    }
    options->n_spares = layout->n_nodes - used;
}

static void settle_ranks(struct rz_rzrun_options *options)
{
    uint64_t slots = rz_layout_slots(&options->layout);
    uint32_t *first = &options->contexts[0].n_ranks;
    for (uint32_t i = 0; options->n_contexts > 1 && i < options->n_contexts; i++) {
        if (!options->contexts[i].n_ranks) {
            options->contexts[i].n_ranks = 1;
        }
    }
    if (!*first && options->n_contexts == 1 && options->rankfile.n > 0) {
        *first = options->rankfile.n;
    } else if (!*first) {
        *first = slots ? (uint32_t)(slots < RZ_RANKS_MAX ? slots : RZ_RANKS_MAX)
                       : options->layout.n_nodes - options->n_spares;
    }
    uint64_t n = 0;
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        n += options->contexts[i].n_ranks;
    }
    if (options->rankfile.n > 0 && n != options->rankfile.n) {
        rz_cli_refuse(&rz_rzrun_cli, "--rankfile names the hosts of %u ranks, and there are %llu",
                      options->rankfile.n, (unsigned long long)n);
    }
    if (n > RZ_RANKS_MAX) {
        rz_cli_refuse(&rz_rzrun_cli, "all programs together have more than %d ranks", RZ_RANKS_MAX);
    }
    options->n_ranks = (uint32_t)n;
    options->slots_limit = slots && !options->oversubscribe;
    if (options->slots_limit && options->n_ranks > slots) {
        fprintf(stderr,
                "rzrun: %u ranks do not fit into %llu slots%s; add hosts or slots (--host "
                "HOST:SLOTS), or use --oversubscribe\n",
                options->n_ranks, (unsigned long long)slots,
                options->n_spares ? " (those of --spares not counted)" : "");
        exit(RZ_EXIT_SLOTS);
    }
}

/*
 * Whether the ranks share processors: then the library takes algorithms with few steps, the same at
 * all processes. Of agreements that is a star within the nodes (RZ_AGREE_TREE); the user's own
 * choice has precedence.
 */
static void settle_oversubscription(struct rz_rzrun_options *options)
{
    uint64_t places = rz_layout_slots(&options->layout);
    const char *chosen = getenv("RZ_AGREE_TREE");
    char text[64];
    if (!options->named) {
        places = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    }
    options->oversubscribed = places && options->n_ranks > places;
    if (!chosen && options->oversubscribed) {
        chosen = "star";
    }
    if (!chosen) {
        return;
    }
    snprintf(text, sizeof(text), "RZ_AGREE_TREE=%s", chosen); /* lower precedence than -x */
    rz_texts_add(&options->environment, text);
}

static void settle_timeout(struct rz_rzrun_options *options)
{
    const char *timeout = getenv("MPIEXEC_TIMEOUT"); /* of other launchers */
    if (!timeout || !*timeout || options->timeout || options->detach) {
        return;
    }
    if (!rz_quantity_seconds(timeout, &options->timeout) || options->timeout == 0) {
        rz_cli_refuse(&rz_rzrun_cli, "MPIEXEC_TIMEOUT is '%s': it needs a number of seconds",
                      timeout);
    }
}

/* Returns 0 if they are not needed. */
static uint32_t cores_of_machine(const struct rz_rzrun_options *options)
{
    struct rz_machine machine;
    if (!options->bind_to_core && options->map_by != RZ_PLACE_BY_CORE) {
        return 0;
    }
    if (rz_machine_look(&machine) != RZ_OK) {
        fprintf(stderr, "rzrun: hwloc does not know the cores of this machine; --map-by slot and "
                        "--bind-to none work without it\n");
        exit(RZ_EXIT_START);
    }
    uint32_t n = machine.n_cores;
    rz_machine_clear(&machine);
    return n;
}

static void check_binding(const struct rz_rzrun_options *options)
{
    uint32_t n_ranks, node;
    if (!options->bind_to_core || options->oversubscribe) {
        return;
    }
    node = rz_layout_overfull_node(&options->layout, &n_ranks);
    if (node == RZ_ID_NONE) {
        return;
    }
    fprintf(stderr,
            "rzrun: --bind-to core: node %u has %u ranks and, of this machine's cores, %u; start "
            "fewer ranks, leave them unbound (--bind-to none), or use --oversubscribe to bind only "
            "as many as there are cores\n",
            node, n_ranks, options->layout.nodes[node].place.cores);
    exit(RZ_EXIT_SLOTS);
}

static void settle_rankfile(struct rz_rzrun_options *options)
{
    const char *why;
    if (options->rankfile.n == 0) {
        return;
    }
    if (options->n_spares > 0 || options->per_node > 0 || options->emulated_nodes) {
        rz_cli_refuse(&rz_rzrun_cli, "--rankfile says where ranks start: leave out --nodes, "
                                     "--spares and the number of ranks per node");
    }
    if (!rz_rankfile_settle(&options->rankfile, &options->layout, !options->oversubscribe, &why)) {
        rz_cli_refuse(&rz_rzrun_cli, "--rankfile: %s", why);
    }
}

static void settle_layout(struct rz_rzrun_options *options)
{
    const char *why;
    if (options->emulated_nodes && options->layout.n_nodes) {
        rz_cli_refuse(
            &rz_rzrun_cli,
            "--nodes emulates nodes, --host and --hostfile name them: give one or the other");
    }
    if (options->adapter == RZ_ADAPTER_NETNS && options->layout.n_nodes) {
        rz_cli_refuse(&rz_rzrun_cli, "--adapter netns is for emulated nodes: give --nodes");
    }
    if (options->adapter == RZ_ADAPTER_NETNS && options->emulated_nodes > RZ_NETNS_NODES_MAX) {
        rz_cli_refuse(&rz_rzrun_cli, "--adapter netns can have %d nodes, as many as a switch ports",
                      RZ_NETNS_NODES_MAX);
    }
    rz_host_options_allocation(options, &rz_rzrun_cli);
    if (options->rankfile.n > 0 && options->layout.n_nodes == 0 &&
        !rz_rankfile_add_nodes(&options->rankfile, &options->layout, &why)) {
        rz_cli_refuse(&rz_rzrun_cli, "--rankfile: %s", why);
    }
    options->named = options->layout.n_nodes > 0;
    if (!options->named &&
        !rz_layout_emulate(&options->layout, options->emulated_nodes ? options->emulated_nodes : 1,
                           &why)) {
        rz_cli_refuse(&rz_rzrun_cli, "--nodes: %s", why);
    }
    if (options->n_spares >= options->layout.n_nodes) {
        rz_cli_refuse(&rz_rzrun_cli,
                      "--spares %u leaves no node to start on: there are %u; add nodes (--nodes, "
                      "--host), or keep fewer free",
                      options->n_spares, options->layout.n_nodes);
    }
    if (options->per_node > 0) {
        rz_layout_per_node(&options->layout, options->per_node);
        options->oversubscribe = true;
        /* --per-node says where ranks start, not how many may be spawned. */
    }
    settle_spares(options);
    rz_rzrun_hosts_settle(options);
    rz_layout_spare(&options->layout, options->n_spares);
    settle_ranks(options);
    settle_rankfile(options);
    settle_oversubscription(options);
    rz_layout_divide_cores(&options->layout, cores_of_machine(options));
    rz_layout_place(&options->layout, options->n_ranks, options->map_by);
    check_binding(options);
}

/* Later failures may leave fewer nodes than a group needs; then the group consists of the remaining
 * ones. */
static void check_scheme(const struct rz_rzrun_options *options)
{
    char text[RZ_SCHEME_TEXT_MAX];
    uint32_t n = rz_scheme_nodes(&options->scheme);
    rz_scheme_text(&options->scheme, text);
    if (options->layout.n_nodes < n) {
        rz_cli_refuse(&rz_rzrun_cli,
                      "%s %s needs groups of %u nodes, and there are %u: add nodes "
                      "(--nodes, --host), or use smaller groups",
                      options->rewind_scheme_given ? "--rewind-scheme" : "--checkpoint", text, n,
                      options->layout.n_nodes);
    }
}

static void check_faults(const struct rz_rzrun_options *options)
{
    for (uint32_t i = 0; i < options->n_faults; i++) {
        const struct rz_fault *fault = &options->faults[i];
        for (uint32_t n = 0; n < fault->n_nodes; n++) {
            if (fault->nodes[n] >= options->layout.n_nodes) {
                rz_cli_refuse(&rz_rzrun_cli, "--inject: there is no node %u, they are 0 to %u",
                              fault->nodes[n], options->layout.n_nodes - 1);
            }
        }
        uint32_t bound = fault->node ? options->layout.n_nodes : options->n_ranks;
        if (!fault->random && fault->target >= bound) {
            rz_cli_refuse(&rz_rzrun_cli, "--inject: there is no %s %u, they are 0 to %u",
                          fault->node ? "node" : "rank", fault->target, bound - 1);
        }
    }
}

/* max_slots of a hostfile, which hold with --oversubscribe, too. */
static void check_slots_max(const struct rz_rzrun_options *options)
{
    for (uint32_t i = 0; i < options->layout.n_nodes; i++) {
        const struct rz_layout_node *node = &options->layout.nodes[i];
        uint32_t n = 0;
        for (uint32_t rank = 0; rank < options->n_ranks; rank++) {
            n += options->layout.placement[rank] == i;
        }
        if (node->slots_max > 0 && n > node->slots_max) {
            fprintf(stderr,
                    "rzrun: host %s would have %u ranks, and max_slots=%u of the hostfile are the "
                    "most that it may have; start fewer, or raise it\n",
                    node->host, n, node->slots_max);
            exit(RZ_EXIT_SLOTS);
        }
    }
}

/* Each daemon, each rank of a job of several nodes, and rzrun where daemons of other hosts connect
 * to it, listen at a port. */
static void check_ports(const struct rz_rzrun_options *options)
{
    unsigned low, high;
    uint32_t n_nodes = options->layout.n_nodes, here = options->n_remote > 0;
    if (!options->port_range || sscanf(options->port_range, "%u-%u", &low, &high) != 2) {
        return;
    }
    for (uint32_t i = 0; i < n_nodes; i++) {
        uint32_t its = 1;
        for (uint32_t rank = 0; n_nodes > 1 && rank < options->n_ranks; rank++) {
            its += options->layout.placement[rank] == i;
        }
        here += options->layout.nodes[i].remote ? 0 : its;
        uint32_t wanted = options->layout.nodes[i].remote ? its : here;
        if (wanted > high - low + 1) {
            rz_cli_refuse(&rz_rzrun_cli,
                          "--port-range %s has %u ports, and %s needs at least %u: one for each "
                          "daemon, and for each rank of a job of several nodes",
                          options->port_range, high - low + 1,
                          options->layout.nodes[i].remote ? options->layout.nodes[i].host
                                                          : "this machine",
                          wanted);
        }
    }
}

/* Nodes on one machine reach each other over the loopback device, by IPv4 or, where it has none, by
 * IPv6 (daemon/daemon.c); one node needs neither. */
static void check_loopback(const struct rz_rzrun_options *options)
{
    enum { WITHIN_MS = 5000 };
    const struct rz_address v4 = {.ip = RZ_IPV4(127, 0, 1, 1)};
    struct rz_address v6;
    if (options->n_remote > 0 || options->layout.n_nodes < 2 ||
        options->adapter == RZ_ADAPTER_NETNS) {
        return;
    }
    rz_status_t status = rz_socket_reaches(&v4, WITHIN_MS);
    const char *why = status == RZ_ERR_TIMEOUT ? "no answer" : strerror(errno);
    if (status == RZ_OK ||
        (rz_address_parse("::1", &v6) == RZ_OK && rz_socket_reaches(&v6, WITHIN_MS) == RZ_OK)) {
        return;
    }
    fprintf(stderr,
            "rzrun: nodes on one machine cannot reach each other over the loopback device lo: "
            "127.0.1.1: %s; as root: ip link set lo up, and look for firewall rules on lo\n",
            why);
    exit(RZ_EXIT_START);
}

static void settle_stdout(struct rz_rzrun_options *options)
{
    if (options->rank_stdout == RZ_STDOUT_AUTO) {
        options->rank_stdout =
            isatty(STDOUT_FILENO) && !options->detach ? RZ_STDOUT_PTY : RZ_STDOUT_LINE;
    }
    if (options->rank_stdout != RZ_STDOUT_FULL) { /* also where there are no terminals left */
        rz_texts_add(&options->environment, "RZ_STDOUT=line");
    }
}

static void settle_heartbeats(struct rz_rzrun_options *options)
{
    const char *why = "", *usual = getenv("RZ_HB_TIMEOUT");
    if (!options->hb_timeout) {
        rz_time least = 3 * options->hb_period;
        options->hb_timeout = options->emulated_nodes > 1 ? RZ_SECOND : 300 * RZ_MILLISECOND;
        if (usual && *usual && !rz_rzrun_heartbeat(usual, &options->hb_timeout, &why)) {
            rz_cli_refuse(&rz_rzrun_cli, "RZ_HB_TIMEOUT is '%s': %s", usual, why);
        }
        options->hb_timeout = options->hb_timeout > least ? options->hb_timeout : least;
    }
    if (options->hb_timeout <= options->hb_period) {
        rz_cli_refuse(&rz_rzrun_cli,
                      "--hb-timeout must be longer than --hb-period, best three times as long");
    }
}

void rz_rzrun_settle(struct rz_rzrun_options *options)
{
    rz_rzrun_conflicts_check(options);
    settle_timeout(options);
    settle_heartbeats(options);
    options->accept_failures |= options->with_ft && options->on_failure != RZ_ON_FAILURE_ABORT &&
                                options->on_failure != RZ_ON_FAILURE_RESTART;
    if (options->verbosity > 1 && !options->levels_given) {
        rz_trace_levels_raise(&options->levels, RZ_TRACE_LEVEL_info);
    }
    settle_stdout(options);
    settle_layout(options);
    check_slots_max(options);
    check_ports(options);
    check_loopback(options);
    if (!options->silence_timeout) {
        options->silence_timeout =
            options->layout.n_nodes > 1 ? RZ_SILENT_NODES : RZ_SILENT_ONE_NODE;
    }
    rz_debugger_settle(options);
    rz_rzrun_rewind_settle(options); /* may choose the scheme */
    check_scheme(options);
    rz_rzrun_checkpoints_settle(options);
    check_faults(options);
}
