/* SPDX-License-Identifier: BSD-3-Clause */
/* rzrun: see `rzrun --help`. */
#include "outcome/exit_codes.h"
#include "base/no_memory.h"
#include "launch/attach.h"
#include "launch/attempts.h"
#include "launch/program.h"
#include "launch/rewind_check.h"
#include "launch/rzrun_options.h"
#include "port/kill_point.h"
#include "launch/surroundings.h"
#include "port/process.h"

#include <event2/event.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* rzd is beside rzrun, in the build tree as when installed; libraries are in directories beside
 * that. */
static void find_beside(const char *name, char *path, size_t path_max)
{
    if (!rz_process_path(path, path_max - strlen(name) - 1)) {
        path[0] = 0;
    }
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, name);
}

/* The directory of our MPI library; false: none was found beside rzrun. */
static bool find_libraries(char *path, size_t path_max)
{
    static const char *const places[] = {"../lib/" RZ_PROGRAM_LIBRARY,
                                         "../" RZ_LIBRARIES "/" RZ_PROGRAM_LIBRARY};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        char file[PATH_MAX];
        find_beside(places[i], file, sizeof(file));
        char *real = realpath(file, NULL);
        if (!real) {
            continue;
        }
        *strrchr(real, '/') = 0;
        snprintf(path, path_max, "%s", real);
        free(real);
        return true;
    }
    return false;
}

/* Lets a program that was linked to another library of the same ABI find ours; the user's choice
 * stands before it. */
static void give_library(struct rz_context *part)
{
    static char folder[PATH_MAX], text[2 * PATH_MAX]; /* stacks may be small */
    const char *own = rz_context_library_path(part);
    if (!rz_program_lacks_library(part->program[0], own)) {
        return;
    }
    if (!find_libraries(folder, sizeof(folder))) {
        fprintf(stderr,
                "rzrun: %s wants " RZ_PROGRAM_LIBRARY ", which the loader does not find, and there "
                "is none beside rzrun; set LD_LIBRARY_PATH to its directory\n",
                part->program[0]);
        return;
    }
    snprintf(text, sizeof(text), "LD_LIBRARY_PATH=%s%s%s", own ? own : "", own && *own ? ":" : "",
             folder);
    rz_texts_add(&part->environment, text);
}

/* 0, or the exit status after a message; the path belongs to the part from now on. */
static int find_program(struct rz_context *part)
{
    char path[PATH_MAX];
    const char *why;
    int error =
        rz_program_find(part->program[0], part->path, part->directory, path, sizeof(path), &why);
    if (error) {
        fprintf(stderr, "rzrun: cannot run '%s': %s\n", part->program[0], why);
    } else {
        part->program[0] = part->executable = strdup(path);
        rz_need_memory(part->executable, "for the path of the program");
        give_library(part);
    }
    return error;
}

/* --mpi auto: as the programs need it. 0, or the exit status after a message. */
static int choose_mpi(struct rz_rzrun_options *options)
{
    static const enum rz_mpi choice[] = {[RZ_PROGRAM_PLAIN] = RZ_MPI_RHIZOME,
                                         [RZ_PROGRAM_OWN] = RZ_MPI_RHIZOME,
                                         [RZ_PROGRAM_PMIX] = RZ_MPI_PMIX,
                                         [RZ_PROGRAM_PMI1] = RZ_MPI_PMI1};
    char library[64] = "", first[64] = "";
    if (options->mpi != RZ_MPI_AUTO) {
        return 0;
    }
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        const struct rz_context *part = &options->contexts[i];
        enum rz_mpi mpi = choice[rz_program_words_mpi(part->program, rz_context_library_path(part),
                                                      library, sizeof(library))];
        if (i > 0 && mpi != options->mpi) {
            fprintf(stderr,
                    "rzrun: the programs are linked to different MPIs (%s, %s): one job has one; "
                    "--mpi says which where rzrun errs\n",
                    *first ? first : "Rhizome", mpi != RZ_MPI_RHIZOME ? library : "Rhizome");
            return RZ_EXIT_BAD_LINE;
        }
        options->mpi = mpi;
        snprintf(first, sizeof(first), "%s", mpi != RZ_MPI_RHIZOME ? library : "");
    }
    return 0;
}

/* Finds the files that other hosts need. Those of Rhizome are there, unless they are elsewhere. */
static int collect_files(struct rz_rzrun_options *options)
{
    static char folder[PATH_MAX];
    bool same_place = !options->remote_daemon && find_libraries(folder, sizeof(folder));
    struct rz_preload *preload = &options->preload;
    int status = options->n_remote > 0
                     ? rz_preload_collect(preload, options->contexts, options->n_contexts,
                                          same_place ? folder : NULL)
                     : 0;
    for (uint32_t i = 0; options->verbosity > 0 && i < preload->n; i++) {
        fprintf(stderr, "rzrun: %s is brought to other hosts (%llu bytes)\n",
                preload->files[i].path, (unsigned long long)preload->files[i].bytes);
    }
    return status;
}

/* --verbose: how the command line was understood. */
static void tell(const struct rz_rzrun_options *options)
{
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        fprintf(stderr, "rzrun: %u ranks of %s\n", options->contexts[i].n_ranks,
                options->contexts[i].program[0]);
    }
    for (uint32_t i = 0; i < options->layout.n_nodes; i++) {
        uint32_t n_ranks = 0;
        for (uint32_t rank = 0; rank < options->n_ranks; rank++) {
            n_ranks += options->layout.placement[rank] == i;
        }
        fprintf(stderr, "rzrun: node %u (%s): %u ranks\n", i, options->layout.nodes[i].host,
                n_ranks);
    }
    for (uint32_t i = 0; i < options->without_effect.n; i++) {
        fprintf(stderr, "rzrun: without effect: %s\n", options->without_effect.texts[i]);
    }
}

/* Code that rzrun shares with daemons (checkpoint files) passes their kill points; these must not
 * take effect here. */
static void arm_kill_point(const char *plan)
{
    static const char own[] = "launch-";
    if (plan && strncmp(plan, own, strlen(own)) == 0) {
        rz_kill_arm(plan, 0);
    }
}

/* libevent has reported why. */
static void no_events(int error)
{
    (void)error;
    fprintf(stderr, "rzrun: cannot start: there is no event loop\n");
    exit(RZ_EXIT_START);
}

int main(int argc, char **argv)
{
    static struct rz_rzrun_options options;
    static char daemon[PATH_MAX];
    rz_surroundings_settle();
    rz_no_memory_speaker(RZ_EXIT_MEMORY, "rzrun");
    arm_kill_point(getenv(RZ_KILL_AT));
    event_set_fatal_callback(no_events);
    rz_rzrun_options_read(&options, argc, argv);
    if (options.attach || options.finish) {
        return rz_surroundings_exit(rz_attach_run(&options));
    }
    for (uint32_t i = 0; i < options.n_contexts; i++) {
        int error = find_program(&options.contexts[i]);
        if (error) {
            return error;
        }
    }
    int error = choose_mpi(&options);
    if (!error) {
        error = collect_files(&options);
    }
    if (error) {
        return error;
    }
    if (options.verbosity > 0) {
        tell(&options);
    }
    rz_debugger_apply(&options);
    find_beside("rzd", daemon, sizeof(daemon));
    int status = options.rewind_check ? rz_rewind_check_run(&options, daemon)
                                      : rz_attempts_run(&options, daemon);
    for (uint32_t i = 0; i < options.n_contexts; i++) {
        free(options.contexts[i].executable);
    }
    rz_rzrun_options_clear(&options);
    return rz_surroundings_exit(status);
}
