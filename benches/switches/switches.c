// Prints what a switch between two processes and a page fault take, on one core, in ns: the median of five.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 2000, PAGES = 1000, TRIES = 5 };

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static void must(int is_done) {
	if (!is_done)
		abort();
}

// Two processes send each other a byte: a write, a read and a switch each.
static double by_turns(int ours[2], int theirs[2]) {
	char byte = 0;
	pid_t other = fork();
	if (other == 0) {
		while (read(ours[0], &byte, 1) == 1)
			must(write(theirs[1], &byte, 1) == 1);
		_exit(0);
	}
	double begin = now();
	for (int i = 0; i < ROUNDS; i++)
		must(write(ours[1], &byte, 1) == 1 && read(theirs[0], &byte, 1) == 1);
	double took = now() - begin;
	kill(other, 9);
	waitpid(other, 0, 0);
	return took / (2 * ROUNDS);
}

static double pipes(void) {
	int ours[2], theirs[2];
	must(pipe(ours) == 0 && pipe(theirs) == 0);
	double took = by_turns(ours, theirs);
	for (int i = 0; i < 2; i++)
		close(ours[i]), close(theirs[i]);
	return took;
}

static double sockets(void) {
	int pair[2];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	double took = by_turns((int[2]){pair[1], pair[0]}, (int[2]){pair[0], pair[1]});
	close(pair[0]), close(pair[1]);
	return took;
}

// One process writes a byte to a pipe and reads it: the same without a switch.
static double alone(void) {
	int ends[2];
	char byte = 0;
	must(pipe(ends) == 0);
	double begin = now();
	for (int i = 0; i < ROUNDS; i++)
		must(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
	double took = now() - begin;
	close(ends[0]), close(ends[1]);
	return took / ROUNDS;
}

static double faults(void) {
	double begin = now();
	char *at = mmap(0, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(at != MAP_FAILED);
	madvise(at, PAGES * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		at[i * 4096] = 1;
	munmap(at, PAGES * 4096);
	return (now() - begin) / PAGES;
}

static int above(const void *a, const void *b) {
	return *(const double *)a > *(const double *)b;
}

static void print(const char *name, double (*work)(void)) {
	double times[TRIES];
	for (int i = 0; i < TRIES; i++)
		times[i] = work();
	qsort(times, TRIES, sizeof *times, above);
	printf("%s %.0f\n", name, times[TRIES / 2]);
}

int main(void) {
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	must(sched_setaffinity(0, sizeof one, &one) == 0);
	print("pipe-alone", alone);
	print("pipe-by-turns", pipes);
	print("socket-by-turns", sockets);
	print("fault", faults);
}
