#include "launch/silence.h"

rz_time rz_silence_look(struct rz_silence *silence, rz_time passed, char state)
{
    rz_time counts = passed < RZ_SILENCE_LOOK ? passed : RZ_SILENCE_LOOK;
    if (state == 'R')
        counts /= RZ_SILENCE_STARVED;
    silence->lasted = silence->heard ? 0 : silence->lasted + counts;
    silence->heard = false;
    return silence->lasted;
}
