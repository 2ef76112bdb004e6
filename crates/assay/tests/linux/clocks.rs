//! The clocks that a program in a guest sees.

use super::{guest, no_guests};
use crate::command::temporary;
use std::process::Command;

/// Reads the processor's counter in both ways around the monotonic clock, and waits for each clock
/// that goes on without it.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static unsigned long long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static unsigned long long used(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000ULL +
	       r.ru_utime.tv_usec + r.ru_stime.tv_usec;
}

#define WAIT(clock) for (unsigned long long begun = clock; clock == begun;)

int main(void)
{
	unsigned processor = 1;
	unsigned long long before = __rdtsc(), clock = now(CLOCK_MONOTONIC), after = __rdtscp(&processor);
	unsigned long long begun = now(CLOCK_MONOTONIC);
	struct tms tms;
	int ends[2];

	printf("%llu %d %u\n", after - before, before < clock && clock < after, processor);
	fflush(stdout);
	WAIT(now(CLOCK_MONOTONIC_COARSE));
	WAIT(now(CLOCK_REALTIME_COARSE));
	WAIT(now(CLOCK_PROCESS_CPUTIME_ID));
	WAIT((unsigned long long) times(&tms));
	WAIT(used());
	pipe(ends);
	if (fork()) {
		struct pollfd end = { .fd = ends[0], .events = POLLIN };

		while (!poll(&end, 1, 0))
			;
	} else {
		usleep(10000);
		write(ends[1], "x", 1);
		return 0;
	}
	printf("%llu\n", (now(CLOCK_MONOTONIC) - begun) / 1000000000ULL);
	return 0;
}
"#;

#[test]
fn a_programs_clocks_are_the_guests() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    std::fs::write(directory.path().join("clocks.c"), PROGRAM).unwrap();
    let mut compiler = Command::new("cc");
    compiler.current_dir(&directory).args(["-O2", "-o", "clocks", "clocks.c"]);
    match compiler.status() {
        Ok(status) => assert!(status.success()),
        Err(e) => return println!("skipped: no C compiler: {e}"),
    }
    let script = "cd $1; ./clocks";
    let words = [directory.path().display().to_string()];
    let (said, _) = guest(directory.path(), 1, &[], script, &[&words[0]]);
    // Each reading takes 128 ns, on processor 0, and all waiting less than a second.
    assert_eq!(said, "256 1 0\n0\n");
}
