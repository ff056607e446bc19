//! The client's connection, which is a transport for searches.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use sordino_reader::{Dial, Transport};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tonic::transport::Channel;

use super::login::{Instance, Login};
use super::named::to_index;
use crate::caller::{Connector, ask, calls, wait};
use crate::schema::search_client::SearchClient;
use crate::schema::{CallRequest, ChangeRequest, HelloReply, HelloRequest, StepReply};
use crate::signature::{instance_for, now};
use crate::signing::{ChangeSigner, sign_change};
use crate::{ClientKey, Endpoint, Error, IndexName, Refusal};

/// The number of seconds in a day.
const DAY: u64 = 86_400;

/// A connection to a server, for [`sordino_reader::Client`] and [`sordino_reader::Session`].
///
/// Calls block. The connection has a thread of its own for pings and for what the server sends
/// unasked. After an error the next call connects again if it has to.
///
/// # Security
/// A request is sent once. If its reply is lost, the same encrypted query must not go again: the
/// server would learn that it is the same search. A search that is tried again is a new
/// [`search`](sordino_reader::Client::search), which draws fresh secrets, so nothing links it to the
/// first but its time. Whether and when to try again must not depend on the query.
pub struct Connection {
    runtime: Option<Runtime>,
    endpoint: Endpoint,
    /// The name of the index, if the server has several.
    index: Option<IndexName>,
    calls: SearchClient<Channel>,
    connector: Connector,
    /// The run of the server for which signatures are made.
    instance: Option<Instance>,
    /// The login that tags requests.
    login: Option<Login>,
    traffic: Traffic,
}

