"""Reading a source tree: first, with nothing in any cache, and again."""
from data import must
from workloads import workload


def twice(context, name, command, check):
    context.fresh()
    for when in ("first", "again"):
        with context.timed(f"{name}, {when}"):
            output = context.sh(command)
        check(output)


@workload(changes=False)
def find(context):
    """find -ls over all"""
    def check(output):
        must(int(output) > context.count, f"find saw {output.strip()} entries")
    twice(context, "find -ls", "find . -ls | wc -l", check)


@workload()
def status(context):
    """git status in a fresh view"""
    def check(output):
        context.remark("nothing to commit" in output, "git status shows changes where none are")
    twice(context, "git status", "git status", check)


@workload(changes=False)
def grep(context):
    """grep -r over all"""
    def check(output):
        must(int(output) > 100, f"grep found {output.strip()} files")
    twice(context, "grep -r", "grep -r -l --exclude-dir=.git strbuf . | wc -l", check)


@workload(changes=False, quick=False, program="rg")
def ripgrep(context):
    """rg over all, as many threads as cores"""
    def check(output):
        must(int(output) > 100, f"rg found {output.strip()} files")
    twice(context, "rg", "rg -l --no-ignore --hidden -g '!.git' strbuf . | wc -l", check)


@workload(changes=False)
def stat(context):
    """stat of every file, ten times; stat of names that are not there"""
    listing = context.listing()
    context.cold = True  # what is read again here must not have left the caches
    must(int(context.client("stat", listing, 1)) == context.count, "stat missed files")
    with context.timed("stat of 10 x each file"):
        done = context.client("stat", listing, 10)
    must(int(done) == 10 * context.count, "stat missed files")
    for when in ("first", "again"):
        with context.timed(f"stat of absent names, {when}", files=10000):
            done = context.client("absent", "t", 10000)
        must(int(done) == 10000, "absent names are there")
