//! Requests that name one of a server's indexes.

use tonic::Request;
use tonic::metadata::MetadataValue;

use crate::IndexName;
use crate::protocol::INDEX;

/// A request for the index with this name, at a server that has several indexes.
pub(super) fn to_index<T>(message: T, index: Option<&IndexName>) -> Request<T> {
    let mut request = Request::new(message);
    // A name contains only bytes that metadata accepts.
    let value = index.and_then(|name| MetadataValue::try_from(name.as_str()).ok());
    if let Some(value) = value {
        request.metadata_mut().insert(INDEX, value);
    }
    request
}
