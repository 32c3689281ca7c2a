/* SPDX-License-Identifier: BSD-3-Clause */
/* The rate of iterations, and the line of --progress. */
#include "launch/progress_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* A rate is measured over at least this time; the weight of the newest one. */
#define RATED_EVERY (RZ_SECOND / 2)
#define RATE_NEW 0.3
/* Without a mark for so long the rate says nothing about the end. */
#define STALE_AFTER (30 * RZ_SECOND)
/* Bounds the characters of a line: five numbers, four times and words. */
#define LINE_CHARACTERS 300

void rz_progress_mark(struct rz_progress *progress, uint64_t iteration, uint32_t epoch, rz_time at)
{
    if (epoch < progress->epoch) {
        return; /* of the time before a roll-back */
    }
    bool again = epoch > progress->epoch || progress->rated_at == 0;
    if (again) { /* what is done again is no progress, and no rate */
        progress->epoch = epoch;
        progress->newest = progress->rated = iteration;
        progress->rated_at = at;
        return;
    }
    if (iteration <= progress->newest) {
        return;
    }
    progress->newest = iteration;
    if (at < progress->rated_at + RATED_EVERY) {
        return;
    }
    double rate = (double)(iteration - progress->rated) / ((double)(at - progress->rated_at) / 1e9);
    progress->per_second =
        progress->per_second > 0 ? RATE_NEW * rate + (1 - RATE_NEW) * progress->per_second : rate;
    progress->rated = iteration;
    progress->rated_at = at;
}

void rz_progress_committed(struct rz_progress *progress, uint64_t generation, rz_time at)
{
    if (generation != progress->generation && at >= progress->committed_at) {
        progress->generation = generation;
        progress->committed_at = at;
    }
}

struct line {
    char *text;
    size_t used, max;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line->text + line->used, line->max - line->used, format, arguments);
    va_end(arguments);
    if (n > 0) {
        line->used += (size_t)n;
        line->used = line->used < line->max ? line->used : line->max - 1;
    }
}

static void say_time(struct line *line, double seconds)
{
    if (seconds < 10) {
        add(line, "%.1f s", seconds);
    } else if (seconds < 120) {
        add(line, "%.0f s", seconds);
    } else if (seconds < 7200) {
        add(line, "%.0f min", seconds / 60);
    } else if (seconds < 1e9) {
        add(line, "%.0f h", seconds / 3600);
    } else {
        add(line, "more than 30 years");
    }
}

static void say_rate(struct line *line, double per_second)
{
    add(line, per_second < 999.5 ? "%.3g" : "%.0f", per_second);
}

static void say_iterations(struct line *line, const struct rz_progress *progress, rz_time now,
                           bool brief)
{
    if (progress->rated_at == 0) {
        add(line, "no iteration yet");
        return;
    }
    add(line, "%s%" PRIu64, brief ? "" : "iteration ", progress->newest);
    if (progress->total > 0) {
        add(line, " of %" PRIu64, progress->total);
    }
    if (progress->per_second <= 0) {
        return;
    }
    add(line, ", ");
    say_rate(line, progress->per_second);
    add(line, brief ? "/s" : " per second");
    if (progress->total > progress->newest && now < progress->rated_at + STALE_AFTER) {
        add(line, ", ends in ");
        say_time(line, (double)(progress->total - progress->newest) / progress->per_second);
    }
}

static void say_all(struct line *line, const struct rz_progress *progress, rz_time age, rz_time now,
                    bool brief)
{
    if (brief) {
        say_time(line, (double)age / 1e9);
        add(line, ": ");
    } else {
        add(line, "%8.3f s  ", (double)age / 1e9);
    }
    say_iterations(line, progress, now, brief);
    if (progress->failures > 0) {
        add(line, "; %u failure%s", progress->failures, progress->failures == 1 ? "" : "s");
    }
    if (progress->generation > 0) {
        add(line, brief ? "; saved " : "; checkpoint %" PRIu64 " ", progress->generation);
        say_time(line,
                 now > progress->committed_at ? (double)(now - progress->committed_at) / 1e9 : 0);
        add(line, " ago");
    }
}

void rz_progress_text(const struct rz_progress *progress, rz_time age, rz_time now, char *text,
                      size_t max)
{
    char whole[LINE_CHARACTERS];
    struct line line = {whole, 0, sizeof(whole)};
    say_all(&line, progress, age, now, false);
    if (line.used >= max) { /* on a narrow terminal */
        line.used = 0;
        say_all(&line, progress, age, now, true);
    }
    snprintf(text, max, "%s", whole);
}
