/*
 * tile_avx512.h
 *		Functions shared by the tiles of the matrix unit (tile_amx.c) and of 512-bit registers.
 *
 * Both use panels of 32 targets.
 */
#ifndef HY_TILE_AVX512_H
#define HY_TILE_AVX512_H

#include "core/tile.h"

/* These functions implement the members of HyTileKernels with the same names. */
extern uint32_t hy_tile_avx512_reaching(const float *dots, const HyTileTargets *rows, float weight,
                                        float threshold);
extern float hy_tile_avx512_largest(const float *x, int n);
extern void
hy_tile_avx512_interleave(const int16_t *rows, size_t stride, int length, int16_t *panel);

#endif
