"""Data of big files. The base's file has 256 MiB (64 with --quick)."""
from data import must
from workloads import workload


def pages(context):
    return (64 if context.quick else 256) * 256


@workload(data="empty")
def append(context):
    """4 KiB appends to a new file"""
    count = pages(context) // 4
    with context.timed("4 KiB appends", files=count):
        done = context.client("append", "log", count)
    must(int(done) == count, "appends failed")
    must(context.sh("stat -c %s log").strip() == str(count * 4096), "the file has the wrong size")


@workload(data="empty")
def write(context):
    """sequential write of a new file, 128 KiB at a time; 4 KiB writes at random in it"""
    count = pages(context) // 32
    with context.timed("sequential write", files=count):
        done = context.client("write", "big", count)
    must(int(done) == count, "writes failed")
    context.machine.settle()
    with context.timed("random 4 KiB writes", files=10000):
        done = context.client("pwrite", "big", 10000)
    must(int(done) == 10000, "writes failed")


@workload(data="big", changes=False)
def read(context):
    """sequential read of a file of the base, 128 KiB at a time, first and again; 4 KiB at random"""
    size = pages(context) * 4096
    context.fresh()
    for when in ("first", "again"):
        with context.timed(f"sequential read, {when}", files=size // 131072):
            done = context.client("read", "big")
        must(int(done) == size, "the file is shorter")
    with context.timed("random 4 KiB reads, cached", files=50000):
        done = context.client("pread", "big", 50000)
    must(int(done) == 50000, "reads failed")


@workload(data="big", changes=False)
def mmap(context):
    """each page of a mapped file of the base"""
    context.fresh()
    with context.timed("mmap read, first", files=pages(context)):
        done = context.client("mmap", "big")
    must(int(done) == pages(context), "the mapping is shorter")
