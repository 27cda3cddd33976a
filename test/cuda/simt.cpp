/*
 * simt.cpp
 *		The scheduler of the fibers.
 */
#include "simt.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <vector>

dim3 threadIdx;
dim3 blockIdx;
dim3 gridDim;

namespace
{
const int warp_size = 32;
const size_t stack_size = 128 * 1024;

enum class State
{
	runnable,
	in_shuffle,
	in_barrier,
	ended
};

struct Fiber
{
	ucontext_t start;
	jmp_buf context;
	bool started;
	std::vector<char> stack;
	State state;
	uint64_t given[2]; /* to the shuffles of even and odd number: a reader may be one behind */
	int lanes;
	unsigned shuffles;
};

std::vector<Fiber> fibers;
ucontext_t unused;
jmp_buf scheduler;
int current;
int thread_count;
uint64_t random_state = 1;
const char *first_fault;
const std::function<void()> *thread_body;

uint64_t
next_random()
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

void
report(const char *text)
{
	if (first_fault == nullptr)
		first_fault = text;
}

void
fiber_main()
{
	(*thread_body)();
	fibers[current].state = State::ended;
	_longjmp(scheduler, 1);
}

/* A fiber starts through swapcontext, for its stack; later switches need no system call. */
void
resume(Fiber *fiber)
{
	if (_setjmp(scheduler) != 0)
		return;
	if (fiber->started)
		_longjmp(fiber->context, 1);
	fiber->started = true;
	swapcontext(&unused, &fiber->start);
}

void
wait_as(State state)
{
	Fiber &self = fibers[current];

	self.state = state;
	if (_setjmp(self.context) == 0)
		_longjmp(scheduler, 1);
}

void
prepare(Fiber *fiber)
{
	fiber->state = State::runnable;
	fiber->shuffles = 0;
	fiber->started = false;
	getcontext(&fiber->start);
	fiber->start.uc_stack.ss_sp = fiber->stack.data();
	fiber->start.uc_stack.ss_size = fiber->stack.size();
	fiber->start.uc_link = nullptr;
	makecontext(&fiber->start, fiber_main, 0);
}

/* release_warp: lets a warp go on when all of it stands in one shuffle. */
bool
release_warp(int first)
{
	for (int i = first; i < first + warp_size; i++)
	{
		if (fibers[i].state != State::in_shuffle)
			return false;
		if (fibers[i].lanes != fibers[first].lanes || fibers[i].shuffles != fibers[first].shuffles)
		{
			report("the threads of a warp stand in different shuffles");
			return false;
		}
	}
	for (int i = first; i < first + warp_size; i++)
		fibers[i].state = State::runnable;
	return true;
}

bool
release_block()
{
	int waiting = 0;

	for (int i = 0; i < thread_count; i++)
	{
		if (fibers[i].state != State::in_barrier)
			return false;
		waiting++;
	}
	for (int i = 0; i < thread_count; i++)
		fibers[i].state = State::runnable;
	return waiting > 0;
}

bool
run_block()
{
	std::vector<int> order(thread_count);

	for (int i = 0; i < thread_count; i++)
	{
		order[i] = i;
		prepare(&fibers[i]);
	}
	for (;;)
	{
		bool moved = false;
		int ended = 0;

		for (int i = thread_count - 1; i > 0; i--)
			std::swap(order[i], order[next_random() % (i + 1)]);
		for (int i : order)
		{
			if (fibers[i].state != State::runnable)
				continue;
			current = i;
			threadIdx.x = i;
			threadIdx.y = threadIdx.z = 0;
			resume(&fibers[i]);
			moved = true;
		}
		for (int i = 0; i < thread_count; i++)
			ended += fibers[i].state == State::ended;
		if (ended == thread_count)
			return true;
		for (int i = 0; i < thread_count; i += warp_size)
			moved |= release_warp(i);
		moved |= release_block();
		if (!moved)
		{
			report("threads wait for others that never come");
			return false;
		}
	}
}
} // namespace

bool
hy_simt::launch(const dim3 &grid, int threads, const std::function<void()> &body)
{
	if (threads <= 0 || threads > 1024 || threads % warp_size != 0 || grid.x == 0 || grid.y == 0 ||
	    grid.z != 1 || grid.x > 2147483647u || grid.y > 65535u)
	{
		report("a grid that no device takes");
		return false;
	}
	if ((int) fibers.size() < threads)
	{
		fibers.resize(threads);
		for (Fiber &fiber : fibers)
			fiber.stack.resize(stack_size);
	}
	thread_count = threads;
	thread_body = &body;
	gridDim = grid;
	for (unsigned y = 0; y < grid.y; y++)
	{
		for (unsigned x = 0; x < grid.x; x++)
		{
			blockIdx.x = x;
			blockIdx.y = y;
			blockIdx.z = 0;
			if (!run_block())
				return false;
		}
	}
	return true;
}

const char *
hy_simt::fault()
{
	const char *text = first_fault;

	first_fault = nullptr;
	return text;
}

void
hy_simt::seed(uint64_t value)
{
	random_state = value | 1;
}

void
hy_simt::sync_threads()
{
	wait_as(State::in_barrier);
}

uint64_t
hy_simt::shuffle_xor(unsigned mask, uint64_t bits, int lanes)
{
	Fiber &self = fibers[current];
	int lane = current % warp_size;
	int source = current - lane + (lane ^ lanes);
	unsigned turn = self.shuffles % 2;

	if (mask != 0xffffffffu || lanes < 0 || lanes >= warp_size)
		report("a shuffle beyond the warp, or for a part of it");
	self.given[turn] = bits;
	self.lanes = lanes;
	self.shuffles++;
	wait_as(State::in_shuffle);
	return fibers[source].given[turn];
}
