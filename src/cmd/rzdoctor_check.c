/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor check: the findings and their output; a separate process for each trial. */
#include "cmd/rzdoctor.h"
#include "cmd/rzdoctor_hosts.h"

#include "port/clock.h"
#include "port/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const words[RZ_DOCTOR_VERDICTS] = {"ok", "warning", "fault"};

void rz_doctor_section(struct rz_doctor_report *report, const char *title)
{
    report->section = title;
    if (!report->json) {
        printf("%s\n", title);
    }
}

static void keep(struct rz_doctor_report *report, const char *verdict, const char *subject,
                 const char *text, const char *remedy)
{
    static const char form[] = "{s:s,s:s,s:s,s:s}";
    json_t *finding = json_pack(form, "section", report->section, "subject", subject, "verdict",
                                verdict, "text", text);
    if (!finding) { /* a path in it that is not UTF-8 */
        finding = json_pack(form, "section", report->section, "subject", subject, "verdict",
                            verdict, "text", "(not printable)");
    }
    json_object_set_new(finding, "remedy", remedy ? json_string(remedy) : json_null());
    json_array_append_new(report->findings, finding);
}

void rz_doctor_say(struct rz_doctor_report *report, enum rz_doctor_verdict verdict,
                   const char *subject, const char *remedy, const char *format, ...)
{
    char text[2 * RZ_DOCTOR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    report->counts[verdict]++;
    keep(report, words[verdict], subject, text, remedy);
    if (report->json) {
        return;
    }
    printf("  %-8s %-18s %s\n", words[verdict], subject, text);
    if (remedy) {
        printf("  %-8s %-18s -> %s\n", "", "", remedy);
    }
    fflush(stdout);
}

/* ---- paths ---- */

bool rz_doctor_bin(char folder[RZ_DOCTOR_PATH])
{
    if (!rz_process_path(folder, RZ_DOCTOR_PATH)) {
        return false;
    }
    char *slash = strrchr(folder, '/');
    if (!slash) {
        return false;
    }
    *slash = '\0';
    return true;
}

bool rz_doctor_lib(char folder[RZ_DOCTOR_PATH])
{
    /* The build tree has lib; an installation what it was configured with. */
    static const char *const places[] = {"../lib", RZ_LIB_FROM_BIN};
    char bin[RZ_DOCTOR_PATH], library[RZ_DOCTOR_PATH + 64];
    for (size_t i = 0; rz_doctor_bin(bin) && i < sizeof(places) / sizeof(*places); i++) {
        bool whole = places[i][0] == '/';
        snprintf(library, sizeof(library), "%s%s%s/libmpi_abi.so.1", whole ? "" : bin,
                 whole ? "" : "/", places[i]);
        char *real = realpath(library, NULL), *slash = real ? strrchr(real, '/') : NULL;
        bool found = slash && slash - real < RZ_DOCTOR_PATH;
        if (found) {
            *slash = '\0';
            memcpy(folder, real, strlen(real) + 1);
        }
        free(real);
        if (found) {
            return true;
        }
    }
    return false;
}

void *rz_doctor_open_library(const char **why)
{
    static char text[2 * RZ_DOCTOR_TEXT];
    char folder[RZ_DOCTOR_PATH], path[RZ_DOCTOR_PATH + 64];
    *why = "there is no libmpi_abi.so.1 in the lib folder beside this command";
    if (!rz_doctor_lib(folder)) {
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/libmpi_abi.so.1", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(text, sizeof(text), "%s", dlerror());
        *why = text;
    }
    return library;
}

/* ---- trials ---- */

_Noreturn static void trial_run(int (*body)(void *arg), void *arg, int out, pid_t parent)
{
    setpgid(0, 0);
    if (rz_process_fail_with_parent(parent, SIGKILL) != RZ_OK) {
        _exit(1);
    }
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    close(out);
    int status = body(arg);
    fflush(NULL);
    _exit(status);
}

/* Reads until the end of all writers, or the deadline. */
static bool trial_read(int in, rz_time deadline, char text[RZ_DOCTOR_TEXT])
{
    size_t n = 0;
    for (;;) {
        rz_time now = rz_clock_now();
        struct pollfd ready = {.fd = in, .events = POLLIN};
        int left_ms = now < deadline ? (int)((deadline - now) / 1000000 + 1) : 0;
        char rest[256];
        int polled = poll(&ready, 1, left_ms);
        if (polled < 0 && errno == EINTR) {
            continue;
        }
        if (polled <= 0) {
            return false;
        }
        bool room = n < RZ_DOCTOR_TEXT - 1;
        ssize_t got =
            read(in, room ? text + n : rest, room ? RZ_DOCTOR_TEXT - 1 - n : sizeof(rest));
        if (got <= 0) {
            return true;
        }
        n += room ? (size_t)got : 0;
        text[n] = '\0';
    }
}

/* Waits for the end of pid without reaping it: its number is still that of the group to be ended.
 * The output was closed before, so this usually takes microseconds. */
static bool trial_await(pid_t pid, rz_time deadline)
{
    siginfo_t info = {.si_pid = 0};
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0 &&
           rz_clock_now() < deadline) {
        poll(NULL, 0, 1);
    }
    return info.si_pid == pid;
}

