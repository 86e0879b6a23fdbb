#include "index_db.h"

/* Nanoseconds since 1970 as text that sorts. */
#define ISO(column)                                                            \
	"strftime('%Y-%m-%dT%H:%M:%S', " column " / 1000000000, "              \
	"'unixepoch') || printf('.%06dZ', " column " / 1000 % 1000000)"

/* Names are stored as text although they may hold any byte: SQLite keeps them
 * as they are. */
const char index_schema
	[] = "CREATE TABLE state(name TEXT PRIMARY KEY, value INTEGER NOT "
	     "NULL)"
	     " WITHOUT ROWID;"
	     "CREATE TABLE operation(number INTEGER PRIMARY KEY, name TEXT "
	     "NOT NULL,"
	     " letter TEXT NOT NULL);"
	     "CREATE TABLE error(number INTEGER PRIMARY KEY, name TEXT NOT "
	     "NULL);"
	     "CREATE TABLE process(number INTEGER PRIMARY KEY,"
	     " parent INTEGER, pid INTEGER NOT NULL, ppid INTEGER NOT NULL,"
	     " uid INTEGER NOT NULL, start_ticks INTEGER NOT NULL,"
	     " exe TEXT NOT NULL, command TEXT NOT NULL, arguments BLOB NOT "
	     "NULL,"
	     " cwd TEXT NOT NULL);"
	     "CREATE TABLE path(number INTEGER PRIMARY KEY, view TEXT NOT "
	     "NULL,"
	     " path TEXT NOT NULL, earlier_changes INTEGER NOT NULL DEFAULT "
	     "0,"
	     " earlier_first_ns INTEGER, earlier_last_ns INTEGER,"
	     " UNIQUE(path, view));"
	     "CREATE TABLE change(sequence INTEGER PRIMARY KEY,"
	     " wall_ns INTEGER NOT NULL, last_wall_ns INTEGER NOT NULL,"
	     " mono_ns INTEGER NOT NULL, operation INTEGER NOT NULL,"
	     " state INTEGER NOT NULL, result INTEGER NOT NULL,"
	     " path INTEGER NOT NULL, path2 INTEGER, attribute TEXT,"
	     " process INTEGER, by_opener INTEGER NOT NULL, ino INTEGER,"
	     " offset INTEGER, bytes INTEGER, size_before INTEGER,"
	     " size_after INTEGER, mode_before INTEGER, mode_after INTEGER,"
	     " count INTEGER NOT NULL, more INTEGER NOT NULL,"
	     " nameless INTEGER NOT NULL);"
	     "CREATE INDEX change_path ON change(path);"
	     "CREATE INDEX change_path2 ON change(path2) WHERE path2 IS NOT "
	     "NULL;"
	     "CREATE INDEX change_process ON change(process);"

	     "CREATE VIEW timeline AS SELECT c.sequence, " ISO(
		     "c.wall_ns") " AS"
				  " time, o.letter, o.name AS operation, "
				  "p.view, p.path,"
				  " coalesce(p2.path, c.attribute) AS "
				  "path2, c.bytes, c.count,"
				  " c.size_before, c.size_after, "
				  "printf('%o', c.mode_before) AS"
				  " mode_before, printf('%o', c.mode_after) "
				  "AS mode_after,"
				  " CASE WHEN c.state = 1 THEN 'unfinished' "
				  "WHEN c.result = 0 THEN 'ok'"
				  " ELSE coalesce(e.name, -c.result) END AS "
				  "result,"
				  " c.process, q.pid, q.command, c.by_opener"
				  " FROM change c JOIN operation o ON "
				  "o.number = c.operation"
				  " JOIN path p ON p.number = c.path"
				  " LEFT JOIN path p2 ON p2.number = c.path2"
				  " LEFT JOIN error e ON e.number = "
				  "-c.result"
				  " LEFT JOIN process q ON q.number = "
				  "c.process;"

				  "CREATE VIEW changes AS SELECT * FROM "
				  "timeline"
				  " WHERE result = 'ok' AND letter IN ('A', "
				  "'D', 'M', 'R');"

				  "CREATE VIEW failed AS SELECT sequence, "
				  "time, operation, view, path,"
				  " path2, result, process, pid, command "
				  "FROM timeline"
				  " WHERE result <> 'ok';"

				  "CREATE VIEW renames AS SELECT sequence, "
				  "time, operation, view,"
				  " path AS old_path, path2 AS new_path, "
				  "process, pid, command"
				  " FROM changes WHERE letter = 'R';"

				  "CREATE VIEW by_process AS SELECT "
				  "q.number, q.parent, q.pid,"
				  " q.command, q.cwd, " ISO("min(c.wall_ns)") " AS first, " ISO(
					  "max(c.last_wall_ns)") " AS last, "
								 "sum(c."
								 "count) AS "
								 "changes,"
								 " count("
								 "DISTINCT "
								 "c.path) "
								 "AS files, "
								 "sum(c."
								 "bytes) AS "
								 "bytes,"
								 " sum(c."
								 "result <> "
								 "0) AS "
								 "failed"
								 " FROM "
								 "process q "
								 "LEFT JOIN "
								 "change c "
								 "ON "
								 "c.process "
								 "= q.number"
								 " GROUP BY "
								 "q.number;"

								 "CREATE "
								 "VIEW "
								 "files AS "
								 "SELECT "
								 "p.view, "
								 "p.path,"
								 " " ISO("mi"
									 "n("
									 "c."
									 "wa"
									 "ll"
									 "_n"
									 "s"
									 ")") " AS first, " ISO("ma"
												"x("
												"c."
												"la"
												"st"
												"_w"
												"al"
												"l_"
												"ns"
												")") " AS last, sum(c.count) AS changes, sum(c.bytes) AS bytes,"
												     " count(DISTINCT c.process) AS processes, p.earlier_changes,"
												     /* SQLite takes bare columns from the row that has the maximum. */
												     " o.name AS last_operation, max(c.sequence) AS last_sequence,"
												     " q.command AS last_command"
												     " FROM path p JOIN change c ON c.path = p.number OR c.path2 = p.number"
												     " JOIN operation o ON o.number = c.operation"
												     " LEFT JOIN process q ON q.number = c.process"
												     " WHERE c.result = 0 AND o.letter IN ('A', 'D', 'M', 'R')"
												     " GROUP BY p.number;";

