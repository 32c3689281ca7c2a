/* rzrun: see `rzrun --help`. */
#include "outcome/exit_codes.h"
#include "launch/attach.h"
#include "launch/attempts.h"
#include "launch/program.h"
#include "launch/rzrun_options.h"
#include "port/kill_point.h"
#include "launch/surroundings.h"
#include "port/process.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* rzd lies beside rzrun, in the build tree as when installed. */
static void find_daemon(char *path, size_t path_max)
{
    if (!rz_process_path(path, path_max - 5))
        path[0] = 0;
    char *slash = strrchr(path, '/');
    snprintf(slash ? slash + 1 : path, 5, "rzd");
}

int main(int argc, char **argv)
{
    static struct rz_rzrun_options options;
    char program[PATH_MAX], daemon[PATH_MAX];
    const char *why;
    rz_surroundings_settle();
    if (getenv(RZ_KILL_AT))
        rz_kill_arm(getenv(RZ_KILL_AT), 0);
    rz_rzrun_options_read(&options, argc, argv);
    if (options.attach || options.finish)
        return rz_surroundings_exit(rz_attach_run(&options));
    int error = rz_program_find(options.program[0], program, sizeof program, &why);
    if (error) {
        fprintf(stderr, "rzrun: cannot run '%s': %s\n", options.program[0], why);
        return error;
    }
    find_daemon(daemon, sizeof daemon);
    options.program[0] = program;
    int status = rz_attempts_run(&options, program, daemon);
    rz_rzrun_options_clear(&options);
    return rz_surroundings_exit(status);
}
