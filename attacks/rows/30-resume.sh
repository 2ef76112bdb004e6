# Resuming a run: it must be the same device or file, with nothing new on it.

begin() { # begin TARGET [OPTION …]: a run that writes, interrupted in its first cell
  during long.toml "$@"; kill -INT $run; run_ends 130; [ -e out/run.json ]
  # The kernel keeps files that a ring had open for a moment after its process has ended.
  sleep 0.5
}
shorten() { sed -i 's/20s/1s/g' out/run.json; }

same() { image i 8; attach i; begin "$device" --write "$device"; shorten; ends 0 "$assay" resume out --quiet; }
row D2.1 "the same loop device is gone on with" same
other_image() { noise a 8; noise b 8; attach a; begin "$device" --write "$device" --destroy "$(word "$device")"
  losetup -d "$device"; losetup "$device" b || skip "taken"; victim b; refused "$assay" resume out --quiet; }
row D2.2 "another image of the same size behind the same loop device" other_image
old_word() { noise a 8; noise b 8; attach a; word=$(word "$device"); losetup -d "$device"; losetup "$device" "$1" || skip "taken"
  [ -z "${2-}" ] || eval "$2"; victim "$1"; refused "$assay" run write.toml --quiet --out out --only "$device" --write "$device" --destroy "$word"; says destroy-mismatch; }
row D2.6 "the command that destroys a device without serial number, when its name is another device's" old_word b
row D2.7 "the same, when it holds something else" old_word a 'need mkfs.ext4; mkfs.ext4 -q -F "$device"'
swapped_fs() { image a 8; image b 8; need mkfs.ext4; mkfs.ext4 -q -F b; attach a; begin "$device" --write "$device"
  losetup -d "$device"; losetup "$device" b || skip "taken"; victim b; refused "$assay" resume out --quiet; }
row D2.3 "the same with a file system" swapped_fs
swapped_mounted() { image a 8; image b 8; need mkfs.ext4; mkfs.ext4 -q -F b; attach a; begin "$device" --write "$device"
  losetup -d "$device"; losetup "$device" b || skip "taken"; mounted "$device" m -o ro,noload; victim b
  refused "$assay" resume out --quiet; }
row D2.4 "the same, mounted" swapped_mounted
shifted() { image a 8; attach a; begin "$device" --write "$device"; losetup -d "$device"
  cat a <(head -c 4M /dev/urandom) >b; mv b a; losetup --offset 4194304 "$device" a || skip "taken"; victim a
  refused "$assay" resume out --quiet; }
row D2.5 "the same file from another offset" shifted
made_file() { begin ./f --size 8MiB; shorten; ends 0 "$assay" resume out --quiet; }
row D3.1 "a file that the run made is gone on with" made_file
formatted_file() { begin ./f --size 8MiB; need mkfs.ext4; mkfs.ext4 -q -F f; victim f; refused "$assay" resume out --quiet; }
row D3.2 "mkfs on a file that the run made" formatted_file
written_file() { begin ./f --size 8MiB; printf precious | dd of=f conv=notrunc status=none bs=1 seek=4096
  victim f; refused "$assay" resume out --quiet; }
row D3.3 "a line of text in a file that the run made" written_file
replaced_file() { begin ./f --size 8MiB; mv f g; noise f 8; victim f g; refused "$assay" resume out --quiet; }
row D3.4 "another file of that name and size" replaced_file
copied_file() { begin ./f --size 8MiB; cp -a f g; mv g f; victim f; refused "$assay" resume out --quiet; }
row D3.5 "a copy in its place" copied_file
linked_file() { begin ./f --size 8MiB; shorten; mv f g; ln -s g f; noise h 8; victim h; ends "0|3" "$assay" resume out --quiet; }
row D3.6 "a symlink in its place" linked_file
formatted_device() { noise i 8; attach i; begin "$device" --write "$device" --destroy "$(word "$device")"
  need mkfs.ext4; mkfs.ext4 -q -F "$device"; victim i; refused "$assay" resume out --quiet; }
row D3.7 "mkfs on a device that the run was allowed to destroy" formatted_device
formatted_twice() { image i 8; need mkfs.ext4; mkfs.ext4 -q -F i; attach i
  begin "$device" --write "$device" --destroy "$(word "$device")"; mkfs.ext4 -q -F "$device"; victim i
  refused "$assay" resume out --quiet; }
row D3.8 "mkfs again on a device that held a file system" formatted_twice
data_on_device() { image i 8; attach i; begin "$device" --write "$device"
  tar cf - -C / etc/hostname 2>/dev/null | dd of="$device" conv=notrunc status=none; victim i; refused "$assay" resume out --quiet; }
row D3.9 "an archive on a device that was empty" data_on_device
allowed_again() { noise i 128; attach i; begin "$device" --write "$device" --destroy "$(word "$device")"; shorten
  refused "$assay" resume out --quiet; ends 0 "$assay" resume out --quiet --destroy "$(sed -n 's/.*--destroy \([^ ]*\).*/\1/p' .err | head -n 1)"; }
row D3.10 "what is left of what may be destroyed wants --destroy again when the run goes on" allowed_again
gone_relative() { begin ./f --size 8MiB; mkdir elsewhere; cd elsewhere
  sed -i 's/20s/1s/g' ../out/run.json; ends 0 "$assay" resume ../out --quiet; [ ! -e f ] || fail "made anew"; }
row E2.1 "resume from another directory measures the same file" gone_relative
gone_file() { begin ./f --size 8MiB; rm f; refused "$assay" resume out --quiet; [ ! -e f ] || fail "made anew"; }
row E2.2 "resume without the file makes none" gone_file
gone_dir() { mkdir d; printf 'format = 1\nname = "t"\nquestion = "?"\n' >/dev/null; begin ./f --size 8MiB
  rm f; mkdir f; refused "$assay" resume out --quiet; }
row E2.3 "a directory in place of the file" gone_dir
new_mount() { image i 16; attach i; begin "$device" --write "$device"; need mkfs.ext4; mkfs.ext4 -q -F "$device"
  mounted "$device" m; echo precious >m/x; at_rest m; victim i; refused "$assay" resume out --quiet; }
row D3.11 "a file system with data on it, mounted, where the run was" new_mount
others_run() { need_root; begin ./f --size 8MiB; chown 65533 out/run.json; victim f; refused "$assay" resume out --quiet; says run-of-another; }
row D2.8 "root resumes a run that another user began" others_run
