/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor's parts: what the library can do (features), what this machine lacks (check), and the
 * program that check runs as a job (probe). Each returns the exit status. Other hosts:
 * rzdoctor_hosts.h. */
#ifndef RZ_CMD_RZDOCTOR_H
#define RZ_CMD_RZDOCTOR_H

#include "launch/rzrun_options.h"

#include <jansson.h>
#include <stdbool.h>

enum rz_doctor_exit { RZ_DOCTOR_GOOD, RZ_DOCTOR_BAD };

struct rz_doctor_options {
    struct rz_rzrun_options run; /* of --hosts: those that rzrun has, too; the first member */
    bool allocation;             /* the hosts are those of the job of a batch system */
    bool json, missing, working;
    char **names; /* of features: functions, or patterns of them */
    int names_n;
};

/* The names are refused by `unknown` (the first that matches nothing, and a likely one or NULL),
 * which does not return. */
int rz_doctor_features(const struct rz_doctor_options *options,
                       void (*unknown)(const char *name, const char *nearest));
int rz_doctor_check(const struct rz_doctor_options *options);
int rz_doctor_probe(void);

/* ---- findings ---- */

enum rz_doctor_verdict { RZ_DOCTOR_OK, RZ_DOCTOR_WARNING, RZ_DOCTOR_FAULT, RZ_DOCTOR_VERDICTS };

struct rz_doctor_report {
    bool json;
    const char *section;
    json_t *findings; /* all of them; with json they are printed at the end */
    unsigned counts[RZ_DOCTOR_VERDICTS];
};

/* From now on findings belong to this section. */
void rz_doctor_section(struct rz_doctor_report *report, const char *title);

/* A finding about subject; remedy: what to do, NULL with RZ_DOCTOR_OK. */
void rz_doctor_say(struct rz_doctor_report *report, enum rz_doctor_verdict verdict,
                   const char *subject, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* All checks of this machine. */
void rz_doctor_check_here(struct rz_doctor_report *report);

void rz_doctor_check_machine(struct rz_doctor_report *report);
void rz_doctor_check_kernel(struct rz_doctor_report *report);
void rz_doctor_check_limits(struct rz_doctor_report *report);
void rz_doctor_check_network(struct rz_doctor_report *report);
void rz_doctor_check_install(struct rz_doctor_report *report);
void rz_doctor_check_variables(struct rz_doctor_report *report);
void rz_doctor_check_jobs(struct rz_doctor_report *report);

/* ---- what the checks share ---- */

enum { RZ_DOCTOR_PATH = 4096, RZ_DOCTOR_TEXT = 512 };

/* The folder of this program, without the last slash; false: the system does not report it. */
bool rz_doctor_bin(char folder[RZ_DOCTOR_PATH]);

/* The folder of the library that belongs to this program; false: there is none. */
bool rz_doctor_lib(char folder[RZ_DOCTOR_PATH]);

/* Opens that library; NULL: why (a static text) says what is wrong. */
void *rz_doctor_open_library(const char **why);

/* The result of rz_doctor_try. */
struct rz_doctor_trial {
    int status; /* as of waitpid; -1: it had to be ended after limit_s, or fork failed */
    char text[RZ_DOCTOR_TEXT]; /* the beginning of what it wrote to its standard output and error */
};

/*
 * Runs body in a process of its own, whose standard output and error go to trial->text, for at most
 * limit_s seconds. Returns whether it ended with 0. All processes that it left are ended.
 */
bool rz_doctor_try(int (*body)(void *arg), void *arg, int limit_s, struct rz_doctor_trial *trial);

#endif
