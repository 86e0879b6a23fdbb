"""The result as one HTML page: a bar for each subject in each row, as long as its ratio, drawn to the logarithm."""
import html
import math

import report

COLOURS = ["#8d99ae", "#2b2d42", "#e07a5f", "#c9a227", "#7b6d8d", "#2a9d8f", "#1d6f65", "#4fc3b5"]
LEFT, WIDTH, BAR, GAP = 230, 560, 9, 8
LEAST, MOST = 0.25, 32.0  # the ratios at the chart's edges

STYLE = """body { font: 14px system-ui, sans-serif; margin: 2em; color: #222; background: #fff }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1b1f } text { fill: #ddd } }
text { font: 12px system-ui, sans-serif } .grid { stroke: #8888; stroke-width: 1 } pre { overflow-x: auto }
.key { display: inline-block; width: 1em; height: 1em; margin: 0 .4em 0 1em; vertical-align: -2px }"""


def at(ratio):
    """Where a ratio lies on the chart, from its left edge."""
    bounded = min(max(ratio, LEAST), MOST)
    return LEFT + WIDTH * math.log(bounded / LEAST) / math.log(MOST / LEAST)


def bars(data, names):
    y, lines = 24, []
    for row, by_subject in data["rows"].items():
        lines.append(f'<text x="{LEFT - 8}" y="{y + BAR}" text-anchor="end">{html.escape(row)}</text>')
        for i, name in enumerate(names):
            ratio = report.ratio(by_subject, name)
            if not ratio:
                continue
            start, end = sorted((at(1), at(ratio)))
            lines.append(f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1.5):.1f}" height="{BAR}" '
                         f'fill="{COLOURS[i % len(COLOURS)]}"><title>{html.escape(name)}: {ratio:.2f}</title></rect>')
            y += BAR + 1
        y += GAP
    return y, lines


def picture(data, names):
    height, lines = bars(data, names)
    grid = []
    power = LEAST
    while power <= MOST:
        x = at(power)
        grid.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{height}"/>'
                    f'<text x="{x:.1f}" y="12" text-anchor="middle">{power:g}x</text>')
        power *= 2
    return (f'<svg viewBox="0 0 {LEFT + WIDTH + 20} {height + 8}" role="img" width="100%" style="max-width: 60em">'
            + "".join(grid + lines) + "</svg>")


def write(data, path):
    names = report.columns(data)
    key = "".join(f'<span class="key" style="background: {COLOURS[i % len(COLOURS)]}"></span>{html.escape(name)}'
                  for i, name in enumerate(names))
    page = (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>legato-fs: what a view costs</title>'
            f'<style>{STYLE}</style><h1>What a view costs</h1><p>Time as a ratio to the kernel\'s overlayfs; '
            f'left of 1x is faster. The scale is logarithmic.</p><p>{key}</p>{picture(data, names)}'
            f'<pre>{html.escape(report.text(data))}</pre></html>')
    path.write_text(page, encoding="utf-8")
    return path
