"""The trees that workloads work on. Each is made once for a run, on the image,
and copied for each subject, so that all find their base laid out alike."""
import os
import shutil
import subprocess

from machine import ROOT, Failed, die

GIT_PACKAGE = "git"  # 4 456 files in Debian 12
BUILD_PACKAGE = "zlib"


def deb_source(package, folder):
    script = '. "$1/tools/lib.sh" && deb_source "$2" "$3"'
    done = subprocess.run(["bash", "-c", script, "bench", ROOT, package, folder], check=False)
    if done.returncode:
        die(f"no source of the Debian package {package}: needed once, then kept in build/cache")


class Data:
    def __init__(self, machine, quick):
        self.machine = machine
        self.quick = quick
        self.npm_count = 0  # files that npm ci makes
        self.folder = os.path.join(machine.disk, "data")
        os.mkdir(self.folder)

    def path(self, name):
        """The data set's folder, made when first asked for."""
        folder = os.path.join(self.folder, name)
        if not os.path.exists(folder):
            getattr(self, "_make_" + name.split("-")[0])(folder, name)
        return folder

    def _git(self, folder, *words):
        return self.machine.run(["git", "-C", folder, *words])

    def _make_tree(self, folder, _name):
        """A real source tree with its repository: a topic branch of 20 commits, and main has moved on since."""
        deb_source(GIT_PACKAGE, folder)
        git = lambda *words: self._git(folder, *words)
        git("init", "-q", ".")
        git("add", "-A", "-f")
        git("commit", "-q", "-m", "start")
        files = [f for f in git("ls-files", "*.c").split("\n") if f]
        git("switch", "-q", "-c", "topic")
        for i in range(20):
            with open(os.path.join(folder, files[i * 7]), "a", encoding="ascii") as file:
                file.write(f"/* topic {i} */\n")
            git("commit", "-q", "-a", "-m", f"topic {i}")
        git("switch", "-q", "main")
        for name in files[200:500]:
            with open(os.path.join(folder, name), "a", encoding="ascii") as file:
                file.write("/* main */\n")
        git("commit", "-q", "-a", "-m", "main")
        git("repack", "-q", "-a", "-d")

    def _make_zlib(self, folder, _name):
        deb_source(BUILD_PACKAGE, folder)

    def _make_files(self, folder, name):
        """files-N: a generated tree of N small files, 50 in a directory."""
        count = int(name.split("-")[1])
        for i in range(count):
            if i % 50 == 0:
                directory = f"{folder}/{i // 2500:03d}/{i // 50 % 50:02d}"
                os.makedirs(directory)
            with open(f"{directory}/f{i:07d}", "w", encoding="ascii") as file:
                file.write(f"{i}\n" * 20)

    def _make_big(self, folder, name):
        """big: one file for reading. big-N: one of N MiB. Both hold data: a sparse one is copied in no time by
        anybody."""
        size = int(name.split("-")[1]) if "-" in name else 64 if self.quick else 256
        os.mkdir(folder)
        block = os.urandom(1 << 20)
        with open(f"{folder}/big", "wb") as file:
            for _ in range(size):
                file.write(block)

    NPM_QUIET = "--ignore-scripts --no-audit --no-fund --logs-max=0 --loglevel=error"

    @property
    def npm_cache(self):
        return os.path.join(self.machine.temp, "npm-cache")

    def _make_npm(self, folder, _name):
        """A package.json with its lock, and all that it names in a cache. Twice, since what the first one resolves
        need not all be kept."""
        os.mkdir(folder)
        with open(f"{folder}/package.json", "w", encoding="ascii") as file:
            file.write('{"name": "bench", "version": "1.0.0", "private": true, '
                       '"dependencies": {"eslint": "^8.57.0", "webpack": "^5.90.0"}}\n')
        for verb in ("install", "ci"):
            self.machine.run(f"npm {verb} --cache {self.npm_cache} {self.NPM_QUIET}", cwd=folder)
        self.npm_count = self.files("npm")
        shutil.rmtree(f"{folder}/node_modules")
        self.machine.run(["chmod", "-R", "a+rwX", self.npm_cache])

    def _make_entries(self, folder, name):
        """entries-N: N empty files in one directory, links to a few so that they take few inodes."""
        os.mkdir(folder)
        for i in range(int(name.split("-")[1])):
            if i % 30000 == 0:
                target = f"{folder}/e{i:07d}"
                with open(target, "w", encoding="ascii"):
                    continue
            os.link(target, f"{folder}/e{i:07d}")

    def _make_sparse(self, folder, _name):
        os.mkdir(folder)
        with open(f"{folder}/big", "wb") as file:
            file.truncate(200 << 30)

    def _make_empty(self, folder, _name):
        os.mkdir(folder)

    def tar(self):
        """The tree without its repository, as an archive; its path and how many files are in it."""
        path = os.path.join(self.folder, "tree.tar")
        if not os.path.exists(path):
            self.machine.run(["tar", "-cf", path, "--exclude=./.git", "-C", self.path("tree"), "."])
        return path

    def copy(self, name, folder, owner=None):
        """A base of a subject's own."""
        source = self.path(name)
        self.machine.run(["cp", "-a", source, folder])
        if owner:
            self.machine.run(["chown", "-R", f"{owner}:", folder])
        if os.path.isdir(os.path.join(folder, ".git")):
            # the index notes inode numbers and change times, which the copy has anew
            self.machine.run("git status >.git/status; rm .git/status", cwd=folder, user=owner)

    def forget(self, name):
        shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)

    def files(self, name):
        return sum(len(names) for _, _, names in os.walk(self.path(name)))


def must(condition, text):
    if not condition:
        raise Failed(text)
