//! Leaves out rows that cannot be read.

use super::{Chunk, Reader};
use crate::input::Rest;
use crate::{Error, Vectors};

impl Chunk {
    /// Splits the rows at `row`, to find a row that cannot be used.
    ///
    /// # Errors
    /// [`Error::NoVectors`] if one of the two parts has no rows.
    pub fn split(self, row: usize) -> Result<(Self, Self), Error> {
        let dim = self.vectors.dim();
        if row == 0 || row >= self.vectors.len() {
            return Err(Error::NoVectors);
        }
        let mut rest = Rest {
            data: self.vectors.as_slice().to_vec(),
            ids: self.ids,
            values: self.values,
            lines: self.lines,
            fault: None,
        };
        let after = split(&mut rest, dim, row);
        let chunk = |first: u64, rest: Rest| {
            Ok::<_, Error>(Self {
                first,
                vectors: Vectors::new(dim, rest.data)?,
                ids: rest.ids,
                values: rest.values,
                lines: rest.lines,
            })
        };
        Ok((
            chunk(self.first, rest)?,
            chunk(self.first + row as u64, after)?,
        ))
    }
}

impl Reader {
    /// Counts a row that is left out, and keeps its fault.
    pub(super) fn leave_out(&mut self, fault: Error) {
        self.read += 1;
        self.faults.push(fault);
    }

    /// The next consecutive rows of finite numbers; empty at the end. Rows with other numbers before them are
    /// left out.
    pub(super) fn good_rest(&mut self) -> Result<Rest, Error> {
        loop {
            let waiting = self.waiting.take();
            let waiting = waiting.filter(|rest| !rest.data.is_empty() || rest.fault.is_some());
            let mut rest = waiting.map_or_else(|| self.rest(), Ok)?;
            let odd = rest.data.iter().position(|x| !x.is_finite());
            if let Some(at) = odd {
                let row = at / self.dim;
                self.waiting = Some(split(&mut rest, self.dim, row));
            }
            if !rest.data.is_empty() {
                return Ok(rest);
            }
            match odd {
                Some(_) => self.leave_out_odd(),
                None => match rest.fault {
                    Some(fault) => self.leave_out(fault),
                    None => return Ok(rest),
                },
            }
        }
    }

    /// Leaves out the waiting rows up to the first row of finite numbers.
    fn leave_out_odd(&mut self) {
        let Some(mut rest) = self.waiting.take() else {
            return;
        };
        let rows = rest.data.chunks_exact(self.dim);
        let odd = rows.map_while(|row| row.iter().position(|x| !x.is_finite()));
        let odd: Vec<usize> = odd.collect();
        for (at, column) in odd.iter().copied().enumerate() {
            let row = usize::try_from(self.read).unwrap_or(usize::MAX);
            let fault = Error::NotFinite { row, column };
            let line = rest.lines.as_ref().and_then(|lines| lines.get(at));
            let fault = match line {
                Some(line) => fault.in_line(*line),
                None => fault,
            };
            self.leave_out(fault);
        }
        self.waiting = Some(split(&mut rest, self.dim, odd.len()));
    }
}

/// Removes and returns the rows from `row` on, and the fault after them.
fn split(rest: &mut Rest, dim: usize, row: usize) -> Rest {
    let data = rest.data.split_off(row * dim);
    let rows = data.len() / dim;
    let values = rest
        .values
        .iter()
        .map(|column| column.rows(row..row + rows));
    let after = Rest {
        values: values.collect(),
        ids: rest.ids.as_mut().map(|ids| ids.split_off(row)),
        lines: rest.lines.as_mut().map(|lines| lines.split_off(row)),
        fault: rest.fault.take(),
        data,
    };
    let values = rest.values.iter().map(|column| column.rows(0..row));
    rest.values = values.collect();
    after
}
