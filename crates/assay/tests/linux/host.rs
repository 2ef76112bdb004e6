//! Checks that a guest changes nothing on its host.

use super::{drive, guest, no_guests};
use crate::command::{assay, temporary};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Tries to change the contents of the host's directory `$1`, which the guest sees under its own
/// path and under a mount of its own; each attempt may fail. Prints every attempt that must be
/// refused and was not, and `ok` at the end.
const ATTEMPTS: &str = r#"
at=$1 view=/run/view twin=/run/twin
set +e
exec 2>/dev/null
mkdir $view $twin
mount -t hostfs -o / none $view
mount -o remount,rw $view && echo remounted
mount -o remount,rw,bind $view
for way in $at $view$at; do
  touch $way/made; mkdir $way/directory; mknod $way/pipe p; ln -s . $way/link
  ln $way/file $way/hard
  echo changed >$way/file; echo changed >>$way/file; truncate -s 0 $way/file
  chmod 777 $way/file; chown 1:1 $way/file; touch -d 2001-01-01 $way/file $way
  mv $way/file $way/moved; rmdir $way/empty; rm $way/file; rm -rf $way
done

# Its own directory is another matter, but what its kernel knows by one name must not be a link or
# a device by now, made under another.
own=/run/shared
mount -t hostfs -o /proc/self/cwd/shared none $twin
echo other >$own/other
mkdir $own/inside && echo mine >$own/file && echo mine >$own/inside/file || echo 'not its own'
test "$(cat $twin/file $twin/inside/file | wc -l)" = 2 || echo 'another directory'
sleep 999 <$twin/file &
(cd $twin/inside && exec sleep 999) &
sleep 1
rm -r $own/file $own/inside
ln -s $at/file $own/file && ln -s $at $own/inside
test -f $twin/file && test -d $twin/inside && test ! -L $twin/file || echo 'nothing is cached'
echo changed >$twin/file; echo changed >>$twin/file; truncate -s 0 $twin/file
chmod 777 $twin/file; touch -d 2001-01-01 $twin/file
for way in $twin/inside $own/inside; do
  touch $way/made; mkdir $way/directory; mknod $way/pipe p; ln -s . $way/link; mv $own/other $way
  echo changed >$way/file; chmod 777 $way/file; mv $way/file $own; rmdir $way/empty; rm $way/file
done
mknod $own/device c 1 1 && echo 'a device of the host'
for device in mem kmem port; do (: </dev/$device) && echo "/dev/$device"; done
test "$(ls /sys/class/net)" = lo || echo 'a network'

# What it does with its own is done.
cd $own
echo 12345 >a && chmod 640 a && touch -d 2001-01-01 a && ln a b && truncate -s 3 b && mkdir c &&
  mv b c/d && ln -s c/d e && rm e && chmod 755 . || echo 'not its own'
exec 3>f && ln f g && rm f && exec 4<g && echo more >&3 && test "$(cat g)" = more ||
  echo 'another file'
test "$(stat -c '%s %a %Y' c/d)" = '3 640 '"$(stat -c %Y a)" || stat a c/d
rm -r c && echo ok
"#;

/// Lists everything below `directory`, with its path, kind and mode, owner, time and contents.
fn all(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        let now = std::fs::symlink_metadata(&path).unwrap();
        let text = if now.is_file() { std::fs::read_to_string(&path).unwrap() } else { "".into() };
        let (mode, owner, time) = (now.mode(), now.uid(), now.mtime());
        found.push(format!("{} {mode:o} {owner} {} {time} {text}", path.display(), now.nlink()));
        if now.is_dir() {
            waiting.extend(std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_guest_changes_nothing_of_its_host() {
    if no_guests() {
        return;
    }
    let (directory, victim) = (temporary(), temporary());
    std::fs::write(victim.path().join("file"), "precious").unwrap();
    std::fs::create_dir(victim.path().join("empty")).unwrap();
    let before = all(victim.path());
    let victim_path = victim.path().display().to_string();
    let (said, _) = guest(directory.path(), 1, &[], ATTEMPTS, &[&victim_path]);
    assert_eq!(said, "ok\n");
    assert_eq!(all(victim.path()), before);
}

#[test]
fn what_a_guest_leaves_is_read_only_if_it_is_a_file() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    // The host prints this file; it must not print the link's target, nor wait for ever on the
    // pipe.
    for left in ["ln -s /etc/passwd", "mkfifo"] {
        let script = format!("rm /run/shared/stdout; {left} /run/shared/stdout");
        let line = ["linux", "run", "--quiet", "--out", "out", "--drive", &drive()];
        let output = assay(directory.path(), &[&line[..], &["--", "sh", "-c", &script]].concat());
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout), (Some(3), Vec::new()), "{talk}");
        assert!(talk.contains("the guest did not leave the file `stdout`"), "{talk}");
        std::fs::remove_dir_all(directory.path().join("out")).unwrap();
    }
}

