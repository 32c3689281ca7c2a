/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of the job: ranks, and those of each spawn. */
#include "gateway/gateway.h"

#include "base/no_memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rz_gateway_add_world(struct rz_gateway *gateway, uint32_t home,
                          const struct rz_gateway_process *processes, uint32_t n)
{
    bool *served_at = home == gateway->job.node ? calloc(gateway->job.n_nodes, 1) : NULL;
    uint32_t first = gateway->n_processes, world = gateway->n_worlds;
    gateway->processes =
        realloc(gateway->processes, ((size_t)first + n) * sizeof(*gateway->processes));
    gateway->worlds = realloc(gateway->worlds, ((size_t)world + 1) * sizeof(*gateway->worlds));
    rz_need_memory(gateway->processes && gateway->worlds &&
                       (served_at || home != gateway->job.node),
                   "for processes of the job");
    for (uint32_t i = 0; i < n; i++) {
        gateway->processes[first + i] = processes[i];
        gateway->processes[first + i].world = world;
        gateway->process_of[processes[i].slot] = first + i;
    }
    gateway->worlds[world] =
        (struct rz_gateway_world){.first = first, .n = n, .home = home, .served_at = served_at};
    gateway->n_processes += n;
    gateway->n_worlds++;
}

uint32_t rz_gateway_n_served(const struct rz_gateway *gateway)
{
    uint32_t n = 0;
    while (n < gateway->n_worlds && gateway->worlds[n].served) {
        n++;
    }
    return n;
}

uint32_t rz_gateway_find(const struct rz_gateway *gateway, uint32_t slot, uint32_t incarnation)
{
    uint32_t i = slot < gateway->job.n_slots ? gateway->process_of[slot] : UINT32_MAX;
    if (slot < gateway->job.n_ranks) {
        return i;
    }
    while (i != UINT32_MAX && (gateway->processes[i].slot != slot ||
                               gateway->processes[i].incarnation != incarnation)) {
        i = i > gateway->job.n_ranks ? i - 1 : UINT32_MAX; /* an earlier process of the slot */
    }
    return i;
}

void rz_gateway_add_text(struct rz_gateway_texts *texts, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    texts->at = realloc(texts->at, texts->bytes + (size_t)n + 1);
    rz_need_memory(texts->at, "for the environment of processes");
    vsnprintf((char *)texts->at + texts->bytes, (size_t)n + 1, format, again);
    va_end(again);
    texts->bytes += (size_t)n + 1;
}
