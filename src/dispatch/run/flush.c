/*
 * flush.c
 *		Exchanges counters, events, models and breakers with the shared table: see flush.h.
 *
 * The executor has its counters and a copy of them as of the last flush.  A flush adds the
 * difference to the table, so every count is added exactly once.
 */
#include "dispatch/run/flush.h"

#include <string.h>

#include "dispatch/route/memo.h"
#include "dispatch/run/executor.h"
#include "dispatch/run/member.h"
#include "dispatch/run/record.h"

#define WORDS (sizeof(HyCounters) / sizeof(uint64_t))

static bool nothing_new(const HyExecutor *executor);
static void flush_counters(HyShare *share, const HyExecutor *executor);
static void flush_events(HyExecutor *executor, uint64_t now);
static void flush_models(HyExecutor *executor);
static void adopt_models(HyExecutor *executor);
static void adopt_breakers(HyExecutor *executor);
static bool difference(const HyCounters *now, const HyCounters *before, HyCounters *delta);

void
hy_executor_share(HyExecutor *executor, HySharedTable *table, const HyShareHost *host)
{
	HyShare *share = &executor->share;
	int32_t i;

	share->table = table;
	share->host = host;
	hy_lock(&host->lock);
	for (i = 0; i < executor->members; i++)
	{
		const HyMember *member = &executor->member[i];
		HyTableDevice key;

		share->slot[i] = HY_TABLE_NO_DEVICE;
		if (member->backend == NULL)
			continue;
		memset(&key, 0, sizeof(key));
		memcpy(key.backend, member->name, sizeof(key.backend));
		memcpy(key.name, member->info.name, sizeof(key.name));
		memcpy(key.architecture, member->info.architecture, sizeof(key.architecture));
		key.number = member->number;
		key.virtual_time = member->info.virtual_time;
		share->slot[i] = hy_table_register(table, &key);
	}
	hy_unlock(&host->lock);
	share->epoch = hy_table_epoch(table);
	share->flushed_ns = hy_now(executor);
	share->models_ns = share->flushed_ns;
	executor->until_flush = HY_SHARE_CALLS;
	executor->flush_at_ns = share->flushed_ns + HY_SHARE_NS;
	adopt_breakers(executor);
	adopt_models(executor);
}

void
hy_executor_flush(HyExecutor *executor)
{
	HyShare *share = &executor->share;

	if (share->table == NULL || hy_executor_foreign(executor))
		return;
	hy_executor_settle(executor);
	hy_lock(&share->host->lock);
	/* another process may have reset the table in the meantime */
	if (hy_table_epoch(share->table) == share->epoch)
		flush_models(executor);
	hy_unlock(&share->host->lock);
}

void
hy_executor_settle(HyExecutor *executor)
{
	HyShare *share = &executor->share;
	uint64_t now;

	if (share->table == NULL || nothing_new(executor) || hy_executor_foreign(executor))
		return;
	now = hy_now(executor);
	hy_memo_fold(executor, true);
	hy_lock(&share->host->lock);
	flush_counters(share, executor);
	hy_share_flush_successes(share);
	flush_events(executor, now);
	/* observations made before a reset must be dropped and not flushed */
	if (now - share->models_ns >= HY_SHARE_NS && hy_table_epoch(share->table) == share->epoch)
	{
		share->models_ns = now;
		flush_models(executor);
	}
	hy_unlock(&share->host->lock);
	if (hy_table_epoch(share->table) != share->epoch)
	{
		/*
		 * Another process has reset the table.  What this process had not flushed before the reset
		 * has been added above, as if it came after the reset.
		 */
		share->epoch = hy_table_epoch(share->table);
		hy_executor_forget(executor);
		memset(share->flushed, 0, sizeof(share->flushed));
	}
	if (hy_table_transitions(share->table) != share->transitions)
	{
		adopt_breakers(executor);
		executor->generation++;
	}
	share->flushed_ns = now;
	share->postponed = false;
	executor->until_flush = HY_SHARE_CALLS;
	executor->flush_at_ns = now + HY_SHARE_NS;
}

