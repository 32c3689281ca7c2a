#include "launch/layout.h"

#include "base/assert.h"
#include "cli/quantity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool this_machine(const char *host)
{
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, own) == 0;
}

static bool add(struct rz_layout *layout, const char *host, uint32_t slots, const char **why)
{
    *why = "a host name has 1 to 63 characters";
    if (!*host || strlen(host) >= sizeof layout->nodes->host)
        return false;
    *why = "only names of this machine can be used so far (localhost, its own name, 127.x.y.z); "
           "--nodes N emulates nodes";
    if (!this_machine(host))
        return false;
    *why = "there are too many nodes";
    if (layout->n_nodes == RZ_NODES_MAX)
        return false;
    layout->nodes = realloc(layout->nodes, (layout->n_nodes + 1) * sizeof *layout->nodes);
    rz_assert(layout->nodes != NULL);
    struct rz_layout_node *node = &layout->nodes[layout->n_nodes++];
    *node = (struct rz_layout_node){.slots = slots};
    snprintf(node->host, sizeof node->host, "%s", host);
    return true;
}

static bool read_slots(const char *text, uint32_t *slots, const char **why)
{
    uint64_t number;
    *why = "slots are a whole number from 1 on";
    if (!rz_quantity_number(text, 1, RZ_RANKS_MAX, &number))
        return false;
    *slots = (uint32_t)number;
    return true;
}

bool rz_layout_add_hosts(struct rz_layout *layout, const char *list, const char **why)
{
    char word[128];
    while (true) {
        size_t n = strcspn(list, ",");
        *why = "a host name has 1 to 63 characters";
        if (n >= sizeof word)
            return false;
        memcpy(word, list, n);
        word[n] = 0;
        char *colon = strchr(word, ':');
        uint32_t slots = 1; /* as mpiexec counts a host that is only named */
        if (colon) {
            *colon = 0;
            if (!read_slots(colon + 1, &slots, why))
                return false;
        }
        if (!add(layout, word, slots, why))
            return false;
        list += n;
        if (!*list++)
            return true;
    }
}

bool rz_layout_add_hostfile(struct rz_layout *layout, const char *file, const char **why)
{
    char line[512];
    FILE *in = fopen(file, "r");
    *why = "the file cannot be read";
    if (!in)
        return false;
    bool good = true;
    while (good && fgets(line, sizeof line, in)) {
        char *save, *host, *rest;
        uint32_t slots = 1;
        line[strcspn(line, "#\n")] = 0;
        host = strtok_r(line, " \t", &save);
        if (!host)
            continue;
        rest = strtok_r(NULL, " \t", &save);
        if (rest) {
            *why = "behind a host stands nothing or slots=N";
            good = strncmp(rest, "slots=", 6) == 0 && !strtok_r(NULL, " \t", &save) &&
                   read_slots(rest + 6, &slots, why);
        }
        good = good && add(layout, host, slots, why);
    }
    fclose(in);
    return good;
}

bool rz_layout_emulate(struct rz_layout *layout, uint32_t n, const char **why)
{
    for (uint32_t i = 0; i < n; i++)
        if (!add(layout, "localhost", 0, why))
            return false;
    return true;
}

uint64_t rz_layout_slots(const struct rz_layout *layout)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        if (layout->nodes[i].slots == 0)
            return 0;
        all += layout->nodes[i].slots;
    }
    return all;
}

void rz_layout_place(struct rz_layout *layout, uint32_t n_ranks)
{
    rz_assert(layout->n_nodes > 0);
    uint64_t bound = rz_layout_slots(layout);
    uint32_t even = (n_ranks + layout->n_nodes - 1) / layout->n_nodes;
    layout->n_ranks = n_ranks;
    layout->placement = calloc(n_ranks, sizeof *layout->placement);
    layout->slots = calloc(layout->n_nodes, sizeof *layout->slots);
    rz_assert(layout->placement && layout->slots);
    bool bounded = bound >= n_ranks; /* oversubscribed or unbounded: evenly */
    uint32_t rank = 0;
    for (uint32_t node = 0; node < layout->n_nodes; node++) {
        uint32_t left = n_ranks - rank, nodes_left = layout->n_nodes - node;
        uint32_t share = bounded ? layout->nodes[node].slots : (left + nodes_left - 1) / nodes_left;
        layout->slots[node] = layout->nodes[node].slots ? layout->nodes[node].slots : even;
        for (uint32_t i = 0; i < share && rank < n_ranks; i++)
            layout->placement[rank++] = node;
    }
    rz_assert(rank == n_ranks);
}

void rz_layout_clear(struct rz_layout *layout)
{
    free(layout->nodes);
    free(layout->placement);
    free(layout->slots);
    *layout = (struct rz_layout){0};
}
