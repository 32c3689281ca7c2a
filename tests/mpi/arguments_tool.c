/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_T: errors are codes of its own, and no error handler runs. */
#include "arguments.h"

#include "check.h"

/* A pointer that is no handle of the tools interface. */
#define FOREIGN (void *)&good
static void *foreign = FOREIGN;

static void rows_not_initialised(void)
{
    static MPI_T_pvar_session session;
    ROW_QUIET(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_cvar_get_num", MPI_T_cvar_get_num(&out.number));
    ROW_QUIET(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_pvar_get_num", MPI_T_pvar_get_num(&out.number));
    ROW_QUIET(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_category_get_num",
              MPI_T_category_get_num(&out.number));
    ROW_QUIET(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_event_get_num", MPI_T_event_get_num(&out.number));
    ROW_QUIET(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_source_get_num", MPI_T_source_get_num(&out.number));
    ROW_QUIET(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_category_changed",
              MPI_T_category_changed(&out.number));
    ROW_QUIET(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_pvar_session_create",
              MPI_T_pvar_session_create(&session));
    ROW_QUIET(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_finalize", MPI_T_finalize());
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_init_thread", MPI_T_init_thread(MPI_THREAD_SINGLE, NULL));
}

static void rows_control(void)
{
    MPI_T_cvar_handle handle = NULL;
    int count;
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_cvar_get_num", MPI_T_cvar_get_num(NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_NAME, "MPI_T_cvar_get_index",
              MPI_T_cvar_get_index("none", &out.number));
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_cvar_get_index", MPI_T_cvar_get_index(NULL, &out.number));
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_cvar_get_index", MPI_T_cvar_get_index("none", NULL));
    for (int index = -1; index < 100000; index += 100000) {
        ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_cvar_get_info",
                  MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_cvar_handle_alloc",
                  MPI_T_cvar_handle_alloc(index, NULL, &handle, &out.number));
    }
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_cvar_handle_alloc",
              MPI_T_cvar_handle_alloc(0, NULL, NULL, &out.number));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_cvar_handle_free",
              MPI_T_cvar_handle_free(&(MPI_T_cvar_handle){MPI_T_CVAR_HANDLE_NULL}));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_cvar_handle_free", MPI_T_cvar_handle_free(NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_cvar_read",
              MPI_T_cvar_read((MPI_T_cvar_handle)foreign, out.text));
    CHECK(MPI_T_cvar_handle_alloc(0, NULL, &handle, &count) == MPI_SUCCESS);
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_cvar_read", MPI_T_cvar_read(handle, NULL));
    ROW_QUIET(MPI_T_ERR_CVAR_SET_NEVER, "MPI_T_cvar_write", MPI_T_cvar_write(handle, &count));
    CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS);
}

static void rows_performance(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle = NULL, none = MPI_T_PVAR_HANDLE_NULL;
    MPI_T_pvar_session bad = (MPI_T_pvar_session)foreign;
    int count;
    unsigned long long value;
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_pvar_get_num", MPI_T_pvar_get_num(NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_NAME, "MPI_T_pvar_get_index",
              MPI_T_pvar_get_index("none", MPI_T_PVAR_CLASS_COUNTER, &out.number));
    ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_pvar_get_info",
              MPI_T_pvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                  NULL, NULL));
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_pvar_session_create", MPI_T_pvar_session_create(NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_SESSION, "MPI_T_pvar_session_free", MPI_T_pvar_session_free(&bad));
    ROW_QUIET(MPI_T_ERR_INVALID_SESSION, "MPI_T_pvar_handle_alloc",
              MPI_T_pvar_handle_alloc(bad, 0, NULL, &handle, &out.number));
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_pvar_handle_alloc",
              MPI_T_pvar_handle_alloc(session, 9999, NULL, &handle, &out.number));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_pvar_handle_free",
              MPI_T_pvar_handle_free(session, &none));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_pvar_start", MPI_T_pvar_start(session, none));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_pvar_stop", MPI_T_pvar_stop(session, none));
    ROW_QUIET(MPI_T_ERR_INVALID_SESSION, "MPI_T_pvar_reset", MPI_T_pvar_reset(bad, none));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_pvar_read",
              MPI_T_pvar_read(session, (MPI_T_pvar_handle)foreign, &value));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_pvar_readreset",
              MPI_T_pvar_readreset(session, none, &value));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_pvar_write",
              MPI_T_pvar_write(session, none, &value));
    CHECK(MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &count) == MPI_SUCCESS);
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_pvar_read", MPI_T_pvar_read(session, handle, NULL));
    CHECK(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
}

