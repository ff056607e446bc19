//! Where results go: files that keep their links and modes, pipes and devices that are never replaced, and a standard output that is
//! closed.

use crate::binary::{command, done, failed};
use crate::place::Place;
use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::fs::{FileTypeExt, PermissionsExt, symlink},
    path::Path,
    process::{Command, Output, Stdio},
};

const END: &[u8] = b"\0the end\0";

/// An index with three records and its log, an issuer and a holder, a key of format-preserving encryption, and a table.
fn place() -> Place {
    let place = Place::new();
    for line in [
        "index build @more.npy @index --key @owner.key --mode local --k 2",
        "log append @all.log @index --key @owner.key --new",
        "keys new issuer @issuer.key",
        "keys new client @alice.key",
        "keys new client-public @alice.pub --from @alice.key",
        "fpe keygen --output @fpe.key",
    ] {
        done(&place.line(line));
    }
    fs::write(place.path("cards.csv"), "card\n123456\n654321\n").unwrap();
    place
}

/// Commands that write a file with the name `@out`; true if one that is there is left alone.
const WRITERS: [(&str, bool); 4] = [
    (
        "fpe encrypt --key-file @fpe.key --format digits --column card --input @cards.csv --output @out",
        false,
    ),
    ("index export @index --key @reader.key --output @out", true),
    (
        "log prove @all.log --index @index --key @owner.pub --output @out",
        false,
    ),
    (
        "token issue @out --key @issuer.key --holder @alice.pub --audience here --lifetime 2h --index \
         07070707070707070707070707070707",
        true,
    ),
];

