# Directories that others change while assay works in them, or that a killed assay has left.

# busy PATTERN COMMAND …: starts assay and halts it as soon as a name matches PATTERN; `end` lets it go on.
busy() { local pattern=$1 found; shift
  "$@" >json 2>err </dev/null & pid=$!; undo "kill -9 $pid"
  local end=$((SECONDS + 30)); until found=$(compgen -G "$pattern"); do kill -0 $pid && [ $SECONDS -lt $end ] || break; done
  kill -STOP $pid || fail "it has ended: $(cat err)"; [ -n "$found" ] || fail "no $pattern"; }
# end CODES: lets it go on; its exit status must be one of CODES.
end() { local code=0; kill -CONT $pid; wait $pid || code=$?; [[ "|$1|" == *"|$code|"* ]] || fail "exit status $code, not $1: $(tail -n 5 err)"; }
# work KIND LINE …: writes an experiment of files.
work() { printf 'format = 1\nname = "f"\nquestion = "?"\ntargets = []\n[[workload]]\nname = "w"\nfile = "%s"\n' "$1" >f.toml; shift
  printf '%s\n' "$@" >>f.toml; mkdir -p d; }
walk() { work walk 'order = "directory"' 'files = 1000' 'directories = 20' 'length = "16KiB"' 'age = 3'; }
rewrite() { work rewrite 'length = "256MiB"' 'size = "64KiB"'; }

dead() { walk; busy 'd/assay-*/data/tree/d01' "$assay" run f.toml --quiet --out out --on ./d; kill -9 $pid; wait $pid || true; left=$(echo d/assay-*); }
again() { ends 0 "$assay" run f.toml --quiet --out out2 --on ./d; }

bind() { need_root; mkdir -p "$2"; mount --bind "$1" "$2" || skip "cannot mount"; undo "umount -l $(realpath "$2")"; }
hoard() { mkdir -p v/tree v/data; for n in 0 1 20 21 40; do echo mine >v/f$n; cp v/f$n v/data; victim v/f$n v/data/f$n; done; echo mine >v/large; ln -s .. v/tree/d01; victim v/large v; }
left_mount() { dead; hoard; bind v "$left/$1"; again; }
for at in data data/tree data/tree/d01 .; do
  row N1 "a directory that a killed run left, with something mounted on its $at" left_mount "$at"
done
left_file() { dead; mkdir -p "$(dirname "$left/$1")"; echo mine >"$left/$1"; victim "$left/$1"; again; }
for name in notes data/notes data/photos/one data/tree/notes data/tree/d01/notes; do
  row N2 "a directory that a killed run left, with the user's $name" left_file $name
done
left_copy() { dead; cp -a "$left" d/assay-00000000000000aa; echo mine >d/assay-00000000000000aa/data/tree/d01/f1
  victim d/assay-00000000000000aa/data/tree/d01/f1; again; }
row N3 "a copy of a directory that a killed run left" left_copy
left_link() { dead; hoard; rm -rf "$left/data/tree"; ln -s ../../../v "$left/data/tree"; again; }
row N4 "a directory that a killed run left, with a symlink for its tree" left_link
left_goes() { dead; again; [ ! -e "$left" ] || fail "$left is there"; [ -z "$(ls d)" ]; }
row N5 "what a killed run of files left goes with the next one" left_goes

# `timeout` signals a program and then its group. More than half a second later, the second signal ends assay at once.
two_signals() { rewrite; busy 'd/assay-*/data/file' "$assay" run f.toml --quiet --out out --on ./d; kill -CONT $pid; kill -s "$1" $pid
  sleep 0.02; kill -s "$1" $pid 2>/dev/null || true; local code=0; wait $pid || code=$?
  [ $code = 130 ] && [ -z "$(ls -A d)" ] || fail "exit status $code: $(cat err; ls d)"; }
for signal in INT TERM; do
  row N20 "SIG$signal twice at once: assay removes what it made" two_signals $signal
