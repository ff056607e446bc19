//! `sordino serve --root`: the indexes in a folder, by name.

use crate::door::{Door, NewOptions};
use crate::serve::Args;
use crate::serve::tenants::Tenants;
use crate::server_loop::{self, Named, Serve, Served, Source, Version};
use crate::{Command, Error, Output};
use sordino_net::Indexes;
use std::{sync::mpsc, time::Duration};

/// The time between two checks of the folder.
const TICK: Duration = Duration::from_millis(100);

/// Serves until a signal tells the process to stop.
pub(super) fn run(args: Args, output: Output) -> Result<(), Error> {
    let root = args.root.clone().unwrap_or_default();
    let owner = args.key.as_deref().map(super::owner).transpose()?;
    let signals = server_loop::signals()?;
    let exporter = args.door.exporter()?;
    let indexes = Indexes::new(&args.door.access()?, args.limits())?;
    let may = (args.most(), args.accept_changes);
    let encodings = args.encodings()?;
    let mut tenants = Tenants::new(root.clone(), owner, may, encodings, indexes.clone());
    tenants.begin().map_err(Error::at(&root))?;
    let running = server_loop::listen(&args.door, exporter, |listen| indexes.listen(listen))?;
    let (new, news) = mpsc::channel();
    // This runs on a separate thread, since an index may take long to load, and signals must be
    // handled meanwhile.
    std::thread::spawn(move || follow(tenants, &new));
    Serve::new(Several { args, news }, running, output).run(signals)
}

/// Follows the folder, and reports changes while there is a receiver.
fn follow(mut tenants: Tenants, new: &mpsc::Sender<()>) {
    let mut said = false;
    loop {
        match tenants.look() {
            Ok(changed) => {
                said = false;
                if changed && new.send(()).is_err() {
                    return;
                }
            }
            // This is reported once.
            Err(error) => {
                if !std::mem::replace(&mut said, true) {
                    tracing::error!(%error, "the folder of the indexes cannot be read; the known indexes are served");
                }
            }
        }
        std::thread::sleep(TICK);
    }
}

/// The indexes in a folder.
struct Several {
    args: Args,
    /// Receives a message when something has changed.
    news: mpsc::Receiver<()>,
}

impl Source for Several {
    type Service = Indexes;

    fn door(&mut self) -> &mut Door {
        &mut self.args.door
    }

    fn name(&self) -> String {
        let root = self.args.root.as_deref();
        root.map_or_else(String::new, |root| root.display().to_string())
    }

    /// A separate thread follows the indexes.
    fn follow(&mut self, _: &Indexes) -> bool {
        self.news.try_iter().count() > 0
    }

    fn served(&self, indexes: &Indexes) -> Served {
        let all = indexes.names().into_iter().filter_map(|name| {
            let version = Version::of(indexes.server(&name)?.manifest());
            let name = name.to_string();
            Some(Named { name, version })
        });
        Served::Several {
            indexes: all.collect(),
        }
    }

    fn new_options(&self, command: Command) -> Option<NewOptions> {
        self.args.new_options(command)
    }
}
