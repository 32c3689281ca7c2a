/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the kill points, and the plan that RZ_KILL_AT sets. */
#include "port/kill_point.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP "+stop"

struct rz_kill_plan *rz_kill_plan;

static const char *const names[RZ_KILL_POINTS] = {
#define RZ_KILL_POINT(point, name) [RZ_KILL_##point] = (name),
#include "kill_points_of_all.def"
#undef RZ_KILL_POINT
};

const char *rz_kill_point_name(unsigned point)
{
    return point < RZ_KILL_POINTS ? names[point] : NULL;
}

void rz_kill_reached(enum rz_kill_point point)
{
    if (rz_kill_plan->point == point && --rz_kill_plan->left == 0) {
        kill(getpid(), rz_kill_plan->signal);
    }
}

/* Reads `mark` and a number of at least `least`, or nothing; moves *text behind it. */
static bool read_number(const char **text, char mark, uint64_t least, uint64_t *number)
{
    if (**text != mark) {
        return true;
    }
    if ((*text)[1] < '0' || (*text)[1] > '9') {
        return false;
    }
    char *end;
    errno = 0;
    *number = strtoull(*text + 1, &end, 10);
    *text = end;
    return errno == 0 && *number >= least;
}

bool rz_kill_arm(const char *text, uint32_t rank)
{
    static struct rz_kill_plan plan;
    size_t length = strcspn(text, ":@+");
    unsigned point = 0;
    while (point < RZ_KILL_POINTS &&
           (strlen(names[point]) != length || strncmp(names[point], text, length) != 0)) {
        point++;
    }
    uint64_t nth = 1, target = rank;
    const char *rest = text + length;
    if (*text == '\0') {
        rz_kill_plan = NULL;
        return true;
    }
    if (point == RZ_KILL_POINTS || !read_number(&rest, ':', 1, &nth) ||
        !read_number(&rest, '@', 0, &target) || (*rest != '\0' && strcmp(rest, STOP) != 0)) {
        return false;
    }
    plan = (struct rz_kill_plan){.point = (enum rz_kill_point)point,
                                 .left = nth,
                                 .signal = *rest == '\0' ? SIGKILL : SIGSTOP};
    rz_kill_plan = target == rank ? &plan : NULL;
    return true;
}
