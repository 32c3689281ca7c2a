/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells the daemon which failures the program knows of, once per process.
 */
#include "mpi/agree/acknowledge.h"

#include "mpi/engine/liveness.h"

static bool is_news(uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    bool ended = member->process == process && rz_board_state(member->word) == RZ_PROCESS_ENDED;
    return rz_process_failed(process) && !ended && rz_process_newer(process, member->acknowledged);
}

void rz_failures_acknowledge(const uint32_t *process, uint32_t n)
{
    struct rz_link_process pairs[64];
    uint8_t bytes[sizeof(pairs) / sizeof(pairs[0]) * RZ_LINK_PAIR_BYTES];
    for (uint32_t i = 0; i < n && !rz_engine.info->alone;) {
        uint32_t told = 0;
        for (; i < n && told < sizeof(pairs) / sizeof(pairs[0]); i++) {
            if (is_news(process[i])) {
                rz_member_of(process[i])->acknowledged = process[i];
                pairs[told].slot = rz_process_slot(process[i]);
                pairs[told++].incarnation = rz_process_incarnation(process[i]);
            }
        }
        if (told > 0) {
            rz_link_put_pairs(bytes, pairs, told);
            rz_engine_tell_daemon(&(struct rz_link_message){
                .type = RZ_LINK_ACKNOWLEDGED,
                .acknowledged = {.processes = bytes,
                                 .processes_length = told * RZ_LINK_PAIR_BYTES}});
        }
    }
}