/// A command of the shell, in which `"$@"` is the command line.
fn shell(script: &str, line: &[String]) -> Command {
    let binary = command(&line.iter().collect::<Vec<_>>());
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(script)
        .arg("sh")
        .arg(binary.get_program());
    shell.args(binary.get_args()).stdin(Stdio::null());
    shell.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    shell
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_pipe_is_written_to_and_stays() {
    let place = place();
    for (at, (line, _)) in (0..).zip(WRITERS) {
        let pipe = place.path(&format!("pipe{at}"));
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        symlink(&pipe, place.path(&format!("link{at}"))).unwrap();
        // Open in both directions, so that nobody waits: what is written is less than a pipe holds.
        let mut both = File::options().read(true).write(true).open(&pipe).unwrap();
        let file = place.path(&format!("file{at}"));
        done(&place.line(&line.replace("@out", &format!("@file{at}"))));
        for name in ["pipe", "link"] {
            done(&place.line(&line.replace("@out", &format!("@{name}{at}"))));
            both.write_all(END).unwrap();
            let mut found = Vec::new();
            while !found.ends_with(END) {
                let mut some = [0; 4096];
                let len = both.read(&mut some).unwrap();
                found.extend_from_slice(&some[..len]);
            }
            found.truncate(found.len() - END.len());
            let expected = fs::read(&file).unwrap();
            // No two tokens are equal.
            let same =
                found == expected || line.starts_with("token") && found.len() == expected.len();
            assert!(same, "{line}: {} of {}", found.len(), expected.len());
            let kind = pipe.symlink_metadata().unwrap().file_type();
            assert!(kind.is_fifo(), "{line}");
        }
        assert!(place.path(&format!("link{at}")).is_symlink(), "{line}");
    }
}

#[test]
fn links_and_modes_stay() {
    let place = place();
    fs::create_dir(place.path("deep")).unwrap();
    for (at, (line, only_new)) in (0..).zip(WRITERS) {
        // A new file, behind a link to a name that is not there yet.
        let (link, file) = (
            format!("new-link{at}"),
            place.path(&format!("deep/new{at}")),
        );
        symlink(format!("deep/new{at}"), place.path(&link)).unwrap();
        let words = place.line(&line.replace("@out", &format!("@{link}")));
        let made = shell("umask 027; exec \"$@\"", &words).output().unwrap();
        assert!(made.status.success(), "{line}: {}", errors(&made));
        assert!(place.path(&link).is_symlink(), "{line}");
        assert_eq!(mode(&file), 0o640, "{line}");
        // An existing file, with its own mode.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
        let whole = fs::read(&file).unwrap();
        fs::write(&file, "old").unwrap();
        let again = shell("umask 027; exec \"$@\"", &words).output().unwrap();
        assert_eq!(again.status.success(), !only_new, "{line}");
        let expected = if only_new { b"old" } else { &whole[..] };
        assert_eq!(fs::read(&file).unwrap(), expected, "{line}");
        assert_eq!(mode(&file), 0o664, "{line}");
        assert!(place.path(&link).is_symlink(), "{line}");
        // A link that leads round is no file.
        symlink("round", place.path("round")).unwrap_or_default();
        failed(&place.line(&line.replace("@out", "@round")), 1);
        assert!(place.path("round").is_symlink(), "{line}");
    }
}

/// A key that is written over is lost, with all that was encrypted or signed by it.
#[test]
fn no_key_is_written_over() {
    let place = place();
    let keys = [
        "fpe.key",
        "owner.key",
        "owner.pub",
        "alice.key",
        "issuer.key",
    ];
    let old: Vec<Vec<u8>> = keys.map(|key| fs::read(place.path(key)).unwrap()).into();
    fs::create_dir(place.path("pages")).unwrap();
    for (at, key) in keys.iter().enumerate() {
        symlink(place.path(key), place.path(&format!("soft{at}"))).unwrap();
        fs::hard_link(place.path(key), place.path(&format!("hard{at}"))).unwrap();
        for name in [key, &*format!("soft{at}"), &*format!("hard{at}")] {
            for (line, _) in WRITERS {
                failed(&place.line(&line.replace("@out", &format!("@{name}"))), 1);
            }
            let line = format!(
                "fpe encrypt --key-file @fpe.key --format digits --input @{name} --output @{name}"
            );
            let error = failed(&place.line(&line), 1);
            assert!(error.contains("it is a key file"), "{error}");
        }
        for (key, old) in keys.iter().zip(&old) {
            assert_eq!(&fs::read(place.path(key)).unwrap(), old, "{key}");
        }
    }
    // Manual pages replace pages of this command alone, and none is written where another file has the name of one.
    for text in ["mine", &String::from_utf8_lossy(&old[1])] {
        fs::write(place.path("pages/sordino.1"), text).unwrap();
        let error = failed(&place.line("man @pages"), 1);
        assert!(
            error.contains("sordino.1: it is not a manual page"),
            "{error}"
        );
        assert_eq!(
            fs::read_to_string(place.path("pages/sordino.1")).unwrap(),
            text
        );
        assert_eq!(fs::read_dir(place.path("pages")).unwrap().count(), 1);
    }
    fs::remove_file(place.path("pages/sordino.1")).unwrap();
    done(&place.line("man @pages"));
    done(&place.line("man @pages"));
}

/// A descriptor is shared with other writers, who must not be cut off from it.
#[test]
fn a_descriptor_is_written_on() {
    let place = place();
    let (line, _) = WRITERS[0];
    let expected = {
        done(&place.line(line));
        fs::read_to_string(place.path("out")).unwrap()
    };
    let words = place.line(&line.replace("@out", "/dev/stdout"));
    let piped = shell("exec \"$@\"", &words).output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), expected);
    let between = File::create(place.path("between")).unwrap();
    let script = "echo head; \"$@\"; echo tail";
    let done = shell(script, &words).stdout(between).status().unwrap();
    assert!(done.success());
    let found = fs::read_to_string(place.path("between")).unwrap();
    assert_eq!(found, format!("head\n{expected}tail\n"));
    let words = place.line(&line.replace("@out", "/dev/fd/3"));
    let script = format!("exec 3>{}; echo head >&3; \"$@\"", place.at("third"));
    assert!(shell(&script, &words).status().unwrap().success());
    let found = fs::read_to_string(place.path("third")).unwrap();
    assert_eq!(found, format!("head\n{expected}"));
}

