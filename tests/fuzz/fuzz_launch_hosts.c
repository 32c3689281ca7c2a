/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of hosts, on the command line and in a file. */
#include "fuzz_text.h"
#include "launch/layout.h"
#include "port/address.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* An address, in its one form, maybe of a user. */
static bool is_ipv6(const char *host)
{
    const char *at = strrchr(host, '@');
    struct rz_address address;
    char text[RZ_ADDRESS_TEXT];
    host = at ? at + 1 : host;
    return rz_address_parse(host, &address) == RZ_OK &&
           strcmp(rz_address_ip_text(&address, text), host) == 0;
}

static void look(const struct rz_launch_layout *layout)
{
    rz_fuzz_holds(layout->n_nodes <= RZ_NODES_MAX);
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        const struct rz_layout_node *node = &layout->nodes[i];
        size_t n = strnlen(node->host, sizeof(node->host));
        rz_fuzz_holds(n > 0 && n < sizeof(node->host) && !strpbrk(node->host, " \t\n,#[]"));
        rz_fuzz_holds(!strchr(node->host, ':') || is_ipv6(node->host));
        rz_fuzz_holds(strnlen(node->rack, sizeof(node->rack)) < sizeof(node->rack));
        rz_fuzz_holds(node->place.slots >= 1 && node->place.slots <= RZ_RANKS_MAX);
    }
}

/* Every rank is on a node, and none beyond its node's slots while there are enough. */
static void place(struct rz_launch_layout *layout, uint32_t n_ranks, enum rz_place_by by)
{
    uint64_t slots = rz_layout_slots(layout);
    uint32_t *load = calloc(layout->n_nodes, sizeof(*load));
    rz_layout_place(layout, n_ranks, by);
    rz_fuzz_holds(layout->n_ranks == n_ranks);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        uint32_t node = layout->placement[rank];
        rz_fuzz_holds(node < layout->n_nodes);
        load[node]++;
        rz_fuzz_holds(slots < n_ranks || load[node] <= layout->nodes[node].place.slots);
    }
    free(load);
}

static bool add_file(struct rz_launch_layout *layout, const uint8_t *data, size_t size,
                     const char **why)
{
    char path[64];
    int fd = memfd_create("hostfile", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    bool good = rz_layout_add_hostfile(layout, path, why);
    close(fd);
    return good;
}

/* A line is a host, whatever its length: how many of them say something. */
static uint32_t lines_with_host(const uint8_t *data, size_t size)
{
    uint32_t n = 0;
    bool comment = false, something = false;
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '\n') {
            n += something;
            comment = something = false;
        } else if (data[i] == '#') {
            comment = true;
        } else if (!comment && data[i] != ' ' && data[i] != '\t' && data[i] != '\r') {
            something = true;
        }
    }
    return n + something;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    struct rz_launch_layout layout = {0};
    const char *why = NULL;
    bool list = rz_fuzz_below(&input, 2), good;
    uint32_t n_ranks = 1 + (uint32_t)rz_fuzz_below(&input, 64);
    enum rz_place_by by = (enum rz_place_by)(n_ranks % 3);
    if (list) {
        char *text = rz_fuzz_text(input.at, rz_fuzz_left(&input));
        good = rz_layout_add_hosts(&layout, text, &why);
        uint32_t commas = 0;
        for (const char *at = text; *at; at++) {
            commas += *at == ',';
        }
        rz_fuzz_holds(!good || layout.n_nodes == commas + 1);
        free(text);
    } else {
        good = add_file(&layout, input.at, rz_fuzz_left(&input), &why);
        if (good && !memchr(input.at, 0, rz_fuzz_left(&input))) {
            rz_fuzz_holds(layout.n_nodes == lines_with_host(input.at, rz_fuzz_left(&input)));
        }
    }
    rz_fuzz_holds(good || (why && *why));
    look(&layout);
    if (good && layout.n_nodes > 0) {
        place(&layout, n_ranks, by);
    }
    rz_layout_clear(&layout);
    return 0;
}

/* The first character says list (1) or file (0), the second how many ranks. */
static const char *const texts[] = {"1\7localhost",
                                    "1\7localhost:4,127.0.0.1,127.0.0.2:65536",
                                    "1\3localhost:1,localhost:1",
                                    "1\3[fd78::1]:4,fd78::2,me@[::1]:2",
                                    "0\7localhost\n# a comment\n127.0.0.5 slots=4\n\n",
                                    "0\7  localhost\tslots=2 rack=b # behind it\n127.0.0.1 rack=a",
                                    NULL};
static const char *const words[] = {"localhost",
                                    "127.0.0.1",
                                    "fd78::1",
                                    "[fd78::1]",
                                    ",",
                                    ":",
                                    ":4",
                                    " slots=3",
                                    "slots=",
                                    " rack=a",
                                    "#",
                                    "\n",
                                    "\t",
                                    "65536",
                                    "# a comment that is as long as a line may be, and longer: "
                                    "localhost localhost localhost localhost localhost localhost "
                                    "localhost localhost localhost localhost localhost localhost ",
                                    NULL};

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    size_t n = rz_fuzz_seed_text(texts, number, bytes, max);
    if (n > 0) {
        bytes[0] -= '0';
    }
    return n;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_launch_hosts",
                                              .input_max = 2048,
                                              .memory_fixed = 16 * 1024,
                                              .memory_factor = 128,
                                              .seed = seed,
                                              .words = words};
