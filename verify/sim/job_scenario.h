/* SPDX-License-Identifier: BSD-3-Clause */
/* Worlds of job nodes, for the scenarios of recover and of commit: one set of callbacks, configured
 * by `parameter`. */
#ifndef RZ_SIM_JOB_SCENARIO_H
#define RZ_SIM_JOB_SCENARIO_H

#include "sim/job_node.h"
#include "sim/sim.h"

/* How failures of daemons are reported. */
enum rz_job_evidence { RZ_JOB_PROOF, RZ_JOB_SILENT, RZ_JOB_MIXED };

/* Packed into struct rz_sim_scenario.parameter, each in its field. */
#define RZ_JOB_RANKS(n) ((uint64_t)(n))           /* 8 bits */
#define RZ_JOB_SPARES(n) ((uint64_t)(n) << 8)     /* 4: daemons without ranks at the start */
#define RZ_JOB_POSITIONS(n) ((uint64_t)(n) << 12) /* 4 */
#define RZ_JOB_KILLS(n) ((uint64_t)(n) << 16)     /* 4: processes killed at most */
#define RZ_JOB_EVIDENCE(e) ((uint64_t)(e) << 20)  /* 2 */
#define RZ_JOB_UNREPAIRED (UINT64_C(1) << 22)     /* the program never calls MPIX_Reinit */
#define RZ_JOB_AT_ONCE (UINT64_C(1) << 23)       /* kills come without delay: for exhaustive mode */
#define RZ_JOB_RESTARTS(n) ((uint64_t)(n) << 24) /* 4: restarts_max */
#define RZ_JOB_DAMAGES(n) ((uint64_t)(n) << 38)  /* 4: pieces found damaged at most */
#define RZ_JOB_REPLACE                                                                             \
    (UINT64_C(1) << 28) /* replacements of the failed processes are requested, by every daemon */
#define RZ_JOB_ONE_ASKER (UINT64_C(1) << 29)   /* by the first one only */
#define RZ_JOB_SCHEME(s) ((uint64_t)(s) << 30) /* 2: enum rz_commit_scheme */
/* 5: one of enum rz_recover_mutation, by the number of its bit */
#define RZ_JOB_RECOVER_MUTANT(m) ((uint64_t)(__builtin_ctz(m) + 1) << 32)
#define RZ_JOB_TIGHT (UINT64_C(1) << 37)     /* slots are limits, few more than there are ranks */
#define RZ_JOB_ALL_BEGIN (UINT64_C(1) << 42) /* an epoch begins all ranks anew */
#define RZ_JOB_COMMIT_MUTANT(m) ((uint64_t)(m) << 44) /* 8 */
#define RZ_JOB_HOST_MUTANT(m) ((uint64_t)(m) << 52)   /* 4 */
#define RZ_JOB_COHORTS(n) ((uint64_t)(n) << 56)       /* 4: cohorts requested at most */
#define RZ_JOB_FREE_SLOTS(n) ((uint64_t)(n) << 60)    /* 4: slots behind the ranks */
/* The scheme GROUPS, data + parity; in the place of COHORTS and FREE_SLOTS. */
#define RZ_JOB_GROUPS(data, parity)                                                                \
    (RZ_JOB_SCHEME(RZ_COMMIT_GROUPS) | (uint64_t)(data) << 56 | (uint64_t)(parity) << 60)

extern const struct rz_protocol rz_job_protocol_of_recover, rz_job_protocol_of_commit;

const void *rz_job_scenario_config(struct rz_sim *sim, rz_id member);
void rz_job_scenario_start(struct rz_sim *sim);
void rz_job_scenario_notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice);
uint64_t rz_job_scenario_failure_arg(struct rz_sim *sim, rz_id observer, rz_id failed);
bool rz_job_scenario_safety(struct rz_sim *sim);
bool rz_job_scenario_liveness(struct rz_sim *sim);
const char *rz_job_scenario_message_name(uint8_t type);
const char *rz_job_scenario_call_name(uint32_t call);
const char *rz_job_scenario_notice_name(uint32_t what);

#define RZ_JOB_FILES 4

/* record_bytes must be a constant: the size of struct rz_job_record. */
struct rz_job_record {
    uint32_t reached[RZ_JOB_RANKS_MAX]; /* newest barrier that the newest incarnation of the rank
                                           has reached, see rz_job_process */
    uint32_t incarnation[RZ_JOB_RANKS_MAX]; /* that incarnation */
    uint64_t spawns[RZ_JOB_DAEMONS_MAX]; /* a hash of the notices of spawns that each member got */
    uint32_t told[RZ_JOB_DAEMONS_MAX];   /* their number */
    uint8_t early;                       /* a member + 1 that opened a barrier too early */
    uint8_t early_rank;                  /* and the missing rank */
    uint8_t carried_off; /* a rank + 1 for which an epoch was begun although it had not entered */
    uint8_t stopped[RZ_JOB_DAEMONS_MAX]; /* rz_status_t + 1 of the members that were told to stop */
    uint8_t stopped_early;               /* a member + 1 that found no slots, and there were some */
    uint8_t killed;                      /* processes killed, at most 1 */
    uint8_t fell_back; /* a member + 1 that gave up a generation in which no damage was found */
    uint64_t ran;      /* the newest epoch whose barrier has opened anywhere */
    uint64_t found;    /* epochs in which damage was found, a bit for each */
    uint8_t no_file;   /* a rank + 1 whose file was requested and does not exist */
    struct rz_job_piece file[RZ_JOB_RANKS_MAX][RZ_JOB_FILES]; /* by generation */
};

#define RZ_JOB_SCENARIO(which)                                                                     \
    .protocol = &rz_job_protocol_of_##which, .members_max = RZ_JOB_DAEMONS_MAX, .fenced = true,    \
    .detector = RZ_SIM_DETECTOR_PERFECT, .record_bytes = sizeof(struct rz_job_record),             \
    .config = rz_job_scenario_config, .start = rz_job_scenario_start,                              \
    .notified = rz_job_scenario_notified, .failure_arg = rz_job_scenario_failure_arg,              \
    .safety = rz_job_scenario_safety, .liveness = rz_job_scenario_liveness,                        \
    .message_name = rz_job_scenario_message_name, .call_name = rz_job_scenario_call_name,          \
    .notice_name = rz_job_scenario_notice_name

#endif
