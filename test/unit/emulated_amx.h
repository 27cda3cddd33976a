/*
 * emulated_amx.h
 *		Intel's matrix unit in plain C, and AVX-512 by simde_avx512.h, so that tile_amx.c itself runs
 *		on processors without.
 *
 * After the descriptions in the Software Developer's Manual, volume 2: LDTILECFG, TILELOADD,
 * TILESTORED, TILEZERO, TILERELEASE, TDPBF16PS, TDPBSSD.  What would raise an exception there, ends
 * the program here, and so does a program that leaves the tiles configured.
 */
#ifndef HY_EMULATED_AMX_H
#define HY_EMULATED_AMX_H

#include "simde_avx512.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EMULATED_TILES 8
#define EMULATED_ROWS 16
#define EMULATED_ROW_BYTES 64

typedef struct EmulatedUnit
{
	bool configured;
	bool watched;
	int rows[EMULATED_TILES];
	int row_bytes[EMULATED_TILES];
	uint8_t data[EMULATED_TILES][EMULATED_ROWS][EMULATED_ROW_BYTES];
} EmulatedUnit;

static EmulatedUnit emulated_unit;

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#define _tile_loadconfig emulated_tile_loadconfig
#define _tile_release emulated_tile_release
#define _tile_loadd emulated_tile_loadd
#define _tile_stored emulated_tile_stored
#define _tile_zero emulated_tile_zero
#define _tile_dpbf16ps emulated_tile_dpbf16ps
#define _tile_dpbssd emulated_tile_dpbssd

static inline void
emulated_require(bool condition, const char *what)
{
	if (condition)
		return;
	printf("not ok - emulated matrix unit: %s\n", what);
	fflush(stdout);
	_Exit(1);
}

static inline void
emulated_at_exit(void)
{
	emulated_require(!emulated_unit.configured, "left configured");
}

static inline void
emulated_tile_loadconfig(const void *config)
{
	const uint8_t *bytes = config;
	int i;

	if (!emulated_unit.watched)
		atexit(emulated_at_exit);
	emulated_unit.watched = true;
	/* not an exception, but something was not released */
	emulated_require(!emulated_unit.configured, "configured twice");
	emulated_require(bytes[0] == 1 && bytes[1] == 0, "palette or start row");
	for (i = 2; i < 16; i++)
		emulated_require(bytes[i] == 0, "reserved bytes of the configuration");
	for (i = 0; i < 16; i++)
	{
		int row_bytes = bytes[16 + 2 * i] + 256 * bytes[17 + 2 * i];
		int rows = bytes[48 + i];

		if (i >= EMULATED_TILES)
		{
			emulated_require(row_bytes == 0 && rows == 0, "tiles beyond the eighth");
			continue;
		}
		emulated_require(row_bytes <= EMULATED_ROW_BYTES && rows <= EMULATED_ROWS,
		                 "tile too large");
		emulated_require((row_bytes == 0) == (rows == 0), "half a tile");
		emulated_unit.row_bytes[i] = row_bytes;
		emulated_unit.rows[i] = rows;
	}
	memset(emulated_unit.data, 0, sizeof(emulated_unit.data));
	emulated_unit.configured = true;
}

static inline void
emulated_tile_release(void)
{
	emulated_unit.configured = false;
}

static inline void
emulated_check_tile(int tile)
{
	emulated_require(emulated_unit.configured, "not configured");
	emulated_require(tile >= 0 && tile < EMULATED_TILES && emulated_unit.rows[tile] > 0,
	                 "no such tile");
}

static inline void
emulated_tile_loadd(int tile, const void *base, size_t stride)
{
	int row;

	emulated_check_tile(tile);
	memset(emulated_unit.data[tile], 0, sizeof(emulated_unit.data[tile]));
	for (row = 0; row < emulated_unit.rows[tile]; row++)
		memcpy(emulated_unit.data[tile][row], (const char *) base + (size_t) row * stride,
		       (size_t) emulated_unit.row_bytes[tile]);
}