/// The directory that is named lies below `/tmp`, and so does the program in the first run.
#[test]
fn a_guest_sees_what_is_named_in_tmp_and_changes_nothing_there() {
    if no_guests() {
        return;
    }
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    let program = directory.path().join("assay");
    std::fs::copy(env!("CARGO_BIN_EXE_assay"), &program).unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("file"), "precious\n").unwrap();
    let script = "cd $1\ncat file\necho changed >file\nrm -r ../assay\nmkdir made\ntouch /tmp/new\n\
                  stat -c %a /tmp\ncat file\nls\nls /run/mnt";
    std::fs::write(directory.path().join("script.sh"), script).unwrap();
    let before = all(&data);
    let elsewhere = temporary();
    for program in [program.as_path(), Path::new(env!("CARGO_BIN_EXE_assay"))] {
        let mut command = std::process::Command::new(program);
        command.current_dir(&elsewhere).args(["linux", "run", "--quiet", "--drive", &drive()]);
        command.args(["--", "sh", "-e"]).arg(directory.path().join("script.sh")).arg(&data);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said, "precious\n1777\nchanged\nfile\nmade\n", "{talk}");
        assert_eq!(all(&data), before);
        assert!(program.exists() && !Path::new("/tmp/new").exists());
    }
}

/// A program finds what it would find on the host, and may change it there.
#[test]
fn a_program_has_the_callers_directory_environment_and_files() {
    if no_guests() {
        return;
    }
    let (directory, elsewhere) = (temporary(), temporary());
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("file"), "precious\n").unwrap();
    let script = "#!/bin/sh\nset -e\npwd -P\necho $ASSAY_WORD\necho more >>file\n\
                  cat file\necho new >/etc/assay.new\ncat /etc/assay.new\nmkdir /assay.new\n\
                  ls -A /run\nprintf %s \"$0\"";
    let tool = elsewhere.path().join("assay-tool");
    std::fs::write(&tool, script).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let before = all(&data);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(&data).env("ASSAY_WORD", "a b").env("PATH", elsewhere_first(&elsewhere));
    command.args(["linux", "run", "--quiet", "--out", "../out", "--drive", &drive()]);
    let output = command.args(["--", "assay-tool"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let place = data.canonicalize().unwrap();
    let expected = format!(
        "{}\na b\nprecious\nmore\nnew\nlock\nmnt\nshared\n{}",
        place.display(),
        tool.display()
    );
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(all(&data), before);
    assert!(!Path::new("/etc/assay.new").exists() && !Path::new("/assay.new").exists());
}

/// A package manager renames directories of the machine, replaces them and removes them.
#[test]
fn a_program_may_replace_directories() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let data = directory.path().join("data");
    std::fs::create_dir_all(data.join("inside/deep")).unwrap();
    std::fs::write(data.join("inside/deep/file"), "precious\n").unwrap();
    let before = all(&data);
    let script = "set -e; cd $1; mv inside other; cat other/deep/file; mv other/deep inside
        rm -r other; mkdir other; echo new >other/file; cat inside/file other/file; rm -r inside
        mkdir inside; ls -A inside other";
    let words = [data.display().to_string()];
    let (said, _) = guest(directory.path(), 1, &[], script, &[&words[0]]);
    assert_eq!(said, "precious\nprecious\nnew\ninside:\n\nother:\nfile\n");
    assert_eq!(all(&data), before);
}

/// With `--keep`, what the program has made or changed is in an archive, and what it has removed is
/// not. A drive that it has mounted over a directory neither hides the files below nor adds its
/// own.
#[test]
fn changes_are_kept_if_asked_for() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let data = directory.path().join("data");
    std::fs::create_dir_all(data.join("inside/deep")).unwrap();
    for file in ["inside/deep/file", "same", "more", "gone"] {
        std::fs::write(data.join(file), "old\n").unwrap();
    }
    let script = "cd $1; mv inside other; rm gone; echo new >>more; mkdir -m 700 d; echo x >/-n
        mkfs.ext4 -q /dev/vda; mkdir m; echo y >m/below; mount /dev/vda m; echo z >m/above; exit 3";
    let root = data.canonicalize().unwrap();
    let line = ["linux", "run", "--quiet", "--keep", "--out", "out", "--drive", &drive(), "--"];
    let words = ["sh", "-ec", script, "sh", &root.display().to_string()];
    let output = assay(directory.path(), &[&line[..], &words].concat());
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let archive = directory.path().join("out/changes.tar");
    assert_eq!(archive.metadata().unwrap().mode() & 0o777, 0o600);
    let all = directory.path().join("kept");
    std::fs::create_dir(&all).unwrap();
    let mut tar = std::process::Command::new("tar");
    tar.current_dir(&all).arg("--extract").arg("--file").arg(&archive);
    assert!(tar.status().unwrap().success());
    let kept = all.join(root.strip_prefix("/").unwrap());
    let text = |file: &str| std::fs::read_to_string(kept.join(file)).unwrap();
    assert_eq!([text("other/deep/file"), text("more")], ["old\n", "old\nnew\n"]);
    assert_eq!(text("m/below"), "y\n");
    assert_eq!(std::fs::read_to_string(all.join("-n")).unwrap(), "x\n");
    assert_eq!(kept.join("d").metadata().unwrap().mode() & 0o777, 0o700);
    for absent in ["same", "gone", "inside", "m/above"] {
        assert!(!kept.join(absent).exists(), "{absent}");
    }
}

