# Makes a database `db` and statements `work.sql` for it: sqlite.sh KIND COUNT
case $1 in
inserts) # each a transaction; rollback journal
  sqlite3 db "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)"
  awk -v n="$2" 'BEGIN { for (i = 0; i < n; i++) printf "INSERT INTO t(v) VALUES(\047%0100d\047);\n", i }' >work.sql ;;
indices) # the same, with two indices of 20,000 rows
  sqlite3 db "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, n INT); CREATE INDEX a ON t(v); CREATE INDEX b ON t(n);
    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000)
    INSERT INTO t SELECT i, printf('%0100d', i * 7919 % 20011), i * 31 % 20011 FROM c"
  awk -v n="$2" 'BEGIN { for (i = 0; i < n; i++) printf "INSERT INTO t(v, n) VALUES(\047%0100d\047, %d);\n", i * 7919 % 20011, i * 31 % 20011 }' >work.sql ;;
updates) # write-ahead log; transactions of two updates and a sum over 20 rows
  sqlite3 db "PRAGMA journal_mode=WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, n INT);
    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000)
    INSERT INTO t SELECT i, printf('%0200d', i), i FROM c"
  awk -v n="$2" 'BEGIN { srand(1); for (i = 0; i < n; i++) { k = rand() * 20000
    printf "BEGIN; UPDATE t SET n = n + 1 WHERE id = %d; UPDATE t SET v = printf(\047%%0200d\047, %d) WHERE id = %d; ", rand() * 20000, i, rand() * 20000
    printf "SELECT sum(n) FROM t WHERE id BETWEEN %d AND %d + 20; COMMIT;\n", k, k } }' >work.sql ;;
esac
