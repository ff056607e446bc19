//! A process of its own, which starts itself with the variable set: a value of `SORDINO_CPU` that names no level is told of and ignored; it ends no process.

use std::process::{Command, Output};

use sordino_cpu::Backend;

/// Set in the processes that this test starts.
const CHILD: &str = "SORDINO_CPU_TEST_CHILD";

/// Runs this test in a separate process, with the emulator that runs this one, if any.
fn child(level: &str) -> Output {
    let exe = std::env::current_exe().expect("this test's binary");
    let runner = std::env::var("SORDINO_TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let mut command = match words.next() {
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.args(words).arg(exe);
            command
        }
        None => Command::new(exe),
    };
    command.args(["--exact", "an_unknown_level_is_ignored", "--nocapture"]);
    let output = command.env(CHILD, "1").env("SORDINO_CPU", level).output();
    output.expect("a process can be started")
}

#[test]
fn an_unknown_level_is_ignored() {
    if std::env::var_os(CHILD).is_some() {
        let names = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(|| Backend::detect().name()));
            threads.map(|thread| thread.join().expect("detection does not panic"))
        });
        println!("runs {}", names[0]);
        return;
    }
    let [unknown, native, portable] = ["avx", "native", "portable"].map(child);
    let told = |output: &Output| {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        errors.matches("SORDINO_CPU is ignored").count()
    };
    let runs = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.split_once("runs "));
        line.map(|(_, name)| name.to_owned())
    };
    assert!(unknown.status.success(), "{unknown:?}");
    assert_eq!((told(&unknown), told(&native), told(&portable)), (1, 0, 0));
    assert!(runs(&native).is_some() && runs(&unknown) == runs(&native));
    assert_eq!(runs(&portable).as_deref(), Some("portable"));
}
