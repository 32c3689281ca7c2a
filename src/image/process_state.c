/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel knows of the process, and the processor and kernel that it runs on. */
#include "image/area.h"

#include "image/raw_call.h"

#include <cpuid.h>
#include <fcntl.h>
#include <linux/prctl.h>

#define GET_VECTOR_PERMISSION 0x1022 /* arch_prctl: which states a program has asked for */

/* What programs and libc choose their code by, and how much a signal saves. */
static void note_processor(uint64_t processor[3])
{
    uint32_t a, b, c, d;
    __cpuid(1, a, b, c, d);
    processor[0] = (uint64_t)c << 32 | d;
    __cpuid_count(7, 0, a, b, c, d);
    processor[1] = (uint64_t)b << 32 | c;
    __cpuid_count(13, 0, a, b, c, d); /* bytes of the enabled state, and which it is */
    processor[2] = (uint64_t)b << 32 | a;
}

/* Where the kernel's own mappings begin, and a hash of its code there. */
uint64_t rz_image_vdso(const struct rz_image_tables *tables, uint64_t *hash)
{
    const struct rz_image_region *vdso = rz_image_named(tables, "[vdso]");
    *hash = 0;
    if (!vdso) {
        return 0;
    }
    *hash = rz_page_hash((const void *)vdso->start, vdso->end - vdso->start).low;
    return vdso->start;
}

static void note_controls(struct rz_image_head *head)
{
    head->dumpable = (int32_t)RZ_RAW1(prctl, PR_GET_DUMPABLE);
    head->huge_pages_off = (int32_t)RZ_RAW5(prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0);
    head->subreaper = 0;
    RZ_RAW2(prctl, PR_GET_CHILD_SUBREAPER, &head->subreaper);
    head->no_new_privileges = (int32_t)RZ_RAW5(prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    head->barriers = (int32_t)RZ_RAW3(membarrier, RZ_IMAGE_GET_BARRIERS, 0, 0);
    head->personality = (uint64_t)RZ_RAW1(personality, 0xffffffff);
}

rz_status_t rz_image_note_process(struct rz_image_tables *image)
{
    struct rz_image_head *head = &image->head;
    char path[4096];
    head->owners = (uintptr_t)RZ_AREA->owners;
    head->brk = (uint64_t)RZ_RAW1(brk, 0);
    note_processor(head->processor);
    RZ_RAW2(arch_prctl, GET_VECTOR_PERMISSION, &head->vector_permission);
    for (int i = 1; i < RZ_IMAGE_SIGNALS; i++) {
        RZ_RAW4(rt_sigaction, i, 0, head->action[i], 8);
    }
    if (RZ_AREA->park_left) { /* ours */
        rz_raw_copy(head->action[RZ_AREA->park_signal], RZ_AREA->park_action,
                    sizeof(head->action[0]));
    }
    for (int i = 0; i < RZ_IMAGE_LIMITS; i++) {
        RZ_RAW4(prlimit64, 0, i, 0, head->limit[i]);
    }
    note_controls(head);
    head->mask_of_files = (uint32_t)RZ_RAW1(umask, 0);
    RZ_RAW1(umask, head->mask_of_files);
    if (RZ_RAW2(getcwd, path, sizeof(path)) < 0 || path[0] != '/') {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED, "the working directory has no name any more");
    }
    head->folder = rz_image_keep_text(image, path);
    long n = RZ_RAW4(readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    head->program = rz_image_keep_text(image, path);
    return head->folder == UINT32_MAX || head->program == UINT32_MAX ? RZ_ERR_UNSUPPORTED : RZ_OK;
}

/* Whether this processor and kernel can be those of the image; `here` has this process's mappings.
 */
rz_status_t rz_image_check_process(const struct rz_image_tables *image)
{
    uint64_t processor[3], hash;
    note_processor(processor);
    if ((image->head.processor[0] & ~processor[0]) | (image->head.processor[1] & ~processor[1])) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                               "this processor lacks instructions that the other one had");
    }
    if (image->head.processor[2] != processor[2]) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                               "the vector registers of this processor are others");
    }
    rz_image_vdso(&RZ_AREA->here, &hash);
    if (hash != image->head.vdso_hash) {
        return rz_image_refuse(
            RZ_ERR_UNSUPPORTED,
            "the kernel is another one: its vdso differs from that of the image");
    }
    return RZ_OK;
}