done
late_signal() { need strace; rewrite; strace -f -o /dev/null -e trace=unlinkat -e inject=unlinkat:delay_enter=3s "$assay" run f.toml --quiet --out out --on ./d 2>err </dev/null & run=$!
  undo "pkill -9 -P $run"; for _ in $(seq 500); do compgen -G 'd/assay-*/data/file' >/dev/null && break; sleep 0.02; done; pid=$(pgrep -P $run)
  kill -s "$1" $pid; sleep 0.8; kill -s "$1" $pid; run_ends "$2"; grep -q "ended before it had cleaned up" err || fail "$(cat err)"; }
row N21 "a second SIGINT after 0.8 s, while assay removes what it made" late_signal INT 130
row N21 "a second SIGTERM after 0.8 s, while assay removes what it made" late_signal TERM 143

# The user's file comes while assay is about to remove or rename the workload's.
exchanged() { need strace; need python3; [ "$(uname -m)" = x86_64 ] || skip "other numbers of system calls"; rewrite; noise v 1; cp v copy; sleep 0.1
  strace -f -o /dev/null -e trace=unlinkat,renameat2 -e inject=unlinkat,renameat2:delay_enter=300ms \
    "$assay" run f.toml --quiet --out out --on ./d 2>err </dev/null & run=$!; undo "pkill -9 -P $run"
  for _ in $(seq 500); do compgen -G 'd/assay-*/data/file' >/dev/null && break; sleep 0.02; done; pid=$(pgrep -P $run)
  python3 - "$pid" <<'CODE' || fail "it removes nothing: $(cat err)"
import glob, os, sys
process = f"/proc/{sys.argv[1]}"
while os.path.exists(process):
    for thread in glob.glob(process + "/task/*/syscall"):
        try:
            number, directory = open(thread).read().split()[:2]
            is_near = number in ("263", "316") and os.readlink(f"{process}/fd/{int(directory, 16)}").endswith("/data")
        except (OSError, ValueError):
            continue
        if is_near:
            os.rename("v", glob.glob("d/assay-*/data/file")[0])
            sys.exit(0)
sys.exit(1)
CODE
  run_ends "0|3"; cmp copy d/assay-*/data/file || fail "the user's file is gone: $(ls -AR d)"; }
row N22 "the user exchanges the file of a workload for an older one while assay removes it" exchanged

others() { walk; busy 'd/assay-*/data/tree/d01' "$assay" run f.toml --quiet --out out --on ./d; left=$(echo d/assay-*)
  mkdir -p "$(dirname "$left/$1")"; echo mine >"$left/$1"; victim "$left/$1"; end 0; }
for name in notes data/notes data/photos/one data/tree/photos/one; do
  row N6 "the user's $name, put there while a tree is measured" others $name
done
swapped() { rewrite; noise v 1; sleep 0.1; busy 'd/assay-*/data/file' "$assay" run f.toml --quiet --out out --on ./d; victim v
  local file; file=$(echo d/assay-*/data/file); rm "$file"
  case $1 in symlink) ln -s "$(realpath v)" "$file" ;; "hard link") ln v "$file" ;; file) mv v "$file"; mv .victims x; victim "$file" ;; esac; end "3"; }
for what in symlink "hard link" file; do
  row N7 "the file of a workload becomes a $what" swapped "$what"
done
spoiled() { work "$1" 'length = "256MiB"' 'size = "64KiB"'; busy 'd/assay-*/data/file' "$assay" run f.toml --quiet --out out --on ./d
  for _ in $(seq 2000); do [ "$(stat -c %s d/assay-*/data/file)" -ge 20000000 ] && break; kill -CONT $pid; kill -STOP $pid; done
  case $2 in removed) rm d/assay-*/data/file ;; *) truncate -s 1M d/assay-*/data/file ;; esac; end 3; }
row N12 "the file of a workload is removed while it is written" spoiled write removed
row N13 "the file of a workload is removed before it is written again" spoiled rewrite removed
work_moved() { walk; hoard; busy 'd/assay-*/data/tree' "$assay" run f.toml --quiet --out out --on ./d
  left=$(echo d/assay-*); mv "$left/$1" aside; ln -s "$(realpath v)" "$left/$1"; end "0|3"; }
