"""What an execution uses: by its quota page, and by the disk."""
import os
import struct
import time

FORMAT = "<8sII4Q4q"


class Execution:
    def __init__(self, path):
        self.path = path

    def page(self):
        """(used bytes, used files, nameless bytes, nameless files)"""
        with open(os.path.join(self.path, "quota"), "rb") as file:
            return struct.unpack(FORMAT, file.read())[7:]

    def disk(self):
        """(bytes, files) of all inodes in uppers and links folders."""
        inodes = {}
        views = os.path.join(self.path, "views")
        for view in os.listdir(views):
            for folder in ("upper", "links"):
                top = os.path.join(views, view, folder)
                paths = [top]
                for parent, dirs, files in os.walk(top):
                    paths += [os.path.join(parent, name)
                              for name in dirs + files]
                for path in paths:
                    st = os.lstat(path)
                    inodes[st.st_dev, st.st_ino] = st.st_blocks * 512
        return sum(inodes.values()), len(inodes)

    def agrees(self, nameless_files=0):
        """The kernel tells a moment later that it has forgotten a file:
        waits for that, 30 s at most. '' or what differs."""
        deadline = time.monotonic() + 30
        while True:
            used_bytes, used_files, hidden_bytes, hidden_files = self.page()
            counted = used_bytes - hidden_bytes, used_files - hidden_files
            disk = self.disk()
            if counted == disk and hidden_files == nameless_files:
                return ""
            if time.monotonic() > deadline:
                return (f"counted {counted}, on the disk {disk}, "
                        f"{hidden_files} without a name")
            time.sleep(0.02)