static void rows_categories(void)
{
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_category_get_num", MPI_T_category_get_num(NULL));
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_category_changed", MPI_T_category_changed(NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_NAME, "MPI_T_category_get_index",
              MPI_T_category_get_index("none", &out.number));
    ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_category_get_info",
              MPI_T_category_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_category_get_num_events",
              MPI_T_category_get_num_events(9999, &out.number));
    ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_category_get_cvars",
              MPI_T_category_get_cvars(-1, 1, out.numbers));
    ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_category_get_pvars",
              MPI_T_category_get_pvars(9999, 1, out.numbers));
    ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_category_get_categories",
              MPI_T_category_get_categories(9999, 1, out.numbers));
    ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_category_get_events",
              MPI_T_category_get_events(9999, 1, out.numbers));
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_category_get_cvars",
              MPI_T_category_get_cvars(0, -1, out.numbers));
}

/* There are no events and no sources, so every index and every handle of one is wrong. */
static void rows_events(void)
{
    MPI_T_event_registration event = (MPI_T_event_registration)foreign;
    MPI_T_event_instance instance = (MPI_T_event_instance)foreign;
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_event_get_num", MPI_T_event_get_num(NULL));
    ROW_QUIET(MPI_T_ERR_INVALID, "MPI_T_source_get_num", MPI_T_source_get_num(NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_NAME, "MPI_T_event_get_index",
              MPI_T_event_get_index("none", &out.number));
    ROW_QUIET(
        MPI_T_ERR_INVALID_INDEX, "MPI_T_event_get_info",
        MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_event_handle_alloc",
              MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &event));
    ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_source_get_info",
              MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_INDEX, "MPI_T_source_get_timestamp",
              MPI_T_source_get_timestamp(0, &out.count));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_event_handle_get_info",
              MPI_T_event_handle_get_info(event, &out.info));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_event_handle_set_info",
              MPI_T_event_handle_set_info(event, good.info));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_event_handle_free",
              MPI_T_event_handle_free(event, NULL, NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_event_callback_get_info",
              MPI_T_event_callback_get_info(event, MPI_T_CB_REQUIRE_NONE, &out.info));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_event_callback_set_info",
              MPI_T_event_callback_set_info(event, MPI_T_CB_REQUIRE_NONE, good.info));
    ROW_QUIET(
        MPI_T_ERR_INVALID_HANDLE, "MPI_T_event_register_callback",
        MPI_T_event_register_callback(event, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_event_set_dropped_handler",
              MPI_T_event_set_dropped_handler(event, NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_event_read",
              MPI_T_event_read(instance, 0, out.buffer));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_event_copy", MPI_T_event_copy(instance, out.buffer));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_event_get_timestamp",
              MPI_T_event_get_timestamp(instance, &out.count));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_event_get_source",
              MPI_T_event_get_source(instance, &out.number));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_enum_get_info",
              MPI_T_enum_get_info(MPI_T_ENUM_NULL, &out.number, NULL, NULL));
    ROW_QUIET(MPI_T_ERR_INVALID_HANDLE, "MPI_T_enum_get_item",
              MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &out.number, NULL, NULL));
}

void rows_tool(void)
{
    int provided;
    rows_not_initialised();
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    rows_control();
    rows_performance();
    rows_categories();
    rows_events();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
}
