/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_T categories: one for all, and one for each kind of variable. They never change.
 */
#include "mpi/tool/tool.h"

static const struct {
    const char *name, *text;
} categories[RZ_TOOL_CATEGORIES] = {
    [RZ_TOOL_ALL] = {"rhizome", "All variables of Rhizome"},
    [RZ_TOOL_JOB] = {"rhizome_job", "This process and its job"},
    [RZ_TOOL_TRANSPORT] = {"rhizome_transport", "How messages are carried"},
    [RZ_TOOL_MESSAGES] = {"rhizome_messages", "Messages and requests"},
    [RZ_TOOL_FAILURES] = {"rhizome_failures", "Failures, recoveries, and how they are found"},
};

/* The members of a category among n items: returns their number, and stores the first len of them
 * in indices. */
static int members(int cat_index, int n, enum rz_tool_category (*category)(int index), int len,
                   int indices[])
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        if ((int)category(i) != cat_index) {
            continue;
        }
        if (found < len) {
            indices[found] = i;
        }
        found++;
    }
    return found;
}

/* The category that contains a category: the first one contains all others, and is in none. */
static enum rz_tool_category parent(int index)
{
    return index == RZ_TOOL_ALL ? RZ_TOOL_CATEGORIES : RZ_TOOL_ALL;
}

static bool is_category(int cat_index)
{
    return cat_index >= 0 && cat_index < RZ_TOOL_CATEGORIES;
}

int rzm_t_category_get_num(int *num_cat)
{
    RZ_TOOL_BEGIN();
    if (!num_cat) {
        return MPI_T_ERR_INVALID;
    }
    *num_cat = RZ_TOOL_CATEGORIES;
    return MPI_SUCCESS;
}

int rzm_t_category_get_index(const char *name, int *cat_index)
{
    RZ_TOOL_BEGIN();
    if (!name || !cat_index) {
        return MPI_T_ERR_INVALID;
    }
    for (int i = 0; i < RZ_TOOL_CATEGORIES; i++) {
        if (strcmp(categories[i].name, name) == 0) {
            *cat_index = i;
            return MPI_SUCCESS;
        }
    }
    return MPI_T_ERR_INVALID_NAME;
}

int rzm_t_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len,
                            int *num_cvars, int *num_pvars, int *num_categories)
{
    RZ_TOOL_BEGIN();
    if (!is_category(cat_index)) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    rz_tool_give_text(categories[cat_index].name, name, name_len);
    rz_tool_give_text(categories[cat_index].text, desc, desc_len);
    rz_tool_give_int(members(cat_index, rz_tool_cvars(), rz_tool_cvar_category, 0, NULL),
                     num_cvars);
    rz_tool_give_int(members(cat_index, rz_tool_pvars(), rz_tool_pvar_category, 0, NULL),
                     num_pvars);
    rz_tool_give_int(members(cat_index, RZ_TOOL_CATEGORIES, parent, 0, NULL), num_categories);
    return MPI_SUCCESS;
}

int rzm_t_category_get_num_events(int cat_index, int *num_events)
{
    RZ_TOOL_BEGIN();
    if (!is_category(cat_index)) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    rz_tool_give_int(0, num_events);
    return MPI_SUCCESS;
}

static int get_members(int cat_index, int n, enum rz_tool_category (*category)(int index), int len,
                       int indices[])
{
    RZ_TOOL_BEGIN();
    if (!is_category(cat_index)) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    if (len < 0 || (len > 0 && !indices)) {
        return MPI_T_ERR_INVALID;
    }
    members(cat_index, n, category, len, indices);
    return MPI_SUCCESS;
}

int rzm_t_category_get_cvars(int cat_index, int len, int indices[])
{
    return get_members(cat_index, rz_tool_cvars(), rz_tool_cvar_category, len, indices);
}

int rzm_t_category_get_pvars(int cat_index, int len, int indices[])
{
    return get_members(cat_index, rz_tool_pvars(), rz_tool_pvar_category, len, indices);
}

int rzm_t_category_get_events(int cat_index, int len, int indices[])
{
    return get_members(cat_index, 0, parent, len, indices);
}

int rzm_t_category_get_categories(int cat_index, int len, int indices[])
{
    return get_members(cat_index, RZ_TOOL_CATEGORIES, parent, len, indices);
}

int rzm_t_category_changed(int *update_number)
{
    RZ_TOOL_BEGIN();
    if (!update_number) {
        return MPI_T_ERR_INVALID;
    }
    *update_number = 0;
    return MPI_SUCCESS;
}
