/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the file of --rankfile, and finds the nodes that it names. */
#include "launch/rankfile.h"

#include "base/no_memory.h"
#include "launch/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

static void make_room(struct rz_rankfile *ranks, uint32_t n)
{
    if (n <= ranks->n) {
        return;
    }
    ranks->hosts = realloc(ranks->hosts, n * sizeof(*ranks->hosts));
    rz_need_memory(ranks->hosts, "for the hosts of ranks");
    memset(ranks->hosts + ranks->n, 0, (n - ranks->n) * sizeof(*ranks->hosts));
    ranks->n = n;
}

static bool read_rank_line(struct rz_rankfile *ranks, const char *line, const char **why)
{
    unsigned rank;
    int at = 0, end = 0;
    *why = "a line is `rank N=HOST`, with a name of 1 to 63 characters";
    if (sscanf(line, " rank %9u = %n%*s%n", &rank, &at, &end) < 1 || end <= at ||
        (size_t)(end - at) >= sizeof(*ranks->hosts)) {
        return false;
    }
    *why = "only slot=... may follow the host";
    const char *rest = line + end + strspn(line + end, " \t\r");
    if (*rest != '\0' && strncmp(rest, "slot", 4) != 0) {
        return false;
    }
    *why = "there are too many ranks";
    if (rank >= RZ_RANKS_MAX) {
        return false;
    }
    make_room(ranks, rank + 1);
    *why = "the rank has a line already";
    if (*ranks->hosts[rank]) {
        return false;
    }
    snprintf(ranks->hosts[rank], sizeof(*ranks->hosts), "%.*s", end - at, line + at);
    return true;
}

static bool is_complete(const struct rz_rankfile *ranks, const char **why)
{
    static char text[100];
    *why = "it names no rank; a line is `rank N=HOST`";
    for (uint32_t i = 0; i < ranks->n; i++) {
        if (!*ranks->hosts[i]) {
            snprintf(text, sizeof(text), "rank %u has no line, and rank %u has one", i,
                     ranks->n - 1);
            *why = text;
            return false;
        }
    }
    return ranks->n > 0;
}

static bool take_rank_line(void *arg, char *line, const char **why)
{
    line[strcspn(line, "#\n")] = '\0';
    return line[strspn(line, " \t\r")] == '\0' || read_rank_line(arg, line, why);
}

bool rz_rankfile_read(struct rz_rankfile *ranks, const char *file, const char **why)
{
    rz_rankfile_clear(ranks);
    return rz_text_file_lines(file, take_rank_line, ranks, why) && is_complete(ranks, why);
}

void rz_rankfile_clear(struct rz_rankfile *ranks)
{
    free(ranks->hosts);
    *ranks = (struct rz_rankfile){0};
}

/* ---- Nodes ---- */

/* Returns RZ_ID_NONE if no node has this name. */
static uint32_t find_node(const struct rz_launch_layout *layout, const char *host)
{
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        if (strcmp(layout->nodes[i].host, host) == 0) {
            return i;
        }
    }
    return RZ_ID_NONE;
}

bool rz_rankfile_add_nodes(const struct rz_rankfile *ranks, struct rz_launch_layout *layout,
                           const char **why)
{
    for (uint32_t i = 0; i < ranks->n; i++) {
        uint32_t node = find_node(layout, ranks->hosts[i]);
        if (node != RZ_ID_NONE) {
            layout->nodes[node].place.slots++;
        } else if (!rz_layout_add_hosts(layout, ranks->hosts[i], why)) {
            return false;
        }
    }
    return true;
}

bool rz_rankfile_settle(const struct rz_rankfile *ranks, struct rz_launch_layout *layout,
                        bool bound, const char **why)
{
    static char text[256];
    uint32_t *n_ranks = calloc(layout->n_nodes, sizeof(*n_ranks));
    layout->given = calloc(ranks->n, sizeof(*layout->given));
    rz_need_memory(n_ranks && layout->given, "for the hosts of ranks");
    *why = text;
    bool good = true;
    for (uint32_t i = 0; good && i < ranks->n; i++) {
        uint32_t node = find_node(layout, ranks->hosts[i]);
        good = node != RZ_ID_NONE;
        if (!good) {
            snprintf(text, sizeof(text), "rank %u: the host %s is none of --host and --hostfile", i,
                     ranks->hosts[i]);
            break;
        }
        layout->given[i] = node;
        n_ranks[node]++;
    }
    for (uint32_t i = 0; good && i < layout->n_nodes; i++) {
        struct rz_layout_node *node = &layout->nodes[i];
        node->place.spare |= n_ranks[i] == 0;
        good = !bound || node->place.slots == 0 || n_ranks[i] <= node->place.slots;
        if (!good) {
            snprintf(text, sizeof(text),
                     "%u ranks on %s, which has %u slots; --oversubscribe allows it", n_ranks[i],
                     node->host, node->place.slots);
        }
    }
    free(n_ranks);
    return good;
}
