/*
 * library_file.c
 *		Looking at a shared library's file: see library_file.h.
 *
 * Three tables are looked at.  Program headers, at the file's beginning, say which parts are mapped:
 * dlopen dies of SIGBUS where the file has ended before.  The dynamic section says where names, symbols
 * and relocations are: without them dlopen reads address 0.  Section headers are the last thing in the
 * file, and mean nothing to dlopen; that they are not what a linker wrote says that the file's end is
 * not, either.  They may have been taken off.
 */
#define _POSIX_C_SOURCE 200809L

#include "dispatch/library_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_AT_ONCE 32

/* File: one that is open, and its first bytes. */
typedef struct File
{
	int descriptor;
	uint64_t size;
	Elf64_Ehdr header;
} File;

static bool is_library(File *file);
static HyLibraryLook look_at_parts(const File *file);
static HyLibraryLook look_at_dynamic(const File *file, const Elf64_Phdr *part);
static HyLibraryLook look_at_sections(const File *file);
static bool read_at(const File *file, void *into, size_t bytes, uint64_t at);
static bool within(const File *file, uint64_t at, uint64_t bytes);

HyLibraryLook
hy_library_file_look(const char *path)
{
	HyLibraryLook look = HY_LIBRARY_PLAUSIBLE;
	struct stat status;
	File file;

	file.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file.descriptor < 0)
		return look;
	if (fstat(file.descriptor, &status) == 0)
	{
		file.size = (uint64_t) status.st_size;
		if (!S_ISREG(status.st_mode))
			look = HY_LIBRARY_NO_FILE;
		else if (is_library(&file))
			look = look_at_parts(&file);
	}
	close(file.descriptor);
	return look;
}

/* is_library: what is none of this kind the loader refuses by itself */
static bool
is_library(File *file)
{
	const Elf64_Ehdr *header = &file->header;

	return read_at(file, &file->header, sizeof(file->header), 0) &&
	       memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_type == ET_DYN &&
	       header->e_phentsize == sizeof(Elf64_Phdr);
}

static HyLibraryLook
look_at_parts(const File *file)
{
	const Elf64_Ehdr *header = &file->header;
	HyLibraryLook look = HY_LIBRARY_DAMAGED; /* until there is a dynamic section */
	HyLibraryLook dynamic;
	int i;

	for (i = 0; i < header->e_phnum; i++)
	{
		Elf64_Phdr part;

		if (!read_at(file, &part, sizeof(part), header->e_phoff + (uint64_t) i * sizeof(part)))
			return HY_LIBRARY_CUT;
		if (part.p_type == PT_LOAD && !within(file, part.p_offset, part.p_filesz))
			return HY_LIBRARY_CUT;
		if (part.p_type != PT_DYNAMIC)
			continue;
		dynamic = look_at_dynamic(file, &part);
		if (dynamic == HY_LIBRARY_CUT)
			return dynamic;
		look = dynamic;
	}
	return look == HY_LIBRARY_PLAUSIBLE ? look_at_sections(file) : look;
}

/* look_at_dynamic: it has an end, and before it what the loader does not do without. */
static HyLibraryLook
look_at_dynamic(const File *file, const Elf64_Phdr *part)
{
	bool names = false;
	bool symbols = false;
	uint64_t count = part->p_filesz / sizeof(Elf64_Dyn);
	uint64_t i;
	uint64_t j;

	if (!within(file, part->p_offset, part->p_filesz))
		return HY_LIBRARY_CUT;
	for (i = 0; i < count; i += ENTRIES_AT_ONCE)
	{
		Elf64_Dyn entries[ENTRIES_AT_ONCE];
		uint64_t n = count - i < ENTRIES_AT_ONCE ? count - i : ENTRIES_AT_ONCE;

		if (!read_at(file, entries, n * sizeof(entries[0]),
		             part->p_offset + i * sizeof(entries[0])))
			return HY_LIBRARY_CUT;
		for (j = 0; j < n; j++)
		{
			names = names || (entries[j].d_tag == DT_STRTAB && entries[j].d_un.d_ptr != 0);
			symbols = symbols || (entries[j].d_tag == DT_SYMTAB && entries[j].d_un.d_ptr != 0);
			if (entries[j].d_tag == DT_NULL)
				return names && symbols ? HY_LIBRARY_PLAUSIBLE : HY_LIBRARY_DAMAGED;
		}
	}
	return HY_LIBRARY_DAMAGED;
}

/* look_at_sections: the first is nothing, as always; that of their names is a table within the file. */
static HyLibraryLook
look_at_sections(const File *file)
{
	const Elf64_Ehdr *header = &file->header;
	Elf64_Shdr section;
	Elf64_Shdr nothing;

	/* taken off, or so many that their number is elsewhere */
	if (header->e_shoff == 0 || header->e_shnum == 0 || header->e_shstrndx == SHN_UNDEF ||
	    header->e_shstrndx == SHN_XINDEX)
		return HY_LIBRARY_PLAUSIBLE;
	if (header->e_shentsize != sizeof(section) || header->e_shstrndx >= header->e_shnum)
		return HY_LIBRARY_DAMAGED;
	if (!within(file, header->e_shoff, (uint64_t) header->e_shnum * sizeof(section)))
		return HY_LIBRARY_CUT;
	if (!read_at(file, &nothing, sizeof(nothing), header->e_shoff) ||
	    !read_at(file, &section, sizeof(section),
	             header->e_shoff + (uint64_t) header->e_shstrndx * sizeof(section)))
		return HY_LIBRARY_CUT;
	if (nothing.sh_type != SHT_NULL || section.sh_type != SHT_STRTAB ||
	    !within(file, section.sh_offset, section.sh_size))
		return HY_LIBRARY_DAMAGED;
	return HY_LIBRARY_PLAUSIBLE;
}

static bool
read_at(const File *file, void *into, size_t bytes, uint64_t at)
{
	return within(file, at, bytes) &&
	       pread(file->descriptor, into, bytes, (off_t) at) == (ssize_t) bytes;
}

static bool
within(const File *file, uint64_t at, uint64_t bytes)
{
	return at <= file->size && bytes <= file->size - at;
}
