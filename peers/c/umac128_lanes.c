/* Prototype: UMAC-128, see umac_lanes.h. */

#define STREAMS 4
#define TAG_BITS 128
#include "umac_lanes.h"
