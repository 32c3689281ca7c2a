#include "launch/attempts.h"

#include "launch/session.h"
#include "port/clock.h"

int rz_attempts_run(const struct rz_rzrun_options *options, const char *program, const char *daemon)
{
    struct rz_attempts attempts = {.begun = rz_clock_now()};
    for (;; attempts.n++) {
        attempts.again = false;
        int status = rz_session_run(options, &attempts, program, daemon);
        if (!attempts.again)
            return status;
    }
}
