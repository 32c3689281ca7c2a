/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the cores that this process may use from hwloc's topology. */
#include "place/machine.h"

#include <hwloc.h>
#include <stdlib.h>

static uint32_t package_of(hwloc_topology_t topology, hwloc_obj_t core)
{
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
    return package && package->os_index != HWLOC_UNKNOWN_INDEX ? package->os_index : 0;
}

static uint32_t numa_of(hwloc_obj_t core)
{
    int node = core->nodeset ? hwloc_bitmap_first(core->nodeset) : -1;
    return node >= 0 ? (uint32_t)node : 0;
}

/* A core with those of its processors that this process may use, if any. */
static void add_core(struct rz_machine *machine, hwloc_topology_t topology, hwloc_obj_t object,
                     hwloc_const_bitmap_t ours)
{
    struct rz_machine_core *core = &machine->cores[machine->n_cores];
    *core = (struct rz_machine_core){.number = object->logical_index,
                                     .package = package_of(topology, object),
                                     .numa = numa_of(object),
                                     .first = machine->n_processors};
    int processor;
    hwloc_bitmap_foreach_begin(processor, object->cpuset)
    {
        if (hwloc_bitmap_isset(ours, (unsigned)processor)) {
            machine->processors[machine->n_processors++] = (uint32_t)processor;
        }
    }
    hwloc_bitmap_foreach_end();
    core->count = machine->n_processors - core->first;
    machine->n_cores += core->count > 0;
}

static rz_status_t read_cores(struct rz_machine *machine, hwloc_topology_t topology,
                              hwloc_const_bitmap_t ours)
{
    /* Virtual machines may report processors only: then each is a core. */
    int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    hwloc_obj_type_t kind = n > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int n_processors = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    n = hwloc_get_nbobjs_by_type(topology, kind);
    if (n <= 0 || n_processors <= 0) {
        return RZ_ERR_SYSTEM;
    }
    machine->cores = calloc((size_t)n, sizeof(*machine->cores));
    machine->processors = calloc((size_t)n_processors, sizeof(*machine->processors));
    if (!machine->cores || !machine->processors) {
        return RZ_ERR_NO_MEMORY;
    }
    for (hwloc_obj_t object = NULL;
         (object = hwloc_get_next_obj_by_type(topology, kind, object)) != NULL;) {
        add_core(machine, topology, object, ours);
    }
    return machine->n_cores > 0 ? RZ_OK : RZ_ERR_SYSTEM;
}

rz_status_t rz_machine_look(struct rz_machine *machine)
{
    hwloc_topology_t topology;
    *machine = (struct rz_machine){0};
    hwloc_bitmap_t ours = hwloc_bitmap_alloc();
    if (!ours) {
        return RZ_ERR_NO_MEMORY;
    }
    rz_status_t status = RZ_ERR_SYSTEM;
    if (hwloc_topology_init(&topology) == 0) {
        if (hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
            hwloc_topology_load(topology) == 0 &&
            hwloc_get_cpubind(topology, ours, HWLOC_CPUBIND_THREAD) == 0) {
            status = read_cores(machine, topology, ours);
        }
        hwloc_topology_destroy(topology);
    }
    hwloc_bitmap_free(ours);
    if (status != RZ_OK) {
        rz_machine_clear(machine);
    }
    return status;
}

void rz_machine_clear(struct rz_machine *machine)
{
    free(machine->cores);
    free(machine->processors);
    *machine = (struct rz_machine){0};
}
