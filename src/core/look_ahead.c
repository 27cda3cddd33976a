/*
 * look_ahead.c
 *		Predicts the address of the next value: see look_ahead.h.
 */
#include "core/look_ahead.h"

#define CONFIDENT 2
#define MOST_CONFIDENT 3

static HyPageSection *section_of(HyLookAhead *ahead, uintptr_t at);
static void update_section(HyPageSection *from, intptr_t step);

uintptr_t
hy_look_ahead(HyLookAhead *ahead, const void *value)
{
	uintptr_t at = (uintptr_t) value;
	const HyPageSection *here;

	if (at == ahead->last)
		return 0;
	if (ahead->last != 0)
		update_section(section_of(ahead, ahead->last), (intptr_t) (at - ahead->last));
	ahead->last = at;
	here = section_of(ahead, at);
	return here->confidence >= CONFIDENT ? at + (uintptr_t) here->step : 0;
}

static HyPageSection *
section_of(HyLookAhead *ahead, uintptr_t at)
{
	return &ahead
	            ->sections[at % HY_LOOK_AHEAD_PAGE / (HY_LOOK_AHEAD_PAGE / HY_LOOK_AHEAD_SECTIONS)];
}

/*
 * update_section: update the prediction of a section.  A single exception, such as a gap between
 * pages, does not replace the prediction.
 */
static void
update_section(HyPageSection *from, intptr_t step)
{
	if (from->step == step)
		from->confidence += from->confidence < MOST_CONFIDENT;
	else if (from->confidence > 0)
		from->confidence--;
	else
		from->step = step;
}