const char index_temp_schema[] =
	"CREATE TEMP TABLE alike(first INTEGER PRIMARY KEY, last INTEGER,"
	" count INTEGER, bytes INTEGER, last_wall_ns INTEGER);"
	"CREATE TEMP TABLE gone(path INTEGER PRIMARY KEY);";

#define CHANGE_COLUMNS                                                         \
	"sequence, wall_ns, last_wall_ns, mono_ns, operation, state, "         \
	"result, path, path2, attribute, process, by_opener, ino, offset, "    \
	"bytes, size_before, size_after, mode_before, mode_after, count, "     \
	"more, nameless"

/*
 * The bound. What is alike within a window of sequences becomes the first row
 * of its kind, with the last one's time, size and mode. Names that moved stay
 * as they are: the history of a path leads through them.
 */
/* "+path" keeps SQLite from walking the whole of the path's index. */
#define MOVES "(6, 9, 10)" /* link, rename, exchange */

const char *const index_sql[INDEX_N_STATEMENTS] = {
	[INDEX_BEGIN] = "BEGIN IMMEDIATE",
	[INDEX_COMMIT] = "COMMIT",
	[INDEX_ADD_PROCESS] =
		"INSERT OR IGNORE INTO process(number, parent, pid, ppid, uid,"
		" start_ticks, exe, command, arguments, cwd)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[INDEX_ADD_CHANGE] =
		"INSERT OR IGNORE INTO change(" CHANGE_COLUMNS ")"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
		" ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
	[INDEX_FIND_PATH] = "SELECT number FROM path WHERE path = ?1"
			    " AND view = ?2",
	[INDEX_ADD_PATH] = "INSERT INTO path(path, view) VALUES(?1, ?2)",
	[INDEX_GET_STATE] = "SELECT value FROM state WHERE name = ?1",
	[INDEX_SET_STATE] = "INSERT OR REPLACE INTO state VALUES(?1, ?2)",
	[INDEX_COUNT] = "SELECT count(*), max(sequence) FROM change",
	[INDEX_COUNT_RANGE] =
		"SELECT count(*) FROM (SELECT 1 FROM change"
		" WHERE sequence > ?1 AND sequence <= ?2 LIMIT ?3)",
	[INDEX_GROUP] =
		"INSERT INTO temp.alike SELECT min(sequence), max(sequence),"
		" sum(count), sum(bytes), max(last_wall_ns) FROM change"
		" WHERE sequence > ?1 AND sequence <= ?2"
		" AND operation NOT IN " MOVES
		" GROUP BY +path, path2, operation, process, result, state,"
		" attribute",
	[INDEX_MERGE] =
		"UPDATE change SET"
		" (count, bytes, last_wall_ns, size_after, mode_after) ="
		" (SELECT a.count, a.bytes, a.last_wall_ns, l.size_after,"
		" l.mode_after FROM temp.alike a JOIN change l"
		" ON l.sequence = a.last WHERE a.first = change.sequence)"
		" WHERE sequence IN"
		" (SELECT first FROM temp.alike WHERE last > first)",
	[INDEX_DROP_MERGED] =
		"DELETE FROM change WHERE sequence > ?1 AND sequence <= ?2"
		" AND operation NOT IN " MOVES
		" AND sequence NOT IN (SELECT first FROM temp.alike)",
	[INDEX_CLEAR_ALIKE] = "DELETE FROM temp.alike",
	/* Paths that are gone by the last of what is to be forgotten: SQLite
	 * takes the operation from the row that has the maximum. */
	[INDEX_LIST_GONE] =
		"INSERT INTO temp.gone SELECT path FROM (SELECT path,"
		" operation, max(sequence) FROM change WHERE sequence <= ?1"
		" AND result = 0 GROUP BY +path) WHERE operation IN (7, 8, 9)",
	[INDEX_SUM_PATHS] =
		"UPDATE path SET"
		" earlier_changes = earlier_changes + s.changes,"
		" earlier_first_ns = coalesce(earlier_first_ns, s.first_ns),"
		" earlier_last_ns = s.last_ns FROM (SELECT path AS number,"
		" sum(count) AS changes, min(wall_ns) AS first_ns,"
		" max(last_wall_ns) AS last_ns FROM change WHERE sequence <= ?1"
		" GROUP BY +path) AS s WHERE path.number = s.number",
	[INDEX_SUM_CHANGES] =
		"SELECT sum(count) FROM change WHERE sequence <= ?1",
	[INDEX_FORGET] = "DELETE FROM change WHERE sequence <= ?1",
	[INDEX_FORGET_PATHS] =
		"DELETE FROM path WHERE number IN (SELECT path FROM temp.gone)"
		" AND NOT EXISTS (SELECT 1 FROM change"
		" WHERE change.path = path.number)"
		" AND NOT EXISTS (SELECT 1 FROM change"
		" WHERE change.path2 = path.number)",
	[INDEX_CLEAR_GONE] = "DELETE FROM temp.gone",
	[INDEX_READ_PROCESSES] =
		"SELECT number, parent, pid, ppid, uid, start_ticks, exe,"
		" arguments, cwd FROM process WHERE number > ?1"
		" ORDER BY number",
	[INDEX_READ_CHANGES] =
		"SELECT c.sequence, c.wall_ns, c.last_wall_ns, c.mono_ns,"
		" c.operation, c.state, c.result, p.view, p.path, p2.path,"
		" c.attribute, c.process, c.by_opener, c.ino, c.offset,"
		" c.bytes, c.size_before, c.size_after, c.mode_before,"
		" c.mode_after, c.count, c.more, c.nameless FROM change c"
		" JOIN path p ON p.number = c.path"
		" LEFT JOIN path p2 ON p2.number = c.path2"
		" WHERE c.sequence > ?1 ORDER BY c.sequence",
};
