/* What the user asked of rzrun. */
#ifndef RZ_LAUNCH_RZRUN_OPTIONS_H
#define RZ_LAUNCH_RZRUN_OPTIONS_H

#include "ckpt/scheme.h"
#include "cli/cli.h"
#include "launch/inject.h"
#include "launch/layout.h"
#include "wire/launch_messages.h"

#define RZ_FAULTS_MAX 64

/* How nodes are emulated on one machine. */
enum rz_adapter {
    RZ_ADAPTER_LOCAL, /* they share its network */
    RZ_ADAPTER_NETNS  /* each has a network of its own, joined by a switch: port/netns.h */
};

/* What the death of a process or node does to the job. */
enum rz_on_failure {
    RZ_ON_FAILURE_AUTO,     /* what the program's error handlers and MPIX_Reinit make of it */
    RZ_ON_FAILURE_REPAIR,   /* the same; that it enters MPIX_Reinit is known beforehand */
    RZ_ON_FAILURE_CONTINUE, /* an error, and nothing is repaired */
    RZ_ON_FAILURE_REPLACE,  /* an error; the program may have its dead replaced */
    RZ_ON_FAILURE_RESTART,  /* the job begins anew */
    RZ_ON_FAILURE_ABORT     /* the job ends */
};

struct rz_rzrun_options {
    uint32_t n_ranks; /* 0: not given */
    struct rz_layout layout;
    uint32_t emulated_nodes; /* 0: not given */
    enum rz_adapter adapter;
    enum rz_place_by map_by;
    uint32_t n_spares;
    bool named; /* the nodes, by --host or --hostfile */
    bool bind_to_core, report_bindings, no_ft, on_failure_given;
    bool lost_together;
    bool oversubscribe, label, progress, story;
    bool slots_limit; /* slots hold, at the start and after deaths */
    enum rz_on_failure on_failure;
    char **environment; /* NAME=value, NULL-terminated */
    uint32_t n_environment;
    const char *directory; /* "": where rzrun is */
    const char *report;    /* file for the record, or NULL */
    const char *cases;     /* folder for case files, or NULL */
    struct rz_fault faults[RZ_FAULTS_MAX];
    uint32_t n_faults;
    uint64_t seed;
    rz_time hb_period, hb_timeout, timeout, hang_timeout, hang_report;
    rz_time silence_timeout; /* of all daemons */
    bool detach;
    uint64_t spool_bytes; /* per node */
    rz_time linger;
    const char *attach; /* the number of the job to look at, or how it begins; NULL: run one */
    const char *finish; /* the same of a job to end */
    enum rz_detector detector;
    uint32_t restarts_max, verbosity;
    struct rz_scheme scheme;     /* how checkpoints are kept */
    const char *checkpoint_dir;  /* for files, or NULL */
    const char *checkpoint_name; /* of the job, in there */
    uint32_t checkpoint_keep;    /* generations */
    bool restart, keep_checkpoints;
    char **program; /* NULL-terminated: program and arguments */
};

extern const struct rz_cli rz_rzrun_cli;

/* Reads the command line; ends the process with one clear line where it is wrong. */
void rz_rzrun_options_read(struct rz_rzrun_options *options, int argc, char **argv);
void rz_rzrun_options_clear(struct rz_rzrun_options *options);

#endif
