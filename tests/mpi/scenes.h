/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of several scenes, of which the command line names the one to be played. */
#ifndef SCENES_H
#define SCENES_H

#include "check.h"

#include <string.h>

struct scene {
    const char *name;
    void (*play)(void);
};

/* Plays the scene of that name, which there must be; rank 0 says that it went well. */
static inline void scene_play(const struct scene *scenes, size_t n, const char *name)
{
    int rank;
    size_t i = 0;
    while (i < n && strcmp(scenes[i].name, name) != 0) {
        i++;
    }
    CHECK(i < n && "a scene of that name");
    scenes[i].play();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("%s: correct\n", name);
    }
}

#define SCENE_PLAY(scenes, name) scene_play(scenes, sizeof(scenes) / sizeof((scenes)[0]), name)

#endif
