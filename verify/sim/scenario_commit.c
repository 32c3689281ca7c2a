/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints through recoveries, under each scheme: the restored generation is complete, whatever
 * daemons and processes fail. */
#include "sim/job_scenario.h"

#define MUTANT(mutants, what, n, failures, parameters)                                             \
    {                                                                                              \
        RZ_JOB_SCENARIO(commit), .name = "mutant-" what, .summary = what ": must be caught",       \
                                 .members = n, .crashes = failures, .violation_expected = true,    \
                                 .parameter = (mutants) | (parameters)                             \
    }

const struct rz_sim_scenario rz_commit_scenarios[] = {
    {.name = "job",
     .summary = "a job that takes checkpoints; daemons and processes fail, with proof",
     .members = 4,
     .crashes = 2,
     .parameter = RZ_JOB_RANKS(6) | RZ_JOB_POSITIONS(5) | RZ_JOB_KILLS(3),
     RZ_JOB_SCENARIO(commit)},
    {.name = "spares",
     .summary = "the same with spare daemons",
     .members = 7,
     .crashes = 4,
     .parameter = RZ_JOB_RANKS(8) | RZ_JOB_SPARES(3) | RZ_JOB_POSITIONS(5) | RZ_JOB_KILLS(3),
     RZ_JOB_SCENARIO(commit)},
    {.name = "silent",
     .summary = "the same with silent failures: the job goes on, or stops at all daemons",
     .members = 7,
     .crashes = 4,
     .parameter =
         RZ_JOB_RANKS(7) | RZ_JOB_POSITIONS(4) | RZ_JOB_KILLS(2) | RZ_JOB_EVIDENCE(RZ_JOB_MIXED),
     RZ_JOB_SCENARIO(commit)},
    {.name = "tiny",
     .summary = "two daemons, one rank, one checkpoint, one failure, to be explored whole",
     .members = 2,
     .crashes = 1,
     .parameter = RZ_JOB_RANKS(1) | RZ_JOB_POSITIONS(1) | RZ_JOB_AT_ONCE,
     RZ_JOB_SCENARIO(commit)},
    {.name = "tiny-spares",
     .summary =
         "one rank, two spare daemons, its process and its daemon fail, to be explored whole",
     .members = 3,
     .crashes = 1,
     .crashable = 1,
     .parameter = RZ_JOB_RANKS(1) | RZ_JOB_SPARES(2) | RZ_JOB_POSITIONS(2) | RZ_JOB_KILLS(1) |
                  RZ_JOB_AT_ONCE,
     RZ_JOB_SCENARIO(commit)},
    {.name = "memory",
     .summary = "pieces with their owners alone; daemons and processes fail",
     .members = 5,
     .crashes = 2,
     .parameter = RZ_JOB_SCHEME(RZ_COMMIT_MEMORY) | RZ_JOB_RANKS(6) | RZ_JOB_SPARES(1) |
                  RZ_JOB_POSITIONS(5) | RZ_JOB_KILLS(3),
     RZ_JOB_SCENARIO(commit)},
    {.name = "files",
     .summary = "pieces in files, which all daemons but one may fail without",
     .members = 5,
     .crashes = 4,
     .parameter = RZ_JOB_SCHEME(RZ_COMMIT_FILES) | RZ_JOB_RANKS(6) | RZ_JOB_SPARES(2) |
                  RZ_JOB_POSITIONS(5) | RZ_JOB_KILLS(3),
     RZ_JOB_SCENARIO(commit)},
    {.name = "xor",
     .summary = "groups of three, of which one may be lost",
     .members = 6,
     .crashes = 3,
     .parameter = RZ_JOB_GROUPS(2, 1) | RZ_JOB_RANKS(7) | RZ_JOB_SPARES(1) | RZ_JOB_POSITIONS(5) |
                  RZ_JOB_KILLS(3),
     RZ_JOB_SCENARIO(commit)},
    {.name = "rs",
     .summary = "groups of five, of which two may be lost",
     .members = 5,
     .crashes = 3,
     .parameter = RZ_JOB_GROUPS(3, 2) | RZ_JOB_RANKS(6) | RZ_JOB_POSITIONS(5) | RZ_JOB_KILLS(3),
     RZ_JOB_SCENARIO(commit)},
    {.name = "rs-silent",
     .summary = "the same with spare daemons and silent failures",
     .members = 7,
     .crashes = 4,
     .parameter = RZ_JOB_GROUPS(2, 2) | RZ_JOB_RANKS(7) | RZ_JOB_SPARES(2) | RZ_JOB_POSITIONS(4) |
                  RZ_JOB_KILLS(2) | RZ_JOB_EVIDENCE(RZ_JOB_MIXED),
     RZ_JOB_SCENARIO(commit)},
    {.name = "damage",
     .summary = "newest generations are found damaged: all go back to the one before, or stop",
     .members = 5,
     .crashes = 2,
     .parameter = RZ_JOB_RANKS(6) | RZ_JOB_SPARES(1) | RZ_JOB_POSITIONS(6) | RZ_JOB_KILLS(4) |
                  RZ_JOB_DAMAGES(4),
     RZ_JOB_SCENARIO(commit)},
    {.name = "damage-memory",
     .summary = "the same, pieces with their owners alone",
     .members = 4,
     .crashes = 1,
     .parameter = RZ_JOB_SCHEME(RZ_COMMIT_MEMORY) | RZ_JOB_RANKS(5) | RZ_JOB_SPARES(1) |
                  RZ_JOB_POSITIONS(6) | RZ_JOB_KILLS(4) | RZ_JOB_DAMAGES(4),
     RZ_JOB_SCENARIO(commit)},
    {.name = "damage-rs",
     .summary = "the same in groups of four, of which two may be lost",
     .members = 6,
     .crashes = 2,
     .parameter = RZ_JOB_GROUPS(2, 2) | RZ_JOB_RANKS(7) | RZ_JOB_SPARES(1) | RZ_JOB_POSITIONS(6) |
                  RZ_JOB_KILLS(4) | RZ_JOB_DAMAGES(4),
     RZ_JOB_SCENARIO(commit)},
    {.name = "damage-silent",
     .summary = "the same with buddies and silent failures",
     .members = 6,
     .crashes = 3,
     .parameter = RZ_JOB_RANKS(6) | RZ_JOB_SPARES(1) | RZ_JOB_POSITIONS(6) | RZ_JOB_KILLS(3) |
                  RZ_JOB_DAMAGES(3) | RZ_JOB_EVIDENCE(RZ_JOB_MIXED),
     RZ_JOB_SCENARIO(commit)},
    {.name = "damage-rewind",
     .summary = "the same where an epoch begins all ranks anew: all go back, at last to the start",
     .members = 5,
     .crashes = 2,
     .parameter = RZ_JOB_RANKS(6) | RZ_JOB_SPARES(1) | RZ_JOB_POSITIONS(6) | RZ_JOB_KILLS(4) |
                  RZ_JOB_DAMAGES(6) | RZ_JOB_ALL_BEGIN,
     RZ_JOB_SCENARIO(commit)},
    {.name = "tiny-damage-rewind",
     .summary = "two daemons, one rank, one checkpoint, its process fails, damage is found, to be "
                "explored whole",
     .members = 2,
     .parameter = RZ_JOB_RANKS(1) | RZ_JOB_POSITIONS(1) | RZ_JOB_KILLS(1) | RZ_JOB_DAMAGES(1) |
                  RZ_JOB_AT_ONCE | RZ_JOB_ALL_BEGIN,
     RZ_JOB_SCENARIO(commit)},
    {.name = "tiny-damage",
     .summary = "two daemons, one rank, two checkpoints, its process fails, damage is found, to be "
                "explored whole",
     .members = 2,
     .parameter = RZ_JOB_RANKS(1) | RZ_JOB_POSITIONS(2) | RZ_JOB_KILLS(1) | RZ_JOB_DAMAGES(1) |
                  RZ_JOB_AT_ONCE,
     RZ_JOB_SCENARIO(commit)},
    {.name = "tiny-xor",
     .summary = "a group of three daemons, one rank, one checkpoint, its daemon may fail, to be "
                "explored whole",
     .members = 3,
     .crashes = 1,
     .crashable = 1,
     .parameter = RZ_JOB_GROUPS(2, 1) | RZ_JOB_RANKS(1) | RZ_JOB_SPARES(2) | RZ_JOB_POSITIONS(1) |
                  RZ_JOB_AT_ONCE,
     RZ_JOB_SCENARIO(commit)},
    {.name = "tiny-rs",
     .summary =
         "a group of three daemons, of which any two may fail, one rank, two checkpoints, to "
         "be explored whole",
     .members = 3,
     .crashes = 2,
     .parameter = RZ_JOB_GROUPS(1, 2) | RZ_JOB_RANKS(1) | RZ_JOB_SPARES(2) | RZ_JOB_POSITIONS(2) |
                  RZ_JOB_AT_ONCE,
     RZ_JOB_SCENARIO(commit)},
    MUTANT(RZ_JOB_COMMIT_MUTANT(RZ_COMMIT_UNCOPIED), "uncopied", 4, 1,
           RZ_JOB_RANKS(4) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_COMMIT_MUTANT(RZ_COMMIT_DESPITE_FAILURE), "despite-failure", 4, 2,
           RZ_JOB_RANKS(4) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_COMMIT_MUTANT(RZ_COMMIT_EARLY_HOME), "early-home", 4, 2,
           RZ_JOB_RANKS(4) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_COMMIT_MUTANT(RZ_COMMIT_ONE_VIEW), "one-view", 4, 2,
           RZ_JOB_RANKS(4) | RZ_JOB_POSITIONS(4) | RZ_JOB_KILLS(3)),
    MUTANT(RZ_JOB_HOST_MUTANT(RZ_JOB_NO_FLOOR), "no-floor", 4, 2,
           RZ_JOB_RANKS(4) | RZ_JOB_POSITIONS(6) | RZ_JOB_KILLS(3)),
    MUTANT(RZ_JOB_HOST_MUTANT(RZ_JOB_DROP_OLD), "drop-old", 4, 2,
           RZ_JOB_RANKS(4) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_HOST_MUTANT(RZ_JOB_NO_PROTECT), "no-protect", 4, 2,
           RZ_JOB_RANKS(4) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_COMMIT_MUTANT(RZ_COMMIT_UNCOPIED), "group-uncopied", 5, 2,
           RZ_JOB_GROUPS(2, 1) | RZ_JOB_RANKS(5) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_COMMIT_MUTANT(RZ_COMMIT_ONE_SHORT), "group-one-short", 5, 2,
           RZ_JOB_GROUPS(3, 2) | RZ_JOB_RANKS(5) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_COMMIT_MUTANT(RZ_COMMIT_GENEROUS), "group-generous", 5, 3,
           RZ_JOB_GROUPS(2, 1) | RZ_JOB_RANKS(5) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_COMMIT_MUTANT(RZ_COMMIT_OLD_PARITY), "group-old-parity", 5, 2,
           RZ_JOB_GROUPS(2, 1) | RZ_JOB_RANKS(5) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_COMMIT_MUTANT(RZ_COMMIT_EARLY_HOME), "group-early-home", 5, 2,
           RZ_JOB_GROUPS(2, 1) | RZ_JOB_RANKS(5) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_HOST_MUTANT(RZ_JOB_DROP_OLD), "group-drop-old", 5, 2,
           RZ_JOB_GROUPS(2, 2) | RZ_JOB_RANKS(5) | RZ_JOB_POSITIONS(4)),
    MUTANT(RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_ANY_DAMAGE), "any-damage", 5, 1,
           RZ_JOB_RANKS(6) | RZ_JOB_POSITIONS(6) | RZ_JOB_KILLS(4) | RZ_JOB_DAMAGES(4)),
    /* A rare case: to be explored exhaustively. */
    {.name = "mutant-unaware",
     .summary = "unaware contributions settle failures: must be caught",
     .members = 3,
     .crashes = 1,
     .crashable = 1,
     .violation_expected = true,
     .parameter = RZ_JOB_RECOVER_MUTANT(RZ_RECOVER_UNAWARE) | RZ_JOB_RANKS(1) | RZ_JOB_SPARES(2) |
                  RZ_JOB_POSITIONS(3) | RZ_JOB_KILLS(1) | RZ_JOB_AT_ONCE,
     RZ_JOB_SCENARIO(commit)},
};
const size_t rz_commit_scenarios_count = sizeof(rz_commit_scenarios) / sizeof(*rz_commit_scenarios);
