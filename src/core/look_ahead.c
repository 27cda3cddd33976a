/*
 * look_ahead.c
 *		Predicts the address of the next value: see look_ahead.h.
 */
#include "core/look_ahead.h"

#define SURE 2
#define SUREST 3

static HyPlace *place_of(HyLookAhead *ahead, uintptr_t at);
static void learn(HyPlace *from, intptr_t step);

uintptr_t
hy_look_ahead(HyLookAhead *ahead, const void *value)
{
	uintptr_t at = (uintptr_t) value;
	const HyPlace *here;

	if (at == ahead->last)
		return 0;
	if (ahead->last != 0)
		learn(place_of(ahead, ahead->last), (intptr_t) (at - ahead->last));
	ahead->last = at;
	here = place_of(ahead, at);
	return here->sure >= SURE ? at + (uintptr_t) here->step : 0;
}

static HyPlace *
place_of(HyLookAhead *ahead, uintptr_t at)
{
	return &ahead->places[at % HY_LOOK_AHEAD_PAGE / (HY_LOOK_AHEAD_PAGE / HY_LOOK_AHEAD_PLACES)];
}

/*
 * learn: update the prediction of a section.  A single exception, such as a gap between pages, does
 * not replace the prediction.
 */
static void
learn(HyPlace *from, intptr_t step)
{
	if (from->step == step)
		from->sure += from->sure < SUREST;
	else if (from->sure > 0)
		from->sure--;
	else
		from->step = step;
}
