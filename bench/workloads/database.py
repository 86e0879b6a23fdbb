"""SQLite: many small transactions, each written through to the disk."""
import os

from data import must
from workloads import workload


def inserts(context, mode, count):
    path = os.path.join(context.machine.temp, f"inserts-{mode}-{count}.sql")
    if not os.path.exists(path):
        with open(path, "w", encoding="ascii") as file:
            file.write(f"pragma journal_mode={mode};\ncreate table t(i integer primary key, s text);\n")
            file.writelines(f"insert into t values({i}, '{i * 7919:0100d}');\n" for i in range(count))
            file.write("select count(*) from t;\n")
    return path


@workload(data="empty", program="sqlite3")
def sqlite(context):
    """single inserts with a rollback journal, and with a write-ahead log"""
    count = 200 if context.quick else 1000
    for mode, name in (("delete", "rollback"), ("wal", "WAL")):
        script = inserts(context, mode, count)
        with context.timed(f"sqlite inserts, {name}", files=count):
            output = context.sh(f"sqlite3 {name}.db <{script}")
        must(output.split()[-1] == str(count), f"sqlite: {output[-100:]}")
