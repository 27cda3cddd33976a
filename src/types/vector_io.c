/*
 * vector_io.c
 *		Text, binary and type modifier of the vector type.
 *
 * Text:	[1,2.5,-3e-05], each element the shortest decimal that reads back to the same float.
 * Binary:	int16 dimensions, int16 zero, then the elements as float4, all in network byte order.
 */
#include "postgres.h"

#include <stdlib.h>

#include "common/shortest_dec.h"
#include "libpq/pqformat.h"
#include "utils/array.h"

#include "core/vector_text.h"
#include "types/vector.h"

static int32 max_dims_of_text(const char *text);
static void
report_text_error(HyTextError error, const char *text, const char *where) pg_attribute_noreturn();

PG_FUNCTION_INFO_V1(hybrid_vector_in);
PG_FUNCTION_INFO_V1(hybrid_vector_out);
PG_FUNCTION_INFO_V1(hybrid_vector_typmod_in);
PG_FUNCTION_INFO_V1(hybrid_vector_recv);
PG_FUNCTION_INFO_V1(hybrid_vector_send);

Datum
hybrid_vector_in(PG_FUNCTION_ARGS)
{
	const char *text = PG_GETARG_CSTRING(0);
	int32 typmod = PG_GETARG_INT32(2);
	int32 limit = max_dims_of_text(text);
	HybridVector *result = hybrid_vector_new(limit);
	const char *where = text;
	int32 dims = 0;
	HyTextError error;

	error = hy_vector_parse(text, result->x, limit, &dims, &where);
	if (error != HY_TEXT_OK)
		report_text_error(error, text, where);
	hybrid_vector_check_typmod(typmod, dims);

	/* An accepted text has one comma fewer than elements, so this never leaves memory unused. */
	result->dim = (int16) dims;
	SET_VARSIZE(result, HYBRID_VECTOR_SIZE(dims));
	PG_RETURN_HYBRID_VECTOR(result);
}

Datum
hybrid_vector_out(PG_FUNCTION_ARGS)
{
	HybridVector *vector = PG_GETARG_HYBRID_VECTOR(0);
	char *text;
	char *end;
	int i;

	/* FLOAT_SHORTEST_DECIMAL_LEN counts a terminating zero, whose place the comma takes. */
	text = palloc((Size) FLOAT_SHORTEST_DECIMAL_LEN * vector->dim + 3);
	end = text;
	*end++ = '[';
	for (i = 0; i < vector->dim; i++)
	{
		if (i > 0)
			*end++ = ',';
		end += float_to_shortest_decimal_bufn(vector->x[i], end);
	}
	*end++ = ']';
	*end = '\0';

	PG_FREE_IF_COPY(vector, 0);
	PG_RETURN_CSTRING(text);
}

/* The modifier of vector(3) is 3: its printed form is what PostgreSQL shows without a function. */
Datum
hybrid_vector_typmod_in(PG_FUNCTION_ARGS)
{
	ArrayType *modifiers = PG_GETARG_ARRAYTYPE_P(0);
	int count;
	int32 *dims = ArrayGetIntegerTypmods(modifiers, &count);

	if (count != 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid type modifier")));
	if (dims[0] < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("dimensions for type vector must be at least 1")));
	if (dims[0] > HYBRID_MAX_DIM)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("dimensions for type vector cannot exceed %d", HYBRID_MAX_DIM)));
	PG_RETURN_INT32(dims[0]);
}

/* Bytes after the last element are refused by the caller, as for every type. */
Datum
hybrid_vector_recv(PG_FUNCTION_ARGS)
{
	StringInfo message = (StringInfo) PG_GETARG_POINTER(0);
	int32 typmod = PG_GETARG_INT32(2);
	int dim = (int) pq_getmsgint(message, sizeof(int16));
	int unused = (int) pq_getmsgint(message, sizeof(int16));
	HybridVector *result;
	int i;

	hybrid_vector_check_dim(dim);
	hybrid_vector_check_typmod(typmod, dim);
	if (unused != 0)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("expected unused to be 0, not %d", unused)));

	result = hybrid_vector_new(dim);
	for (i = 0; i < dim; i++)
		result->x[i] = pq_getmsgfloat4(message);
	hybrid_vector_check_finite(result->x, dim);
	PG_RETURN_HYBRID_VECTOR(result);
}

Datum
hybrid_vector_send(PG_FUNCTION_ARGS)
{
	HybridVector *vector = PG_GETARG_HYBRID_VECTOR(0);
	StringInfoData message;
	int i;

	pq_begintypsend(&message);
	enlargeStringInfo(&message, (int) HYBRID_VECTOR_SIZE(vector->dim));
	pq_sendint16(&message, (uint16) vector->dim);
	pq_sendint16(&message, (uint16) vector->unused);
	for (i = 0; i < vector->dim; i++)
		pq_sendfloat4(&message, vector->x[i]);
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

/* No text has more elements than commas and one: lets the parser write into the result itself. */
static int32
max_dims_of_text(const char *text)
{
	int32 dims = 1;

	for (; *text != '\0' && dims < HYBRID_MAX_DIM; text++)
		dims += *text == ',';
	return dims;
}

static void
report_text_error(HyTextError error, const char *text, const char *where)
{
	switch (error)
	{
		case HY_TEXT_EMPTY:
			hybrid_vector_check_dim(0);
			break;
		case HY_TEXT_TOO_MANY:
			hybrid_vector_check_dim(HYBRID_MAX_DIM + 1);
			break;
		case HY_TEXT_NAN:
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION), errmsg("NaN not allowed in vector")));
			break;
		case HY_TEXT_INFINITE:
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
			                errmsg("infinite value not allowed in vector")));
			break;
		case HY_TEXT_OUT_OF_RANGE:
		{
			char *end;

			(void) strtof(where, &end);
			ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			                errmsg("\"%s\" is out of range for type vector",
			                       pnstrdup(where, (Size) (end - where)))));
		}
		break;
		case HY_TEXT_NO_BRACKET:
			ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			                errmsg("invalid input syntax for type vector: \"%s\"", text),
			                errdetail("Vector contents must start with \"[\".")));
			break;
		case HY_TEXT_JUNK:
			ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			                errmsg("invalid input syntax for type vector: \"%s\"", text),
			                errdetail("Junk after closing right brace.")));
			break;
		case HY_TEXT_SYNTAX:
			ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			                errmsg("invalid input syntax for type vector: \"%s\"", text)));
			break;
		case HY_TEXT_OK:
		case HY_TEXT_CUT:
		case HY_TEXT_TOO_SMALL:
			break;
	}
	elog(ERROR, "unrecognized vector text error: %d", (int) error);
}
