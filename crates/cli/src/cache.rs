//! The folder in which downloads are kept between runs.

use clap::Args as ClapArgs;
use sordino_search::Cache;
use std::{env, path::PathBuf};

/// Options of the cache.
#[derive(ClapArgs, Debug)]
pub(crate) struct CacheArgs {
    /// Keep one-time downloads in this folder, so that the next run fetches only changes. The default is `sordino` in
    /// the user's cache folder. A folder that cannot be written is ignored.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// The most that the cache folder may hold, in MiB. The least recently used files are removed first.
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    cache_limit: u32,
    /// Download everything again, and keep nothing.
    #[arg(long, conflicts_with = "cache")]
    no_cache: bool,
}

impl CacheArgs {
    /// Opens the cache, if one is wanted.
    pub(crate) fn open(&self) -> Option<Cache> {
        let folder = match &self.cache {
            _ if self.no_cache => None,
            Some(folder) => Some(folder.clone()),
            None => users_folder().map(|folder| folder.join("sordino")),
        };
        folder.map(|folder| Cache::new(folder, u64::from(self.cache_limit) << 20))
    }
}

/// The user's cache folder, by the rules of freedesktop.org and of Apple. `None` if the user has no home
/// folder.
fn users_folder() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    if let Some(folder) = folder("XDG_CACHE_HOME").filter(absolute) {
        return Some(folder);
    }
    if let Some(folder) = folder("LOCALAPPDATA").filter(absolute) {
        return Some(folder);
    }
    let home = folder("HOME").filter(absolute)?;
    Some(home.join(if cfg!(target_os = "macos") {
        "Library/Caches"
    } else {
        ".cache"
    }))
}
