/* SPDX-License-Identifier: BSD-3-Clause */
/* The generated tables: what this build supports, and the names of error classes. */
#ifndef RZ_ABI_FEATURES_H
#define RZ_ABI_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

typedef void (*rz_code)(void);

struct rz_feature_row {
    const char *name;    /* "MPI_Send" */
    const char *chapter; /* "Point-to-point communication"; rows of one chapter are adjacent */
    rz_code code;        /* the implementing function; NULL: not supported by this build */
};
extern const struct rz_feature_row rz_feature_rows[];
extern const size_t rz_feature_row_count;

struct rz_error_row {
    int error_class;
    const char *name; /* "MPI_ERR_RANK" */
};
extern const struct rz_error_row rz_error_rows[];
extern const size_t rz_error_row_count;

/* The name of an error class of the ABI or of fault tolerance; NULL for others. */
const char *rz_error_name(int error);

/*
 * The i-th function of the library, whether this build supports it, and its chapter (functions of
 * one chapter are adjacent); NULL after the last. For `rzdoctor features`, which finds it by name
 * in the library.
 */
const char *RZ_Feature(size_t i, bool *supported, const char **chapter);

#endif
