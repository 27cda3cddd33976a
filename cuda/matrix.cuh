/*
 * matrix.cuh
 *		Instructions of the matrix unit: a warp multiplies bfloat16 matrices, and loads them from
 *		shared memory.
 */
#ifndef HY_CUDA_MATRIX_CUH
#define HY_CUDA_MATRIX_CUH

#include <stdint.h>

/*
 * hy_needs_bfloat16: stop in code for devices before 8.0, whose matrix unit does not support
 * bfloat16.  Every kernel of the filter calls this first.  These kernels are never launched on such
 * a device (filter.c), so their code for 7.5 ends here.  The stop is a trap, because a library
 * built with another CUDA_ARCH may run PTX for 7.5 on a later device, and a failure is better than
 * a wrong answer.
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
 * hy_multiply: compute sum += a b for 16 queries, 8 rows and 16 dims.  The operands are distributed
 * over the threads of a warp.  Let i = 2 (t % 4) for thread t.  In a, the thread has queries t / 4
 * and t / 4 + 8, with dims i, i + 1, i + 8 and i + 9.  In b, it has row t / 4 with the same dims.
 * In the sum, it has queries t / 4 and t / 4 + 8, with rows i and i + 1.
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
 * hy_load_matrices: load four matrices of 8 rows by 16 bytes from shared memory.  Lane l passes the
 * address of row l % 8 of matrix l / 8, aligned to 16 bytes.  Lane l receives word l % 4 of row l /
 * 4 of each matrix.
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
