/* Prototype: UMAC-64, see umac_lanes.h. */

#define STREAMS 2
#define TAG_BITS 64
#include "umac_lanes.h"
