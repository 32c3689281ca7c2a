/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor --hosts: settings of Slurm that decide what is left of a job that loses a process or a
 * host, as scontrol says them. */
#include "cmd/rzdoctor_hosts.h"

#include "launch/allocation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLURM_LIMIT_S = 15 };

/* In a trial: prints the lines with settings that are looked at. */
static int ask(void *arg)
{
    static const char *const wanted[] = {"KillOnBadExit", "ProctrackType", "ConstrainRAMSpace"};
    char line[1024];
    bool any = false;
    (void)arg;
    FILE *out = popen("exec scontrol show config", "r");
    while (out && fgets(line, sizeof(line), out)) {
        for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0) {
                any |= printf("%s", line) > 0;
            }
        }
    }
    return out ? pclose(out) != 0 || !any : 1;
}

/* The value of `Name   = value`; "": the name is not there. */
static const char *value_of(const char *text, const char *name, char value[64])
{
    const char *at = strstr(text, name);
    value[0] = '\0';
    if (at && sscanf(at + strlen(name), " = %63s", value) != 1) {
        value[0] = '\0';
    }
    return value;
}

static void check_kill(struct rz_doctor_report *report, const char *text)
{
    char value[64];
    value_of(text, "KillOnBadExit", value);
    if (strcmp(value, "1") != 0) {
        return;
    }
    bool step = getenv("SLURM_STEP_ID") && rz_allocation_batch() == RZ_BATCH_SLURM;
    if (step) {
        rz_doctor_say(report, RZ_DOCTOR_WARNING, "KillOnBadExit",
                      "start rzrun in sbatch or salloc; else srun --kill-on-bad-exit=0",
                      "1: where srun starts rzrun, Slurm ends the step with its first process that "
                      "fails");
    } else {
        rz_doctor_say(report, RZ_DOCTOR_OK, "KillOnBadExit", NULL,
                      "1, but rzrun's own srun asks for 0");
    }
}

void rz_doctor_check_slurm(struct rz_doctor_report *report)
{
    struct rz_doctor_trial trial;
    char value[64];
    bool good = rz_doctor_try(ask, NULL, SLURM_LIMIT_S, &trial);
    bool inside = rz_allocation_batch() == RZ_BATCH_SLURM;
    if (!good && !inside) {
        return;
    }
    rz_doctor_section(report, "Slurm");
    if (!good) {
        rz_doctor_say(report, RZ_DOCTOR_WARNING, "scontrol", "try `scontrol show config`",
                      "its settings cannot be asked for: %.*s", (int)strcspn(trial.text, "\n"),
                      trial.text[0] ? trial.text : "no answer");
        return;
    }
    check_kill(report, trial.text);
    if (strcmp(value_of(trial.text, "ProctrackType", value), "proctrack/pgid") == 0) {
        rz_doctor_say(report, RZ_DOCTOR_WARNING, "ProctrackType",
                      "ask the administrator for proctrack/cgroup",
                      "%s: Slurm does not find processes of other process groups when a job ends",
                      value);
    }
    if (strcmp(value_of(trial.text, "ConstrainRAMSpace", value), "yes") == 0) {
        rz_doctor_say(report, RZ_DOCTOR_WARNING, "ConstrainRAMSpace",
                      "ask for enough: --mem=0 is all of a node; checkpoints are in memory, twice",
                      "yes: a rank is killed where the job needs more memory than it asked for");
    }
    rz_doctor_say(report, RZ_DOCTOR_OK, "--no-kill", NULL, "%s",
                  inside
                      ? "Slurm does not show whether this job has it: without it, Slurm ends the "
                        "job when a host fails"
                      : "say it to sbatch and salloc: without it, Slurm ends the job when a host "
                        "fails");
}
