/* SPDX-License-Identifier: BSD-3-Clause */
/* The binomial graph and the order in which its edges are used. */
#include "proto/spread/spread.h"

static bool contains(const rz_id *to, uint32_t n_to, rz_id id)
{
    for (uint32_t i = 0; i < n_to; i++) {
        if (to[i] == id) {
            return true;
        }
    }
    return false;
}

static uint32_t append(rz_id *to, uint32_t n_to, rz_id self, rz_id id)
{
    if (id == self || contains(to, n_to, id)) {
        return n_to;
    }
    to[n_to] = id;
    return n_to + 1;
}

/* Near ones first, behind the n_to that are there already. */
static uint32_t append_all(uint32_t n, rz_id self, rz_id *to, uint32_t n_to)
{
    for (uint64_t distance = 1; distance < n; distance *= 2) {
        n_to = append(to, n_to, self, (rz_id)(((uint64_t)self + distance) % n));
        n_to = append(to, n_to, self, (rz_id)(((uint64_t)self + n - distance) % n));
    }
    return n_to;
}

uint32_t rz_spread_neighbours_near(uint32_t n, rz_id self, rz_id to[RZ_SPREAD_NEIGHBOURS_MAX])
{
    return append_all(n, self, to, 0);
}

/* Position in the tree: parent is x without its highest bit, children are x + 2^k < n for 2^k > x.
 */
static uint32_t append_children(uint32_t n, rz_id self, rz_id origin, rz_id *to)
{
    uint32_t n_to = 0;
    uint64_t x = ((uint64_t)self + n - origin) % n;
    for (uint64_t distance = 1; distance < n; distance *= 2) {
        if (distance > x && x + distance < n) {
            n_to = append(to, n_to, self, (rz_id)(((uint64_t)self + distance) % n));
        }
    }
    return n_to;
}

uint32_t rz_spread_neighbours(uint32_t n, rz_id self, rz_id origin,
                              rz_id to[RZ_SPREAD_NEIGHBOURS_MAX])
{
    return append_all(n, self, to, append_children(n, self, origin, to));
}

uint32_t rz_spread_children(uint32_t n, rz_id self, rz_id origin)
{
    rz_id children[RZ_SPREAD_NEIGHBOURS_MAX];
    return append_children(n, self, origin, children);
}

uint32_t rz_spread_neighbours_wrong(uint32_t n, rz_id self, rz_id to[RZ_SPREAD_NEIGHBOURS_MAX])
{
    /* e^k, rounded down: the graph has as many distances as there are such powers up to n. */
    static const uint64_t powers_of_e[] = {
        1,       2,        7,        20,        54,        148,        403,       1096,
        2980,    8103,     22026,    59874,     162754,    442413,     1202604,   3269017,
        8886110, 24154952, 65659969, 178482300, 485165195, 1318815734, 3584912846};
    uint32_t n_to = 0;
    for (uint32_t k = 0; k < sizeof(powers_of_e) / sizeof(*powers_of_e) && powers_of_e[k] < n;
         k++) {
        uint64_t distance = ((UINT64_C(2) << k) - 1) % n;
        n_to = append(to, n_to, self, (rz_id)((self + distance) % n));
        n_to = append(to, n_to, self, (rz_id)((self + n - distance) % n));
    }
    return n_to;
}

uint32_t rz_spread_degree(uint32_t n)
{
    uint32_t powers = 0, ones = 0;
    while ((UINT64_C(1) << powers) < n) {
        powers++;
    }
    for (uint32_t rest = n; rest > 0; rest &= rest - 1) {
        ones++;
    }
    if (n <= 2) {
        return n - 1;
    }
    return 2 * powers - (ones == 1 ? 1 : ones == 2 ? 2 : 0);
}
