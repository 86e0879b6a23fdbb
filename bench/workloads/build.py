"""Building software."""
from data import must
from workloads import workload


@workload(data="npm", quick=False, program="npm")
def npm(context):
    """npm ci of eslint, webpack and what they need, from a local cache"""
    with context.timed("npm ci", files=context.data.npm_count):
        context.sh(f"npm ci --offline --cache {context.data.npm_cache} {context.data.NPM_QUIET}")
    must(context.exists("node_modules/webpack/package.json"), "npm ci installed nothing")


@workload(data="zlib")
def build(context):
    """configure, make -j2 and make test of zlib (only the static library with --quick)"""
    configure = "sh ./configure >conf.log"
    if context.quick:
        with context.timed("build of libz.a"):
            context.sh(f"{configure} && make -j2 libz.a >make.log 2>&1")
        must(context.exists("libz.a"), "there is no libz.a")
        return
    with context.timed("build of zlib, make test"):
        output = context.sh(f"{configure} && make -j2 >make.log 2>&1 && make test 2>&1")
    must("zlib test OK" in output, "zlib's tests failed")
