/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sections of arrays (rhizome/section.h): where the places of their rows lie in memory.
 */
#ifndef RZ_MPI_SECTION_H
#define RZ_MPI_SECTION_H

#include <rhizome/section.h>

#include "mpi/type/datatype.h"

/* Whether count items of the type lie inside the row of the section: MPI_SUCCESS, MPI_ERR_COUNT;
 * MPI_ERR_ARG: it is no section. */
int rz_section_check(const RZ_Section *section, MPI_Count count,
                     const struct rz_datatype *datatype);

/* Copies n items of the type, from item `first` on, between the section and `row`, which stands for
 * the start of its row. They lie inside: rz_section_check. */
enum rz_section_way { RZ_SECTION_TO_ROW, RZ_SECTION_FROM_ROW };
void rz_section_copy(const RZ_Section *section, const struct rz_datatype *datatype, MPI_Count first,
                     MPI_Count n, char *row, enum rz_section_way way);

/* RZ_Type_create_section. */
int rzm_type_create_section(const RZ_Section *section, MPI_Count count,
                            struct rz_datatype *datatype, struct rz_datatype **newtype);

#endif
