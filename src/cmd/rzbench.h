/*
 * What the files of rzbench share. A study runs commands, repetition after repetition with all
 * systems in turn (A B A B), fills tables with what they printed, and shows medians with the
 * smallest and largest value. Peers are compiled and started only where they are installed.
 */
#ifndef RZ_CMD_RZBENCH_H
#define RZ_CMD_RZBENCH_H

#include <rhizome/types.h>

#include <limits.h>
#include <signal.h>
#include <stdio.h>

enum rz_bench_system { RZ_BENCH_RHIZOME, RZ_BENCH_OPENMPI, RZ_BENCH_MPICH, RZ_BENCH_SYSTEM_COUNT };

enum {
    RZ_BENCH_ROWS_MAX = 48,
    RZ_BENCH_COLUMNS_MAX = 8,
    RZ_BENCH_REPETITIONS_MAX = 64,
    RZ_BENCH_NAME_MAX = 64,
    RZ_BENCH_ARGUMENTS_MAX = 64
};

struct rz_bench {
    /* From the command line. */
    unsigned repetitions; /* 0: the study's own choice */
    bool quick, no_peers;
    rz_time budget;                   /* 0: none */
    rz_time limit;                    /* of one run */
    const char *csv, *plot, *report;  /* files to write; NULL: none */
    const char *cpus;                 /* "0,1": where the two ranks of the latency study run */
    const char *study, *command_line; /* what was asked for */
    const char *part;                 /* of a study that has parts: "detect", ..., "all" */
    const char *ranks, *nodes;        /* of ulfm and recovery: "2,4,8"; NULL: its own choice */
    const char *peer_root;            /* of the same; NULL: where tools/setup puts it */
    const char *baseline;             /* of mpi: where an earlier Rhizome is installed; or NULL */

    /* Found out at the start. */
    char bin[PATH_MAX];     /* rzrun, mpicc */
    char sources[PATH_MAX]; /* bench_*.c, hpccg.c, ring.c */
    char folder[PATH_MAX];  /* temporary */
    bool present[RZ_BENCH_SYSTEM_COUNT];
    char version[RZ_BENCH_SYSTEM_COUNT][256];
    char peer_version[256]; /* of the peer in a root folder of its own */

    FILE *report_file, *csv_file;
    rz_time deadline;    /* 0: none */
    bool budget_used_up; /* something was left out */
    unsigned tables;     /* shown, with at least one value */
    char verdict[128];   /* of a study that has one: the last line; empty: it has none */
    unsigned runs;
};

