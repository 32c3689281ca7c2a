/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints of files: one table says name, kind and place of each. */
#include "mpi/io/file_hints.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum hint_kind { HINT_NUMBER, HINT_OCTAL, HINT_SWITCH, HINT_BOOLEAN, HINT_TEXT };

static const struct hint {
    const char *key;
    enum hint_kind kind;
    size_t at;
    int64_t least;
    bool opening; /* only MPI_File_open takes it */
} table[] = {
    {"cb_nodes", HINT_NUMBER, offsetof(struct rz_file_hints, cb_nodes), 0, false},
    {"cb_buffer_size", HINT_NUMBER, offsetof(struct rz_file_hints, cb_buffer_size), 1, false},
    {"romio_cb_read", HINT_SWITCH, offsetof(struct rz_file_hints, cb_read), 0, false},
    {"romio_cb_write", HINT_SWITCH, offsetof(struct rz_file_hints, cb_write), 0, false},
    {"romio_ds_read", HINT_SWITCH, offsetof(struct rz_file_hints, ds_read), 0, false},
    {"romio_ds_write", HINT_SWITCH, offsetof(struct rz_file_hints, ds_write), 0, false},
    {"ind_rd_buffer_size", HINT_NUMBER, offsetof(struct rz_file_hints, ind_rd_buffer_size), 1,
     false},
    {"ind_wr_buffer_size", HINT_NUMBER, offsetof(struct rz_file_hints, ind_wr_buffer_size), 1,
     false},
    {"striping_unit", HINT_NUMBER, offsetof(struct rz_file_hints, striping_unit), 0, true},
    {"striping_factor", HINT_NUMBER, offsetof(struct rz_file_hints, striping_factor), 0, true},
    {"file_perm", HINT_OCTAL, offsetof(struct rz_file_hints, file_perm), 0, true},
    {"access_style", HINT_TEXT, offsetof(struct rz_file_hints, access_style), 0, false},
    {"rz_commit", HINT_BOOLEAN, offsetof(struct rz_file_hints, commit), 0, true},
};
#define HINTS (sizeof(table) / sizeof(table[0]))

static const char *const switches[] = {"automatic", "enable", "disable"};

void rz_file_hints_init(struct rz_file_hints *hints)
{
    *hints = (struct rz_file_hints){
        .cb_buffer_size = INT64_C(16) << 20,
        .ind_rd_buffer_size = INT64_C(4) << 20,
        .ind_wr_buffer_size = INT64_C(4) << 20,
        .file_perm = -1,
        .ds_write = RZ_FILE_DISABLE,
    };
}

static int64_t *number_at(struct rz_file_hints *hints, const struct hint *hint)
{
    return (int64_t *)(void *)((char *)hints + hint->at);
}

static int32_t *switch_at(struct rz_file_hints *hints, const struct hint *hint)
{
    return (int32_t *)(void *)((char *)hints + hint->at);
}

/* No buffer is larger, whatever a hint says. */
#define NUMBER_MAX (INT64_C(1) << 30)

static void take_number(int64_t *number, const char *value, int base, int64_t least)
{
    char *end;
    long long read = strtoll(value, &end, base);
    if (end != value && *end == '\0' && read >= least) {
        *number = read < NUMBER_MAX ? read : NUMBER_MAX;
    }
}

static int take_hint(struct rz_file_hints *hints, const struct hint *hint, const char *value)
{
    switch (hint->kind) {
    case HINT_NUMBER:
        take_number(number_at(hints, hint), value, 10, hint->least);
        return MPI_SUCCESS;
    case HINT_OCTAL:
        take_number(number_at(hints, hint), value, 8, hint->least);
        return MPI_SUCCESS;
    case HINT_SWITCH:
        for (int32_t i = 0; i < 3; i++) {
            if (strcmp(value, switches[i]) == 0) {
                *switch_at(hints, hint) = i;
            }
        }
        return MPI_SUCCESS;
    case HINT_BOOLEAN:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0) {
            return rzm_error(MPI_ERR_INFO_VALUE, "%s is '%s', not one of true, false", hint->key,
                             value);
        }
        *switch_at(hints, hint) = strcmp(value, "true") == 0;
        return MPI_SUCCESS;
    default:
        snprintf(hints->access_style, sizeof(hints->access_style), "%s", value);
        return MPI_SUCCESS;
    }
}

int rz_file_hints_take(struct rz_file_hints *hints, struct rz_info *info, bool opening)
{
    int error = MPI_SUCCESS;
    for (size_t i = 0; info && i < HINTS && error == MPI_SUCCESS; i++) {
        char value[sizeof(hints->access_style)];
        int there = 0;
        if ((opening || !table[i].opening) &&
            rzm_info_get(info, table[i].key, (int)sizeof(value) - 1, value, &there) ==
                MPI_SUCCESS &&
            there) {
            error = take_hint(hints, &table[i], value);
        }
    }
    return error;
}

static int tell_hint(struct rz_file_hints *hints, const struct hint *hint, struct rz_info *info)
{
    char value[sizeof(hints->access_style)] = "";
    switch (hint->kind) {
    case HINT_NUMBER:
        snprintf(value, sizeof(value), "%" PRId64, *number_at(hints, hint));
        break;
    case HINT_OCTAL:
        if (*number_at(hints, hint) >= 0) {
            snprintf(value, sizeof(value), "%" PRIo64, (uint64_t)*number_at(hints, hint));
        }
        break;
    case HINT_SWITCH:
        snprintf(value, sizeof(value), "%s", switches[*switch_at(hints, hint)]);
        break;
    case HINT_BOOLEAN:
        snprintf(value, sizeof(value), "%s", *switch_at(hints, hint) ? "true" : "false");
        break;
    default:
        snprintf(value, sizeof(value), "%s", hints->access_style);
    }
    return value[0] == '\0' ? MPI_SUCCESS : rzm_info_set(info, hint->key, value);
}

int rz_file_hints_tell(const struct rz_file_hints *hints, struct rz_info **info)
{
    struct rz_file_hints copy = *hints;
    struct rz_info *made;
    int error = rzm_info_create(&made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (size_t i = 0; i < HINTS && error == MPI_SUCCESS; i++) {
        error = tell_hint(&copy, &table[i], made);
    }
    if (error != MPI_SUCCESS) {
        rzm_info_free(made);
        return error;
    }
    *info = made;
    return MPI_SUCCESS;
}
