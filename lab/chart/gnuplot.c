/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs gnuplot on a script, and returns its last complaint if it fails. */
#include "chart/chart_state.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static bool spawned(FILE *script, FILE *drawing, FILE *complaints, pid_t *child, const char **why)
{
    static char *const words[] = {"gnuplot", "-d", NULL}; /* -d: no settings of the user */
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fileno(script), 0);
    posix_spawn_file_actions_adddup2(&files, fileno(drawing), 1);
    posix_spawn_file_actions_adddup2(&files, fileno(complaints), 2);
    int error = posix_spawnp(child, words[0], &files, NULL, words, environ);
    posix_spawn_file_actions_destroy(&files);
    if (error == ENOENT) {
        return rz_chart_say(why, "gnuplot is not installed");
    }
    return error == 0 || rz_chart_say(why, "gnuplot cannot be started: %s", strerror(error));
}

/* The last line with a message, without its position. */
static void last_complaint(FILE *complaints, char *out, size_t bytes)
{
    char line[256];
    snprintf(out, bytes, "it says nothing");
    rewind(complaints);
    while (fgets(line, sizeof(line), complaints)) {
        line[strcspn(line, "\n")] = 0;
        if (line[strspn(line, " ^")]) {
            snprintf(out, bytes, "%s", line + strspn(line, " "));
        }
    }
}

bool rz_gnuplot(FILE *script, FILE *drawing, const char **why)
{
    FILE *complaints = tmpfile();
    char complaint[256];
    pid_t child;
    int status = 0;
    if (!complaints) {
        return rz_chart_say(why, "no temporary file for what gnuplot says");
    }
    bool good = spawned(script, drawing, complaints, &child, why);
    if (good) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
            ;
        }
        last_complaint(complaints, complaint, sizeof(complaint));
        good = (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
               rz_chart_say(why, "gnuplot: %s", complaint);
    }
    fclose(complaints);
    return good;
}
