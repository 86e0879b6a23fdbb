"use strict";
/*
 * Puts the document on the page. Whatever comes from the document becomes text
 * (textContent), an image's data, or an attribute that can't run; there is no
 * innerHTML. Files are drawn when they come into sight.
 */
(() => {
  const doc = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("main");
  const tree = document.getElementById("tree");
  const search = document.getElementById("search");
  const narrow = matchMedia("(max-width: 800px)");
  /* As many lines are drawn at once; the rest on request. */
  const MAX_LINES = 3000;
  /* Above this, lines are not compared word by word. */
  const MAX_WORDS = 400;
  /* Characters of a fact that are shown at once. */
  const MAX_FACT = 240;
  let sideBySide = !narrow.matches && innerWidth > 1300;
  let withFolded = false;
  let at = -1;
  const files = [];

  const TRICK = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

  /* An element with children; strings are text. */
  function el(name, classes, ...children) {
    const made = document.createElement(name);
    if (classes) made.className = classes;
    for (const child of children) {
      if (child !== null && child !== undefined) made.append(child);
    }
    return made;
  }

  /* Text in which what can't be seen is spelled out. */
  function visible(text) {
    const made = document.createDocumentFragment();
    if (!TRICK.test(text)) {
      made.append(text);
      return made;
    }
    let plain = "";
    for (const c of text) {
      if (!TRICK.test(c)) {
        plain += c;
        continue;
      }
      if (plain) made.append(plain);
      plain = "";
      const code = c.codePointAt(0);
      made.append(el("i", "c", code < 0x20
        ? "^" + String.fromCharCode(code ^ 0x40)
        : "U+" + code.toString(16).toUpperCase().padStart(4, "0")));
    }
    if (plain) made.append(plain);
    return made;
  }

  function size(bytes) {
    const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (bytes >= 1024 && unit < units.length - 1) {
      bytes /= 1024;
      unit++;
    }
    return (unit ? bytes.toFixed(1) : bytes) + " " + units[unit];
  }

  function time(ns) {
    return new Date(ns / 1e6).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
  }

  function countText(counts) {
    return ["D", "T", "R", "M", "A"].filter((letter) => counts[letter])
      .map((letter) => letter + " " + counts[letter]).join(", ") +
      " (" + size(counts.bytes) + ")";
  }

  function letter(text) {
    return el("span", "l l" + text, text);
  }

  function path(text) {
    return el("span", "path", visible(text));
  }

  /* ------------------------------------------------------------ patches */

  /* [{head, lines: [{kind: " +-\\", old, new, text}]}] */
  function parse(patch) {
    const hunks = [];
    let hunk = null;
    let o = 0;
    let n = 0;
    for (const line of patch.split("\n")) {
      const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
      if (line.startsWith("diff --git ")) {
        hunk = null;
      } else if (head) {
        hunk = {head: line, lines: []};
        hunks.push(hunk);
        o = +head[1];
        n = +head[2];
      } else if (hunk && " +-\\".includes(line[0]) && line !== "") {
        const kind = line[0];
        hunk.lines.push({kind, text: line.slice(1),
          o: kind === " " || kind === "-" ? o++ : 0,
          n: kind === " " || kind === "+" ? n++ : 0});
      }
    }
    return hunks;
  }

  function words(text) {
    return text.match(/[\p{L}\p{N}_]+|\s+|./gu) || [];
  }

  /* Which words of two lines are in no longest common sequence of both. */
  function changedWords(a, b) {
    const n = a.length;
    const m = b.length;
    const best = Array.from({length: n + 1}, () => new Uint16Array(m + 1));
    for (let i = n - 1; i >= 0; i--) {
      for (let j = m - 1; j >= 0; j--) {
        best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1
          : Math.max(best[i + 1][j], best[i][j + 1]);
      }
    }
    const inA = new Array(n).fill(true);
    const inB = new Array(m).fill(true);
    for (let i = 0, j = 0; i < n && j < m;) {
      if (a[i] === b[j]) {
        inA[i++] = inB[j++] = false;
      } else if (best[i + 1][j] >= best[i][j + 1]) {
        i++;
      } else {
        j++;
      }
    }
    return [inA, inB];
  }

  function fillWords(cell, list, changed) {
    for (let i = 0; i < list.length;) {
      let j = i;
      while (j < list.length && changed[j] === changed[i]) j++;
      const text = visible(list.slice(i, j).join(""));
      cell.append(changed[i] ? el("b", "", text) : text);
      i = j;
    }
  }

  /* Two lines that stand for each other; all that differs would say nothing. */
  function fillPair(oldCell, newCell, oldText, newText) {
    const a = words(oldText);
    const b = words(newText);
    if (a.length <= MAX_WORDS && b.length <= MAX_WORDS) {
      const [inA, inB] = changedWords(a, b);
      const same = a.filter((word, i) => !inA[i] && word.trim()).length;
      const all = Math.max(a.filter((w) => w.trim()).length, b.filter((w) => w.trim()).length);
      if (same * 3 >= all) {
        fillWords(oldCell, a, inA);
        fillWords(newCell, b, inB);
        return;
      }
    }
    oldCell.append(visible(oldText));
    newCell.append(visible(newText));
  }

  /* Runs of deleted and added lines, paired in their order. */
  function* runs(lines) {
    for (let i = 0; i < lines.length;) {
      if (lines[i].kind === " ") {
        yield {same: lines[i++]};
        continue;
      }
      const oldLines = [];
      const newLines = [];
      for (; i < lines.length && lines[i].kind !== " "; i++) {
        if (lines[i].kind === "-") oldLines.push(lines[i]);
        else if (lines[i].kind === "+") newLines.push(lines[i]);
        else (lines[i - 1].kind === "-" ? oldLines : newLines).push(lines[i]);
      }
      yield {oldLines, newLines};
    }
  }

  function number(n) {
    return el("td", "n", n ? String(n) : "");
  }

  function cells(oldLines, newLines) {
    const made = [oldLines.map(() => el("td", "d")), newLines.map(() => el("td", "a"))];
    const pairs = oldLines.length === newLines.length ? oldLines.length : Math.min(oldLines.length, newLines.length);
    oldLines.forEach((line, i) => {
      if (i < pairs && line.kind === "-" && newLines[i].kind === "+") {
        fillPair(made[0][i], made[1][i], line.text, newLines[i].text);
      } else {
        made[0][i].append(visible(line.text));
      }
    });
    newLines.forEach((line, i) => {
      if (!made[1][i].hasChildNodes()) made[1][i].append(visible(line.text));
    });
    return made;
  }

  function unifiedRows(lines) {
    const rows = [];
    for (const run of runs(lines)) {
      if (run.same) {
        rows.push(el("tr", "", number(run.same.o), number(run.same.n), el("td", "", " ", visible(run.same.text))));
        continue;
      }
      const [olds, news] = cells(run.oldLines, run.newLines);
      olds.forEach((cell, i) => {
        cell.prepend("-");
        rows.push(el("tr", "", number(run.oldLines[i].o), number(0), cell));
      });
      news.forEach((cell, i) => {
        cell.prepend("+");
        rows.push(el("tr", "", number(0), number(run.newLines[i].n), cell));
      });
    }
    return rows;
  }

  function sideRows(lines) {
    const rows = [];
    for (const run of runs(lines)) {
      if (run.same) {
        rows.push(el("tr", "", number(run.same.o), el("td", "", visible(run.same.text)),
          number(run.same.n), el("td", "", visible(run.same.text))));
        continue;
      }
      const [olds, news] = cells(run.oldLines, run.newLines);
      for (let i = 0; i < Math.max(olds.length, news.length); i++) {
        rows.push(el("tr", "",
          number(run.oldLines[i] && run.oldLines[i].o), olds[i] || el("td", "e"),
          number(run.newLines[i] && run.newLines[i].n), news[i] || el("td", "e")));
      }
    }
    return rows;
  }

  function drawPatch(body, patch) {
    const table = el("table", "diff" + (sideBySide ? " side" : ""));
    let drawn = 0;
    const hunks = parse(patch);
    const draw = () => {
      for (let budget = MAX_LINES; hunks.length && budget > 0;) {
        const hunk = hunks[0];
        const lines = hunk.lines.splice(0, budget);
        if (hunk.head) {
          const cell = el("td", "", visible(hunk.head));
          cell.colSpan = 4;
          table.append(el("tr", "h", cell));
          hunk.head = "";
        }
        for (const row of sideBySide ? sideRows(lines) : unifiedRows(lines)) table.append(row);
        budget -= lines.length;
        drawn += lines.length;
        if (!hunk.lines.length) hunks.shift();
      }
    };
    if (sideBySide) {
      const group = el("colgroup", "");
      for (const width of ["3.6rem", "", "3.6rem", ""]) {
        const column = el("col", "");
        column.style.width = width;
        group.append(column);
      }
      table.append(group);
    }
    draw();
    if (drawn) body.append(table);
    if (hunks.length) {
      const left = hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
      const more = el("button", "", `${left} more lines: show the next ${Math.min(left, MAX_LINES)}`);
      more.onclick = () => {
        more.remove();
        draw();
        if (hunks.length) body.append(more);
      };
      body.append(more);
    }
    const other = patch.split("\n").filter((line) => /^(Binary files|(old|new|deleted file|new file) mode|similarity|rename )/.test(line));
    if (!drawn && other.length) body.append(el("p", "note", visible(other.join(" · "))));
  }

  /* -------------------------------------------------------------- files */

  function lineCounts(change) {
    const counts = [0, 0];
    for (const hunk of parse(change.patch || "")) {
      for (const line of hunk.lines) {
        if (line.kind === "+") counts[0]++;
        else if (line.kind === "-") counts[1]++;
      }
    }
    return counts;
  }

  function mode(side) {
    return side.mode.toString(8).padStart(4, "0");
  }

  function notes(change) {
    const list = [];
    if (change.remark) list.push(change.remark);
    if (change.mode && change.old && change.new && !change.remark) {
      list.push(`mode ${mode(change.old)} → ${mode(change.new)}`);
    }
    if (change.base_moved) list.push("the base changed after the view took it over");
    if (change.folded) list.push(change.folded);
    if (change.patch_left_out) list.push("too big for this page; legato-diff shows it");
    if (change.path_bytes) list.push("the name is not UTF-8");
    return list;
  }

  function drawBody(file) {
    const {change} = file;
    const body = el("div", "body");
    const list = notes(change);
    if (list.length) body.append(el("p", "note", visible(list.join(" · "))));
    if (change.old_image || change.new_image) {
      const images = el("div", "images");
      for (const [name, url, side] of [["old", change.old_image, change.old], ["new", change.new_image, change.new]]) {
        if (!url) continue;
        const image = el("img", "");
        image.alt = name;
        image.src = url;
        images.append(el("figure", "", el("figcaption", "dim", `${name}, ${size(side.size)}`), image));
      }
      body.append(images);
    } else if (change.patch) {
      drawPatch(body, change.patch);
    }
    if (!body.hasChildNodes()) {
      body.append(el("p", "note", change.new && change.new.kind === "f" || change.old && change.old.kind === "f"
        ? `${change.old ? size(change.old.size || 0) : "nothing"} → ${change.new ? size(change.new.size || 0) : "nothing"}`
        : "no content to show"));
    }
    if (file.body) file.body.remove();
    file.body = body;
    file.card.append(body);
    highlight(body);
  }

  function setOpen(file, open) {
    file.open = open;
    file.card.classList.toggle("open", open);
    file.card.setAttribute("aria-expanded", String(open));
    if (open) {
      if (!file.body) watcher.observe(file.card);
    } else if (file.body) {
      file.body.remove();
      file.body = null;
    }
  }

  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      const file = files[entry.target.dataset.index];
      if (!file.counted) {
        file.counted = true;
        const [plus, minus] = lineCounts(file.change);
        if (plus) file.name.append(el("span", "plus", "+" + plus));
        if (minus) file.name.append(el("span", "minus", "−" + minus));
      }
      if (file.open && !file.body) drawBody(file);
    }
  }, {rootMargin: "600px"});

  function addFile(change, view, section) {
    const file = {change, view, open: true, body: null, counted: false};
    const index = files.push(file) - 1;
    file.name = el("div", "name", letter(change.letter),
      change.old_path ? path(change.old_path + " → " + change.path) : path(change.path));
    if (!change.patch && change.new && change.new.kind === "f") {
      file.name.append(el("span", "dim", size(change.new.size)));
    }
    file.card = el("article", "file open", file.name);
    file.card.id = "f" + index;
    file.card.dataset.index = index;
    file.name.onclick = () => {
      setAt(index, false);
      setOpen(file, !file.open);
    };
    section.append(file.card);
    watcher.observe(file.card);
    return index;
  }

  /* ----------------------------------------------------------- the tree */

  function addTo(node, parts, index) {
    const [first, ...rest] = parts;
    node.count++;
    if (!rest.length) {
      node.files.push([first, index]);
      return;
    }
    if (!node.dirs.has(first)) node.dirs.set(first, {dirs: new Map(), files: [], count: 0});
    addTo(node.dirs.get(first), rest, index);
  }

  function drawTree(node) {
    const list = el("ul", "");
    for (let [name, dir] of node.dirs) {
      while (dir.dirs.size === 1 && !dir.files.length) {
        const [inner, next] = dir.dirs.entries().next().value;
        name += "/" + inner;
        dir = next;
      }
      const label = el("summary", "", path(name + "/"), " ", el("span", "dim", String(dir.count)));
      const box = el("details", "", label);
      box.open = dir.count <= 60;
      let done = false;
      const fill = () => {
        if (box.open && !done) {
          done = true;
          box.append(drawTree(dir));
        }
      };
      box.addEventListener("toggle", fill);
      fill();
      list.append(el("li", "", box));
    }
    for (const [name, index] of node.files) {
      const link = el("a", "", letter(files[index].change.letter), path(name));
      link.href = "#f" + index;
      link.onclick = (event) => {
        event.preventDefault();
        tree.classList.remove("shown");
        setAt(index, true);
      };
      list.append(el("li", "", link));
    }
    return list;
  }

  /* ------------------------------------------------------- the overview */

  function box(title, kind, ...children) {
    return el("section", "box " + kind, el("h2", "", title), ...children);
  }

  /* The beginning of a long text, and all of it on request. */
  function clipped(text) {
    if (text.length <= MAX_FACT) return visible(text);
    return el("details", "", el("summary", "", visible(text.slice(0, MAX_FACT)), " …"), visible(text));
  }

  function drawExecution() {
    const e = doc.execution;
    const facts = el("dl", "facts");
    const add = (name, value) => {
      if (value) facts.append(el("dt", "", name), el("dd", "", clipped(String(value))));
    };
    add("command", e.command.map((word) => /^[\w./=:,@%+-]+$/.test(word.word) ? word.word : "'" + word.word.replaceAll("'", "'\\''") + "'").join(" "));
    add("checkout", e.checkout);
    add("role", e.role);
    add("began", e.created_ns > 1e9 && time(e.created_ns));
    add("ended", e.ended_ns ? `${time(e.ended_ns)}, exit code ${e.exit_code}` : "");
    for (const view of doc.views) {
      add(view.name, view.error ? "can't be compared: " + view.error
        : (view.mount_at || view.base) + ": " + (view.counts.total ? countText(view.counts) : "no changes shown"));
    }
    if (doc.errors) add("errors", `${doc.errors} files could not be read; legato-diff names them`);
    return box(e.name ? `${e.name} (${e.id})` : e.id, "", facts);
  }

  function drawOdd() {
    const list = el("ul", "");
    for (const view of doc.views) {
      const prefix = view.checkout ? "" : (view.mount_at || view.name) + "/";
      for (const odd of view.odd) {
        list.append(el("li", "", path(prefix + odd.path), ": ", visible(odd.why)));
      }
    }
    return list.hasChildNodes() ? box("Look at these first", "odd", list) : null;
  }

  function drawStory(story) {
    const list = el("ul", "");
    const add = (...parts) => list.append(el("li", "", ...parts));
    const short = (value) => value ? value.startsWith("ref: ") ? value.slice(5) : value.slice(0, 10) : "none";
    for (const commit of story.commits.filter((c) => c.state === "reached")) {
      add(el("code", "", commit.id.slice(0, 10)), " ", visible(commit.subject), " ",
        el("span", "dim", visible(commit.author), ", ", time(commit.time * 1e9)));
    }
    const dropped = story.commits.filter((c) => c.state === "dropped").length;
    if (dropped) add(`${dropped} commits made and dropped (amended, rebased or reset away)`);
    for (const ref of story.refs) {
      add(el("code", "", visible(ref.name)), `: ${short(ref.old)} → `, visible(short(ref.new)), " ", visible(ref.subject || ""));
    }
    if (story.stash.before !== story.stash.after || story.stash.added.length) {
      add(`stash: ${story.stash.before} → ${story.stash.after} entries`);
    }
    for (const entry of story.stash.added) add("stashed: ", visible(entry.subject));
    if (story.index.changed) {
      const entries = (n) => n < 0 ? "none" : n;
      add(`index changed: ${entries(story.index.before)} → ${entries(story.index.after)} entries`);
    }
    if (story.unfinished) add(`${story.unfinished} was begun and not finished`);
    if (story.hooks.total) add(`hooks: ${countText(story.hooks)}; git runs them, later`);
    if (story.config_changed) add("config changed; git runs what it names, later", el("pre", "", visible(story.config)));
    if (story.objects.total) add(`objects: ${countText(story.objects)}${story.packs.A ? "; packs are not looked into" : ""}`);
    return box(el("span", "", path(story.dir), story.new ? ": a new repository" : story.gone ? ": a repository that is gone" : ""), "", list);
  }

  function drawFolded(view) {
    if (!view.folded.length) return null;
    const list = el("ul", "");
    for (const group of view.folded.slice(0, 50)) {
      list.append(el("li", "", el("span", "dim", group.why + ": "), path(group.path), " " + countText(group.counts)));
    }
    if (view.folded.length > 50) list.append(el("li", "dim", `and ${view.folded.length - 50} more`));
    return box("Folded", "", list);
  }

  function drawJournal() {
    if (!doc.journal || !doc.journal.length) return null;
    const table = el("table", "timeline");
    for (const entry of doc.journal.slice(0, 500)) {
      table.append(el("tr", "", el("td", "dim", entry.time), el("td", "", entry.op), el("td", "", path(entry.path)), el("td", "dim", visible(entry.command || ""))));
    }
    return box("Journal", "", table);
  }

  function drawView(view) {
    const shown = view.changes.filter((change) => !change.folded || withFolded);
    if (!view.changes.length && !view.git.length) return;
    const root = {dirs: new Map(), files: [], count: 0};
    main.append(el("h2", "", view.checkout ? "Changes" : path(view.mount_at || view.name)));
    for (const story of view.git) main.append(drawStory(story));
    const folded = drawFolded(view);
    if (folded) main.append(folded);
    const section = el("div", "");
    for (const change of shown) addTo(root, change.path.split("/"), addFile(change, view, section));
    main.append(section);
    tree.append(el("h3", "", visible(view.checkout ? view.name : view.mount_at || view.name), ` ${shown.length}`), drawTree(root));
  }

  function draw() {
    watcher.disconnect();
    files.length = 0;
    at = -1;
    main.replaceChildren();
    tree.replaceChildren();
    for (const part of [drawOdd(), drawExecution(), drawJournal()]) if (part) main.append(part);
    doc.views.forEach(drawView);
    document.getElementById("mode").classList.toggle("on", sideBySide);
    document.getElementById("all").classList.toggle("on", withFolded);
    if (search.value) find();
    document.body.dataset.ready = String(files.length);
  }

  /* ------------------------------------------------- keyboard and search */

  function setAt(index, scroll) {
    if (files[at]) files[at].card.classList.remove("at");
    at = Math.max(0, Math.min(index, files.length - 1));
    if (!files[at]) return;
    files[at].card.classList.add("at");
    if (scroll) {
      if (!files[at].open) setOpen(files[at], true);
      files[at].card.scrollIntoView({block: "start"});
    }
  }

  function step(by) {
    let index = at + by;
    while (files[index] && files[index].card.hidden) index += by;
    if (files[index]) setAt(index, true);
  }

  function matches(file, text) {
    const {change} = file;
    return change.path.toLowerCase().includes(text) ||
      (change.old_path || "").toLowerCase().includes(text) ||
      (change.patch || "").toLowerCase().includes(text);
  }

  function find() {
    const text = search.value.toLowerCase();
    let count = 0;
    for (const file of files) {
      file.card.hidden = text !== "" && !matches(file, text);
      count += !file.card.hidden;
    }
    sums(text ? `${count} of ${files.length} files` : "");
    for (const file of files) if (file.body && !file.card.hidden) drawBody(file);
  }

  /* Marks the text that is searched for. */
  function highlight(body) {
    const text = search.value.toLowerCase();
    if (!text) return;
    const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode() && found.length < 500) {
      if (walker.currentNode.data.toLowerCase().includes(text)) found.push(walker.currentNode);
    }
    for (const node of found) {
      const start = node.data.toLowerCase().indexOf(text);
      const hit = node.splitText(start);
      hit.splitText(Math.min(text.length, hit.data.length));
      hit.replaceWith(el("mark", "", hit.data));
    }
  }

  function sums(text) {
    const counts = {};
    for (const view of doc.views) {
      for (const name of ["D", "T", "R", "M", "A"]) counts[name] = (counts[name] || 0) + view.counts[name];
    }
    const line = document.getElementById("sums");
    line.replaceChildren();
    for (const name of ["D", "T", "R", "M", "A"]) {
      if (counts[name]) line.append(letter(name), counts[name] + " ");
    }
    if (text) line.append(el("span", "dim", text));
  }

  function toggleHelp() {
    const help = document.getElementById("help");
    help.hidden = !help.hidden;
  }

  const keys = {
    j: () => step(1),
    k: () => step(-1),
    Enter: () => files[at] && setOpen(files[at], !files[at].open),
    o: () => {
      const open = !files.some((file) => file.open);
      files.forEach((file) => setOpen(file, open));
    },
    s: () => {
      sideBySide = !sideBySide;
      document.getElementById("mode").classList.toggle("on", sideBySide);
      for (const file of files) if (file.body) drawBody(file);
    },
    a: () => {
      withFolded = !withFolded;
      draw();
    },
    t: () => scrollTo(0, 0),
    "/": () => search.focus(),
    "?": toggleHelp,
    Escape: () => {
      document.getElementById("help").hidden = true;
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search) {
      if (event.key === "Escape") {
        search.value = "";
        search.blur();
        find();
      } else if (event.key === "Enter") {
        search.blur();
        at = -1;
        step(1);
      }
      return;
    }
    if (Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  let pause;
  search.oninput = () => {
    clearTimeout(pause);
    pause = setTimeout(find, 150);
  };
  document.getElementById("mode").onclick = keys.s;
  document.getElementById("all").onclick = keys.a;
  document.getElementById("keys").onclick = toggleHelp;
  document.getElementById("menu").onclick = () => tree.classList.toggle("shown");
  document.title = `${doc.execution.name || doc.execution.id} – legato-diff`;
  document.getElementById("title").textContent = doc.execution.name || doc.execution.id;
  sums("");
  draw();
})();
