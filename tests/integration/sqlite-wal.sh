#!/bin/bash
# SQLite in WAL mode with two processes: locks and the shared map work.
. "$(dirname "$0")/../lib/lib.sh"
needs_view
python3 -c 'import sqlite3' 2>/dev/null || skip_all "python's sqlite3 is missing"

view_base
cat >"$work/db.py" <<'END'
import sqlite3, sys
path, who, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
db = sqlite3.connect(path, timeout=60, isolation_level=None)
assert db.execute("pragma journal_mode=wal").fetchone()[0] == "wal"
for i in range(rows):
    db.execute("begin immediate")
    (n,) = db.execute("select value from counter").fetchone()
    db.execute("update counter set value = ?", (n + 1,))
    db.execute("insert into t values (?, ?, ?)", (who, i, "x" * (i % 700)))
    db.execute("commit")
    if i % 25 == 0:
        db.execute("pragma wal_checkpoint(truncate)" if who else "select count(*) from t")
END
make_db() { # FILE
  python3 - "$1" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("pragma journal_mode=wal")
db.executescript("create table t(who, i, x); create table counter(value); insert into counter values (0);")
db.close()
END
}
verdict() { # FILE: what should be "ok, 300, 300, 300"
  python3 - "$1" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("pragma integrity_check").fetchone()[0],
      db.execute("select value from counter").fetchone()[0],
      db.execute("select count(*) from t").fetchone()[0],
      db.execute("select count(distinct who * 1000 + i) from t").fetchone()[0], sep=", ")
END
}
two_writers() { # FILE
  local one two status=0
  background timeout 120 python3 "$work/db.py" "$1" 0 150
  one=$!
  background timeout 120 python3 "$work/db.py" "$1" 1 150
  two=$!
  wait "$one" || status=1
  wait "$two" || status=1
  return "$status"
}

make_db "$base/old.db"
view_begin
check 'a new database is made in the view' make_db "$view/new.db"
for db in old new; do
  check "$db.db: two processes write" two_writers "$view/$db.db"
  same "$db.db: nothing is lost" 'ok, 300, 300, 300' "$(verdict "$view/$db.db" 2>&1)"
done

# A reader that had the base's file open and mapped sees what another writes.
cat >"$work/reader.py" <<'END'
import sqlite3, subprocess, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
before = db.execute("select count(*) from t").fetchone()[0]
subprocess.run([sys.executable, sys.argv[2], sys.argv[1], "7", "10"], check=True)
assert db.execute("select count(*) from t").fetchone()[0] == before + 10
END
check 'an open reader sees the rows of a later writer' python3 "$work/reader.py" "$view/old.db" "$work/db.py"
view_end
finish
