/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the list of nodes from --host, --hostfile or emulation, and places the ranks by the rules
 * of place/place.h. */
#include "launch/layout.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "cli/quantity.h"
#include "launch/allocation.h"
#include "launch/text_file.h"
#include "port/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What names of hosts, and of users before an '@', consist of. An agent sees none that it would
 * take for an option. */
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@"

/* The length of the user's part of a host's name, with its '@'. */
static size_t user_length(const char *host)
{
    const char *at = strrchr(host, '@');
    return at ? (size_t)(at + 1 - host) : 0;
}

static bool is_good_name(const char *host, const char **why)
{
    struct rz_address address;
    *why = "a host name has 1 to 63 characters";
    if (!*host) {
        return false;
    }
    size_t good = strspn(host, HOST_CHARACTERS), user = user_length(host);
    if (good >= user && strchr(host + user, ':')) {
        *why = "an IPv6 address is like fd78::1, or, with slots, [fd78::1]:4";
        return *host != '-' && host[user] != '[' &&
               rz_address_parse(host + user, &address) == RZ_OK;
    }
    *why = "a host name has letters, digits, '-', '_', '.' and '@' alone, and begins with no '-'";
    return host[good] == '\0' && *host != '-';
}

static bool add_node(struct rz_launch_layout *layout, const struct rz_layout_node *node,
                     const char **why)
{
    if (!is_good_name(node->host, why)) {
        return false;
    }
    *why = "there are too many nodes";
    if (layout->n_nodes == RZ_NODES_MAX) {
        return false;
    }
    layout->nodes = realloc(layout->nodes, (layout->n_nodes + 1) * sizeof(*layout->nodes));
    rz_need_memory(layout->nodes, "for the list of nodes");
    layout->nodes[layout->n_nodes++] = *node;
    return true;
}

/* An address has one text, so that the same host is found again. A name that is too long is left
 * empty; `add` refuses it. */
static void name_host(struct rz_layout_node *node, const char *host)
{
    struct rz_address address;
    char text[RZ_ADDRESS_TEXT];
    size_t user = user_length(host);
    const char *name = host + user;
    if (strchr(name, ':') && rz_address_parse(name, &address) == RZ_OK) {
        name = rz_address_ip_text(&address, text);
    }
    if (user + strlen(name) < sizeof(node->host)) {
        snprintf(node->host, sizeof(node->host), "%.*s%s", (int)user, host, name);
    }
}

/* Cuts HOST[:SLOTS] behind HOST, and returns SLOTS, or NULL. Brackets around an IPv6 address go;
 * without them it has no slots. */
static char *cut_slots(char *word)
{
    char *host = word + user_length(word), *end = *host == '[' ? strchr(host, ']') : NULL;
    if (end && memchr(host, ':', (size_t)(end - host)) && (end[1] == ':' || end[1] == '\0')) {
        char *slots = end[1] == ':' ? end + 2 : NULL;
        *end = '\0';
        memmove(host, host + 1, (size_t)(end - host));
        return slots;
    }
    char *colon = strchr(host, ':');
    if (!colon || strchr(colon + 1, ':')) {
        return NULL;
    }
    *colon = '\0';
    return colon + 1;
}

static bool read_slots(const char *text, struct rz_layout_node *node, const char **why)
{
    uint64_t number;
    *why = "slots are a whole number from 1 on";
    if (!rz_quantity_number(text, 1, RZ_RANKS_MAX, &number)) {
        return false;
    }
    node->place.slots = (uint32_t)number;
    return true;
}

static bool read_rack(const char *text, struct rz_layout_node *node, const char **why)
{
    *why = "a rack's name has 1 to 31 characters";
    snprintf(node->rack, sizeof(node->rack), "%s", text);
    return *text && strlen(text) < sizeof(node->rack);
}

/* One host of a range. */
struct add_hosts {
    struct rz_launch_layout *layout;
    struct rz_layout_node node;
    const char **why;
};

static bool add_named(void *arg, const char *host)
{
    struct add_hosts *all = arg;
    all->node.host[0] = '\0';
    name_host(&all->node, host);
    return add_node(all->layout, &all->node, all->why);
}

/* Adds the host, or all hosts of node[1-3,07]. A bracket at the beginning is that of an address. */
static bool add_hosts(struct rz_launch_layout *layout, const char *host,
                      const struct rz_layout_node *node, const char **why)
{
    struct add_hosts all = {.layout = layout, .node = *node, .why = why};
    const char *bracket = strchr(host, '[');
    if (!bracket || bracket == host + user_length(host)) {
        return add_named(&all, host);
    }
    *why = "a range of hosts is like node[1-3,07]";
    return rz_allocation_list(host, add_named, &all);
}

