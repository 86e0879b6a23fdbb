"""Whole tasks with git."""
from data import must
from workloads import workload


@workload(quick=False)
def clone(context):
    """git clone --local of the view's repository within the view"""
    with context.timed("git clone --local"):
        context.sh("git clone -q --local . clone")
    must(context.sh("git -C clone status --porcelain").strip() == "", "the clone is not clean")


@workload()
def branches(context):
    """git switch to a branch that differs in 320 files; git rebase of its 20 commits"""
    context.sh("git status")
    context.cold = True  # what it reads again must not have left the caches
    with context.timed("git switch", files=320):
        context.sh("git switch -q topic")
    with context.timed("git rebase", files=320):
        context.sh("git rebase -q main")
    must(context.sh("git log --oneline main..HEAD | wc -l").strip() == "20", "the rebase lost commits")
    must(context.sh("git status --porcelain").strip() == "", "the rebase left changes")
