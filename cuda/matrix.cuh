/*
 * matrix.cuh
 *		The matrix unit: products of bfloat16, or of fp16, by a warp, and what it multiplies on its way
 *		out of shared memory.
 */
#ifndef HY_CUDA_MATRIX_CUH
#define HY_CUDA_MATRIX_CUH

#include <stdint.h>

/*
 * hy_multiply: sum += a b, 16 queries by 8 rows and 16 dims.  Thread t has of a the rows t / 4 and 8
 * more, dims 2 (t % 4), + 1, and 8 more; of b the row t / 4 and the same dims; of the sum the queries
 * t / 4 and 8 more, rows 2 (t % 4), + 1.
 */
__device__ __forceinline__ void
hy_multiply(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#ifdef __CUDACC__
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
	    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
	/*
	 * No bfloat16 before 8.0: nobody asks for it there (filter.c).  But code for 7.5 may come to a later
	 * device, as PTX, where somebody does: better no answer than products that are all 0.
	 */
	(void) sum;
	(void) a;
	(void) b;
	__trap();
#endif
#else
	hy_simt::multiply(sum, a, b);
#endif
}

/*
 * hy_multiply_half: the same in fp16, which lies in the threads in the same way: two instructions of
 * 8 dims, since 7.5 has none of 16.
 */
__device__ __forceinline__ void
hy_multiply_half(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#pragma unroll
	for (int i = 0; i < 2; i++)
	{
#ifdef __CUDACC__
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
		asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
		    "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
		    : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
		    : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
#else
		(void) sum;
		(void) a;
		(void) b;
		__trap();
#endif
#else
		const uint32_t left[2] = {a[2 * i], a[2 * i + 1]};

		hy_simt::multiply_half(sum, left, b[i]);
#endif
	}
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