/* Prints to standard output and into the report. */
void rz_bench_say(struct rz_bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The user wants an end. */
extern volatile sig_atomic_t rz_bench_interrupted;

/* False once the budget is used up; also notes that. */
bool rz_bench_may_go_on(struct rz_bench *bench);

/* What is under way gets an even share of the time until end (0: there is none), so many parts
 * being left, itself included. */
void rz_bench_share_time(struct rz_bench *bench, rz_time end, unsigned left);

/* Makes part `part` of a study; false: it could not be made. */
typedef bool (*rz_bench_make_part_t)(void *study, unsigned part);

/*
 * Makes the parts that bench->part asks for, up to one that could not be made: names[i] is that of
 * part i, and behind them stand "all" and NULL. Of all parts, i may take shares[i] of the time that
 * is left (shares NULL: as much as each one behind it); where it used that up, the report says so,
 * and the next one goes on.
 */
bool rz_bench_parts_make(struct rz_bench *bench, const char *const *names, const double *shares,
                         rz_bench_make_part_t make, void *study);

/* The repetitions to make where the study would make `usual`, or `quick` with --quick. */
unsigned rz_bench_repetitions(const struct rz_bench *bench, unsigned usual, unsigned quick);

/* --- rzbench_run.c: one command --- */

/* Words of a command line; the caller frees nothing: words are kept in `text`. */
struct rz_bench_command {
    char *argv[RZ_BENCH_ARGUMENTS_MAX + 1];
    unsigned n;
    char text[8192];
    size_t used;
};

void rz_bench_command_add(struct rz_bench_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The command as a shell would take it, in out of `bytes`. */
void rz_bench_command_show(const struct rz_bench *bench, const struct rz_bench_command *command,
                           char *out, size_t bytes);

enum rz_bench_end {
    RZ_BENCH_ENDED,       /* by itself; status tells how */
    RZ_BENCH_OVER,        /* it took longer than the limit and was ended */
    RZ_BENCH_OUT_OF_TIME, /* ended because the budget was used up: says nothing about the command */
    RZ_BENCH_ENOUGH       /* ended because its watch had seen enough */
};

struct rz_bench_run {
    enum rz_bench_end end;
    int status;    /* exit status, or 128 + signal */
    double wall_s; /* from start to end */
    double cpu_s;  /* user and system time of the whole tree */
    char *output;  /* standard output and error; freed by rz_bench_run_free */
};

/*
 * Runs a command to its end, or to the limit (0: that of the command line). Whatever it left
 * behind is killed, so nothing of one run disturbs the next.
 */
void rz_bench_run(struct rz_bench *bench, const struct rz_bench_command *command, rz_time limit,
                  struct rz_bench_run *run);
void rz_bench_run_free(struct rz_bench_run *run);

/* Looked at again and again while a command runs; once enough returns true, the command is ended.
 */
struct rz_bench_watch {
    bool (*enough)(void *arg);
    void *arg;
};

void rz_bench_run_watched(struct rz_bench *bench, const struct rz_bench_command *command,
                          rz_time limit, const struct rz_bench_watch *watch,
                          struct rz_bench_run *run);

/* The line of output that begins with prefix and behind it a space, or the next one after `after`
 * (NULL: the first); NULL: there is none. Points to behind the space. */
const char *rz_bench_line(const struct rz_bench_run *run, const char *prefix, const char *after);

/* --- rzbench_system.c: Rhizome and its peers --- */

extern const char *const rz_bench_system_names[RZ_BENCH_SYSTEM_COUNT];

enum rz_bench_path { RZ_BENCH_WITHIN, RZ_BENCH_BETWEEN };

/* How to start a program; peers have no emulated nodes: BETWEEN takes their TCP on loopback. */
struct rz_bench_start {
    enum rz_bench_system system;
    enum rz_bench_path path;
    unsigned ranks;
    unsigned nodes;             /* Rhizome only; 0: one, or with BETWEEN two */
    bool yield;                 /* more ranks than processors: Open MPI gives its processor away */
    const char *program;        /* "bench_pair", "hpccg" */
    const char *const *options; /* of rzrun, ended by NULL; NULL: none */
};

/* Whether the shell would find this program. */
bool rz_bench_on_path(const char *program);

/* Where rzrun and the sources are, and which peers there are. False: said why. */
bool rz_bench_systems_find(struct rz_bench *bench);

/* Compiles a program with Rhizome's wrapper and, if asked to, with those of the peers. False:
 * Rhizome's did not compile; the output was shown. */
bool rz_bench_compile(struct rz_bench *bench, const char *program, bool peers_too);

/* The system is present and the program was compiled for it. */
bool rz_bench_has(const struct rz_bench *bench, enum rz_bench_system system, const char *program);

/* The words up to and with the program; its arguments follow by rz_bench_command_add. */
void rz_bench_command_start(const struct rz_bench *bench, const struct rz_bench_start *start,
                            struct rz_bench_command *command);

/* Where the built or installed program of apps/ of that name is; false: nowhere. */
bool rz_bench_app_path(const struct rz_bench *bench, const char *name, char *out, size_t bytes);

/* --- rzbench_peer.c: Open MPI with ULFM, in a root folder of its own --- */

/* Whether it is here and runs (said why, if only the latter does not hold). */
bool rz_bench_peer_open(struct rz_bench *bench);
bool rz_bench_peer_compile(struct rz_bench *bench, const char *program);
/* The words up to and with the program, as rz_bench_command_start. */
void rz_bench_peer_start(const struct rz_bench *bench, enum rz_bench_path path, unsigned ranks,
                         const char *program, struct rz_bench_command *command);

/* --- rzbench_table.c: samples and how they are shown --- */

struct rz_bench_samples {
    unsigned n; /* slots in use: a repetition that was left out is NAN, one over the limit INFINITY
                 */
    double value[RZ_BENCH_REPETITIONS_MAX];
    double limit_s; /* of the run that was over it */
};

struct rz_bench_summary {
    unsigned n;
    double median, min, max;
};

/* What the plot's x axis has: the rows by name, or the numbers that their names begin with. */
enum rz_bench_axis { RZ_BENCH_AXIS_NAMES, RZ_BENCH_AXIS_LINEAR, RZ_BENCH_AXIS_LOG2 };

struct rz_bench_table {
    const char *name; /* in the CSV file and in names of plots */
    const char *title;
    const char *rows_are; /* heading of the first column */
    const char *unit;     /* for the axis of the plot */
    bool ratios;          /* the first column over each other one, repetition by repetition */
    bool intervals; /* cells are shown with the 95 % interval of the mean (rzbench_interval.h) */
    bool plot, log_scale, below_zero;
    enum rz_bench_axis axis;
    bool trends; /* draws a * log2(x) + b through the medians of each column; needs numbers as x */
    char rows[RZ_BENCH_ROWS_MAX][RZ_BENCH_NAME_MAX];
    char columns[RZ_BENCH_COLUMNS_MAX][RZ_BENCH_NAME_MAX];
    unsigned n_rows, n_columns;
    struct rz_bench_samples cells[RZ_BENCH_ROWS_MAX][RZ_BENCH_COLUMNS_MAX];
};

/* The cell of this row and column, made when it is new. */
struct rz_bench_samples *rz_bench_cell(struct rz_bench_table *table, const char *row,
                                       const char *column);
void rz_bench_put(struct rz_bench_samples *samples, unsigned repetition, double value);
/* The run did not end within the limit. */
void rz_bench_put_over(struct rz_bench_samples *samples, unsigned repetition, double limit_s);
bool rz_bench_is_over(const struct rz_bench_samples *samples);
struct rz_bench_summary rz_bench_summarise(const struct rz_bench_samples *samples);
/* Of a / b, of each repetition, in which both ran one after the other. */
struct rz_bench_summary rz_bench_ratio(const struct rz_bench_samples *a,
                                       const struct rz_bench_samples *b);
/* Three digits that mean something. */
void rz_bench_number_text(double value, char *out, size_t bytes);
/* "median [smallest..largest]"; "-" where there is nothing. */
void rz_bench_summary_text(const struct rz_bench_summary *summary, char *out, size_t bytes);

/* a * log2(x) + b, or a * x + b, by least squares over the medians of one column, x being the
 * number that a row's name begins with; r2: the share of the variance that it explains. n: the
 * points; with fewer than two there is no line. */
struct rz_bench_trend {
    unsigned n;
    double a, b, r2;
};
struct rz_bench_trend rz_bench_trend(const struct rz_bench_table *table, unsigned column,
                                     bool log2_of_x);

/* As Markdown on standard output and in the report, and into the CSV file and the plot where asked
 * for. */
void rz_bench_table_show(struct rz_bench *bench, const struct rz_bench_table *table);

/* --- the studies; false: they could not be made --- */

bool rz_bench_failure(struct rz_bench *bench);
bool rz_bench_latency(struct rz_bench *bench);
bool rz_bench_crowd(struct rz_bench *bench);
bool rz_bench_runtime(struct rz_bench *bench);
bool rz_bench_ulfm(struct rz_bench *bench);
bool rz_bench_recovery(struct rz_bench *bench);
bool rz_bench_checkpoint(struct rz_bench *bench);
bool rz_bench_group(struct rz_bench *bench);
bool rz_bench_mpi(struct rz_bench *bench);
extern const char *const rz_bench_checkpoint_parts[]; /* ended by NULL */
extern const char *const rz_bench_group_parts[];      /* ended by NULL */
extern const char *const rz_bench_mpi_parts[];        /* ended by NULL */
extern const char *const rz_bench_recovery_parts[];   /* ended by NULL */
extern const char *const rz_bench_runtime_parts[];    /* ended by NULL */
extern const char *const rz_bench_ulfm_parts[];       /* ended by NULL */

/* Numbers from 1 to most, with commas between: what --ranks and --nodes take. */
enum { RZ_BENCH_ULFM_RANKS_MAX = 1024 };
bool rz_bench_ulfm_is_list(const char *text, unsigned most);

#endif
