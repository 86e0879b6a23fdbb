"""Storms of metadata: many files made, changed, removed."""
from data import must
from workloads import workload


def count_files(context, folder):
    return int(context.sh(f"find {folder} -type f | wc -l"))


@workload()
def tar(context):
    """tar x of the source tree, and rm -rf of what it made"""
    archive = context.tar
    context.sh(f"cat {archive} >/dev/null")
    with context.timed("tar x", files=context.tar_count):
        context.sh(f"mkdir new && tar -xf {archive} -C new")
    must(count_files(context, "new") == context.tar_count, "tar x lost files")
    with context.timed("rm -rf of new files", files=context.tar_count):
        context.sh("rm -rf new")
    must(not context.exists("new"), "rm -rf left something")


@workload()
def copy(context):
    """cp -r of the source tree within the view"""
    with context.timed("cp -r", files=context.tar_count):
        context.sh('for e in * .[a-z]*; do [ "$e" = .git ] || set -- "$@" "$e"; done; mkdir new && cp -r -- "$@" new')
    must(count_files(context, "new") == context.tar_count, "cp -r lost files")


@workload()
def remove(context):
    """rm -rf of all files of the base"""
    with context.timed("rm -rf of base files", files=context.tar_count):
        context.sh("rm -rf -- *")
    must(context.sh("ls").strip() == "", "rm -rf left something")


@workload()
def edit(context):
    """sed -i over all .c files"""
    files = int(context.sh("find . -name '*.c' | wc -l"))
    with context.timed("sed -i over .c files", files=files):
        context.sh("find . -name '*.c' -print0 | xargs -0 sed -i '$a/* bench */'")
    done = int(context.sh("grep -r -l --include='*.c' -F '/* bench */' . | wc -l"))
    must(done == files, f"sed -i changed {done} of {files} files")


@workload()
def names(context):
    """create, rename, unlink of many files in one directory"""
    count = 3000 if context.quick else 10000
    context.sh("mkdir new")
    for verb in ("create", "rename", "unlink"):
        with context.timed(f"{verb}s", files=count):
            done = context.client(verb, "new", count)
        must(int(done) == count, f"{verb}: {done.strip()} of {count}")
    must(context.sh("ls -A new").strip() == "", "unlink left files")


@workload(data="empty", quick=False)
def clients(context):
    """the same number of creates, renames and unlinks by 1, 4 and 16 processes, each in a directory of its own"""
    count = 9600
    for processes in (1, 4, 16):
        own = count // processes
        folders = " ".join(f"p{processes}-{i}" for i in range(processes))
        context.sh(f"mkdir {folders}")
        client = context.program("client")
        each = " && ".join(f"{client} {verb} $d {own}" for verb in ("create", "rename", "unlink"))
        with context.timed(f"names by {processes} process{'es' if processes > 1 else ''}", files=count):
            output = context.sh(f"for d in {folders}; do ({each}) & done; wait")
        must(output.split() == [str(own)] * (3 * processes), "a client did not do all of it")


@workload(quick=False)
def shell(context):
    """a shell that makes files with a line in each"""
    count = 1000 if context.quick else 5000
    context.sh("mkdir new")
    with context.timed("files by a shell", files=count):
        context.sh(f"i=0; while [ $i -lt {count} ]; do echo $i >new/$i; i=$((i+1)); done")
    must(count_files(context, "new") == count, "files are missing")