row N8 "the directory of a workload becomes a symlink" work_moved data
row N8 "the tree of a workload becomes a symlink" work_moved data/tree
sub_moved() { walk; hoard; busy 'd/assay-*/data/tree/d01' "$assay" run f.toml --quiet --out out --on ./d
  sub=$(echo d/assay-*/data/tree/d01); mv "$sub" aside; ln -s "$(realpath v)" "$sub"; end "0|3"; }
row N9 "a directory of a tree becomes a symlink to files of the same names" sub_moved
whole_moved() { walk; hoard; busy 'd/assay-*/data/tree' "$assay" run f.toml --quiet --out out --on ./d
  left=$(realpath d/assay-*); mv "$left" aside; if [ "$1" = symlink ]; then ln -s "$(realpath v)" "$left"; else mkdir "$left"; cp -r v/data "$left"; victim "$left/data/f0"; fi; end "0|3"; }
for what in symlink directory; do
  row N10 "the directory that assay made becomes another $what" whole_moved $what
done
mounted_on() { walk; hoard; busy 'd/assay-*/data/tree/d01' "$assay" run f.toml --quiet --out out --on ./d
  bind v "$(echo d/assay-*/data/tree)"; end "0|3"; }
row N11 "something is mounted on a tree while it is measured" mounted_on

unremovable() { need_root; need chattr; walk; busy 'd/assay-*/data/tree/d01' "$assay" run f.toml --out out --on ./d; left=$(echo d/assay-*)
  undo "chattr -a $PWD/$left/data"; chattr +a "$left/data" 2>/dev/null || skip "no chattr"; end 0; cp json .out; cp out/cells.json .err; says "${left#d/} could not be removed from the directory of the target: data/tree: Operation not permitted"; }
row N15 "the directory of a workload cannot be removed" unremovable
stuck_too() { need_root; need chattr; rewrite; busy 'd/assay-*/data/file' "$assay" run f.toml --quiet --out out --on ./d; left=$(echo d/assay-*); undo "chattr -a $PWD/$left/data"
  chattr +a "$left/data" 2>/dev/null || skip "no chattr"; kill -INT $pid; end 130; cp json .out; cp err .err; says "$left could not be removed: data/file: Operation not permitted"; }
row N16 "nor after an interrupt" stuck_too

on_fuse() { need_root; need bindfs; mkdir s m; bindfs "$PWD/s" "$PWD/m" || skip "no FUSE"; undo "umount -l $PWD/m"; mkdir m/d; rewrite
  sed -i 's/256MiB/1MiB/' f.toml; ends 0 "$assay" run f.toml --quiet --out out --on m/d; [ -z "$(ls -A m/d)" ] || fail "left: $(ls -A m/d)"; }
row N14 "a file system that keeps open files under another name" on_fuse

# V: what a user has set for other programs is not for those that assay runs.
history() { need git; work git "tags = ${tags-3}" 'changes = 2' 'files = 9' 'directories = 2' 'length = "4KiB"'
  git -c init.defaultBranch=main init -q v; echo mine >v/thesis; git -C v add .; git -C v -c user.name=a -c user.email=a@a commit -qm mine
  echo mine >v/notes; refs=$(git -C v for-each-ref; git --no-optional-locks -C v status --porcelain); victim v/thesis v/notes v/.git/index v/.git/HEAD v/.git/config v/.git/objects; }
