/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery under every schedule: daemons and processes fail, the job continues or stops everywhere.
 * No checkpoints. */
#include "sim/job_scenario.h"

/* Each is caught within the first thousands of runs. */
#define MUTANT(mutation, what, n, failures, parameters)                                            \
    {                                                                                              \
        RZ_JOB_SCENARIO(recover), .name = "mutant-" what, .summary = what ": must be caught",      \
                                  .members = n, .crashes = failures, .violation_expected = true,   \
                                  .parameter = (mutation) | (parameters)                           \
    }

#define SPAWNS                                                                                     \
    (RZ_JOB_RANKS(4) | RZ_JOB_SPARES(1) | RZ_JOB_KILLS(4) | RZ_JOB_UNREPAIRED | RZ_JOB_REPLACE |   \
     RZ_JOB_COHORTS(6) | RZ_JOB_FREE_SLOTS(3))

const struct rz_sim_scenario rz_recover_scenarios[] = {
    {.name = "job",
     .summary = "a job that repairs itself; daemons and processes fail, with proof",
     .members = 5,
     .crashes = 3,
     .parameter = RZ_JOB_RANKS(8) | RZ_JOB_SPARES(1) | RZ_JOB_KILLS(4),
     RZ_JOB_SCENARIO(recover)},
    {.name = "rewind",
     .summary = "an epoch begins all ranks anew; daemons and processes fail",
     .members = 5,
     .crashes = 3,
     .parameter = RZ_JOB_RANKS(8) | RZ_JOB_SPARES(1) | RZ_JOB_KILLS(4) | RZ_JOB_ALL_BEGIN,
     RZ_JOB_SCENARIO(recover)},
    {.name = "tiny-rewind",
     .summary = "three daemons, two ranks, one process killed, one daemon fails, all ranks begin "
                "anew, to be explored whole",
     .members = 3,
     .crashes = 1,
     .parameter = RZ_JOB_RANKS(2) | RZ_JOB_KILLS(1) | RZ_JOB_AT_ONCE | RZ_JOB_ALL_BEGIN,
     RZ_JOB_SCENARIO(recover)},
    {.name = "unrepaired",
     .summary = "a job that never calls MPIX_Reinit: failures are only noted",
     .members = 5,
     .crashes = 3,
     .parameter = RZ_JOB_RANKS(8) | RZ_JOB_KILLS(4) | RZ_JOB_UNREPAIRED,
     RZ_JOB_SCENARIO(recover)},
    {.name = "quorum",
     .summary = "silent failures: the job goes on, or stops at all daemons",
     .members = 6,
     .crashes = 4,
     .parameter = RZ_JOB_RANKS(6) | RZ_JOB_KILLS(2) | RZ_JOB_EVIDENCE(RZ_JOB_MIXED),
     RZ_JOB_SCENARIO(recover)},
    {.name = "restarts",
     .summary = "no checkpoint ever: the job is given up after two restarts",
     .members = 5,
     .crashes = 3,
     .parameter = RZ_JOB_RANKS(8) | RZ_JOB_KILLS(6) | RZ_JOB_RESTARTS(2),
     RZ_JOB_SCENARIO(recover)},
    {.name = "tight",
     .summary = "slots are limits: the job goes on, or stops everywhere when too few are left",
     .members = 5,
     .crashes = 3,
     .parameter = RZ_JOB_RANKS(6) | RZ_JOB_SPARES(1) | RZ_JOB_KILLS(4) | RZ_JOB_TIGHT,
     RZ_JOB_SCENARIO(recover)},
    {.name = "tight-spawns",
     .summary = "slots are limits: spawns of the failed processes and cohorts are refused where "
                "none is free",
     .members = 5,
     .crashes = 3,
     .parameter = RZ_JOB_RANKS(6) | RZ_JOB_SPARES(1) | RZ_JOB_KILLS(8) | RZ_JOB_UNREPAIRED |
                  RZ_JOB_REPLACE | RZ_JOB_COHORTS(6) | RZ_JOB_FREE_SLOTS(4) | RZ_JOB_TIGHT,
     RZ_JOB_SCENARIO(recover)},
    {.name = "tight-reinit",
     .summary = "the same while processes enter MPIX_Reinit",
     .members = 5,
     .crashes = 3,
     .parameter = RZ_JOB_RANKS(6) | RZ_JOB_SPARES(1) | RZ_JOB_KILLS(6) | RZ_JOB_REPLACE |
                  RZ_JOB_COHORTS(6) | RZ_JOB_FREE_SLOTS(4) | RZ_JOB_TIGHT,
     RZ_JOB_SCENARIO(recover)},
    {.name = "tiny",
     .summary = "three daemons, two ranks, one process killed, to be explored whole with one "
                "daemon's failure",
     .members = 3,
     .crashes = 1,
     .parameter = RZ_JOB_RANKS(2) | RZ_JOB_KILLS(1) | RZ_JOB_AT_ONCE,
     RZ_JOB_SCENARIO(recover)},
    {.name = "tiny-daemons",
     .summary = "three daemons, one rank, two daemons fail, to be explored whole",
     .members = 3,
     .crashes = 2,
     .parameter = RZ_JOB_RANKS(1) | RZ_JOB_AT_ONCE,
     RZ_JOB_SCENARIO(recover)},
    {.name = "tiny-silent",
     .summary = "the same with silent failures: the last daemon stops",
     .members = 3,
     .crashes = 2,
     .parameter = RZ_JOB_RANKS(1) | RZ_JOB_AT_ONCE | RZ_JOB_EVIDENCE(RZ_JOB_SILENT),
     RZ_JOB_SCENARIO(recover)},
    {.name = "replace",
     .summary = "every daemon asks for spawns of the failed processes; daemons and processes fail",
     .members = 5,
     .crashes = 3,
     .parameter =
         RZ_JOB_RANKS(8) | RZ_JOB_SPARES(1) | RZ_JOB_KILLS(6) | RZ_JOB_UNREPAIRED | RZ_JOB_REPLACE,
     RZ_JOB_SCENARIO(recover)},
    {.name = "spawn",
     .summary = "cohorts are spawned, end in order or are replaced; daemons and processes fail",
     .members = 5,
     .crashes = 3,
     .parameter = RZ_JOB_RANKS(6) | RZ_JOB_SPARES(1) | RZ_JOB_KILLS(8) | RZ_JOB_UNREPAIRED |
                  RZ_JOB_REPLACE | RZ_JOB_COHORTS(10) | RZ_JOB_FREE_SLOTS(4),
     RZ_JOB_SCENARIO(recover)},
    {.name = "spawn-silent",
     .summary = "the same with silent failures: the job goes on, or stops at all daemons",
     .members = 6,
     .crashes = 4,
     .parameter = RZ_JOB_RANKS(6) | RZ_JOB_KILLS(6) | RZ_JOB_UNREPAIRED | RZ_JOB_REPLACE |
                  RZ_JOB_COHORTS(8) | RZ_JOB_FREE_SLOTS(4) | RZ_JOB_EVIDENCE(RZ_JOB_MIXED),
     RZ_JOB_SCENARIO(recover)},
    {.name = "spawn-reinit",
     .summary = "spawns are wanted while processes enter MPIX_Reinit: spawned before, refused from "
                "then on",
     .members = 5,
     .crashes = 3,
     .parameter = RZ_JOB_RANKS(6) | RZ_JOB_SPARES(1) | RZ_JOB_KILLS(6) | RZ_JOB_REPLACE |
                  RZ_JOB_COHORTS(8) | RZ_JOB_FREE_SLOTS(4),
     RZ_JOB_SCENARIO(recover)},
    {.name = "tiny-replace",
     .summary = "two daemons, two ranks, one process killed and replaced, one daemon fails, to be "
                "explored whole",
     .members = 2,
     .crashes = 1,
     .parameter =
         RZ_JOB_RANKS(2) | RZ_JOB_KILLS(1) | RZ_JOB_UNREPAIRED | RZ_JOB_REPLACE | RZ_JOB_AT_ONCE,
     RZ_JOB_SCENARIO(recover)},
    {.name = "tiny-asker",
     .summary =
         "three daemons, two ranks, one process killed, the first daemon asks for its spawn, "
         "one other fails, to be explored whole",
     .members = 3,
     .crashes = 1,
     .crashable = 2,
     .parameter = RZ_JOB_RANKS(2) | RZ_JOB_SPARES(1) | RZ_JOB_KILLS(1) | RZ_JOB_UNREPAIRED |
                  RZ_JOB_REPLACE | RZ_JOB_ONE_ASKER | RZ_JOB_AT_ONCE,
     RZ_JOB_SCENARIO(recover)},
    {.name = "tiny-spawn",
     .summary = "two daemons, one rank, two cohorts, one free slot, one daemon fails, to be "
                "explored whole",
     .members = 2,
     .crashes = 1,
     .parameter = RZ_JOB_RANKS(1) | RZ_JOB_UNREPAIRED | RZ_JOB_AT_ONCE | RZ_JOB_COHORTS(2) |
                  RZ_JOB_FREE_SLOTS(1),
     RZ_JOB_SCENARIO(recover)},
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_LATE_REACHED), "late-reached", 4, 1,
           RZ_JOB_RANKS(4) | RZ_JOB_KILLS(3)),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_DEATHLESS_BARRIER), "deathless-barrier", 4, 1,
           RZ_JOB_RANKS(4) | RZ_JOB_KILLS(3)),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_OWN_PLACEMENT), "own-placement", 4, 2, RZ_JOB_RANKS(4)),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_ANY_INCARNATION), "any-incarnation", 4, 1,
           RZ_JOB_RANKS(4) | RZ_JOB_KILLS(3)),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_OWN_GENERATION), "own-generation", 4, 1,
           RZ_JOB_RANKS(4) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_OWN_SPAWN_PLACE), "own-spawn-place", 5, 3, SPAWNS),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_ANY_COHORT), "any-cohort", 4, 0, SPAWNS),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_KEEP_REACHED), "keep-reached", 4, 0, SPAWNS),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_ANY_SPAWN), "any-spawn", 4, 0, SPAWNS),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_KNOWN_FREE), "known-free", 4, 0, SPAWNS),
    MUTANT(RZ_JOB_HOST_MUTANT(RZ_JOB_ONE_ENTERED), "one-entered", 4, 0,
           RZ_JOB_RANKS(8) | RZ_JOB_KILLS(4)),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_OWN_REFUSAL), "own-refusal", 4, 0,
           SPAWNS & ~RZ_JOB_UNREPAIRED),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_OWN_SLOTS), "own-slots", 5, 3,
           RZ_JOB_RANKS(6) | RZ_JOB_SPARES(1) | RZ_JOB_KILLS(2) | RZ_JOB_TIGHT),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_CROWDED_SPAWN), "crowded-spawn", 4, 1,
           SPAWNS | RZ_JOB_TIGHT),
};
const size_t rz_recover_scenarios_count =
    sizeof(rz_recover_scenarios) / sizeof(*rz_recover_scenarios);
