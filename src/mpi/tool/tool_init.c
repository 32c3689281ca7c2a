/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_T: init and finalize, texts, enumerations, and the functions for events, of which there are
 * none.
 */
#include "mpi/tool/tool.h"

#include <stdio.h>

static unsigned users;

bool rz_tool_runs(void)
{
    return users > 0;
}

int rzm_t_init_thread(int required, int *provided)
{
    if (!provided) {
        return MPI_T_ERR_INVALID;
    }
    users++;
    *provided = required < MPI_THREAD_MULTIPLE ? required : MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

int rzm_t_finalize(void)
{
    RZ_TOOL_BEGIN();
    users--;
    return MPI_SUCCESS;
}

void rz_tool_give_text(const char *text, char *buffer, int *length)
{
    if (!length) {
        return;
    }
    if (buffer && *length > 0) {
        snprintf(buffer, (size_t)*length, "%s", text);
    }
    *length = (int)strlen(text) + 1;
}

/* ---- Enumerations ---- */

int rzm_t_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
    RZ_TOOL_BEGIN();
    if (enumtype == MPI_T_ENUM_NULL) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    rz_tool_give_int(enumtype->n, num);
    rz_tool_give_text(enumtype->name, name, name_len);
    return MPI_SUCCESS;
}

int rzm_t_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len)
{
    RZ_TOOL_BEGIN();
    if (enumtype == MPI_T_ENUM_NULL) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    if (indx < 0 || indx >= enumtype->n) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    rz_tool_give_int(indx, value);
    rz_tool_give_text(enumtype->items[indx], name, name_len);
    return MPI_SUCCESS;
}

/* ---- Events: there are none, so no index, name, source or handle of one is valid ---- */

int rzm_t_event_get_num(int *num_events)
{
    RZ_TOOL_BEGIN();
    if (!num_events) {
        return MPI_T_ERR_INVALID;
    }
    *num_events = 0;
    return MPI_SUCCESS;
}

int rzm_t_event_get_index(const char *name, int *event_index)
{
    RZ_TOOL_BEGIN();
    return !name || !event_index ? MPI_T_ERR_INVALID : MPI_T_ERR_INVALID_NAME;
}

int rzm_t_source_get_timestamp(int source_index, MPI_Count *timestamp)
{
    RZ_TOOL_BEGIN();
    (void)source_index;
    (void)timestamp;
    return MPI_T_ERR_INVALID_INDEX;
}

int rzm_t_event_copy(MPI_T_event_instance event_instance, void *buffer)
{
    RZ_TOOL_BEGIN();
    (void)event_instance;
    (void)buffer;
    return MPI_T_ERR_INVALID_HANDLE;
}