same_refs() { [ "$(git -C v for-each-ref; git --no-optional-locks -C v status --porcelain)" = "$refs" ] || fail "the repository was changed"; }
set_for_git() { history; ends 0 env "$@" "$assay" run f.toml --quiet --out out --on ./d; same_refs; [ -z "$(ls -A d)" ] && [ ! -e said ]; }
row V1 "a workload of git where GIT_DIR and GIT_WORK_TREE name the user's repository" set_for_git GIT_DIR=v/.git GIT_WORK_TREE=v
row V2 "the same with paths from the root" eval 'set_for_git "GIT_DIR=$PWD/v/.git" "GIT_WORK_TREE=$PWD/v"'
row V3 "the same with the index alone" eval 'set_for_git "GIT_INDEX_FILE=$PWD/v/.git/index"'
row V4 "the same with its objects alone" eval 'set_for_git "GIT_OBJECT_DIRECTORY=$PWD/v/.git/objects"'
row V5 "a workload of git where GIT_TRACE names a file" eval 'set_for_git "GIT_TRACE=$PWD/said"'
row V6 "a workload of git with hooks in the templates" eval 'mkdir -p t/hooks; printf "#!/bin/sh\\ntouch $PWD/said\\n" >t/hooks/post-checkout; chmod +x t/hooks/post-checkout; set_for_git "GIT_TEMPLATE_DIR=$PWD/t"'
row V7 "a workload of git with settings in the environment" eval 'set_for_git GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.worktree "GIT_CONFIG_VALUE_0=$PWD/v"'
inside_repository() { tags=40 history; mkdir v/d; busy 'v/d/assay-*/data/history/.git/objects' "$assay" run f.toml --quiet --out out --on v/d; for _ in $(seq 50); do rm -rf v/d/assay-*/data/history/.git && break; sleep 0.1; done; end "0|3"; same_refs; }
row V8 "a repository of assay's that vanishes inside of the user's" inside_repository

option_tag() { history; local paper; paper=$(mktemp /var/tmp/paperXXXXXX); undo "rm -f $paper"; echo mine >$paper; victim $paper
  git -C v update-ref "refs/tags/--output=$paper" HEAD; git -C v tag t
  ends "0|3" "$assay" run f.toml --quiet --out out --on ./d --repo v; }
row V9 "a repository with a tag that is an option of git" option_tag

# git_is LINE …: a program called git, first on PATH.
git_is() { history; mkdir b; printf '%s\n' '#!/bin/sh' "$@" >b/git; chmod +x b/git
  ends 3 env PATH="$PWD/b:$PATH" "$assay" run f.toml --quiet --out out --on ./d; says files-git; says "not checked out"; [ -z "$(ls -A d)" ] || fail "left"; }
row V10.1 "a git that does nothing and ends well" git_is 'cat >/dev/null'
row V10.2 "a git that does all but check out" eval 'git_is "case \" \$* \" in *\" checkout \"*) exit 0 ;; esac" "exec $(command -v git) \"\$@\""'
row V10.3 "a git that checks out nothing but the first tag" eval 'git_is "case \" \$* \" in *\" checkout \"*\" v1 \"*) ;; *\" checkout \"*) exit 0 ;; esac" "exec $(command -v git) \"\$@\""'

# two: starts a run of two cells, and halts it after its record is written.
two() { sed "s/requests = 256/requests = ${requests-1000000}/; s/range.*//; s/sequential/random/" read.toml >many.toml
  sed -n '/workload/,$p' many.toml | sed 's/"w"/"v"/' >more; cat more >>many.toml
  "$assay" run read.toml --quiet --out first --only sim:ssd-m; ls first/log >names; ls first/series >>names; mkdir -p v/log v/series
  for n in $(cat names) $(sed 's/write-w/read-v/; s/read-w/read-v/' names) run.json cells.json cells.csv findings.json claims.json report.html; do echo mine >v/$n; victim v/$n; done; victim v
  busy out/run.json "$assay" run many.toml --quiet --out out --only sim:ssd-m --threads 1; }
out_moved() { two; mv out aside; if [ "$1" = symlink ]; then ln -s v out; else cp -r v out; victim out/cells.json out/report.html; fi; end 3; lost "$(realpath aside)"; }
# lost WORD: the run has said that its path does not lead to the results any more.
lost() { grep -q 'error.run-moved.: the results are no longer in .*out' err && grep -q -- "$1" err || fail "$(cat err)"; }
for what in symlink directory; do
  row R1 "the run directory becomes another $what while a run works in it" out_moved $what
