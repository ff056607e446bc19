//! The name of a folder's place.

use std::path::Path;

use super::line;

/// The whole path, without links and `..`. A folder that does not exist has the name that it gets when it is created.
pub(super) fn name(folder: &Path) -> String {
    let given = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let (mut there, mut missing) = (given.as_path(), Vec::new());
    loop {
        if let Ok(whole) = there.canonicalize() {
            let whole = missing
                .iter()
                .rev()
                .fold(whole, |path, name| path.join(name));
            return line::name(&whole);
        }
        let (Some(parent), Some(last)) = (there.parent(), there.file_name()) else {
            return line::name(&given);
        };
        missing.push(last);
        there = parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_name_before_and_after_it_is_created() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("other")).unwrap();
        let given = dir
            .path()
            .join("other")
            .join("..")
            .join("new")
            .join("index");
        let before = name(&given);
        std::fs::create_dir_all(&given).unwrap();
        assert_eq!(before, name(&given));
        assert_eq!(before, name(&dir.path().join("new").join("index")));
    }
}
