//! The web pages that may send requests, named by their origins.

use clap::Args as ClapArgs;
use sordino_net::Origin;

/// The option that names the web pages.
#[derive(ClapArgs, Clone, Debug, PartialEq, Eq)]
pub(crate) struct OriginArgs {
    /// Let pages of this origin, such as http://localhost:3000, ask from a browser (CORS); may be given several times.
    #[arg(long = "allow-origin", value_name = "URL")]
    pub(crate) origins: Vec<Origin>,
}
