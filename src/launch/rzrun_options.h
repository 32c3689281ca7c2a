/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that the user gave to rzrun. */
#ifndef RZ_LAUNCH_RZRUN_OPTIONS_H
#define RZ_LAUNCH_RZRUN_OPTIONS_H

#include "base/trace.h"
#include "ckpt/scheme.h"
#include "cli/cli.h"
#include "launch/debugger.h"
#include "launch/inject.h"
#include "launch/layout.h"
#include "launch/preload.h"
#include "launch/rankfile.h"
#include "launch/rzrun_contexts.h"
#include "launch/show_output.h"
#include "port/socket.h"
#include "wire/launch_messages.h"

#define RZ_FAULTS_MAX 64
#define RZ_RZRUN_ADDRESSES_MAX 32

/* How nodes are emulated on one machine. */
enum rz_adapter {
    RZ_ADAPTER_LOCAL, /* nodes share its network */
    RZ_ADAPTER_NETNS  /* each node has a network of its own, joined by a switch: port/netns.h */
};

/* How daemons are started. */
enum rz_launcher_choice {
    RZ_LAUNCHER_AUTO,  /* as the surroundings say: host_options.c */
    RZ_LAUNCHER_LOCAL, /* all nodes are emulated on this machine, whatever their names */
    RZ_LAUNCHER_SSH,   /* all by ssh, also this machine's */
    RZ_LAUNCHER_SLURM, /* all by srun, in a job of Slurm */
    RZ_LAUNCHER_PBS,   /* the nodes of a job of PBS, by pbs_tmrsh or ssh */
    RZ_LAUNCHER_PMIX   /* by processes that PMIx has started, which have started rzrun: src/pmix */
};

/* What the failure of a process or node does to the job. */
enum rz_on_failure {
    RZ_ON_FAILURE_AUTO,     /* as the program's error handlers and MPIX_Reinit decide */
    RZ_ON_FAILURE_REPAIR,   /* as AUTO; the program is known to enter MPIX_Reinit */
    RZ_ON_FAILURE_CONTINUE, /* an error, without repair */
    RZ_ON_FAILURE_REPLACE,  /* an error; the program may have failed processes replaced */
    RZ_ON_FAILURE_RESTART,  /* the job restarts */
    RZ_ON_FAILURE_ABORT     /* the job ends */
};

/* How processes find each other. */
enum rz_mpi {
    RZ_MPI_AUTO,    /* as the library says that the program is linked to */
    RZ_MPI_RHIZOME, /* by this MPI library */
    RZ_MPI_PMIX,    /* by PMIx, as Open MPI */
    RZ_MPI_PMI1     /* by PMI-1, as MPICH */
};

/* What the standard output of processes is. */
enum rz_stdout {
    RZ_STDOUT_AUTO, /* as rzrun's: a terminal or a pipe of lines */
    RZ_STDOUT_PTY,  /* a pseudo-terminal */
    RZ_STDOUT_LINE, /* a pipe; from MPI_Init on each line is written when it is whole */
    RZ_STDOUT_FULL  /* a pipe; the C library writes when its buffer is full */
};

