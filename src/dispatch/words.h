/*
 * words.h
 *		Words of settings and function arguments: reading them, and listing the valid ones for the
 *		user.
 *
 * The names themselves are defined once, by hy_op_name and similar functions.  A function that
 * rejects a word lists the valid ones, and a list here has all of them.  A program that loads a
 * plug-in and has no dispatcher can use this file too.
 */
#ifndef HY_WORDS_H
#define HY_WORDS_H

#include <stddef.h>

#include "dispatch/dispatcher.h"

/* HyWords: the kinds of words, each for one enumeration. */
typedef enum HyWords
{
	HY_WORDS_OPERATION = 0, /* HyOp */
	HY_WORDS_METRIC,        /* HyMetric */
	HY_WORDS_DTYPE,         /* HyDtype */
	HY_WORDS_EXECUTION      /* HyExecution without HY_EXECUTION_NAMED, which any other word means */
} HyWords;

/* hy_execution_name: 'auto', 'cpu', ...; 'named' when a backend's name is used. */
extern const char *hy_execution_name(HyExecution execution);

/* Room for the list of any kind. */
#define HY_WORDS_LENGTH 128

/* hy_word_read: the value of the first length bytes of text; -1: no word of this kind. */
extern int hy_word_read(HyWords kind, const char *text, size_t length);

/*
 * hy_words_list: write the words of a kind, in order, to text (HY_WORDS_LENGTH bytes), and return
 * text.  Each word is enclosed in quote.  Words are separated by commas, and the final one is
 * preceded by last: " and ", or ", ".
 */
extern const char *hy_words_list(HyWords kind, const char *quote, const char *last, char *text);

#endif
