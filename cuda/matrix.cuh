/*
 * matrix.cuh
 *		The matrix unit: products of bfloat16 by a warp, and what it multiplies on its way out of
 *		shared memory.
 */
#ifndef HY_CUDA_MATRIX_CUH
#define HY_CUDA_MATRIX_CUH

#include <stdint.h>

/*
 * hy_needs_bfloat16: the first call of every kernel that filters.  The unit has no bfloat16 before 8.0,
 * and nobody launches these kernels there (filter.c), so code for 7.5 ends here.  It is a trap, for such
 * code may come to a later device as PTX: no answer is better than a wrong one.
 */
__device__ __forceinline__ void
hy_needs_bfloat16()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
	__trap();
	__builtin_unreachable();
#endif
}

/*
 * hy_multiply: sum += a b, 16 queries by 8 rows and 16 dims.  Thread t has of a the rows t / 4 and 8
 * more, dims 2 (t % 4), + 1, and 8 more; of b the row t / 4 and the same dims; of the sum the queries
 * t / 4 and 8 more, rows 2 (t % 4), + 1.
 */
__device__ __forceinline__ void
hy_multiply(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
	(void) sum;
	(void) a;
	(void) b;
	hy_needs_bfloat16();
#elif defined(__CUDACC__)
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
	    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
	hy_simt::multiply(sum, a, b);
#endif
}

/*
 * hy_load_matrices: four matrices of 8 rows by 16 bytes, out of shared memory.  Lane l says where row
 * l % 8 of matrix l / 8 lies, aligned to 16 bytes, and gets of each matrix word l % 4 of row l / 4.
 */
__device__ __forceinline__ void
hy_load_matrices(uint32_t (&words)[4], const void *row)
{
#ifdef __CUDACC__
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
	             : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
	             : "r"((uint32_t) __cvta_generic_to_shared(row))
	             : "memory");
#else
	hy_simt::load_matrices(words, row);
#endif
}

#endif
