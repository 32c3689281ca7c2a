/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of options (options.c), for the texts made from it (options_show.c). */
#ifndef RZ_STUDY_OPTIONS_TABLE_H
#define RZ_STUDY_OPTIONS_TABLE_H

#include "study/options.h"

/* How a default is shown; PLAIN: not at all. */
enum rz_study_kind { PLAIN, COUNT, COUNT64, TIME, SHARE, NUMBER, BYTES, TREE };

struct rz_study_option {
    uint32_t takes; /* studies that use it: bits of enum rz_study_takes; 0: all */
    enum rz_study_kind kind;
    size_t at; /* of its value in struct rz_study_options */
    struct rz_cli_option cli;
};

/* Ends with an entry without name and help; an entry without name only is a heading. */
extern const struct rz_study_option rz_study_option_table[];

#endif