struct rz_rzrun_options {
    uint32_t n_ranks;            /* of all parts */
    struct rz_context *contexts; /* [n_contexts]: the parts of the command line; a part's options,
                                    while it is read, go to the last one */
    uint32_t n_contexts;
    const char *app_file;           /* of parts, or NULL */
    uint32_t per_node;              /* ranks; 0: not given */
    struct rz_texts without_effect; /* options that were accepted, and have no effect */
    bool warned;                    /* a warning about one of them was printed */
    struct rz_launch_layout layout;
    struct rz_rankfile rankfile; /* n 0: not given */
    uint32_t emulated_nodes;     /* 0: not given */
    enum rz_adapter adapter;
    enum rz_place_by map_by;
    uint32_t n_spares;
    bool all_spares; /* all nodes that the ranks do not need */
    bool named;      /* the nodes were named by --host or --hostfile */
    enum rz_launcher_choice launcher;
    enum rz_mpi mpi;       /* AUTO until the programs are found */
    uint32_t n_remote;     /* nodes on other hosts */
    struct rz_texts agent; /* words of the command that starts a daemon: ssh and its options */
    struct rz_texts directories; /* absolute ones, of the parts */
    bool agent_given;            /* by --launch-agent */
    const char *ssh_arguments;   /* or NULL */
    const char *interface;       /* the one by which hosts reach each other, or NULL */
    const char *port_range;      /* of RZ_PORT_RANGE; NULL: any ports */
    /* [n_addresses]: at which other hosts reach this machine, the best one first; port 0 */
    struct rz_address addresses[RZ_RZRUN_ADDRESSES_MAX];
    unsigned n_addresses;
    rz_time start_timeout;
    const char *remote_daemon; /* path of rzd on the other hosts; NULL: as here */
    bool whole_environment;
    bool readmit;              /* lost hosts that answer again, by a restart */
    struct rz_preload preload; /* files for other hosts */
    bool bind_to_core, report_bindings, no_ft, on_failure_given;
    bool agree_given, detector_given, hb_given, linger_given, output_wait_given, place_lost_given;
    bool restarts_given, rewind_output_given, seed_given, silence_given, spool_given;
    bool with_ft;         /* programs of another MPI handle failures */
    bool accept_failures; /* they do not affect the exit status of a job that ends */
    bool oversubscribed;  /* the ranks outnumber the processors (rzrun_settle.c) */
    bool lost_together;
    bool oversubscribe, label, progress, story;
    bool slots_limit; /* slots bind, at the start and after failures */
    enum rz_on_failure on_failure;
    struct rz_texts environment; /* NAME=value; of all parts */
    const char *report;          /* file for the record, or NULL */
    const char *cases;           /* folder for case files, or NULL */
    uint64_t progress_total;     /* iterations of the program, for --progress; 0: not known */
    const char *report_html;     /* file for the page, or NULL */
    char *const *line;           /* argv */
    const char *trace;           /* file for the traces, or NULL */
    struct rz_trace_levels levels;
    bool levels_given;
    struct rz_fault faults[RZ_FAULTS_MAX];
    uint32_t n_faults;
    uint64_t seed;
    const char *debugger;        /* its words, or NULL */
    struct rz_texts debug_ranks; /* none: all */
    enum rz_debug_terminal debug_terminal;
    bool debug_terminal_given;
    char *debug_script; /* for /bin/sh, once the programs were found */
    rz_time hb_period, hb_timeout, timeout, hang_timeout, hang_report;
    rz_time silence_timeout; /* of all daemons */
    rz_time output_wait;     /* for output of what ended ranks have left */
    bool detach;
    uint64_t spool_bytes; /* per node */
    rz_time linger;
    const char *attach; /* the number of the job to show, or a prefix of it; NULL: run one */
    const char *finish; /* the same for a job to end */
    enum rz_detector detector;
    enum rz_stdout rank_stdout;
    uint32_t restarts_max, verbosity;
    struct rz_scheme scheme;        /* how checkpoints are kept */
    struct rz_scheme rewind_scheme; /* the same, by --rewind-scheme */
    bool scheme_given, rewind_scheme_given;
    const char *checkpoint_dir;  /* for files, or NULL */
    const char *checkpoint_name; /* of the job, in the folder */
    uint32_t checkpoint_keep;    /* generations */
    bool restart, keep_checkpoints;
    bool rewind, rewind_or_abort, rewind_check;
    enum rz_rewound_output rewind_output;
    rz_time rewind_every;
    struct rz_check_run *check; /* this is a run of --rewind-check (rewind_check.h), or NULL */
    int signal_checkpoint; /* ends the job as SIGTERM does, after the newest checkpoint is in files;
                              0: none */
};

/* Reads a whole number from low to high; false: *why says what is wanted. */
bool rz_rzrun_whole(const char *value, uint64_t low, uint64_t high, uint32_t *number,
                    const char **why);

/* Reads a time above 0. */
bool rz_rzrun_duration(const char *value, rz_time *time, const char **why);

/* Reads the period or the bound of heartbeats. */
bool rz_rzrun_heartbeat(const char *value, rz_time *time, const char **why);

/* "SIGTERM" and others that can end a job with its newest checkpoint in files. */
const char *rz_rzrun_signal_name(int number);

extern const struct rz_cli rz_rzrun_cli;

/* Reads the command line; ends the process with a one-line message where it is wrong. */
void rz_rzrun_options_read(struct rz_rzrun_options *options, int argc, char **argv);
void rz_rzrun_options_clear(struct rz_rzrun_options *options);

#endif
