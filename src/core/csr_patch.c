/*
 * csr_patch.c
 *		Replaces some edges of a graph: see csr_patch.h.
 *
 * A patch is planned (csr_plan.c) and then applied (csr_apply.c).
 */
#include "core/csr_patch.h"

#include "core/csr_plan.h"

HyStatus
hy_csr_patch(HyCsr *csr, HyOrigins *origins, const HyCsrPatch *patch, const HyAllocator *allocator,
             const HyCancel *cancel, bool *differs)
{
	HyCsrPlan plan = {
		.csr = csr, .origins = origins, .patch = patch, .allocator = allocator, .cancel = cancel};
	HyStatus status = hy_csr_plan(&plan);
	bool may_change = patch->before_change == NULL;
	int64_t i;

	*differs = false;
	for (i = 0; i < plan.edits; i++)
		*differs = *differs || plan.edit[i].differs;
	if (status == HY_OK && plan.edits > 0 && !may_change)
	{
		status = patch->before_change(patch->arg);
		may_change = status == HY_OK;
	}
	if (status == HY_OK && plan.edits > 0)
		status = hy_csr_plan_apply(&plan);
	hy_csr_plan_free(&plan);
	if (status != HY_OK && may_change)
	{
		hy_csr_free(csr, allocator);
		hy_origins_free(origins, allocator);
	}
	return status;
}