/// The bytes and calls that a connection has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The messages of the search protocol, each with a reply.
    pub calls: u64,
    /// The bytes of requests as gRPC carries them, including logins and tags.
    pub up: u64,
    /// The bytes of replies, as gRPC carries them.
    pub down: u64,
    /// All bytes sent over TCP, including HTTP/2, TLS and handshakes.
    pub wire_up: u64,
    /// The number of bytes received over TCP.
    pub wire_down: u64,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    /// - [`Error::Address`] if the address is malformed
    /// - [`Error::Roots`] if roots or a name are given for an `http` address
    /// - [`Error::Certificate`] if a certificate or its key cannot be used
    /// - [`Error::Connect`] if no connection can be made, and another attempt would not help
    /// - [`Error::Start`] if the system refuses threads or sockets
    pub fn open(endpoint: Endpoint) -> Result<Self, Error> {
        let (http, connector) = endpoint.build()?;
        let index = endpoint.index()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("sordino-connection")
            .enable_all()
            .build()
            .map_err(Error::Start)?;
        let connect = {
            let (connector, time) = (connector.clone(), endpoint.deadlines.connect);
            let address = endpoint.address.clone();
            async move {
                match timeout(time, http.connect_with_connector(connector)).await {
                    Ok(channel) => channel.map_err(|error| Error::unconnected(&address, &error)),
                    Err(_) => Err(Error::Deadline { after: time }),
                }
            }
        };
        let channel = wait(&runtime, connect)?;
        let calls = calls(channel);
        Ok(Self {
            runtime: Some(runtime),
            endpoint,
            index,
            calls,
            connector,
            instance: None,
            login: None,
            traffic: Traffic::default(),
        })
    }

    /// The traffic of this connection so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let count = &self.connector.count;
        Traffic {
            wire_up: count.up.load(Ordering::Relaxed),
            wire_down: count.down.load(Ordering::Relaxed),
            ..self.traffic
        }
    }

    /// Sends one message and waits for the reply, which has at most `limit` bytes.
    ///
    /// # Errors
    /// - [`Error::Refused`] if the server refuses the request
    /// - [`Error::Status`] if the server, or a proxy, ends the call with an error
    /// - [`Error::Reply`] if no honest server sends this reply
    /// - [`Error::Deadline`] if no complete reply comes in time
    pub fn exchange(&mut self, message: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let deadlines = self.endpoint.deadlines;
        let mut tag = None;
        if let Some(key) = self.endpoint.key.clone() {
            let instance = self.instance()?;
            // A server without a KEM key answers everyone.
            if !instance.kem_key.is_empty() {
                tag = Some(self.login(&key, &instance)?.tag(message));
            }
        }
        let request = CallRequest {
            message: Bytes::copy_from_slice(message),
            tag,
        };
        self.traffic.calls += 1;
        self.traffic.up += request.encoded_len() as u64;
        let (calls, request) = (self.calls.clone(), to_index(request, self.index.as_ref()));
        let reply = self.wait(async move { ask(calls, request, limit, deadlines).await });
        match reply {
            Ok((reply, down)) => {
                self.traffic.down += down;
                Ok(reply)
            }
            Err(error) => {
                self.forget_instance(Some(&error));
                Err(error)
            }
        }
    }

    /// Sends one step of a change that the owner or a writer signs, for which the server reads `read` bytes more.
    pub(crate) fn change(
        &mut self,
        keys: &impl ChangeSigner,
        step: Bytes,
        read: usize,
    ) -> Result<StepReply, Error> {
        let instance = self.instance()?;
        let signature = Some(sign_change(keys, &instance.name, &step, now()));
        let request = ChangeRequest { step, signature };
        self.traffic.up += request.encoded_len() as u64;
        let (mut calls, deadlines) = (self.calls.clone(), self.endpoint.deadlines);
        let time = deadlines.whole(request.encoded_len().saturating_add(read));
        let request = to_index(request, self.index.as_ref());
        let change = async move {
            let reply = timeout(time, calls.change(request)).await;
            Ok(reply
                .map_err(|_| Error::Deadline { after: time })??
                .into_inner())
        };
        let reply = self.wait(change);
        self.forget_instance(reply.as_ref().err());
        // A server of several indexes replies to a bad signature as to an unknown index. So the client checks whether
        // the server was restarted.
        if let Err(Error::Refused(Refusal::Key)) = reply {
            self.instance = None;
            if self.instance()?.name != instance.name {
                return Err(Error::Refused(Refusal::Instance));
            }
        }
        reply
    }

    /// After an error about the run, the signature or the login, the server may have been restarted. So the next call
    /// asks for its current run.
    fn forget_instance(&mut self, error: Option<&Error>) {
        if error.is_some_and(Error::is_of_restart) {
            self.instance = None;
            self.login = None;
        }
    }

    /// The login at this run of the server: the present one, or a new one.
    fn login(&mut self, key: &ClientKey, instance: &Instance) -> Result<&mut Login, Error> {
        if self.login.as_ref().is_none_or(Login::is_over) {
            let (token, Instance { name, kem_key }) = (&self.endpoint.token, instance);
            let (request, half) = Login::ask(key, token, name, kem_key, now())?;
            self.traffic.up += request.encoded_len() as u64;
            let (mut calls, time) = (self.calls.clone(), self.endpoint.deadlines.part);
            let request = to_index(request, self.index.as_ref());
            let ask = async move {
                let late = |_| Error::Deadline { after: time };
                let reply = timeout(time, calls.login(request)).await;
                Ok(reply.map_err(late)??.into_inner())
            };
            let reply = self.wait(ask);
            self.forget_instance(reply.as_ref().err());
            let reply = reply?;
            self.traffic.down += reply.encoded_len() as u64;
            let lifetime = Duration::from_secs(reply.seconds.min(DAY));
            self.login = Some(half.begun(reply.login, lifetime));
        }
        self.login
            .as_mut()
            .ok_or_else(|| Error::Reply("no login".to_owned()))
    }

    /// The run of the server for which signatures are made.
    fn instance(&mut self) -> Result<Instance, Error> {
        if let Some(instance) = &self.instance {
            return Ok(instance.clone());
        }
        let (mut calls, time) = (self.calls.clone(), self.endpoint.deadlines.part);
        let request = to_index(HelloRequest {}, self.index.as_ref());
        let hello = async move {
            let late = |_| Error::Deadline { after: time };
            let reply = timeout(time, calls.hello(request)).await;
            Ok(reply.map_err(late)??.into_inner())
        };
        let HelloReply { instance, kem_key } = self.wait(hello)?;
        let found = instance.len();
        let run: [u8; 32] = instance[..]
            .try_into()
            .map_err(|_| Error::Reply(format!("an instance of {found} bytes")))?;
        let name = instance_for(&run, self.index.as_ref());
        let instance = Instance { name, kem_key };
        self.instance = Some(instance.clone());
        Ok(instance)
    }

    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let (connector, time) = (self.connector.clone(), self.endpoint.deadlines.connect);
        let address = self.endpoint.address.clone();
        let work = async move {
            tokio::select! {
                done = work => done,
                () = connector.silent(time) => Err(Error::silent(&address, time)),
            }
        };
        match &self.runtime {
            Some(runtime) => wait(runtime, work),
            None => Err(Error::Connect(
                "over a connection that is closed".to_owned(),
            )),
        }
    }
}

impl Transport for Connection {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, sordino_reader::Error> {
        Ok(self.exchange(request, limit)?)
    }
}

/// Connections to one server.
impl Dial for Endpoint {
    type Transport = Connection;

    fn dial(&self) -> Result<Connection, sordino_reader::Error> {
        Ok(Connection::open(self.clone())?)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("endpoint", &self.endpoint)
            .field("traffic", &self.traffic())
            .finish_non_exhaustive()
    }
}