/// The output and the status of the program are not lost if its changes cannot be kept.
#[test]
fn changes_that_cannot_be_kept_are_no_reason_to_lose_the_rest() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let line = ["linux", "run", "--quiet", "--keep", "--out", "out", "--drive", &drive(), "--"];
    let words = ["sh", "-ec", "echo said; rm \"$(command -v tar)\""];
    let output = assay(directory.path(), &[&line[..], &words].concat());
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"said\n"[..]), "{talk}");
    assert!(talk.contains("the changes could not be kept") && talk.contains("`tar`"), "{talk}");
    assert!(directory.path().join("out/command.json").exists());
}

#[test]
fn a_guest_boots_on_the_day_that_is_given() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    for (options, day) in [(&[][..], "2010-01-01"), (&["--date", "2030-02-03"][..], "2030-02-03")] {
        let (said, _) = guest(directory.path(), 1, options, "date -u +%F", &[]);
        assert_eq!(said.trim(), day);
    }
    let line = ["linux", "run", "--drive", &drive(), "--date", "2030-02-30", "--", "true"];
    let output = assay(directory.path(), &line);
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{talk}");
    assert!(talk.contains("1970-01-01 to 2099-12-31"), "{talk}");
}

/// Returns `PATH` with `directory` before all others.
fn elsewhere_first(directory: &tempfile::TempDir) -> String {
    format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap())
}

#[test]
fn a_program_runs_as_another_user() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let out = directory.path().join("out").display().to_string();
    let run = |user: &str, words: &[&str]| {
        let line = ["linux", "run", "--quiet", "--out", &out, "--drive", &drive(), "--user", user];
        // Another user may not look into the directory of the tests.
        assay(Path::new("/"), &[&line[..], &["--"], words].concat())
    };
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let mut users = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let Some(user) = users.find(|fields| fields.len() == 7 && fields[2] != "0") else {
        println!("skipped: there is no user but root");
        return;
    };
    let (name, home) = (user[0], user[5]);
    let script = "id -un; echo $HOME $USER; touch /run/mnt/file || echo refused";
    let output = run(name, &["sh", "-c", script]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said, format!("{name}\n{home} {name}\nrefused\n"), "{talk}");
    std::fs::remove_dir_all(&out).unwrap();
    let output = run("assay-nobody", &["true"]);
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{talk}");
    assert!(talk.contains("no user `assay-nobody`") && talk.contains("hint: "), "{talk}");
}

#[test]
fn a_guest_whose_memory_is_full_says_so() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let line = ["linux", "run", "--quiet", "--drive", &drive(), "--memory", "128MiB", "--"];
    let script = "head -c 400M /dev/zero | tail -c 400M | wc -c; exit 7";
    let output = assay(directory.path(), &[&line[..], &["sh", "-c", script]].concat());
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(7), "{talk}");
    assert!(talk.contains("killed processes (1)") && talk.contains("--memory"), "{talk}");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    for program in ["assay-nothing", "./assay-nothing", "/assay-nothing"] {
        let line = ["linux", "run", "--quiet", "--out", "out", "--drive", &drive(), "--", program];
        let output = assay(directory.path(), &line);
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{talk}");
        assert!(talk.contains(&format!("`{program}` cannot be run")), "{talk}");
        let _ = std::fs::remove_dir_all(directory.path().join("out"));
    }
}

#[test]
fn programs_talk_over_the_loopback() {
    if no_guests() {
        return;
    }
    let script = "exec perl -MIO::Socket::INET -e '\
        $at = IO::Socket::INET->new(LocalAddr => \"127.0.0.1:5432\", Listen => 1) or die; \
        $client = IO::Socket::INET->new(\"127.0.0.1:5432\") or die; \
        $server = $at->accept; print $server \"heard\"; close $server; print <$client>'";
    let directory = temporary();
    let (said, _) = guest(directory.path(), 1, &[], script, &[]);
    assert_eq!(said, "heard");
}
