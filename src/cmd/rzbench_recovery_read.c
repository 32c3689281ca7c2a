/* What the study recovery reads from reports and programs, and how it cuts a box; pure. */
#include "cmd/rzbench_recovery.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double rz_bench_report_value(const char *report, const char *name)
{
    char wanted[64];
    const char *last = NULL;
    snprintf(wanted, sizeof wanted, " %s=", name);
    for (const char *at = report; at && (at = strstr(at, "event=recovery ")); at++)
        last = at;
    if (!last)
        return NAN;
    const char *found = strstr(last, wanted), *end = strchr(last, '\n');
    return found && (!end || found < end) ? strtod(found + strlen(wanted), NULL) : NAN;
}

double rz_bench_times_value(const char *line, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = line; at && *at && *at != '\n';) {
        at += strspn(at, " ");
        size_t n = strcspn(at, " \n");
        if (n == length && strncmp(at, word, length) == 0)
            return strtod(at + n, NULL);
        at += n;
    }
    return NAN;
}

void rz_bench_dimensions(unsigned ranks, unsigned n[3])
{
    n[0] = n[1] = n[2] = 1;
    for (unsigned factor = ranks; ranks > 1; ranks /= factor) {
        for (unsigned i = factor = ranks; i >= 2; i--)
            factor = ranks % i == 0 ? i : factor; /* the least one, which is prime */
        unsigned least = n[0] <= n[1] && n[0] <= n[2] ? 0 : n[1] <= n[2] ? 1 : 2;
        n[least] *= factor;
    }
}