bool rz_doctor_try(int (*body)(void *arg), void *arg, int limit_s, struct rz_doctor_trial *trial)
{
    int ends[2];
    *trial = (struct rz_doctor_trial){.status = -1};
    if (pipe(ends) != 0) {
        snprintf(trial->text, sizeof(trial->text), "pipe: %s", strerror(errno));
        return false;
    }
    fflush(NULL);
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[0]);
        trial_run(body, arg, ends[1], self);
    }
    close(ends[1]);
    if (pid < 0) {
        snprintf(trial->text, sizeof(trial->text), "fork: %s", strerror(errno));
        close(ends[0]);
        return false;
    }
    rz_time deadline = rz_clock_now() + (rz_time)limit_s * 1000000000;
    bool ended = trial_read(ends[0], deadline, trial->text) && trial_await(pid, deadline);
    int status;
    kill(-pid, SIGKILL); /* the processes it left; itself, if it did not end */
    kill(pid, SIGKILL);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        ;
    }
    trial->status = ended ? status : -1;
    return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- all checks ---- */

static void print_end(const struct rz_doctor_report *report)
{
    printf("%u ok, %u warning%s, %u fault%s\n", report->counts[RZ_DOCTOR_OK],
           report->counts[RZ_DOCTOR_WARNING], report->counts[RZ_DOCTOR_WARNING] == 1 ? "" : "s",
           report->counts[RZ_DOCTOR_FAULT], report->counts[RZ_DOCTOR_FAULT] == 1 ? "" : "s");
}

static void dump(struct rz_doctor_report *report)
{
    json_t *all = json_pack(
        "{s:s,s:i,s:i,s:i,s:o}", "version", RZ_VERSION, "ok", (int)report->counts[RZ_DOCTOR_OK],
        "warnings", (int)report->counts[RZ_DOCTOR_WARNING], "faults",
        (int)report->counts[RZ_DOCTOR_FAULT], "findings", json_incref(report->findings));
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

void rz_doctor_check_here(struct rz_doctor_report *report)
{
    /* Causes come before their effects: if no process can be started, nothing can be tested. */
    static void (*const parts[])(struct rz_doctor_report * report) = {
        rz_doctor_check_machine, rz_doctor_check_limits,  rz_doctor_check_kernel,
        rz_doctor_check_network, rz_doctor_check_install, rz_doctor_check_variables,
        rz_doctor_check_jobs};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        parts[i](report);
    }
}

int rz_doctor_check(const struct rz_doctor_options *options)
{
    struct rz_doctor_report report = {.json = options->json, .findings = json_array()};
    rz_doctor_check_here(&report);
    if (options->run.named) {
        rz_doctor_check_hosts(&report, &options->run);
        rz_doctor_check_slurm(&report);
    }
    if (options->json) {
        dump(&report);
    } else {
        print_end(&report);
    }
    json_decref(report.findings);
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    return written && report.counts[RZ_DOCTOR_FAULT] == 0 ? RZ_DOCTOR_GOOD : RZ_DOCTOR_BAD;
}
