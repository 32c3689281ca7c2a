/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses a core for each process of this node. hwloc describes the machine (place/machine.h); the
 * processor set is made before the fork, so that the child needs no memory. */
#include "daemon/process/binding.h"

#include "base/no_memory.h"
#include "place/machine.h"
#include "place/place.h"
#include "port/processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rz_binding {
    bool binds;
    struct rz_machine machine;
    uint32_t first, n_cores; /* of the machine's cores, those of this node */
    bool *taken;             /* [n_cores]; used while a core is chosen */
    /* The set of the last choice; made before the fork, for the child. */
    struct rz_processor_set *set;
};

static rz_status_t open_arrays(struct rz_binding *binding)
{
    uint32_t highest = 0;
    for (uint32_t i = 0; i < binding->machine.n_processors; i++) {
        if (binding->machine.processors[i] > highest) {
            highest = binding->machine.processors[i];
        }
    }
    binding->set = rz_processor_set_make(highest);
    binding->taken = calloc(binding->n_cores + 1, sizeof(*binding->taken));
    return binding->set && binding->taken ? RZ_OK : RZ_ERR_NO_MEMORY;
}

rz_status_t rz_binding_open(struct rz_binding **result, const struct rz_daemon_job *job)
{
    *result = NULL;
    if (!(job->flags & (RZ_JOB_BIND_CORE | RZ_JOB_TELL_BINDING))) {
        return RZ_OK;
    }
    struct rz_binding *binding = calloc(1, sizeof(*binding));
    if (!binding) {
        return RZ_ERR_NO_MEMORY;
    }
    rz_status_t status = rz_machine_look(&binding->machine);
    if (status != RZ_OK) {
        free(binding);
        return status;
    }
    binding->binds = job->flags & RZ_JOB_BIND_CORE;
    binding->n_cores = binding->machine.n_cores;
    if (binding->binds) {
        rz_place_share(binding->machine.n_cores, job->shares, job->share, &binding->first,
                       &binding->n_cores);
    }
    status = open_arrays(binding);
    if (status != RZ_OK) {
        rz_binding_close(binding);
        return status;
    }
    *result = binding;
    return RZ_OK;
}

void rz_binding_close(struct rz_binding *binding)
{
    if (!binding) {
        return;
    }
    rz_machine_clear(&binding->machine);
    rz_processor_set_free(binding->set);
    free(binding->taken);
    free(binding);
}

/* The cores of a choice: one, or all cores of this node. */
static const struct rz_machine_core *cores_of(const struct rz_binding *binding, uint32_t core,
                                              uint32_t *n)
{
    *n = core == RZ_ID_NONE ? binding->n_cores : 1;
    return &binding->machine.cores[binding->first + (core == RZ_ID_NONE ? 0 : core)];
}

uint32_t rz_binding_processors(const struct rz_binding *binding)
{
    uint32_t n, processors = 0;
    if (!binding || !binding->binds) {
        return 0;
    }
    const struct rz_machine_core *cores = cores_of(binding, RZ_ID_NONE, &n);
    for (uint32_t i = 0; i < n; i++) {
        processors += cores[i].count;
    }
    return processors;
}

static void fill_set(struct rz_binding *binding, uint32_t core)
{
    uint32_t n;
    const struct rz_machine_core *cores = cores_of(binding, core, &n);
    rz_processor_set_clear(binding->set);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < cores[i].count; k++) {
            rz_processor_set_add(binding->set, binding->machine.processors[cores[i].first + k]);
        }
    }
}

uint32_t rz_binding_choose(struct rz_binding *binding, const struct rz_children *children)
{
    if (!binding || !binding->binds) {
        return RZ_ID_NONE;
    }
    memset(binding->taken, 0, binding->n_cores * sizeof(*binding->taken));
    for (const struct rz_child *p = children->first; p; p = p->next) {
        if (p->core < binding->n_cores && p->state != RZ_CHILD_FAILED) {
            binding->taken[p->core] = true;
        }
    }
    uint32_t core = rz_place_free_core(binding->taken, binding->n_cores);
    fill_set(binding, core);
    return core;
}

void rz_binding_apply(const struct rz_binding *binding)
{
    if (binding && binding->binds && binding->n_cores > 0) {
        rz_processor_set_apply(binding->set);
    }
}

void rz_binding_tell(const struct rz_binding *binding, uint32_t core, char *text, size_t bytes)
{
    char numbers[128], processors[128];
    uint32_t n;
    *text = '\0';
    if (!binding) {
        return;
    }
    const struct rz_machine *machine = &binding->machine;
    const struct rz_machine_core *cores = cores_of(binding, core, &n);
    if (n == 0) { /* there are more nodes than cores */
        snprintf(text, bytes, "not bound, no core of its own");
        return;
    }
    uint32_t *list = calloc(n, sizeof(*list));
    rz_need_memory(list, "for a list of cores");
    for (uint32_t i = 0; i < n; i++) {
        list[i] = cores[i].number;
    }
    rz_place_list(list, n, numbers, sizeof(numbers));
    free(list);
    uint32_t n_processors = cores[n - 1].first + cores[n - 1].count - cores[0].first;
    rz_place_list(machine->processors + cores[0].first, n_processors, processors,
                  sizeof(processors));
    if (core == RZ_ID_NONE) {
        snprintf(text, bytes, "not bound, cores %s, processors %s", numbers, processors);
    } else {
        snprintf(text, bytes, "core %s, processors %s, package %u, NUMA node %u", numbers,
                 processors, cores->package, cores->numa);
    }
}