done
out_renamed() { two; mv out aside; end 3; lost "look in $(realpath aside)"; [ -e aside/report.html ] || fail "no page"; }
row R9.1 "the run directory gets another name while a run works in it" out_renamed
# on_mount: `two`, with the run directory in a file system of its own at m.
on_mount() { image i 64; mkfs.ext4 -q i; attach i; mounted "$device" m; mkdir m/out; ln -s m/out out; two; }
out_unmounted() { need mkfs.ext4; on_mount; umount -l m; end 3; lost "unmounted"; }
row R9.2 "the file system of the run directory is unmounted while a run works in it" out_unmounted
out_covered() { need mkfs.ext4; on_mount; mkdir -p w/out; bind w m; end 3; lost "mounted over it"; }
row R9.3 "something is mounted over the run directory while a run works in it" out_covered
resume_renamed() { two; kill -9 $pid; wait $pid || true; busy 'out/log/*' "$assay" resume out --quiet; mv out aside; end 3; lost "look in $(realpath aside)"; }
row R9.4 "the run directory gets another name while a run is resumed in it" resume_renamed
put_in() { two; mkdir -p "$(dirname "out/$1")"; mv v/cells.csv "out/$1"; rm .victims; victim "out/$1"; end 3; }
for name in cells.json log/read.w.ssd-m.1.parquet series/read.w.ssd-m.1.parquet; do
  row R6 "the user moves a file to $name of a run while it goes on" put_in $name
done
stale_log() { "$assay" run read.toml --quiet --out one --only sim:ssd-m; begin ./f --size 8MiB; cp one/log/*.parquet out/log/long.w.f.1.parquet; }
left_log() { stale_log; shorten; ends 0 "$assay" resume out --quiet; }
row R7 "resume where a killed run left a log" left_log
named_log() { stale_log; echo mine >out/log/long.v.f.1.parquet; victim out/log/long.v.f.1.parquet; shorten; ends 3 "$assay" resume out --quiet; says long.v.f; }
row R8 "resume where the user has a file of the name of a log" named_log
gone() { grep -q "error.run-moved.: the directory .*out/$1 was moved, removed or replaced" err || fail "$(cat err)"; }
sub_out() { two; mv "out/$1" aside; ln -s ../v "out/$1"; end 3; gone "$1"; }
sub_away() { two; mv "out/$1" aside; end 3; gone "$1"; grep -q "look in $(realpath aside)" err || fail "$(cat err)"; }
sub_removed() { two; rm -r "out/$1"; end 3; grep -q "error.$1-not-written" err && grep -q "out/$1 was moved, removed or replaced" err || fail "$(cat err)"; ! grep -q deleted err || fail "$(cat err)"; }
for sub in log series; do
  row R11 "$sub of a run directory is removed while a run works in it" sub_removed $sub
  row R10 "$sub of a run directory is moved away while a run works in it" sub_away $sub
  row R2 "$sub in a run directory becomes a symlink while a run works in it" sub_out $sub
  resume_sub() { begin ./f --size 8MiB; rm -rf "out/$1"; mkdir v; "$assay" run read.toml --quiet --out first --only sim:ssd-m >/dev/null; for n in $(cd first; ls log/* series/*); do n=${n#*/}; echo mine >v/$n; victim v/$n; done
    ln -s ../v "out/$1"; victim v; shorten; ends "2|3" "$assay" resume out --quiet; }
  row R3 "resume where $sub is a symlink" resume_sub $sub
done
twice() { requests=300000000 two; kill -CONT $pid; ends 3 "$assay" resume out --quiet; says "is using"; kill $pid; wait $pid || true; }
row R4 "resume of a run that goes on" twice
halted() { two; ends 3 "$assay" resume out --quiet; says "is using"; kill -9 $pid; wait $pid || true; ends 0 "$assay" resume out --quiet; }
row R5 "resume of a run that is halted, and after it was killed" halted

edited() { finished; echo '<!-- a note -->' >>"run/$1"; victim "run/$1"; ends 3 "$assay" report run --quiet; }
saved_anew() { finished; cp "run/$1" x; echo note >>x; mv x "run/$1"; victim "run/$1"; ends 3 "$assay" report run --quiet; }
for name in report.html cells.csv findings.json claims.json; do
  row O1 "report where somebody has added to $name" edited $name
  row O2 "report where somebody has saved another $name" saved_anew $name
done
drawing_edited() { "$assay" explain --timeline sim:ssd-m --requests 5 --out p.svg; echo '<!-- a note -->' >>p.svg; victim p.svg
  ends 3 "$assay" explain --timeline sim:ssd-m --requests 5 --out p.svg; }
