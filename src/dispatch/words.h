/*
 * words.h
 *		Words of settings and of arguments of functions: reading one, and telling a user which there are.
 *
 * The names themselves are said by hy_op_name and its like, once each.  Who refuses a word lists
 * those that he would have taken, and a list here has all of them.  Also of a program that loads a
 * plug-in and has no dispatcher.
 */
#ifndef HY_WORDS_H
#define HY_WORDS_H

#include <stddef.h>

#include "dispatch/dispatcher.h"

/* HyWords: kinds of words, and the enumeration that the words of each stand for. */
typedef enum HyWords
{
	HY_WORDS_OPERATION = 0, /* HyOp */
	HY_WORDS_METRIC,        /* HyMetric */
	HY_WORDS_DTYPE,         /* HyDtype */
	HY_WORDS_EXECUTION      /* HyExecution, less HY_EXECUTION_NAMED: that is any other word */
} HyWords;

/* hy_execution_name: 'auto', 'cpu', ...; 'named' where a backend's name stands for it. */
extern const char *hy_execution_name(HyExecution execution);

/* Room for the list of any kind. */
#define HY_WORDS_LENGTH 128

/* hy_word_read: what the first length bytes of text stand for; -1: they are no word of this kind. */
extern int hy_word_read(HyWords kind, const char *text, size_t length);

/*
 * hy_words_list: the words of a kind, in their order, written to text (HY_WORDS_LENGTH bytes), which is
 * returned.  Around each stands quote, between two a comma, before the last one last: " and ", or ", ".
 */
extern const char *hy_words_list(HyWords kind, const char *quote, const char *last, char *text);

#endif
