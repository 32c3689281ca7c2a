/* What the user asked of rzrun. */
#ifndef RZ_LAUNCH_RZRUN_OPTIONS_H
#define RZ_LAUNCH_RZRUN_OPTIONS_H

#include "cli/cli.h"
#include "launch/inject.h"
#include "launch/layout.h"

#define RZ_FAULTS_MAX 64

struct rz_rzrun_options {
    uint32_t n_ranks; /* 0: not given */
    struct rz_layout layout;
    uint32_t emulated_nodes; /* 0: not given */
    bool oversubscribe, label, progress, story, no_repair;
    char **environment; /* NAME=value, NULL-terminated */
    uint32_t n_environment;
    const char *directory; /* "": where rzrun is */
    const char *report;    /* file for the record, or NULL */
    struct rz_fault faults[RZ_FAULTS_MAX];
    uint32_t n_faults;
    uint64_t seed;
    rz_time hb_period, hb_timeout, timeout;
    uint32_t restarts_max, verbosity;
    char **program; /* NULL-terminated: program and arguments */
};

extern const struct rz_cli rz_rzrun_cli;

/* Reads the command line; ends the process with one clear line where it is wrong. */
void rz_rzrun_options_read(struct rz_rzrun_options *options, int argc, char **argv);
void rz_rzrun_options_clear(struct rz_rzrun_options *options);

#endif