/* Adds the host described by the first n bytes of list. */
static bool add_host(struct rz_launch_layout *layout, const char *list, size_t n, const char **why)
{
    char word[1024];
    struct rz_layout_node node = {.place.slots =
                                      1}; /* mpiexec counts a host without a number as one slot */
    *why = "a host name has 1 to 63 characters";
    if (n >= sizeof(word)) {
        return false;
    }
    memcpy(word, list, n);
    word[n] = 0;
    const char *slots = cut_slots(word);
    if (slots && !read_slots(slots, &node, why)) {
        return false;
    }
    return add_hosts(layout, word, &node, why);
}

/* The length of the first host of a list: commas in brackets are those of a range. */
static size_t first_host(const char *list)
{
    size_t n = strcspn(list, ",[");
    while (list[n] == '[') {
        n += strcspn(list + n, "]");
        n += strcspn(list + n, ",[");
    }
    return n;
}

bool rz_layout_add_hosts(struct rz_launch_layout *layout, const char *list, const char **why)
{
    static char text[256];
    for (unsigned number = 1;; number++) {
        size_t n = first_host(list);
        if (!add_host(layout, list, n, why)) {
            snprintf(text, sizeof(text), "host %u of the list: %s", number, *why);
            *why = text;
            return false;
        }
        list += n;
        if (!*list++) {
            return true;
        }
    }
}

/* Reads a word that follows a host. */
static bool read_word(const char *word, struct rz_layout_node *node, const char **why)
{
    if (strncmp(word, "slots=", 6) == 0) {
        return read_slots(word + 6, node, why);
    }
    if (strncmp(word, "rack=", 5) == 0) {
        return read_rack(word + 5, node, why);
    }
    if (strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0) {
        uint64_t number;
        *why = "max_slots are a whole number from 1 on";
        bool good = rz_quantity_number(word + 10, 1, RZ_RANKS_MAX, &number);
        node->slots_max = good ? (uint32_t)number : 0;
        return good;
    }
    *why = "only slots=N, max_slots=N and rack=NAME may follow a host";
    return false;
}

static bool take_node_line(void *arg, char *line, const char **why)
{
    struct rz_layout_node node = {.place.slots = 0};
    char *save, *word;
    line[strcspn(line, "#\n")] = 0;
    char *host = strtok_r(line, " \t\r", &save);
    if (!host) {
        return true;
    }
    const char *slots = cut_slots(host);
    bool good = !slots || read_slots(slots, &node, why);
    while (good && (word = strtok_r(NULL, " \t\r", &save))) {
        good = read_word(word, &node, why);
    }
    if (good && node.slots_max > 0 && node.slots_max < node.place.slots) {
        *why = "max_slots are fewer than slots";
        return false;
    }
    if (node.place.slots == 0) {
        node.place.slots = node.slots_max > 0 ? node.slots_max : 1;
    }
    return good && add_hosts(arg, host, &node, why);
}

bool rz_layout_add_hostfile(struct rz_launch_layout *layout, const char *file, const char **why)
{
    uint32_t before = layout->n_nodes;
    if (!rz_text_file_lines(file, take_node_line, layout, why)) {
        return false;
    }
    *why = "the file names no host; a line is HOST [slots=N] [max_slots=N] [rack=NAME]";
    return layout->n_nodes > before;
}

bool rz_layout_emulate(struct rz_launch_layout *layout, uint32_t n, const char **why)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!add_node(layout, &(struct rz_layout_node){.host = "localhost"}, why)) {
            return false;
        }
    }
    return true;
}

void rz_layout_merge_remote(struct rz_launch_layout *layout)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        struct rz_layout_node *node = &layout->nodes[i], *same = NULL;
        for (uint32_t k = 0; node->remote && k < n && !same; k++) {
            same = strcmp(layout->nodes[k].host, node->host) == 0 ? &layout->nodes[k] : NULL;
        }
        if (same) {
            same->place.slots += node->place.slots;
        } else {
            layout->nodes[n++] = *node;
        }
    }
    layout->n_nodes = n;
}

void rz_layout_per_node(struct rz_launch_layout *layout, uint32_t n)
{
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        layout->nodes[i].place.slots = n;
    }
}

