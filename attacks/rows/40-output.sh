# Every verb that writes a file.

log() { "$assay" run read.toml --quiet --out run --only sim:ssd-m; log=$(ls run/log/*.parquet); }
page() { ends "$1" "$assay" trace show "$log" --quiet --html "$2"; }
for what in "existing file" symlink FIFO directory; do
  over() { log; echo mine >victim; case $1 in
      existing*) echo mine >p ;; symlink) ln -s victim p ;; FIFO) mkfifo p ;; directory) mkdir p; echo x >p/x ;; esac
    victim victim p; page 3 p; page 3 ./p; }
  row D9.1 "trace show --html over a $what" over "$what"
done
over_node() { need_root; log; mknod p c 1 3 || skip "no mknod"; victim p; page 3 p; ends 3 "$assay" trace show "$log" --quiet --html p --force; }
row D9.2 "trace show --html over a device node, with --force too" over_node
over_block() { noise i 2; attach i; victim i "$device"; log; page 3 "$device"; ends 3 "$assay" trace show "$log" --quiet --force --html "$device"; }
row D9.3 "trace show --html over a block device" over_block
neighbour() { log; for n in page.partial page.html.partial .page page.tmp page.html~; do echo mine >$n; victim $n; done; page 0 page.html; }
row D9.4 "trace show --html beside page.partial" neighbour
own_page() { log; page 0 p.html; page 0 p.html; }
row D9.5 "a page of assay's is replaced" own_page
forced() { log; echo mine >p; ends 0 "$assay" trace show "$log" --quiet --html p --force; grep -q html p; }
row D9.6 "--force replaces a regular file" forced
forced_input() { log; victim "$log"; ends 2 "$assay" trace show "$log" --quiet --html "$log" --force; says "made from"; }
forced_record() { printf '8,0 1 1 0.0 1 Q R 0 + 8 [x]\n8,0 1 2 0.1 1 C R 0 + 8 [0]\n' >t; "$assay" trace import t --quiet --out tr; victim tr/trace.json
  ends 2 "$assay" trace show tr --quiet --html tr/trace.json --force; ends 2 "$assay" trace show tr --plan --html tr/trace.json; says "made from"; }
row D9.30 "--force does not replace the record of a trace" forced_record
row D9.29 "--force does not replace the log that the page is made from" forced_input
forced_link() { log; echo mine >v; ln -s v p; victim v p; ends 3 "$assay" trace show "$log" --quiet --html p --force; }
row D9.7 "--force does not follow a symlink" forced_link
svg() { echo mine >p.svg; victim p.svg; ends 3 "$assay" explain --timeline sim:ssd-m --requests 5 --out p.svg; }
row D9.8 "explain --timeline --out over a file" svg
svg_foreign() { echo '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>' >p.svg; victim p.svg
  ends 3 "$assay" explain --timeline sim:ssd-m --requests 5 --out p.svg; }
row D9.9 "explain --timeline --out over a drawing of somebody else" svg_foreign
svg_link() { echo mine >v; ln -s v p.svg; victim v p.svg; ends 3 "$assay" explain --timeline sim:ssd-m --requests 5 --out p.svg; }
row D9.10 "explain --timeline --out over a symlink" svg_link
svg_own() { ends 0 "$assay" explain --timeline sim:ssd-m --requests 5 --out p.svg; ends 0 "$assay" explain --timeline sim:ssd-m --requests 9 --out p.svg; }
row D9.11 "a drawing of assay's is replaced" svg_own
svg_node() { need_root; mknod p c 1 3 || skip "no mknod"; victim p; ends 3 "$assay" explain --timeline sim:ssd-m --requests 5 --out p; }
row D9.12 "explain --timeline --out over a device node" svg_node
drawn() { strace -f -o /dev/null -e inject=renameat2:signal=KILL "$assay" explain --timeline sim:ssd-m --requests "$1" --out p.svg; }
svg_killed() { need strace; drawn 5 || fail "it renames a new file"; [ "$(ls -A *.svg .assay-* 2>/dev/null)" = p.svg ] || fail "left: $(ls -A)"
  victim p.svg; if drawn 9; then fail "it was not killed"; fi; }
row D9.13 "explain --timeline --out, killed at its first renaming" svg_killed
svg_kept() { need chattr; mkdir d; ends 0 "$assay" explain --timeline sim:ssd-m --requests 5 --out d/p.svg; undo "chattr -a $PWD/d"
  chattr +a d 2>/dev/null || skip "no chattr"; victim d/p.svg; ends 3 "$assay" explain --timeline sim:ssd-m --requests 9 --out d/p.svg
  says append-only; [ "$(ls -A d)" = p.svg ] || fail "left: $(ls -A d)"; }
row D9.14 "explain --timeline --out over a drawing in a directory that can only grow" svg_kept
svg_changed() { need strace; ends 0 "$assay" explain --timeline sim:ssd-m --requests 5 --out p.svg
  strace -f -o /dev/null -e inject=renameat2:delay_enter=2s:when=2 "$assay" explain --timeline sim:ssd-m --requests 9 --out p.svg 2>err & run=$!
  for _ in $(seq 100); do ls .assay-partial-* >/dev/null 2>&1 && break; sleep 0.05; done
  sleep 0.3; echo mine >>p.svg; run_ends 3; victim p.svg; grep -q mine p.svg || fail "lost"; }
row D9.15 "explain --timeline --out over a drawing that is changed just before the names are exchanged" svg_changed
svg_huge() { truncate -s 8T p.svg 2>/dev/null || skip "no large files"; ends 3 timeout 20 "$assay" explain --timeline sim:ssd-m --requests 5 --out p.svg; [ "$(stat -c %s p.svg)" = 8796093022208 ] || fail "changed"; }
row D9.16 "explain --timeline --out over a sparse file of 8 TiB" svg_huge
report_kept() { need chattr; "$assay" run read.toml --quiet --out out --only sim:ssd-m >/dev/null; before=$(ls -A out); undo "chattr -a $PWD/out"
  chattr +a out 2>/dev/null || skip "no chattr"; ends 3 "$assay" report out; says append-only; [ "$(ls -A out)" = "$before" ] || fail "left: $(ls -A out)"; }
row D9.17 "a report in a run directory that can only grow" report_kept
# In the lower layer of an overlay: the first change copies a file to the upper one, where it is another inode.
lower() { need_root; mkdir l u w m; "$@"; mount -t overlay none m -o "lowerdir=l,upperdir=u,workdir=w" 2>/dev/null || skip "no overlay"; undo "umount -l $PWD/m"; }
nothing_left() { [ -z "$(ls -A "$1" | grep '^.assay-')" ] || fail "left: $(ls -A "$1")"; }
lower_report() { lower "$assay" run read.toml --quiet --out l/out --only sim:ssd-m >/dev/null; ends 0 "$assay" report m/out; ends 0 "$assay" report m/out; nothing_left m/out; }
row D9.18 "a report of a run in the lower layer of an overlay" lower_report
lower_drawing() { lower "$assay" explain --timeline sim:ssd-m --requests 5 --out l/p.svg; ends 0 "$assay" explain --timeline sim:ssd-m --requests 9 --out m/p.svg
  ! cmp -s l/p.svg m/p.svg || fail "not replaced"; nothing_left m; }
row D9.19 "a drawing there is replaced" lower_drawing
lower_foreign() { lower eval 'echo mine >l/p.svg'; victim m/p.svg; ends 3 "$assay" explain --timeline sim:ssd-m --requests 9 --out m/p.svg; }
row D9.20 "somebody's file there is not" lower_foreign
lower_resume() { sed -i '0,/20s/s//1s/' long.toml; during long.toml ./f --size 8MiB; for _ in $(seq 100); do [ -e out/cells.json ] && break; sleep 0.1; done
  sleep 0.5; kill -INT $run; run_ends 130; sleep 0.5; sed -i 's/20s/1s/g' out/run.json; lower mv out l; ends 0 "$assay" resume m/out --quiet; nothing_left m/out; }
row D9.21 "a run there goes on" lower_resume

for name in run.partial cells.partial run.json cells.json report.html notes.txt log .hidden findings.json; do
  in_out() { mkdir out; echo mine >"out/$1"; victim "out/$1" out; ends "2|3" "$assay" run read.toml --quiet --out out --only sim:ssd-m; }
  row D10.1 "--out with the user's $name" in_out $name
  in_trace() { mkdir out; echo mine >"out/$1"; victim "out/$1" out; printf '8,0 1 1 0.0 1 Q R 0 + 8 [x]\n8,0 1 2 0.1 1 C R 0 + 8 [0]\n' >t
    ends "2|3" "$assay" trace import t --quiet --out out; }
  row D10.2 "trace import --out with the user's $name" in_trace $name
  in_linux() { mkdir out; echo mine >"out/$1"; victim "out/$1"; ends "2|3" "$assay" linux run --drive sim:ssd-m --quiet --out out -- true; }
  row D10.3 "linux run --out with the user's $name" in_linux $name
done
out_link() { mkdir v; echo mine >v/x; ln -s v out; victim v/x; ends "2|3" "$assay" run read.toml --quiet --out out --only sim:ssd-m; }
row D10.4 "--out is a symlink to a directory with files" out_link
out_node() { need_root; mknod out c 1 3 || skip "no mknod"; victim out; ends "2|3" "$assay" run read.toml --quiet --out out --only sim:ssd-m; }
row D10.5 "--out is a device node" out_node
out_fifo() { mkfifo out; victim out; ends "2|3" "$assay" run read.toml --quiet --out out --only sim:ssd-m; }
row D10.6 "--out is a FIFO" out_fifo
sub_link() { mkdir out v; echo mine >v/x; ln -s ../v out/log; victim v/x v; ends "2|3" "$assay" run read.toml --quiet --out out --only sim:ssd-m; }
row D10.7 "--out with log as a symlink elsewhere" sub_link

finished() { "$assay" run read.toml --quiet --out run --only sim:ssd-m; }
for name in report.html cells.csv findings.json claims.json; do
  report_link() { finished; echo mine >v; rm "run/$1"; ln -s ../v "run/$1"; victim v "run/$1"; ends 3 "$assay" report run --quiet; }
  row D9.20 "report where $name is a symlink" report_link $name
  report_fifo() { finished; rm "run/$1"; mkfifo "run/$1"; victim "run/$1"; ends 3 "$assay" report run --quiet; }
  row D9.21 "report where $name is a FIFO" report_fifo $name
done
report_thesis() { finished; echo '<html>thesis</html>' >run/report.html; victim run/report.html; ends 3 "$assay" report run --quiet; }
row D9.22 "report where report.html is the user's" report_thesis
report_partial() { finished; for n in report.partial cells.partial findings.partial .report.html; do echo mine >run/$n; victim run/$n; done
  ends 0 "$assay" report run --quiet; }
row D9.23 "report beside the user's report.partial" report_partial
cells_lost() { finished; rm run/cells.csv; if [ "$1" = link ]; then mv run/cells.json kept; ln -s nowhere run/cells.json; "$assay" report run --quiet >.out 2>.err && fail "it reports no cells"; return 0; fi
  need strace; victim run/cells.json; strace -f -o /dev/null -P "$PWD/run/cells.json" -e trace=statx,newfstatat -e inject=statx,newfstatat:error=EIO:when=1 "$assay" report run --quiet >.out 2>.err || true
  [ ! -e run/cells.csv ] || [ "$(wc -l <run/cells.csv)" -gt 1 ] || fail "a table without cells"; }
row D9.31 "report where cells.json is a symlink to nothing" cells_lost link
row D9.32 "report where the file system fails to say whether cells.json is there" cells_lost error
report_plain() { need_root; mkdir m; mount -t ramfs none m || skip "no ramfs"; undo "umount -l $PWD/m"
  "$assay" run read.toml --quiet --out m/run --only sim:ssd-m >/dev/null; ends 0 "$assay" report m/run --quiet
  for n in cells.csv report.html; do echo mine >>"m/run/$n"; victim "m/run/$n"; done; ends 3 "$assay" report m/run --quiet; says force; }
row D9.30 "report where the user has added to the page and the table, without attributes" report_plain
report_acl() { need setfacl getfacl setfattr getfattr; finished; setfacl -m u:65533:r,g::- run/report.html 2>/dev/null || skip "no access control lists"
  setfattr -n user.note -v mine run/report.html || skip "no attributes"; getfacl -c run/report.html >before; ends 0 "$assay" report run --quiet
  getfacl -c run/report.html | cmp - before || fail "who may read the page has changed"; [ "$(getfattr -n user.note --only-values run/report.html)" = mine ]; }
row D9.33 "report keeps the access control list and the attributes of the page" report_acl
resume_link() { begin ./f --size 8MiB; echo mine >v; rm -f out/cells.json; ln -s ../v out/cells.json; victim v; shorten
  ends "2|3" "$assay" resume out --quiet; }
row D9.24 "resume where cells.json is a symlink" resume_link
import_twice() { printf '8,0 1 1 0.0 1 Q R 0 + 8 [x]\n8,0 1 2 0.1 1 C R 0 + 8 [0]\n' >t; "$assay" trace import t --quiet --out out
  victim out/trace.json out/log/*; ends "2|3" "$assay" trace import t --quiet --out out; }
row D10.8 "trace import into a trace" import_twice

unwritable() { ends 3 sh -c 'exec "$@" 1</dev/null' - "$assay" "$@"; says output-not-written; }
row O6.1 "a standard output that is open for reading only" unwritable devices
row O6.2 "the same, as JSON" unwritable explain p99 --json
row O6.3 "the same, with help" unwritable --help
at_once() { local n=0 code=0 all=; for n in 1 2 3 4; do "$assay" run read.toml --quiet --only sim:ssd-m >/dev/null 2>err$n & all="$all $!"; done
  for n in $all; do wait $n || code=$?; done; [ $code = 0 ] && [ "$(ls runs | wc -l)" = 4 ] || fail "exit status $code: $(cat err?; ls runs)"; }
row O7 "four runs without --out at once" at_once
