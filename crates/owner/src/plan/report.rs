//! Plans and tables as text.

use std::fmt;

use super::{Bytes, Candidate, Grouping, Plan, Refusal, Retrieval, Table, Terms, break_even};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            n,
            dim,
            wish,
            chosen,
            download,
            ..
        } = self;
        writeln!(
            f,
            "plan for {n} x {dim}, recall@{} {}, {} queries per client and version",
            wish.k, wish.recall, wish.queries
        )?;
        writeln!(
            f,
            "  {:>8} {:>10} {:>10} {:>6} {:>8} {:>12} {:>12} {:>12}",
            "clusters", "code", "centroids", "probes", "fetched", "once", "per query", "in all"
        )?;
        for candidate in &self.candidates {
            let Candidate {
                clusters,
                layout,
                routing,
                probes,
                way,
                cost,
            } = candidate;
            writeln!(
                f,
                "{} {clusters:>8} {:>10} {:>10} {probes:>6} {:>8} {:>12} {:>12} {:>12}",
                if candidate == chosen { ">" } else { " " },
                format!("{:?}", layout.codec),
                routing.name(),
                way.name(),
                Bytes(cost.once),
                Bytes(cost.up + cost.down),
                Bytes(cost.total(wish.queries)),
            )?;
        }
        writeln!(
            f,
            "  downloading everything: {} once, nothing per query",
            Bytes(download.once)
        )?;
        match break_even(&chosen.cost, download) {
            Some(0) => writeln!(
                f,
                "  the download is cheaper from the first query on: what is downloaded once for \
                 sealed mode alone is {:.1} times as much. Sealed mode is for readers who must \
                 not hold the whole index.",
                chosen.cost.once as f64 / download.once as f64
            ),
            Some(queries) => writeln!(f, "  sealed mode costs less for up to {queries} queries"),
            None => writeln!(f, "  sealed mode always costs less"),
        }?;
        write!(f, "{}", self.table(Terms::default()))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "    {:<8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>14} {:<14} the server does not see",
            "mode",
            "form",
            "once",
            "per query",
            "in all",
            "server ms",
            "client ms",
            "pays up to",
            ""
        )?;
        let recommended = self.recommended();
        for row in self.rows() {
            let even = match row.break_even {
                None if row.cost.up + row.cost.down == 0 => "-".to_owned(),
                Some(queries) => format!("{queries} queries"),
                None => "any".to_owned(),
            };
            let mark = if Some(row) == recommended { '>' } else { ' ' };
            writeln!(
                f,
                "  {mark} {:<8} {:>10} {:>10} {:>10} {:>10} {:>10.2} {:>10.2} {even:>14} {:<14} {}",
                row.mode,
                row.form,
                Bytes(row.cost.once),
                Bytes(row.cost.up + row.cost.down),
                Bytes(row.cost.total(self.queries)),
                row.server.as_secs_f64() * 1e3,
                row.client.as_secs_f64() * 1e3,
                row.refusal.map_or("", Refusal::name),
                row.hides,
            )?;
        }
        self.write_fetched(f)?;
        if let Some(routed) = &self.routed {
            writeln!(f, "    routed: {routed}")?;
        }
        match recommended {
            Some(row) => {
                let least = match self.line {
                    Some(_) => "the least time",
                    None => "the fewest bytes",
                };
                write!(f, "  recommended: {}, for {least} in all", row.mode)?;
                if row.finds_all() {
                    write!(f, " (a mode that finds less has to save a fifth)")?;
                }
                Ok(())
            }
            None => write!(f, "  no mode keeps these terms"),
        }
    }
}

impl Table {
    /// Writes the lines about payloads and about a second look.
    fn write_fetched(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payloads = match self.second_look() {
            None => "in every row",
            Some(_) => "in the rows of sealed and local mode",
        };
        let look = "in the rows of masked, routed and open mode, with payloads";
        let fetched = [
            ("payloads", self.payloads(), payloads),
            ("2nd look", self.second_look(), look),
        ];
        for (name, fetched, rows) in fetched {
            let Some(fetched) = fetched else { continue };
            let Retrieval { cost, form, .. } = fetched;
            let (server, client) = fetched.times(&self.speed);
            writeln!(
                f,
                "    {name:<8} {:>10} {:>10} {:>10} {:>10} {:>10.2} {:>10.2} {:>14} {:<14} {rows}; {} pages of {} B at a time{}",
                fetched.way.name(),
                Bytes(cost.once),
                Bytes(cost.up + cost.down),
                Bytes(cost.total(self.queries)),
                server.as_secs_f64() * 1e3,
                client.as_secs_f64() * 1e3,
                "",
                "",
                fetched.fetched,
                form.page_len,
                match fetched.way.memory() {
                    0 => String::new(),
                    bytes => format!(", {} of the server's memory", Bytes(bytes)),
                },
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            grid, once, most, ..
        } = self;
        write!(
            f,
            "{} of {} clusters, predicted; once {} of hint, {} of who is where, {} of centroids; a build adds clusters up to ",
            grid.groups,
            grid.all_clusters(),
            Bytes(once.hint),
            Bytes(once.members),
            Bytes(once.centroids),
        )?;
        match most.total {
            u64::MAX => write!(f, "{} once", Bytes(most.once)),
            total => write!(f, "{} in all, {} once", Bytes(total), Bytes(most.once)),
        }
    }
}
