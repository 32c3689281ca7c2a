/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor features: asks the library itself (RZ_Feature), function by function. */
#include "cmd/rzdoctor.h"

#include "cli/cli.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A bound on the library's answer; the ABI has 664. */
enum { FUNCTIONS_MAX = 4096 };

struct feature {
    const char *name, *chapter;
    bool works, wanted;
};

struct features {
    struct feature all[FUNCTIONS_MAX];
    size_t n;
    size_t wanted, wanted_working;
};

static bool load(struct features *features, const char **why)
{
    void *library = rz_doctor_open_library(why);
    if (!library) {
        return false;
    }
    const char *(*feature)(size_t, bool *, const char **) = NULL;
    *(void **)&feature = dlsym(library, "RZ_Feature");
    *why = "it does not say what it supports; it is of another version";
    if (!feature) {
        return false;
    }
    for (; features->n < FUNCTIONS_MAX; features->n++) {
        struct feature *f = &features->all[features->n];
        f->name = feature(features->n, &f->works, &f->chapter);
        if (!f->name) {
            break;
        }
    }
    return features->n > 0;
}

static bool is_extension(const struct feature *f)
{
    return strncmp(f->name, "MPIX_", 5) == 0 || strncmp(f->name, "RZ_", 3) == 0;
}

/* Names match as written, or with letters of another case, or without MPI_. */
static bool matches(const struct feature *f, const char *pattern)
{
    return fnmatch(pattern, f->name, FNM_CASEFOLD) == 0 ||
           fnmatch(pattern, strchr(f->name, '_') + 1, FNM_CASEFOLD) == 0;
}

static void refuse_unknown(const struct features *features, const char *name,
                           void (*unknown)(const char *name, const char *nearest))
{
    static const char *names[FUNCTIONS_MAX + 1];
    for (size_t i = 0; i < features->n; i++) {
        names[i] = features->all[i].name;
    }
    unknown(name, strlen(name) > 3 ? rz_cli_nearest(name, names) : NULL);
}

static void choose(struct features *features, const struct rz_doctor_options *options,
                   void (*unknown)(const char *name, const char *nearest))
{
    for (int i = 0; i < options->names_n; i++) {
        bool known = false;
        for (size_t j = 0; j < features->n; j++) {
            if (matches(&features->all[j], options->names[i])) {
                known = features->all[j].wanted = true;
            }
        }
        if (!known) {
            refuse_unknown(features, options->names[i], unknown);
        }
    }
    for (size_t j = 0; j < features->n; j++) {
        struct feature *f = &features->all[j];
        f->wanted = f->wanted || options->names_n == 0;
        features->wanted += f->wanted;
        features->wanted_working += f->wanted && f->works;
    }
}

static bool shows(const struct feature *f, const struct rz_doctor_options *options)
{
    return f->wanted && !(options->missing && f->works) && !(options->working && !f->works);
}

/* Counts the requested functions in the chapter that begins at `first`; returns where the next one
 * begins. */
static size_t count_chapter(const struct features *features, size_t first, size_t *wanted,
                            size_t *working)
{
    size_t i = first;
    *wanted = *working = 0;
    for (; i < features->n && features->all[i].chapter == features->all[first].chapter; i++) {
        *wanted += features->all[i].wanted;
        *working += features->all[i].wanted && features->all[i].works;
    }
    return i;
}

static void print_summary(const struct features *features, const struct rz_doctor_options *options)
{
    size_t ours[2] = {0}, standard[2] = {0};
    for (size_t i = 0; i < features->n; i++) {
        size_t *counts = is_extension(&features->all[i]) ? ours : standard;
        counts[0]++;
        counts[1] += features->all[i].works;
    }
    if (options->names_n > 0) {
        printf("%zu of %zu functions that were named work\n", features->wanted_working,
               features->wanted);
    } else {
        printf("%zu functions of the MPI 5.0 ABI: %zu work, %zu return "
               "MPI_ERR_UNSUPPORTED_OPERATION; %zu of %zu extensions work\n",
               standard[0], standard[1], standard[0] - standard[1], ours[1], ours[0]);
    }
}

static void print_text(const struct features *features, const struct rz_doctor_options *options)
{
    size_t wanted, working;
    for (size_t i = 0, next; i < features->n; i = next) {
        next = count_chapter(features, i, &wanted, &working);
        if (wanted == 0) {
            continue;
        }
        printf("%s: %zu of %zu work\n", features->all[i].chapter, working, wanted);
        for (size_t j = i; j < next; j++) {
            if (shows(&features->all[j], options)) {
                printf("  %-36s %s\n", features->all[j].name,
                       features->all[j].works ? "works" : "unsupported");
            }
        }
    }
    print_summary(features, options);
}

static bool print_features(const struct features *features, const struct rz_doctor_options *options)
{
    json_t *chapters = json_array(), *functions = json_array();
    size_t wanted, working;
    for (size_t i = 0, next; i < features->n; i = next) {
        next = count_chapter(features, i, &wanted, &working);
        if (wanted > 0) {
            json_array_append_new(chapters,
                                  json_pack("{s:s,s:I,s:I}", "chapter", features->all[i].chapter,
                                            "functions", (json_int_t)wanted, "working",
                                            (json_int_t)working));
        }
    }
    for (size_t i = 0; i < features->n; i++) {
        if (shows(&features->all[i], options)) {
            json_array_append_new(functions,
                                  json_pack("{s:s,s:s,s:b}", "name", features->all[i].name,
                                            "chapter", features->all[i].chapter, "works",
                                            (int)features->all[i].works));
        }
    }
    json_t *all = json_pack("{s:s,s:I,s:I,s:o,s:o}", "version", RZ_VERSION, "functions_total",
                            (json_int_t)features->wanted, "functions_working",
                            (json_int_t)features->wanted_working, "chapters", chapters, "functions",
                            functions);
    bool good = all && json_dumpf(all, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF;
    json_decref(all);
    return good;
}

int rz_doctor_features(const struct rz_doctor_options *options,
                       void (*unknown)(const char *name, const char *nearest))
{
    static struct features features;
    const char *why;
    if (!load(&features, &why)) {
        fprintf(stderr, "rzdoctor: Rhizome's library: %s\n", why);
        return RZ_DOCTOR_BAD;
    }
    choose(&features, options, unknown);
    bool good = true;
    if (options->json) {
        good = print_features(&features, options);
    } else {
        print_text(&features, options);
    }
    bool all_work = options->names_n == 0 || features.wanted_working == features.wanted;
    return good && fflush(stdout) == 0 && all_work ? RZ_DOCTOR_GOOD : RZ_DOCTOR_BAD;
}
