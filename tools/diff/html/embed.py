#!/usr/bin/env python3
"""Makes the page's fixed parts a C source.

usage: embed.py PAGE STYLE SCRIPT OUTPUT

The content security policy in the page allows this very style and script, by
their hashes, and nothing else: whatever content gets into the markup by a
mistake of ours, a browser neither runs nor fetches it.
"""

import base64
import hashlib
import sys


def source_hash(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def c_array(name, text):
    data = text.encode() + b"\0"
    lines = [", ".join(str(byte) for byte in data[at:at + 20])
             for at in range(0, len(data), 20)]
    return f"const char {name}[] = {{\n" + ",\n".join(lines) + "};\n"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    page, style, script = (read(path) for path in sys.argv[1:4])
    policy = (f"default-src 'none'; style-src {source_hash(style)}; "
              f"script-src {source_hash(script)}; img-src data:; "
              "base-uri 'none'; form-action 'none'")
    page = page.replace("@POLICY@", policy).replace("@STYLE@", style)
    page = page.replace("@SCRIPT@", script)
    head, tail = page.split("@DATA@")
    with open(sys.argv[4], "w", encoding="utf-8") as file:
        file.write('#include "page.h"\n\n' + c_array("page_head", head) +
                   c_array("page_tail", tail))


if __name__ == "__main__":
    main()
