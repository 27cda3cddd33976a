/*
 * recurring.c
 *		Recognizes the argument that stays the same from call to call: see recurring.h.
 */
#include "postgres.h"

#include "nodes/primnodes.h"
#include "server/compat.h"
#include "types/recurring.h"

static int constant_argument(const FmgrInfo *function);
static void make_room(HybridRecurringArgument *recurring, Size size, int length);

void
hybrid_recurring_init(HybridRecurringArgument *recurring, const FmgrInfo *function)
{
	memset(recurring, 0, sizeof(*recurring));
	recurring->context = function->fn_mcxt;
	recurring->constant = constant_argument(function);
}

int
hybrid_recurring_argument(HybridRecurringArgument *recurring, const void *a, const void *b)
{
	int which = recurring->constant;

	if (which < 0 && a == recurring->last[0])
		which = 0;
	if (which < 0 && b == recurring->last[1])
		which = 1;
	recurring->last[0] = a;
	recurring->last[1] = b;
	return which;
}

bool
hybrid_recurring_known(HybridRecurringArgument *recurring, const void *value, int length)
{
	Size size = VARSIZE(value);

	if (recurring->copy != NULL &&
	    (recurring->constant >= 0 ||
	     (VARSIZE(recurring->copy) == size && memcmp(recurring->copy, value, size) == 0)))
		return true;
	make_room(recurring, size, length);
	memcpy(recurring->copy, value, size);
	recurring->normed = false;
	return false;
}

/*
 * constant_argument: return the number of the first argument that is a constant, or -1. A parameter
 * does not count, although get_fn_expr_arg_stable() accepts parameters.
 */
static int
constant_argument(const FmgrInfo *function)
{
	Node *expr = function->fn_expr;
	List *args = NIL;
	int i;

	if (expr != NULL && IsA(expr, OpExpr))
		args = ((OpExpr *) expr)->args;
	else if (expr != NULL && IsA(expr, FuncExpr))
		args = ((FuncExpr *) expr)->args;
	for (i = 0; i < list_length(args); i++)
	{
		if (IsA(list_nth(args, i), Const))
			return i;
	}
	return -1;
}

/*
 * make_room: allocate the copy and the floats. Clears each pointer and its size before the
 * allocation, so that no stale value looks valid if memory runs out.
 */
static void
make_room(HybridRecurringArgument *recurring, Size size, int length)
{
	if (length > recurring->length)
	{
		if (recurring->floats != NULL)
			pfree(recurring->floats);
		recurring->floats = NULL;
		recurring->length = 0;
		recurring->floats = MemoryContextAlloc(recurring->context, sizeof(float) * (Size) length);
		recurring->length = length;
	}
	if (size > recurring->room)
	{
		if (recurring->copy != NULL)
			pfree(recurring->copy);
		recurring->copy = NULL;
		recurring->room = 0;
		recurring->copy = MemoryContextAlloc(recurring->context, size);
		recurring->room = size;
	}
}