void rz_layout_spare(struct rz_launch_layout *layout, uint32_t n)
{
    rz_assert(n < layout->n_nodes);
    for (uint32_t i = layout->n_nodes - n; i < layout->n_nodes; i++) {
        layout->nodes[i].place.spare = true;
    }
}

void rz_layout_divide_cores(struct rz_launch_layout *layout, uint32_t n_cores)
{
    uint32_t first;
    uint32_t n_here = 0, here = 0;
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        n_here += !layout->nodes[i].remote;
    }
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        if (layout->nodes[i].remote) { /* the cores of another host are not known here */
            layout->nodes[i].place.cores = layout->nodes[i].place.slots;
            continue;
        }
        rz_place_share(n_cores, n_here, here++, &first, &layout->nodes[i].place.cores);
    }
}

/* ---- placing ---- */

/* The nodes with only the properties that the rules use. */
static struct rz_place_node *plain_nodes(const struct rz_launch_layout *layout)
{
    struct rz_place_node *nodes = calloc(layout->n_nodes, sizeof(*nodes));
    rz_need_memory(nodes, "for the list of nodes");
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        nodes[i] = layout->nodes[i].place;
    }
    return nodes;
}

uint64_t rz_layout_slots(const struct rz_launch_layout *layout)
{
    struct rz_place_node *nodes = plain_nodes(layout);
    uint64_t slots = rz_place_slots(nodes, layout->n_nodes);
    free(nodes);
    return slots;
}

/* Racks as numbers: the number of the first node in the rack. */
static void number_racks(const struct rz_launch_layout *layout, uint32_t *rack)
{
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        rack[i] = i;
        for (uint32_t j = 0; j < i && rack[i] == i && *layout->nodes[i].rack; j++) {
            if (strcmp(layout->nodes[j].rack, layout->nodes[i].rack) == 0) {
                rack[i] = j;
            }
        }
    }
}

/* Renumbers nodes, with all their properties and their ranks. */
static void number_along_ring(struct rz_launch_layout *layout)
{
    uint32_t n = layout->n_nodes;
    uint32_t *rack = calloc(n, sizeof(*rack)), *order = calloc(n, sizeof(*order));
    uint32_t *number = calloc(n, sizeof(*number));
    struct rz_layout_node *nodes = calloc(n, sizeof(*nodes));
    rz_need_memory(rack && order && number && nodes, "for the list of nodes");
    number_racks(layout, rack);
    rz_place_ring(rack, n, order);
    for (uint32_t i = 0; i < n; i++) {
        number[order[i]] = i;
        nodes[i] = layout->nodes[order[i]];
    }
    for (uint32_t rank = 0; rank < layout->n_ranks; rank++) {
        layout->placement[rank] = number[layout->placement[rank]];
    }
    free(layout->nodes);
    layout->nodes = nodes;
    free(rack);
    free(order);
    free(number);
}

void rz_layout_place(struct rz_launch_layout *layout, uint32_t n_ranks, enum rz_place_by by)
{
    rz_assert(layout->n_nodes > 0);
    layout->n_ranks = n_ranks;
    layout->placement = calloc(n_ranks, sizeof(*layout->placement));
    layout->slots = calloc(layout->n_nodes, sizeof(*layout->slots));
    rz_need_memory(layout->placement && layout->slots, "for the placement of ranks");
    struct rz_place_node *nodes = plain_nodes(layout);
    if (layout->given) {
        memcpy(layout->placement, layout->given, n_ranks * sizeof(*layout->placement));
    } else {
        rz_place_ranks(by, nodes, layout->n_nodes, n_ranks, layout->placement);
    }
    uint32_t n_here = 0; /* they share the cores of this machine */
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        layout->nodes[i].share = layout->nodes[i].remote ? 0 : n_here++;
    }
    free(nodes);
    number_along_ring(layout);
    nodes = plain_nodes(layout);
    rz_place_capacities(nodes, layout->n_nodes, layout->placement, n_ranks, layout->slots);
    free(nodes);
}

uint32_t rz_layout_overfull_node(const struct rz_launch_layout *layout, uint32_t *n_ranks)
{
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        *n_ranks = 0;
        for (uint32_t rank = 0; rank < layout->n_ranks; rank++) {
            *n_ranks += layout->placement[rank] == i;
        }
        if (*n_ranks > layout->nodes[i].place.cores) {
            return i;
        }
    }
    return RZ_ID_NONE;
}

void rz_layout_clear(struct rz_launch_layout *layout)
{
    free(layout->nodes);
    free(layout->given);
    free(layout->placement);
    free(layout->slots);
    *layout = (struct rz_launch_layout){0};
}
