/*
 * rotation_levels.h
 *		The rounds of a rotation, in place, one function per level.
 *
 * Call hy_rotation_apply instead, which calls only functions that this processor can run.
 */
#ifndef HY_ROTATION_LEVELS_H
#define HY_ROTATION_LEVELS_H

#include "core/rotation.h"

extern void hy_rotate_scalar(const HyRotation *rotation, float *x);
extern void hy_rotate_avx2(const HyRotation *rotation, float *x);   /* x86-64 */
extern void hy_rotate_avx512(const HyRotation *rotation, float *x); /* x86-64 */
extern void hy_rotate_neon(const HyRotation *rotation, float *x);   /* AArch64 */

#endif
