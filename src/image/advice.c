/* SPDX-License-Identifier: BSD-3-Clause */
/* What the system was told of mappings, beside their protection. */
#include "image/area.h"

#include "image/raw_call.h"

#include <sys/mman.h>

/* Whether an access below it makes it longer. The kernel changes the protection of such a mapping
 * alone "as far as it has grown"; here, to what it is. Executable memory is left alone: a
 * protection that only lets it run may take a key. */
static bool grows_down(const struct rz_image_region *r)
{
    return !r->shared && !(r->protection & PROT_EXEC) &&
           RZ_RAW3(mprotect, r->start, RZ_IMAGE_PAGE, r->protection | PROT_GROWSDOWN) == 0;
}

void rz_image_note_advice(struct rz_image_tables *image)
{
    for (uint32_t i = 0; i < image->head.n_regions; i++) {
        struct rz_image_region *r = &image->region[i];
        bool first_stack = rz_raw_same(image->text + r->path, "[stack]");
        r->advice = !first_stack && grows_down(r) ? RZ_ADVICE_GROWS_DOWN : 0;
    }
}
