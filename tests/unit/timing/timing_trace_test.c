/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a trace of a small run to the file named; check_trace.py looks at it. */
#include "timing_toy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *message_name(uint32_t part, uint8_t type)
{
    return part > 0 ? NULL : type == TOY_NEWS ? "NEWS" : "PING \"quoted\\\"";
}

static struct toy_log record;

int main(int argc, char **argv)
{
    struct rz_timing_setup setup = toy_setup(6, &record);
    setup.network = (struct rz_timing_network){
        .latency = 1000, .latency_local = 100, .send_overhead = 100, .receive_overhead = 50};
    setup.message_name = message_name;
    if (argc > 2) {
        setup.network.per_node = 2;
    }
    if (argc > 3) {
        setup.trace_events_max = strtoull(argv[3], NULL, 10);
    }
    setup.trace = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!setup.trace) {
        return 1;
    }
    struct rz_timing *timing = rz_timing_create(&setup);
    toy_send(timing, 0, 0, TOY_PING, 1, (uint64_t[]){1, 2, 3, 4}, 4);
    toy_send(timing, 5000, 1, TOY_NEWS, 2, (uint64_t[]){5}, 1);
    rz_timing_kill(timing, 4, 500);
    rz_timing_tell(timing, 0, 0, 600, (rz_id[]){4}, 1);
    rz_timing_call(
        timing, 3, 0, 0,
        &(struct rz_timing_request){.call = TOY_TIMER, .arg = (const uint64_t[4]){7000}});
    rz_timing_run(timing);
    rz_timing_destroy(timing);
    return fclose(setup.trace) != 0;
}
