/*
 * library_file.h
 *		What can be seen of a shared library's file before it is loaded.
 *
 * The loader believes what a file says of itself and dies of what is not so, with the process.  A look
 * at the file's tables finds what happens to whole files: a copy that was interrupted, or one whose
 * blocks had not all been written when the machine lost its power, and are zeros.  It is no checksum:
 * code that was changed inside its section looks as any other.
 */
#ifndef HY_LIBRARY_FILE_H
#define HY_LIBRARY_FILE_H

typedef enum HyLibraryLook
{
	HY_LIBRARY_PLAUSIBLE, /* or not there, or no library at all: the loader says so itself */
	HY_LIBRARY_NO_FILE, /* a pipe, which the loader waits for without end, a directory, a device */
	HY_LIBRARY_CUT,     /* it ends before what its headers promise */
	HY_LIBRARY_DAMAGED  /* its tables say what no linker writes */
} HyLibraryLook;

/* hy_library_file_look: at the file of this path, which is not kept open. */
extern HyLibraryLook hy_library_file_look(const char *path);

#endif
