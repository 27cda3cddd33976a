/*
 * driver_file.h
 *		A look at the driver's library before CUDA's runtime loads it.
 *
 * The loader maps a file as long as it says it is.  Of a libcuda.so.1 whose end is missing it then reads
 * what is not there, and the process ends by SIGBUS.
 */
#ifndef HY_CUDA_DRIVER_FILE_H
#define HY_CUDA_DRIVER_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * hy_cuda_driver_cut: whether the libcuda.so.1 that the loader would take is cut; path (length bytes) is
 * its file.  False also where it cannot be told which file that is.  Loads nothing.
 */
extern bool hy_cuda_driver_cut(char *path, size_t length);

#endif
