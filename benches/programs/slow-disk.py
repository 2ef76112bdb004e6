#!/usr/bin/env python3
"""Serves a file `disk` through FUSE. Each write takes a known time, as on a drive with that delay.

slow-disk.py DIRECTORY SIZE MICROSECONDS: the directory has the file until it is unmounted. The
contents are in memory. Writes do not wait for each other, and syncs take no time of their own.
Needs root.
"""

import ctypes
import errno
import heapq
import mmap
import os
import select
import struct
import sys
import time

ROOT, DISK = 1, 2
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE = 1, 2, 3, 4, 14, 15, 16
STATFS, RELEASE, FSYNC, FLUSH, INIT, INTERRUPT, BATCH_FORGET = 17, 18, 20, 25, 26, 36, 42
ASYNC_READ, BIG_WRITES, ASYNC_DIRECT = 1 << 0, 1 << 5, 1 << 15


def attributes(node, size):
    mode, length = (0o040755, 0) if node == ROOT else (0o100600, size)
    times, owner = (0, 0, 0, 0, 0, 0), (0, 0, 0)
    sizes = (node, length, length // 512)
    return struct.pack("<6Q3I6II", *sizes, *times, mode, 1, *owner, 4096, 0)


def main():
    directory, size, delay = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) * 1000
    disk = mmap.mmap(-1, size)
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"slow-disk", directory.encode(), b"fuse", 0, options.encode()):
        sys.exit(f"{directory}: {os.strerror(ctypes.get_errno())}")
    # Answers that are due later, by their time.
    later = []

    def answer(unique, data=b"", error=0):
        os.write(fuse, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)

    came = 0
    while True:
        # A process that sleeps is woken late, so this one does not sleep while it is used.
        is_used = later or time.monotonic_ns() < came + 100_000_000
        ready = select.select([fuse], [], [], 0 if is_used else None)[0]
        while later and later[0][0] <= time.monotonic_ns():
            _, unique, count = heapq.heappop(later)
            answer(unique, struct.pack("<II", count, 0))
        if not ready:
            continue
        try:
            request = os.read(fuse, 2 << 20)
        except OSError as e:
            if e.errno == errno.ENODEV:
                return
            continue
        came = time.monotonic_ns()
        _, kind, unique, node = struct.unpack_from("<IIQQ", request)
        body = request[40:]
        if kind == INIT:
            flags = struct.unpack_from("<IIII", body)[3] & (ASYNC_READ | BIG_WRITES | ASYNC_DIRECT)
            limits = (64, 48, 1 << 17, 1, 0, 0, 0)
            answer(unique, struct.pack("<IIIIHHIIHHI28x", 7, 31, 1 << 17, flags, *limits))
        elif kind == LOOKUP and node == ROOT and body == b"disk\0":
            found = struct.pack("<QQQQII", DISK, 0, 3600, 3600, 0, 0)
            answer(unique, found + attributes(DISK, size))
        elif kind == LOOKUP:
            answer(unique, error=errno.ENOENT)
        elif kind in (GETATTR, SETATTR):
            answer(unique, struct.pack("<QII", 3600, 0, 0) + attributes(node, size))
        elif kind == OPEN:
            answer(unique, struct.pack("<QII", 0, 0, 0))
        elif kind == READ:
            _, offset, count = struct.unpack_from("<QQI", body)
            answer(unique, disk[offset : offset + count])
        elif kind == WRITE:
            _, offset, count = struct.unpack_from("<QQI", body)
            disk[offset : offset + count] = body[40 : 40 + count]
            heapq.heappush(later, (came + delay, unique, count))
        elif kind == STATFS:
            answer(unique, struct.pack("<5Q4I24x", size // 4096, 0, 0, 1, 0, 4096, 255, 4096, 0))
        elif kind in (RELEASE, FSYNC, FLUSH):
            answer(unique)
        elif kind not in (FORGET, BATCH_FORGET, INTERRUPT):
            answer(unique, error=errno.ENOSYS)


main()