void
hy_executor_follow(HyExecutor *executor)
{
	const HyShare *share = &executor->share;

	int32_t i;

	for (i = 1; i < executor->members; i++)
	{
		if (hy_member_idle(&executor->member[i]))
			hy_member_close(executor, &executor->member[i]);
	}
	if (share->table != NULL && (hy_table_epoch(share->table) != share->epoch ||
	                             hy_table_transitions(share->table) != share->transitions))
		hy_executor_settle(executor);
}

void
hy_flush_tick(HyExecutor *executor, uint64_t now)
{
	HyShare *share = &executor->share;

	if (__builtin_expect(--executor->until_flush > 0 && now < executor->flush_at_ns, 1))
		return;
	if (share->table == NULL)
	{
		executor->until_flush = INT32_MAX;
		executor->flush_at_ns = UINT64_MAX;
		return;
	}
	if (now < executor->flush_at_ns && now - share->flushed_ns < HY_SHARE_LEAST_NS &&
	    executor->kept - share->flushed_events + HY_SHARE_CALLS < HY_EVENT_RING)
	{
		executor->until_flush = HY_SHARE_CALLS;
		share->postponed = true;
		return;
	}
	hy_executor_settle(executor);
}

int32_t
hy_executor_table_device(const HyExecutor *executor, int32_t device)
{
	if (executor->share.table == NULL)
		return HY_TABLE_NO_DEVICE;
	return executor->share.slot[device];
}

void
hy_flush_reset(HyExecutor *executor)
{
	HyShare *share = &executor->share;

	memset(share->flushed, 0, sizeof(share->flushed));
	memset(share->successes, 0, sizeof(share->successes));
	share->flushed_events = executor->kept;
	if (share->table == NULL)
		return;
	hy_lock(&share->host->lock);
	hy_table_reset(share->table);
	hy_unlock(&share->host->lock);
	share->epoch = hy_table_epoch(share->table);
	share->transitions = hy_table_transitions(share->table);
}

/*
 * nothing_new: return true if neither this process nor the table has anything new.  This is the
 * usual case, because most transactions make no call.
 */
static bool
nothing_new(const HyExecutor *executor)
{
	const HyShare *share = &executor->share;

	return executor->until_flush == HY_SHARE_CALLS && !share->postponed &&
	       executor->kept == share->flushed_events &&
	       hy_table_epoch(share->table) == share->epoch &&
	       hy_table_transitions(share->table) == share->transitions;
}

static void
flush_counters(HyShare *share, const HyExecutor *executor)
{
	int32_t i;
	int op;

	for (i = 0; i < executor->members; i++)
	{
		if (share->slot[i] == HY_TABLE_NO_DEVICE)
			continue;
		for (op = 0; op < HY_OP_COUNT; op++)
		{
			const HyCounters *counters = &executor->member[i].counters[op];
			HyCounters delta;

			if (!difference(counters, &share->flushed[i][op], &delta))
				continue;
			hy_table_count(share->table, share->slot[i], (HyOp) op, &delta);
			share->flushed[i][op] = *counters;
		}
	}
}

static void
flush_events(HyExecutor *executor, uint64_t now)
{
	HyShare *share = &executor->share;
	uint64_t count = executor->kept - share->flushed_events;
	uint64_t room = (uint64_t) hy_table_event_room(share->table);
	HyTableEvent event;
	int64_t wall_us;
	int32_t i;

	share->flushed_events = executor->kept;
	if (count > (uint64_t) executor->events)
		count = (uint64_t) executor->events;
	if (count > room)
		count = room;
	if (count == 0)
		return;
	memset(&event, 0, sizeof(event));
	share->host->origin(share->host->arg, &event.origin, &wall_us);
	for (i = executor->events - (int32_t) count; i < executor->events; i++)
	{
		const HyDecision *decision = hy_executor_event(executor, i);

		/*
		 * Of many new events, flush only the failures and the newest ones.  Otherwise the events of
		 * this process would fill the shared ring.
		 */
		if (executor->events - i > HY_SHARE_CALLS && decision->status == HY_OK)
			continue;
		event.decision = *decision;
		event.wall_us = wall_us - (int64_t) (now - event.decision.time_ns) / 1000;
		event.device = HY_TABLE_NO_DEVICE;
		memset(event.backend, 0, sizeof(event.backend));
		if (decision->device != HY_NOWHERE)
		{
			event.device = share->slot[decision->device];
			memcpy(event.backend, executor->member[decision->device].name, sizeof(event.backend));
		}
		hy_table_put_event(share->table, &event);
	}
}

