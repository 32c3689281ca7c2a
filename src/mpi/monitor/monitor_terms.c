/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the info keys of a monitor, with their units and bounds.
 */
#include "mpi/monitor/monitor_terms.h"

#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define VALUE_SIZE 128
#define TIME_MIN RZ_MILLISECOND
#define TIME_MAX (3600 * RZ_SECOND)
#define FACTOR_MAX 100.0
#define ZETA_MAX 1000000

static const struct rz_monitor_terms defaults = {
    .tests = {.interval = RZ_SECOND,
              .threshold_first = 8 * RZ_SECOND,
              .threshold_max = TIME_MAX,
              .threshold_min = 20 * RZ_MILLISECOND,
              .mode = RZ_DIAGNOSE_MULTIPLY,
              .factor = 2500,
              .zeta = 5,
              .health_max = 3,
              .assignment = RZ_DIAGNOSE_FULL},
    .name = "default",
};

/* ---- Values ---- */

/* Reads a number, and returns what follows it. */
static bool read_number(const char *text, double *value, const char **unit)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    *unit = end;
    return end != text && errno == 0 && isfinite(*value) && *value >= 0;
}

static bool read_time(const char *text, rz_time *time)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const char *unit;
    double value;
    if (!read_number(text, &value, &unit)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(unit, units[i].name) == 0 && value * units[i].ns <= (double)TIME_MAX) {
            *time = (rz_time)(value * units[i].ns);
            return true;
        }
    }
    return false;
}

static bool read_count(const char *text, uint32_t least, uint32_t most, uint32_t *count)
{
    const char *unit;
    double value;
    if (!read_number(text, &value, &unit) || *unit != '\0' || value < least || value > most ||
        value != floor(value)) {
        return false;
    }
    *count = (uint32_t)value;
    return true;
}

/* ---- Keys ---- */

static bool take_interval(const char *value, struct rz_monitor_terms *terms)
{
    return read_time(value, &terms->tests.interval) && terms->tests.interval >= TIME_MIN;
}

static bool take_zeta(const char *value, struct rz_monitor_terms *terms)
{
    return read_count(value, 1, ZETA_MAX, &terms->tests.zeta);
}

static bool take_threshold(const char *value, struct rz_monitor_terms *terms)
{
    bool add = strcmp(value, "add") == 0;
    terms->tests.mode = add ? RZ_DIAGNOSE_ADD : RZ_DIAGNOSE_MULTIPLY;
    terms->tests.factor = add ? 0 : defaults.tests.factor;
    return add || strcmp(value, "multiply") == 0;
}

/* After `threshold`, which determines the meaning of the factor. */
static bool take_factor(const char *value, struct rz_monitor_terms *terms)
{
    const char *unit;
    double factor;
    if (terms->tests.mode == RZ_DIAGNOSE_ADD) {
        return read_time(value, &terms->tests.factor);
    }
    if (!read_number(value, &factor, &unit) || *unit != '\0' || factor < 1 || factor > FACTOR_MAX) {
        return false;
    }
    terms->tests.factor = (uint64_t)(factor * 1000 + 0.5);
    return true;
}

static bool take_first_threshold(const char *value, struct rz_monitor_terms *terms)
{
    return read_time(value, &terms->tests.threshold_first) &&
           terms->tests.threshold_first >= TIME_MIN;
}

static bool take_least_threshold(const char *value, struct rz_monitor_terms *terms)
{
    return read_time(value, &terms->tests.threshold_min);
}

static bool take_assignment(const char *value, struct rz_monitor_terms *terms)
{
    bool cube = strcmp(value, "cube") == 0;
    terms->tests.assignment = cube ? RZ_DIAGNOSE_CUBE : RZ_DIAGNOSE_FULL;
    return cube || strcmp(value, "full") == 0;
}

static bool take_local_health(const char *value, struct rz_monitor_terms *terms)
{
    return read_count(value, 0, RZ_DIAGNOSE_HEALTH_MAX, &terms->tests.health_max);
}

/* The name is a part of the name of a process set. */
static bool take_name(const char *value, struct rz_monitor_terms *terms)
{
    size_t length = strlen(value);
    if (length == 0 || length >= sizeof(terms->name) || strchr(value, '/')) {
        return false;
    }
    memcpy(terms->name, value, length + 1);
    return true;
}

static const struct {
    const char *key, *wants;
    bool (*take)(const char *value, struct rz_monitor_terms *terms);
} keys[] = {
    {"interval", "a time from 1ms to 3600s, like 1s or 50ms", take_interval},
    {"zeta", "a whole number from 1 to 1000000", take_zeta},
    {"threshold", "multiply or add", take_threshold},
    {"factor", "a number from 1 to 100, or with threshold \"add\" a time like 2.5ms", take_factor},
    {"first_threshold", "a time from 1ms to 3600s, like 8s", take_first_threshold},
    {"least_threshold", "a time up to 3600s, like 20ms", take_least_threshold},
    {"assignment", "full or cube", take_assignment},
    {"local_health", "a whole number from 0 to 100", take_local_health},
    {"name", "1 to 63 characters without a slash", take_name},
};

int rz_monitor_terms_read(struct rz_info *info, struct rz_monitor_terms *terms)
{
    struct rz_monitor_terms read = defaults;
    for (size_t i = 0; info && i < sizeof(keys) / sizeof(keys[0]); i++) {
        char value[VALUE_SIZE];
        int there = 0;
        int error = rzm_info_get(info, keys[i].key, (int)sizeof(value) - 1, value, &there);
        if (error != MPI_SUCCESS) {
            return error;
        }
        if (there && !keys[i].take(value, &read)) {
            return rzm_error(MPI_ERR_INFO_VALUE, "%s is \"%s\", not %s", keys[i].key, value,
                             keys[i].wants);
        }
    }
    *terms = read;
    return MPI_SUCCESS;
}

uint64_t rz_monitor_terms_number(const struct rz_monitor_terms *terms)
{
    const struct rz_diagnose_config *tests = &terms->tests;
    const uint64_t words[] = {
        tests->interval,  tests->threshold_first, tests->threshold_max, tests->threshold_min,
        tests->mode,      tests->factor,          tests->zeta,          tests->health_max,
        tests->assignment};
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        number = rz_mix(number, words[i]);
    }
    for (const char *c = terms->name; *c != '\0'; c++) {
        number = rz_mix(number, (unsigned char)*c);
    }
    return number;
}
