//! The files of `packaging/`, the manual pages and the completions match the command line.

use crate::binary::done;
use crate::place::Place;
use std::io::Write as _;
use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};

fn packaging(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../packaging")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let long = words.filter(|word| word.len() > 3 && word.starts_with("--"));
    long.map(str::to_owned).collect()
}

#[test]
fn manual_pages_and_completions_have_every_command_and_option() {
    let place = Place::without_keys();
    let pages = done(&place.line("man @man --json"));
    assert!(pages.contains("sordino-index-backup.1"), "{pages}");
    let bash = done(&["completions", "bash"]);
    for words in [
        "serve",
        "gather",
        "query",
        "plan",
        "bench",
        "man",
        "index build",
        "index add",
        "index delete",
        "index compact",
        "index backup",
        "index restore",
        "index verify",
        "keys new owner",
        "log append",
        "log check",
        "log prove",
        "fpe encrypt",
    ] {
        let args: Vec<&str> = words.split(' ').chain(["--help"]).collect();
        let page = place.path(&format!("man/sordino-{}.1", words.replace(' ', "-")));
        // The pages write a dash as `\-`.
        let page = fs::read_to_string(page).unwrap().replace('\\', "");
        assert!(page.contains(".TH") && page.contains("sordino"), "{words}");
        let usage = done(&args);
        let (_, usage) = usage.split_once("\nOptions:").unwrap();
        let usage = usage.split("\nExamples:").next().unwrap();
        for line in usage
            .lines()
            .filter(|line| line.trim_start().starts_with('-'))
        {
            for option in options(line) {
                assert!(page.contains(&option), "{words}: no {option} in its page");
                assert!(
                    bash.contains(&option),
                    "{words}: no {option} in completions"
                );
            }
        }
    }
}

/// The service's configuration, changed to name the files of this place.
#[test]
fn the_packages_configuration_is_one() {
    let place = Place::new();
    place.build_mode("local");
    done(&place.line("keys new client @alice.key"));
    done(&place.line("keys new client-public @alice.pub --from @alice.key"));
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(place.path("chain.pem"), made.cert.pem()).unwrap();
    fs::write(place.path("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let text = packaging("sordino.toml");
    let mut here = text;
    for (there, name) in [
        ("/var/lib/sordino/index", "local"),
        ("/etc/sordino/owner.pub", "owner.pub"),
        ("/etc/sordino/clients/alice.pub", "alice.pub"),
        ("/etc/sordino/chain.pem", "chain.pem"),
        ("/etc/sordino/key.pem", "key.pem"),
    ] {
        assert!(here.contains(there), "{there}");
        here = here.replace(there, &place.at(name));
    }
    fs::write(place.path("sordino.toml"), here).unwrap();
    let more = "--config @sordino.toml --metrics 127.0.0.1:0";
    let served = crate::served::Served::new(&place.line(more));
    assert!(served.address.starts_with("127.0.0.1:"));
}

#[test]
fn the_unit_and_the_container_start_the_command_as_it_is() {
    let unit = packaging("sordino.service");
    let start = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart=/usr/bin/sordino "));
    let container = packaging("Containerfile");
    for line in [start.unwrap(), "serve --config /etc/sordino/sordino.toml"] {
        assert_eq!(line, "serve --config /etc/sordino/sordino.toml");
    }
    assert!(container.contains(r#"CMD ["serve", "--config", "/etc/sordino/sordino.toml"]"#));
    let help = done(&["serve", "--help"]);
    let commented = container.lines().filter(|line| line.starts_with("#   "));
    for option in commented.flat_map(options) {
        let podman = ["--read-only"].contains(&&*option);
        assert!(podman || help.contains(&option), "{option}");
    }
    assert!(help.contains("SIGHUP") && unit.contains("-HUP"));
    // If systemd is installed, its checker must accept the unit. The checker also requires that the
    // command exists.
    let there = unit
        .replace("/usr/bin/sordino", "/bin/true")
        .replace("Documentation=man:sordino-serve(1)", "");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sordino.service");
    fs::write(&path, there).unwrap();
    match Command::new("systemd-analyze")
        .arg("verify")
        .arg(&path)
        .output()
    {
        Err(_) => {
            let _ = writeln!(
                std::io::stderr(),
                "skipped: systemd's opinion, there is no systemd-analyze"
            );
        }
        Ok(checked) => {
            let said = String::from_utf8_lossy(&checked.stderr);
            let ours: Vec<&str> = said
                .lines()
                .filter(|line| line.contains("sordino.service"))
                .collect();
            assert!(ours.is_empty(), "{ours:?}");
        }
    }
}