static inline void
emulated_tile_stored(int tile, void *base, size_t stride)
{
	int row;

	emulated_check_tile(tile);
	for (row = 0; row < emulated_unit.rows[tile]; row++)
		memcpy((char *) base + (size_t) row * stride, emulated_unit.data[tile][row],
		       (size_t) emulated_unit.row_bytes[tile]);
}

static inline void
emulated_tile_zero(int tile)
{
	emulated_check_tile(tile);
	memset(emulated_unit.data[tile], 0, sizeof(emulated_unit.data[tile]));
}

/* The shapes of dst += a b, of words of four bytes. */
static inline void
emulated_check_product(int dst, int a, int b)
{
	emulated_check_tile(dst);
	emulated_check_tile(a);
	emulated_check_tile(b);
	emulated_require(dst != a && dst != b && a != b, "the same tile twice");
	emulated_require(emulated_unit.row_bytes[dst] % 4 == 0 && emulated_unit.row_bytes[a] % 4 == 0,
	                 "rows not of whole words");
	emulated_require(emulated_unit.rows[dst] == emulated_unit.rows[a] &&
	                     emulated_unit.row_bytes[a] / 4 == emulated_unit.rows[b] &&
	                     emulated_unit.row_bytes[dst] == emulated_unit.row_bytes[b],
	                 "shapes that do not fit");
}

/* A subnormal as zero of its sign. */
static inline float
emulated_flush(float x)
{
	return fpclassify(x) == FP_SUBNORMAL ? copysignf(0.0f, x) : x;
}

static inline float
emulated_bf16(const uint8_t *at)
{
	uint32_t bits = (uint32_t) at[0] << 16 | (uint32_t) at[1] << 24;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return emulated_flush(x);
}

static inline void
emulated_tile_dpbf16ps(int dst, int a, int b)
{
	int m;
	int n;
	int k;

	emulated_check_product(dst, a, b);
	for (m = 0; m < emulated_unit.rows[dst]; m++)
	{
		for (n = 0; n < emulated_unit.row_bytes[dst] / 4; n++)
		{
			uint8_t *at = emulated_unit.data[dst][m] + 4 * n;
			float even = 0.0f;
			float odd = 0.0f;
			float sum;

			for (k = 0; k < emulated_unit.rows[b]; k++)
			{
				const uint8_t *x = emulated_unit.data[a][m] + 4 * k;
				const uint8_t *y = emulated_unit.data[b][k] + 4 * n;

				even = emulated_flush(fmaf(emulated_bf16(x), emulated_bf16(y), even));
				odd = emulated_flush(fmaf(emulated_bf16(x + 2), emulated_bf16(y + 2), odd));
			}
			memcpy(&sum, at, sizeof(sum));
			sum = emulated_flush(emulated_flush(sum) + emulated_flush(even + odd));
			memcpy(at, &sum, sizeof(sum));
		}
	}
}

static inline void
emulated_tile_dpbssd(int dst, int a, int b)
{
	int m;
	int n;
	int k;
	int i;

	emulated_check_product(dst, a, b);
	for (m = 0; m < emulated_unit.rows[dst]; m++)
	{
		for (n = 0; n < emulated_unit.row_bytes[dst] / 4; n++)
		{
			uint8_t *at = emulated_unit.data[dst][m] + 4 * n;
			uint32_t sum;

			memcpy(&sum, at, sizeof(sum));
			for (k = 0; k < emulated_unit.rows[b]; k++)
			{
				for (i = 0; i < 4; i++)
					sum += (uint32_t) ((int8_t) emulated_unit.data[a][m][4 * k + i] *
					                   (int8_t) emulated_unit.data[b][k][4 * n + i]);
			}
			memcpy(at, &sum, sizeof(sum));
		}
	}
}

#endif
