//! Readers with their own keys, and what each may read.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sordino_search::{AccessReport, Label, Reading};

/// The report as dicts and lists, with the words that the command line prints.
pub(crate) fn report<'py>(py: Python<'py>, report: &AccessReport) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let readers = PyList::empty(py);
    for reading in &report.readers {
        readers.append(reader(py, reading)?)?;
    }
    let groups = PyList::empty(py);
    for (name, labels) in &report.groups {
        let in_it = |reader: &&Reading| reader.groups.iter().any(|(group, _)| group == name);
        let readers = report.readers.iter().filter(in_it);
        let readers: Vec<&str> = readers.map(|reader| &reader.name[..]).collect();
        let group = PyDict::new(py);
        group.set_item("group", name)?;
        group.set_item("labels", labels)?;
        group.set_item("readers", readers)?;
        groups.append(group)?;
    }
    let labels = PyList::empty(py);
    for one in &report.labels {
        labels.append(label(py, one)?)?;
    }
    all.set_item("readers", readers)?;
    all.set_item("groups", groups)?;
    all.set_item("labels", labels)?;
    all.set_item("shared_key", report.shared)?;
    Ok(all)
}

fn reader<'py>(py: Python<'py>, reading: &Reading) -> PyResult<Bound<'py, PyDict>> {
    let groups: Vec<&str> = reading.groups.iter().map(|(group, _)| &group[..]).collect();
    let reader = PyDict::new(py);
    reader.set_item("name", &reading.name)?;
    reader.set_item("key", reading.key.as_deref())?;
    reader.set_item("labels", &reading.labels)?;
    reader.set_item("groups", groups)?;
    reader.set_item("records", reading.records)?;
    reader.set_item("until_compacted", reading.until_compacted)?;
    let writing = reading.writing.as_ref();
    reader.set_item("writes", writing.map(|writing| &writing.labels))?;
    reader.set_item("writes_until", writing.map(|writing| writing.until))?;
    Ok(reader)
}

fn label<'py>(py: Python<'py>, one: &Label) -> PyResult<Bound<'py, PyDict>> {
    let label = PyDict::new(py);
    label.set_item("label", &one.name)?;
    label.set_item("generations", one.generations)?;
    label.set_item("records", one.records)?;
    label.set_item("stale", one.stale)?;
    label.set_item("older_keys", one.older)?;
    Ok(label)
}