row O3 "a drawing of assay's that somebody has added to" drawing_edited
report_of_copy() { finished; cp -r run copy; ends 0 "$assay" report copy --quiet; ends 0 "$assay" report run --quiet; ends 0 "$assay" report run --quiet --force; }
row O4 "report in a copy of a run directory, and twice" report_of_copy
resume_edited() { begin ./f --size 8MiB; echo mine >out/cells.csv; victim out/cells.csv; shorten; ends 3 "$assay" resume out --quiet --write ./f; says "cells.csv"; }
row O5 "resume where cells.csv is the user's" resume_edited

among() { need_root; name=/dev/assay-$$-$RANDOM; undo "rm -rf $name"; ends "2|3" "${@/@/$name}"; [ ! -e "$name" ] || fail "$name was made"; }
dev_out() { among "$assay" run read.toml --quiet --out @ --only sim:ssd-m; }
row X10 "--out among the nodes of /dev" dev_out
dev_deep() { among "$assay" run read.toml --quiet --out @/a/b --only sim:ssd-m; }
row X11 "--out in a new directory among the nodes of /dev" dev_deep
dev_trace() { printf '8,0 1 1 0.0 1 Q R 0 + 8 [x]\n8,0 1 2 0.1 1 C R 0 + 8 [0]\n' >t; among "$assay" trace import t --quiet --out @; }
row X12 "trace import --out among the nodes of /dev" dev_trace
dev_html() { log; among "$assay" trace show "$log" --quiet --html @; }
row X13 "trace show --html among the nodes of /dev" dev_html
dev_svg() { among "$assay" explain --timeline sim:ssd-m --requests 5 --out @; }
row X14 "explain --timeline --out among the nodes of /dev" dev_svg
dev_files() { need_root; rewrite; before=$(ls /dev); ends "2|3" "$assay" run f.toml --quiet --out out --on /dev; [ "$(ls /dev)" = "$before" ]; }
row X15 "a workload of files among the nodes of /dev" dev_files
dev_linux() { among "$assay" linux run --quiet --drive sim:ssd-m --out @ -- true; }
row X16 "linux run --out among the nodes of /dev" dev_linux

kernels() { need_root; mounted none k -t "$1"; undo "rmdir k/out/log k/out/series k/out k/assay-*/data k/assay-*; rm -f k/p"; rewrite
  ends 3 "$assay" run read.toml --quiet --out k/out --only sim:ssd-m; says "no files"; ends 3 "$assay" run f.toml --quiet --out out --on ./k; says "no files"
  ends 3 "$assay" explain --timeline sim:ssd-m --requests 5 --out k/p; says "no files"; ends 3 "$assay" run read.toml --quiet --out out2 --only k/p --size 4MiB; says "no files"
  ! compgen -G 'k/assay-*' && [ ! -e k/out ] && [ ! -e k/p ] || fail "left: $(ls k)"; }
for kind in cgroup2 mqueue proc sysfs; do
  row X21 "output in the objects of the kernel: $kind" kernels $kind
done

foreign_above() { need_root; need git; history; chown nobody d; ends 3 "$assay" run f.toml --quiet --out out --on ./d; says "another user may change"; [ -z "$(ls -A d)" ] || fail "left: $(ls -A d)"; }
row V11 "checkouts by root in a directory that another user may rename things in" foreign_above
foreign_tmp() { need_root; "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"; short; chown nobody "$short"
  ends 3 env TMPDIR="$short" "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out out -- true; says "another user may change"; [ -z "$(ls -A "$short")" ] || fail "left: $(ls -A "$short")"; }
row V12 "a guest of root with its directory where another user may rename things" foreign_tmp
half_made() { need strace; work write 'length = "1MiB"' 'size = "64KiB"'
  strace -f -o /dev/null -e "inject=renameat2:signal=KILL:when=$1" "$assay" run f.toml --quiet --out out --only ./d >/dev/null 2>&1 || true
  touch -c -d '-2 minutes' d/assay-*; ends 0 "$assay" run f.toml --quiet --out again --only ./d
  ! compgen -G 'd/assay-*' || fail "left: $(find d)"; }
for call in 1 2 3 4; do
  row N17 "what a run leaves that is killed at its call $call of renameat2 goes with the next one" half_made $call
done
