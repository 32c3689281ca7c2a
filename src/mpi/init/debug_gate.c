/* SPDX-License-Identifier: BSD-3-Clause */
/* The variable of the MPIR document that a tool sets in each process once it is attached. */
#include "mpi/init/debug_gate.h"

#include "mpi/engine/engine.h"

#include <stdlib.h>
#include <time.h>

/* How often it is looked at: a person waits for it. */
#define GATE_LOOK_NS 5000000

__attribute__((visibility("default"))) extern volatile int MPIR_debug_gate;
volatile int MPIR_debug_gate;

void rz_debug_gate_await(void)
{
    const struct timespec look = {.tv_nsec = GATE_LOOK_NS};
    /* A replacement is started while the tool goes on: none would open its gate. */
    if (!getenv("RZ_DEBUG_GATE") || rz_engine.info->self.incarnation > 1) {
        return;
    }
    while (!MPIR_debug_gate) {
        nanosleep(&look, NULL);
    }
}
