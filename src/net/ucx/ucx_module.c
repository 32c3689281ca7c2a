/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The module: opening, progress and closing; its table.
 */
#include "net/ucx/ucx_internal.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static bool arm(struct rz_net *net)
{
    /* UCX may not be armed before it has reported that it has no event: it would miss the first
     * message of a connection. */
    if (!net->idle || net->finished.first) {
        return false;
    }
    return ucp_worker_arm(((struct rz_ucx_net *)net)->worker) == UCS_OK;
}

static int descriptor(struct rz_net *net)
{
    return ((struct rz_ucx_net *)net)->fd;
}

static void close_net(struct rz_net *net)
{
    struct rz_ucx_net *ucx = (struct rz_ucx_net *)net;
    rz_rdv_close(net);
    ucp_worker_destroy(ucx->worker);
    ucp_cleanup(ucx->context);
    rz_rdv_free(net);
    free(ucx);
}

/* ---- opening ---- */

static rz_status_t complain(const struct rz_ucx_config *config, rz_status_t status,
                            const char *text)
{
    if (config->complain) {
        config->complain(config->host.arg, text);
    }
    return status;
}

static ucs_status_t open_context(struct rz_ucx_net *net, const struct rz_ucx_config *config)
{
    ucp_config_t *settings;
    ucs_status_t status = ucp_config_read(NULL, NULL, &settings);
    if (status != UCS_OK) {
        return status;
    }
    ucp_params_t parameters = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
        .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
        .estimated_num_eps = config->peers_estimated > 0 ? config->peers_estimated : 1,
    };
    status = ucp_init(&parameters, settings, &net->context);
    ucp_config_release(settings);
    return status;
}

static ucs_status_t open_worker(struct rz_ucx_net *net)
{
    ucp_worker_params_t parameters = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                      .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucs_status_t status = ucp_worker_create(net->context, &parameters, &net->worker);
    if (status == UCS_OK) {
        status = ucp_worker_get_efd(net->worker, &net->fd);
    }
    return status == UCS_OK ? rz_ucx_listen(net) : status;
}

static rz_status_t open_net(const struct rz_ucx_config *config, struct rz_net **result)
{
    const char *problem = rz_ucx_environment_problem();
    if (problem) {
        return complain(config, RZ_ERR_INVALID, problem);
    }
    struct rz_ucx_net *net = calloc(1, sizeof(*net));
    if (!net) {
        return complain(config, RZ_ERR_NO_MEMORY, "no memory for the transport");
    }
    net->fd = -1;
    /* UCX starts a thread; it inherits the mask, and the program's signals must not be delivered
     * there. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ucs_status_t status = UCS_OK;
    if (rz_rdv_open(&net->net, &rz_ucx_carrier, config->job, &config->host) != RZ_OK) {
        status = UCS_ERR_IO_ERROR;
    }
    if (status == UCS_OK) {
        status = open_context(net, config);
    }
    if (status == UCS_OK) {
        status = open_worker(net);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status == UCS_OK) {
        *result = &net->net;
        return RZ_OK;
    }
    char text[256];
    const char *devices = getenv("UCX_NET_DEVICES");
    snprintf(text, sizeof(text), "UCX: %s (UCX_TLS=%s%s%s)", ucs_status_string(status),
             getenv("UCX_TLS"), devices ? ", UCX_NET_DEVICES=" : "", devices ? devices : "");
    if (net->worker) {
        ucp_worker_destroy(net->worker);
    }
    if (net->context) {
        ucp_cleanup(net->context);
    }
    free(net);
    return complain(config, status == UCS_ERR_NO_MEMORY ? RZ_ERR_NO_MEMORY : RZ_ERR_SYSTEM, text);
}

static const struct rz_net_ops operations = {
    .name = "ucx",
    .eager_max = RZ_UCX_EAGER_MAX,
    RZ_RDV_OPERATIONS,
    .arm = arm,
    .fd = descriptor,
    .close = close_net,
};

__attribute__((visibility("default"))) const struct rz_net_ucx_entry rz_net_ucx_entry = {
    .version = RZ_NET_UCX_VERSION,
    .ops = &operations,
    .open = open_net,
};
