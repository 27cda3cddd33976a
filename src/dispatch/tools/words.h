/*
 * words.h
 *		Parses the keywords of settings and function arguments, and lists the valid ones for
 *		messages.
 *
 * The words themselves are defined by hy_op_name and similar functions.  A function that rejects a
 * word can list all valid words.  This file does not need the dispatcher, so a program that only
 * loads a plug-in can use it too.
 */
#ifndef HY_WORDS_H
#define HY_WORDS_H

#include <stddef.h>

#include "dispatch/model/decision.h"

/* HyWords: the kinds of words.  Each kind has the words for the values of one enumeration. */
typedef enum HyWords
{
	HY_WORDS_OPERATION = 0, /* HyOp */
	HY_WORDS_METRIC,        /* HyMetric */
	HY_WORDS_DTYPE,         /* HyDtype */
	/* HyExecution; HY_EXECUTION_NAMED has no word: any other word names a backend */
	HY_WORDS_EXECUTION
} HyWords;

/* hy_execution_name: return 'auto', 'cpu', ...; 'named' if the setting is a backend's name. */
extern const char *hy_execution_name(HyExecution execution);

/* buffer size in bytes that suffices for the list of any kind */
#define HY_WORDS_LENGTH 128

/*
 * hy_word_read: return the value of the word in the first `length` bytes of text, or -1 if this is
 * not a word of this kind.
 */
extern int hy_word_read(HyWords kind, const char *text, size_t length);

/*
 * hy_words_list: write the words of a kind, in order, to text (HY_WORDS_LENGTH bytes), and return
 * text.  Each word is enclosed in the string `quote`.  Commas separate the words, but the string
 * `last` (" and " or ", ") precedes the last word.
 */
extern const char *hy_words_list(HyWords kind, const char *quote, const char *last, char *text);

#endif