/*
 * flush_models: add the observations since the last flush to the table's models.  The weight of a
 * model is limited to the window (HyConfig.window), so that new observations can still change the
 * model.
 */
static void
flush_models(HyExecutor *executor)
{
	HyShare *share = &executor->share;
	double window = executor->config.window;
	HyTrackerNews news;
	uint32_t devices = 0;
	int32_t position = 0;
	int32_t i;

	for (i = 0; i < executor->members; i++)
	{
		if (share->slot[i] >= 0)
			devices |= UINT32_C(1) << i;
	}
	while (hy_tracker_take(executor->tracker, devices, &position, &news))
	{
		int32_t slot = share->slot[news.device];
		uint32_t number = hy_shape_model(&news.shape, news.device);
		const HyModelState *fresh = &news.model;
		HyTableModel model;

		if (!hy_table_find_model(share->table, slot, number, &model))
			memset(&model, 0, sizeof(model));
		model.device = slot;
		model.number = number;
		model.shape = news.shape;
		model.samples = (int64_t) (fresh->weight + 0.5);
		if (model.state.weight + fresh->weight > window)
		{
			HyModelState old = model.state;

			memset(&model.state, 0, sizeof(model.state));
			if (fresh->weight < window)
				hy_model_merge(&model.state, &old, window - fresh->weight);
		}
		hy_model_merge(&model.state, fresh, window);
		hy_table_put_model(share->table, &model);
	}
}

static void
adopt_models(HyExecutor *executor)
{
	HyShare *share = &executor->share;
	int32_t position;

	for (position = 0; position < hy_table_models(share->table); position++)
	{
		HyTableModel model;
		bool found;
		int32_t i;

		hy_lock(&share->host->lock);
		found = hy_table_model(share->table, position, &model);
		hy_unlock(&share->host->lock);
		if (!found)
			continue;
		for (i = 0; i < executor->members; i++)
		{
			if (share->slot[i] == model.device)
				hy_tracker_import(executor->tracker, &model.shape, i, &model.state);
		}
	}
}

/* adopt_breakers: copy the breakers of every device from the table to the executor. */
static void
adopt_breakers(HyExecutor *executor)
{
	HyShare *share = &executor->share;
	uint64_t now = hy_now(executor);
	int32_t i;
	int op;

	/*
	 * Read this number before the states, so that a transition in between is noticed at the next
	 * flush.
	 */
	share->transitions = hy_table_transitions(share->table);
	for (i = 0; i < executor->members; i++)
	{
		for (op = 0; op < HY_OP_COUNT; op++)
			hy_share_adopt(share, i, (HyOp) op, &executor->member[i].breakers[op], now);
	}
}

/* difference: set *delta to now - before, word by word; return false if nothing differs. */
static bool
difference(const HyCounters *now, const HyCounters *before, HyCounters *delta)
{
	size_t i;

	if (memcmp(now, before, sizeof(*now)) == 0)
		return false;
	for (i = 0; i < WORDS; i++)
	{
		uint64_t a;
		uint64_t b;

		memcpy(&a, (const char *) now + i * sizeof(a), sizeof(a));
		memcpy(&b, (const char *) before + i * sizeof(b), sizeof(b));
		a -= b;
		memcpy((char *) delta + i * sizeof(a), &a, sizeof(a));
	}
	return true;
}
