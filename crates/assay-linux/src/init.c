/*
 * The first program of a guest. It starts the program that does the job, and when that has ended it
 * ends what the job has left running and switches the guest off.
 *
 * The program is not read from a file: it lies, laid out as it runs (program.rs), in memory beside
 * the guest's (/dev/mmapper). So however large it is, the guest has the same memory for its work.
 *
 * It is compiled with the kernel, without a C library.
 */

#include <asm/unistd.h>
#include <linux/auxvec.h>
#include <linux/elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/reboot.h>
#include <linux/signal.h>

/* The same numbers as in program.rs. */
#define WINDOW 0x1000000000UL
#define PROGRAM_SIZE (64UL << 20)

/* So much of the stack is there from the start, however much of it the program's code takes. */
#define STACK (256 << 10)

/* What is at the beginning of the window; program.rs writes it, but for `heap`. */
struct header {
	/* Where to begin: the dynamic linker, or the program if it needs none. */
	unsigned long start;
	/* For the dynamic linker. */
	unsigned long linker, entry, headers, header_count;
	/* Where the heap begins, for the program. */
	unsigned long heap;
};

static long call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static long fail(const char *message)
{
	long length = 0;

	while (message[length])
		length++;
	call(__NR_write, 2, (long) message, length, 0, 0, 0);
	call(__NR_exit_group, 1, 0, 0, 0, 0, 0);
	return 0;
}

static void describe(const struct header *header, unsigned long *stack)
{
	/* Its count, the arguments, a zero, the environment, a zero, and then what we want. */
	unsigned long *at = stack + 1 + *stack + 1;

	while (*at++)
		;
	for (; *at != AT_NULL; at += 2) {
		switch (at[0]) {
		case AT_PHDR:
			at[1] = header->headers;
			break;
		case AT_PHENT:
			at[1] = sizeof(Elf64_Phdr);
			break;
		case AT_PHNUM:
			at[1] = header->header_count;
			break;
		case AT_BASE:
			at[1] = header->linker;
			break;
		case AT_ENTRY:
			at[1] = header->entry;
			break;
		}
	}
}

static void touch_stack(void)
{
	volatile char *stack = __builtin_alloca(STACK);
	long at;

	for (at = STACK - 1; at >= 0; at -= 4096)
		stack[at] = 0;
}

/* Maps the program; returns where it starts. */
static long enter(unsigned long *stack)
{
	struct header *header = (struct header *) WINDOW;
	long file, at;

	file = call(__NR_open, (long) "/dev/mmapper", O_RDWR | O_CLOEXEC, 0, 0, 0, 0);
	if (file < 0)
		return fail("init: the kernel has no memory with the program\n");
	at = call(__NR_mmap, WINDOW, PROGRAM_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_SHARED | MAP_FIXED, file, 0);
	if (at != (long) WINDOW)
		return fail("init: the program cannot be mapped\n");
	call(__NR_close, file, 0, 0, 0, 0, 0);
	/*
	 * Until the program has moved its heap, what it maps is there at once: which pages it touches
	 * first is a matter of its build.
	 */
	call(__NR_mlockall, MCL_FUTURE, 0, 0, 0, 0, 0);
	header->heap = call(__NR_brk, 0, 0, 0, 0, 0, 0);
	describe(header, stack);
	touch_stack();
	return header->start;
}

/* Returns where the program starts, in a process of its own; process 1 does not return. */
long init(unsigned long *stack)
{
	long child;

	/*
	 * The cache of the dynamic linker lists all libraries of the machine. Without it the linker looks
	 * into the directories, so a library that no tool uses makes no difference.
	 */
	call(__NR_mount, (long) "/dev/null", (long) "/etc/ld.so.cache", 0, MS_BIND, 0, 0);
	child = call(__NR_fork, 0, 0, 0, 0, 0, 0);
	if (child == 0)
		return enter(stack);
	/* Whoever loses its parent becomes a child of process 1, which alone can bury it. */
	while (child > 0) {
		long ended = call(__NR_wait4, -1, 0, 0, 0, 0, 0);

		if (ended == child || ended < 0)
			break;
	}
	/* What a job has left running would hold the kernel up: a file system that is a process does. */
	call(__NR_kill, -1, SIGKILL, 0, 0, 0, 0);
	call(__NR_sync, 0, 0, 0, 0, 0, 0);
	call(__NR_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_POWER_OFF, 0, 0, 0);
	for (;;)
		call(__NR_pause, 0, 0, 0, 0, 0, 0);
}

/* The program finds the stack as the kernel has left it, and no function to run at its end. */
__asm__(".globl _start\n"
	"_start:\n"
	"	mov %rsp, %rbx\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call init\n"
	"	mov %rbx, %rsp\n"
	"	xor %edx, %edx\n"
	"	xor %ebp, %ebp\n"
	"	jmp *%rax\n");