#[test]
fn a_closed_output_is_an_error_before_any_work() {
    // The emulator opens files of its own where those of the command are closed.
    if std::env::var_os("SORDINO_TEST_RUNNER").is_some() {
        return;
    }
    let place = place();
    for line in [
        "query --index @index --key @reader.key --file @queries.npy",
        "query --index @index --key @reader.key --file @queries.npy --jsonl",
        "index info @index --key @owner.pub",
        "index build @more.npy @other --key @owner.key --mode local",
        "index add @index @more.npy --key @owner.key",
        "index get @index --id 1 --key @reader.key",
        "index export @index --key @reader.key",
        "index verify @index --key @owner.key",
        "keys show @owner.pub",
        "keys new owner @other.key",
        "token inspect @none",
        "plan --n 1000 --dim 16",
        "log prove @all.log --index @index --key @owner.pub --output @proof",
        "bench --n 300 --dim 16 --searches 2 --k 3 --mode local",
        "completions bash",
        "man @pages",
        "fpe encrypt --key-file @fpe.key --format digits --input @cards.csv --column card",
        "fpe encrypt --key-file @fpe.key --format digits --input @cards.csv --column card --output /dev/stdout",
        "serve @index --key @owner.pub --listen 127.0.0.1:0 --plaintext --anyone",
        "query --help",
        "--version",
    ] {
        let closed = shell("exec \"$@\" >&-", &place.line(line))
            .output()
            .unwrap();
        let said = errors(&closed);
        assert_eq!(closed.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains("output is closed"), "{line}: {said}");
    }
    for name in ["other", "other.key", "pages", "proof"] {
        assert!(!place.path(name).exists(), "{name}");
    }
    // If a file is named for the output, nothing is printed.
    for line in [WRITERS[0].0, WRITERS[1].0] {
        let words = place.line(&line.replace("@out", "@file"));
        let closed = shell("exec \"$@\" >&-", &words).output().unwrap();
        assert!(closed.status.success(), "{line}: {}", errors(&closed));
        fs::remove_file(place.path("file")).unwrap();
    }
    // The reader of the results has gone. Programs learn this in two ways.
    let words = place.line("keys show @owner.pub");
    for script in ["exec \"$@\" >/dev/null", "exec \"$@\" 1<>/dev/null"] {
        let done = shell(script, &words).output().unwrap();
        assert!(done.status.success(), "{script}: {}", errors(&done));
    }
    let fields = place.line("fpe encrypt --key-file @fpe.key --format digits");
    let closed = shell("exec \"$@\" <&-", &fields).output().unwrap();
    assert_eq!(closed.status.code(), Some(1));
    assert!(errors(&closed).contains("input is closed"));
    let words = place.line("query --index @index --key @reader.key");
    let closed = shell("exec \"$@\" <&-", &words).output().unwrap();
    assert_eq!(closed.status.code(), Some(1));
    assert!(errors(&closed).contains("input is closed"));
}

/// Errors of writing name what was written to, and no results are lost without one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let place = place();
    let lines = "1234567\n".repeat(10_000);
    fs::write(place.path("lines"), &lines).unwrap();
    for line in [
        WRITERS[0].0,
        WRITERS[1].0,
        WRITERS[2].0,
        WRITERS[3].0,
        "fpe encrypt --key-file @fpe.key --format digits --input @lines --output @out",
    ] {
        let error = failed(&place.line(&line.replace("@out", "/dev/full")), 1);
        assert!(
            error.contains("/dev/full: No space left"),
            "{line}: {error}"
        );
    }
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for line in [
        "fpe encrypt --key-file @fpe.key --format digits --input @lines",
        "index info @index --key @owner.pub",
        "index export @index --key @reader.key",
        "completions bash",
        "--help",
    ] {
        let mut command = command(&place.line(line));
        let output = command
            .stdin(Stdio::null())
            .stdout(full())
            .output()
            .unwrap();
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains("output: No space left"), "{line}: {said}");
    }
}
