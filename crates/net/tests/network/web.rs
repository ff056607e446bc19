//! Clients use gRPC-Web over HTTP/1.1, with and without a web page's origin.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use prost::Message;
use sordino_net::schema::{
    CallReply, CallRequest, HelloReply, HelloRequest, LoginReply, LoginRequest,
};
use sordino_net::{
    Access, Limits, Listen, Post, Refusal, Running, Service, WebConnection, WebReply, WebRequest,
};
use sordino_search::{Client, ConnectOptions, Error, InProcess, Question, Transport};
use sordino_testkit::{GET_MANIFEST, keys, rng};

use crate::hostile_client::{hasty, still_serves};
use crate::logins::{LoggedIn, Raw};
use crate::parties::{
    DIM, FORMS, client_key, connect, loopback, message, open_door, parts_request, server, set,
    signed_door, until, until_metric,
};
use crate::strangers::http2;

/// The content type of gRPC-Web.
const WEB: &str = "application/grpc-web+proto";

/// An answer of HTTP.
struct Answer {
    head: String,
    body: Vec<u8>,
    /// The answer's bytes, with head and framing.
    wire: usize,
}

impl Answer {
    fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(found, _)| *found == name).map(|(_, it)| it)
    }

    /// The messages, and the text of the last frame.
    #[track_caller]
    fn frames(&self) -> (Vec<&[u8]>, &str) {
        assert!(self.head.starts_with("http/1.1 200"), "{}", self.head);
        assert_eq!(self.field("content-type"), Some(WEB));
        let (mut messages, mut trailers, mut rest) = (Vec::new(), "", &self.body[..]);
        while !rest.is_empty() {
            assert_eq!(trailers, "", "nothing follows the trailers");
            let (head, more) = rest.split_at(5);
            let len = u32::from_be_bytes(head[1..].try_into().unwrap());
            let (frame, more) = more.split_at(len as usize);
            match head[0] {
                0 => messages.push(frame),
                0x80 => trailers = std::str::from_utf8(frame).unwrap(),
                flag => panic!("a frame with the flag {flag}"),
            }
            rest = more;
        }
        (messages, trailers)
    }

    /// The refusal and the gRPC code of an answer that has nothing else.
    #[track_caller]
    fn refusal(&self) -> (&str, &str) {
        assert_eq!(self.body, b"", "{}", self.head);
        let found = (self.field("sordino-refusal"), self.field("grpc-status"));
        (found.0.expect(&self.head), found.1.expect(&self.head))
    }
}

/// A client of gRPC-Web, written from its description alone.
struct WebClient {
    tcp: BufReader<TcpStream>,
    /// Additional fields of each head, with their line ends.
    fields: &'static str,
    login: Option<LoggedIn>,
    /// The number of the last tag.
    number: u64,
    /// Each request, its reply, and the bytes of both on the wire.
    seen: Vec<(Vec<u8>, Vec<u8>, [usize; 2])>,
}

impl WebClient {
    fn open(running: &Running) -> Self {
        Self {
            tcp: BufReader::new(TcpStream::connect(running.address()).unwrap()),
            fields: "",
            login: None,
            number: 0,
            seen: Vec::new(),
        }
    }

    /// A client with additional header fields, as a web page has them.
    fn of(running: &Running, fields: &'static str) -> Self {
        Self {
            fields,
            ..Self::open(running)
        }
    }

    /// Sends any bytes, and reads an answer.
    fn send(&mut self, bytes: &[u8]) -> Answer {
        self.tcp.get_mut().write_all(bytes).unwrap();
        let (mut head, mut wire) = (String::new(), 0);
        loop {
            let mut line = String::new();
            wire += self.tcp.read_line(&mut line).unwrap();
            assert!(line.ends_with("\r\n"), "{head}{line}");
            if line == "\r\n" {
                break;
            }
            head += &line.to_ascii_lowercase();
        }
        let mut answer = Answer {
            head,
            body: Vec::new(),
            wire,
        };
        let len = answer.field("content-length").map(|it| it.parse().unwrap());
        if answer.field("transfer-encoding") == Some("chunked") {
            while self.chunk(&mut answer) {}
        } else {
            answer.body.resize(len.unwrap_or(0), 0);
            self.tcp.read_exact(&mut answer.body).unwrap();
            answer.wire += answer.body.len();
        }
        answer
    }

    /// Reads a chunk of a body. Returns false for the last one.
    fn chunk(&mut self, answer: &mut Answer) -> bool {
        let mut line = String::new();
        answer.wire += self.tcp.read_line(&mut line).unwrap();
        let len = usize::from_str_radix(line.trim_end(), 16).unwrap();
        let mut chunk = vec![0; len + 2];
        self.tcp.read_exact(&mut chunk).unwrap();
        answer.wire += chunk.len();
        assert_eq!(chunk[len..], *b"\r\n");
        answer.body.extend(&chunk[..len]);
        len > 0
    }

    /// The head of a request with a body of this length.
    fn head(&self, path: &str, content: &str, len: usize) -> String {
        let fields = self.fields;
        format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {content}\r\nContent-Length: {len}\r\n{fields}\r\n"
        )
    }

    /// Sends a body to one of the calls.
    fn post(&mut self, call: &str, body: &[u8]) -> Answer {
        let head = self.head(&format!("/sordino.v1.Search/{call}"), WEB, body.len());
        self.send(&[head.as_bytes(), body].concat())
    }

    /// Makes a call.
    fn make<T: Message>(&mut self, call: &str, request: &T) -> Answer {
        self.post(call, &frame(0, &request.encode_to_vec()))
    }

    /// Asks for a message of the search protocol.
    fn ask(&mut self, message: &[u8]) -> Answer {
        let tag = self.login.map(|login| {
            self.number += 1;
            login.tag(self.number, message)
        });
        let message = bytes::Bytes::copy_from_slice(message);
        self.make("Call", &CallRequest { message, tag })
    }
}

/// A message in its frame.
fn frame(flag: u8, message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).unwrap();
    [&[flag], &len.to_be_bytes()[..], message].concat()
}

impl Transport for WebClient {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let answer = self.ask(request);
        let (messages, trailers) = answer.frames();
        assert_eq!(trailers, "grpc-status:0\r\n");
        let mut reply = Vec::new();
        let last = messages.len() - 1;
        for (at, message) in messages.into_iter().enumerate() {
            let part = CallReply::decode(message).unwrap();
            assert!(part.length <= limit as u64);
            assert!(at == last || part.chunk.len() == 65536);
            reply.extend(part.chunk);
        }
        let fields = [request.len(), answer.wire];
        self.seen.push((request.to_vec(), reply.clone(), fields));
        Ok(reply)
    }
}

/// A gRPC client that keeps its requests and replies.
struct Recorder<T>(T, Vec<(Vec<u8>, Vec<u8>)>);

impl<T: Transport> Transport for Recorder<T> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let reply = self.0.call(request, limit)?;
        self.1.push((request.to_vec(), reply.clone()));
        Ok(reply)
    }
}

#[test]
fn the_bytes_are_those_of_grpc_and_the_same_for_every_query() {
    let set = set();
    for form in [1, 2, 4] {
        let (name, _) = FORMS[form];
        let running = open_door(server(form, &set), Limits::default());
        let mut web = WebClient::open(&running);
        let mut grpc = Recorder(connect(&running), Vec::new());
        let near = Client::connect(&mut web, &keys().reader(), None).unwrap();
        let far = Client::connect(&mut grpc, &keys().reader(), None).unwrap();
        let once = web.seen.len();
        let queries = set.queries.rows().take(4).map(<[f32]>::to_vec);
        let extremes = [vec![1e30; DIM], vec![-1e-30; DIM]];
        let queries: Vec<_> = extremes.into_iter().chain(queries).collect();
        for (seed, query) in queries.iter().enumerate() {
            let seed = seed as u64;
            let found = near.search(&mut rng(seed), &mut web, query).unwrap();
            let other = far.search(&mut rng(seed), &mut grpc, query).unwrap();
            assert_eq!(found.hits, other.hits, "{name}");
        }
        let bytes: Vec<_> = web.seen.iter().map(|(q, r, _)| (q, r)).collect();
        let others: Vec<_> = grpc.1.iter().map(|(q, r)| (q, r)).collect();
        assert_eq!(bytes, others, "{name}");
        // To an observer, each search looks like the first one.
        let sizes: Vec<_> = web.seen[once..].iter().map(|(_, _, it)| *it).collect();
        let calls = [1, 2, 0, 1, 1][form];
        assert_eq!(sizes.len(), calls * queries.len());
        for search in sizes.chunks(calls.max(1)) {
            assert_eq!(search, &sizes[..calls], "{name}");
        }
        // An open connection does not delay the server's end.
        running.stop().unwrap();
    }
}

#[test]
fn clients_log_in_and_are_refused_as_with_grpc() {
    let set = set();
    let running = signed_door(server(4, &set), Limits::default());
    let mut web = WebClient::open(&running);
    let manifest = message(GET_MANIFEST, b"");
    let refused = web.ask(&manifest);
    assert_eq!(refused.refusal(), (Refusal::Unsigned.name(), "16"));

    let raw = Raw::open(&running);
    let hello = web.make("Hello", &HelloRequest {});
    let hello = HelloReply::decode(hello.frames().0[0]).unwrap();
    assert_eq!((hello.instance, hello.kem_key), {
        let shown = (raw.instance.clone(), raw.kem_key.clone());
        (shown.0.into(), shown.1.into())
    });
    let (request, key) = raw.ask(&raw.kem_key, 1);
    let request: LoginRequest = request;
    let reply = web.make("Login", &request);
    let reply = LoginReply::decode(reply.frames().0[0]).unwrap();
    web.login = Some(LoggedIn::new(reply.login, key));
    let replayed = web.make("Login", &request);
    assert_eq!(replayed.refusal(), (Refusal::Replayed.name(), "16"));

    let client = Client::connect(&mut web, &keys().reader(), None).unwrap();
    let found = client.search(&mut rng(1), &mut web, set.queries.row(0));
    let local = server(4, &set);
    let mut local = InProcess::new(&local);
    let near = Client::connect(&mut local, &keys().reader(), None).unwrap();
    let near = near.search(&mut rng(1), &mut local, set.queries.row(0));
    assert_eq!(found.unwrap().hits, near.unwrap().hits);
    // The client uses the number of an earlier tag again, so the server refuses the tag.
    web.number -= 1;
    let again = web.ask(&manifest);
    assert_eq!(again.refusal(), (Refusal::Replayed.name(), "16"));
}

/// In this test the library's own connection uses this client, as it would use a browser's `fetch`.
impl Post for WebClient {
    async fn post(&mut self, request: WebRequest) -> Result<WebReply, sordino_net::Error> {
        let answer = WebClient::post(self, request.call, &request.body);
        assert!(answer.body.len() <= request.limit, "{}", request.call);
        let mut lines = answer.head.lines();
        let status = lines.next().unwrap()[9..12].parse().unwrap();
        let fields = lines.filter_map(|line| line.split_once(": "));
        Ok(WebReply {
            status,
            headers: fields.map(|(name, it)| (name.into(), it.into())).collect(),
            body: answer.body.into(),
        })
    }
}

#[test]
fn the_librarys_connection_logs_in_finds_the_same_and_is_refused_by_name() {
    let set = set();
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.build().unwrap();
    for form in [0, 1, 2, 3, 4] {
        let (name, _) = FORMS[form];
        let running = signed_door(server(form, &set), Limits::default());
        let local = server(form, &set);
        let mut local = InProcess::new(&local);
        let near = Client::connect(&mut local, &keys().reader(), None).unwrap();
        let web = || WebConnection::new(WebClient::open(&running), None);
        runtime.block_on(async {
            let (mut web, keys) = (web().key(client_key()), keys().reader());
            let options = ConnectOptions::default();
            let mut far = Client::connect_async(&mut web, &keys, options)
                .await
                .unwrap();
            assert_eq!(far.bytes_once(), near.bytes_once(), "{name}");
            for (seed, query) in (0..3).zip(set.queries.rows()) {
                let question = Question::new(query);
                let found = far.ask_async(&mut rng(seed), &mut web, &question).await;
                let expected = near.ask(&mut rng(seed), &mut local, &question);
                assert_eq!(found.unwrap().hits, expected.unwrap().hits, "{name}");
            }
            assert!(!far.refresh_async(&mut web).await.unwrap());
        });
        let refused = runtime.block_on(async {
            let (mut stranger, keys) = (web(), keys().reader());
            Client::connect_async(&mut stranger, &keys, ConnectOptions::default()).await
        });
        let refused = sordino_net::Error::of(&refused.unwrap_err()).map(ToString::to_string);
        assert_eq!(refused, Some(Refusal::Unsigned.to_string()));
    }
}

/// A client that keeps pads gets the same hits and sends the same messages.
#[test]
fn kept_pads_find_the_same() {
    let (set, rng) = (set(), rng);
    let mut tried = 0;
    for (form, (name, _)) in FORMS.iter().enumerate() {
        let server = server(form, &set);
        let mut local = InProcess::new(&server);
        let plain = Client::connect(&mut local, &keys().reader(), None).unwrap();
        let mut kept = Client::connect(&mut local, &keys().reader(), None).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let limit = |limit, kept: &mut Client| {
            runtime.block_on(kept.keep_pads(limit, async |asked| asked.words()))
        };
        assert_eq!(limit(10, &mut kept), 0, "{name}");
        let bytes = limit(1 << 30, &mut kept);
        tried += usize::from(bytes > 0);
        assert_eq!(limit(1 << 30, &mut kept), bytes, "{name}");
        for (seed, query) in (0..3).zip(set.queries.rows()) {
            let found = kept.search(&mut rng(seed), &mut local, query).unwrap();
            let expected = plain.search(&mut rng(seed), &mut local, query).unwrap();
            assert_eq!(found.hits, expected.hits, "{name}");
        }
    }
    assert!(tried > 0);
}

/// The answer to a browser that asks what a page of `origin` may do.
fn preflight(running: &Running, origin: &str) -> Answer {
    let request = format!(
        "OPTIONS /sordino.v1.Search/Call HTTP/1.1\r\nHost: x\r\nOrigin: {origin}\r\n\
         Access-Control-Request-Method: POST\r\n\
         Access-Control-Request-Headers: content-type,x-grpc-web\r\n\r\n"
    );
    WebClient::open(running).send(request.as_bytes())
}

#[test]
fn pages_of_named_origins_may_ask_and_others_not() {
    let service = Service::new(server(2, &set()), &Access::Anyone, Limits::default()).unwrap();
    let origins = ["https://app.example", "http://localhost:3000"];
    let listen = origins.iter().fold(Listen::on(loopback()), |listen, it| {
        listen.allow_origin(it.parse().unwrap())
    });
    let running = service.listen(&listen).unwrap();
    let manifest = message(GET_MANIFEST, b"");
    let allow = "access-control-allow-origin";
    for origin in origins {
        let before = preflight(&running, origin);
        assert!(before.head.starts_with("http/1.1 204"), "{}", before.head);
        assert_eq!(before.field(allow), Some(origin));
        assert_eq!(before.field("access-control-allow-methods"), Some("post"));
        let sent = before.field("access-control-allow-headers").unwrap();
        assert!(
            ["content-type", "x-grpc-web", "sordino-index"].map(|it| sent.contains(it))
                == [true; 3]
        );
    }
    let mut page = WebClient::of(&running, "Origin: http://localhost:3000\r\n");
    let found = page.ask(&manifest);
    assert_eq!(found.frames().1, "grpc-status:0\r\n");
    assert_eq!(found.field(allow), Some(origins[1]));
    assert_eq!(found.field("vary"), Some("origin"));
    // The page can read the reason of a refusal.
    let refused = page.ask(b"no message");
    assert_eq!(refused.refusal(), (Refusal::Message.name(), "3"));
    let shown = refused.field("access-control-expose-headers").unwrap();
    assert!(shown.contains("sordino-refusal") && shown.contains("grpc-status"));

    for other in ["http://localhost:3001", "null"] {
        let before = preflight(&running, other);
        assert_eq!(before.field(allow), None, "{other}");
    }
    let mut other = WebClient::of(&running, "Origin: http://localhost:3001\r\n");
    let refused = other.ask(&manifest);
    assert!(refused.head.starts_with("http/1.1 403"), "{}", refused.head);
    assert_eq!(refused.field(allow), None);
    // A second origin after an allowed one is refused too.
    let two = "Origin: http://localhost:3000\r\nOrigin: http://localhost:3001\r\n";
    let refused = WebClient::of(&running, two).ask(&manifest);
    assert!(refused.head.starts_with("http/1.1 403"), "{}", refused.head);
    // A client that is no page gets an answer without an origin.
    let found = WebClient::open(&running).ask(&manifest);
    assert_eq!((found.frames().0.len(), found.field(allow)), (1, None));
}

#[test]
fn without_a_named_origin_no_page_may_ask() {
    let running = open_door(server(2, &set()), Limits::default());
    let manifest = message(GET_MANIFEST, b"");
    let before = preflight(&running, "http://localhost:3000");
    assert!(before.head.starts_with("http/1.1 505"), "{}", before.head);
    // A page whose origin has this server's host name is a page, too.
    let mut page = WebClient::of(&running, "Origin: http://x\r\n");
    let refused = page.ask(&manifest);
    assert!(refused.head.starts_with("http/1.1 403"), "{}", refused.head);
    let text = String::from_utf8(refused.body.clone()).unwrap();
    assert!(text.contains("--allow-origin"), "{text}");
    let found = WebClient::open(&running).ask(&manifest);
    assert_eq!(found.frames().1, "grpc-status:0\r\n");
    for answer in [before, refused, found] {
        assert!(!answer.head.contains("access-control"), "{}", answer.head);
        assert!(!answer.head.contains("vary"), "{}", answer.head);
    }
}

#[test]
fn hostile_frames_are_refused_by_name() {
    let set = set();
    let running = open_door(server(4, &set), Limits::default());
    let longest = server(4, &set).longest_request().unwrap();
    let message = CallRequest {
        message: message(GET_MANIFEST, b"").into(),
        tag: None,
    };
    let good = message.encode_to_vec();
    let whole = frame(0, &good);
    let (long, malformed) = ((Refusal::Long.name(), "11"), (Refusal::Message.name(), "3"));
    let cases: Vec<(Vec<u8>, (&str, &str))> = vec![
        // The length is above the longest request. The first body is shorter than its length says, and the second has
        // that length.
        ([&[0, 0xff, 0xff, 0xff, 0xff], &good[..]].concat(), long),
        (frame(0, &vec![0; longest + 4000]), long),
        (frame(1, &good), malformed),
        (frame(2, &good), malformed),
        // The body has trailers instead of a message.
        (frame(0x80, b"grpc-status:0\r\n"), malformed),
        (whole[..whole.len() - 1].to_vec(), malformed),
        (whole[..3].to_vec(), malformed),
        (Vec::new(), malformed),
        (frame(0, &[0xff; 40]), malformed),
        // A malformed second message follows a complete one.
        ([&whole[..], &frame(7, b"x")].concat(), malformed),
    ];
    for (body, expected) in cases {
        let found = WebClient::open(&running).post("Call", &body);
        assert_eq!(
            found.refusal(),
            expected,
            "{:?}",
            &body[..body.len().min(40)]
        );
    }
    until_metric(&running, "refused_total{reason=\"long\"} 2");
    until_metric(&running, "receiving 0");
    still_serves(&running);
}

#[test]
fn what_is_not_grpc_web_is_told_what_is() {
    let running = open_door(server(2, &set()), Limits::default());
    let call = "/sordino.v1.Search/Call";
    let body = frame(0, b"");
    for (path, content, fields, expected) in [
        (call, "application/grpc", "", "505"),
        (call, "application/json", "", "505"),
        ("/grpc.health.v1.Health/Check", WEB, "", "505"),
        (
            "/grpc.health.v1.Health/Watch",
            "application/grpc",
            "",
            "505",
        ),
        (call, "application/grpc-web-text", "", "415"),
        (call, "application/grpc-web+json", "", "415"),
        (call, WEB, "Origin: http://x\r\n", "403"),
    ] {
        let mut client = WebClient::of(&running, fields);
        let head = client.head(path, content, body.len());
        let answer = client.send(&[head.as_bytes(), &body].concat());
        let status = format!("http/1.1 {expected}");
        assert!(answer.head.starts_with(&status), "{path}: {}", answer.head);
        assert!(answer.body.ends_with(b".\n"), "{path}: {}", answer.head);
    }
    let mut client = WebClient::open(&running);
    let fields = format!("X-Long: {}\r\n\r\n", "x".repeat(9000));
    let head = client.head(call, WEB, 0).replacen("\r\n\r\n", "\r\n", 1) + &fields;
    let answer = client.send(head.as_bytes());
    assert!(answer.head.starts_with("http/1.1 431"), "{}", answer.head);
    // The connection stays open, and its next bad request is refused too.
    let get = format!("GET {call} HTTP/1.1\r\nHost: x\r\nContent-Type: {WEB}\r\n\r\n");
    let answer = client.send(get.as_bytes());
    assert!(answer.head.starts_with("http/1.1 405"), "{}", answer.head);
    still_serves(&running);
}

/// A page may send a few content types to any host, without a question by its browser first.
#[test]
fn over_http_2_what_pages_send_unasked_is_refused() {
    let running = open_door(server(2, &set()), Limits::default());
    let request = CallRequest {
        message: message(GET_MANIFEST, b"").into(),
        tag: None,
    };
    let body = frame(0, &request.encode_to_vec());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut send = runtime.block_on(http2(running.address())).unwrap();
    let origin = "http://localhost:3000";
    let mut status = |content: &str, origin: Option<&str>| {
        let path = format!("http://{}/sordino.v1.Search/Call", running.address());
        let mut request = hyper::Request::post(path).header("content-type", content);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let body = http_body_util::Full::new(bytes::Bytes::from(body.clone()));
        let answer = runtime.block_on(send.send_request(request.body(body).unwrap()));
        let answer = answer.unwrap();
        let form = answer.headers().get("content-type").cloned().unwrap();
        let body = http_body_util::BodyExt::collect(answer.into_parts().1);
        let body = runtime.block_on(body).unwrap().to_bytes();
        (form.to_str().unwrap().to_owned(), body)
    };
    for content in ["text/plain", "application/x-www-form-urlencoded"] {
        for origin in [Some(origin), None] {
            let (form, text) = status(content, origin);
            assert_eq!(form, "text/plain");
            assert!(
                text.starts_with(b"This server speaks gRPC with"),
                "{text:?}"
            );
        }
    }
    for content in [WEB, "application/grpc"] {
        let (_, text) = status(content, Some(origin));
        assert!(
            text.starts_with(b"This server answers no pages"),
            "{text:?}"
        );
    }
    // Both forms have the same bytes, except for the last frame.
    let ((_, grpc), (form, web)) = (status("application/grpc", None), status(WEB, None));
    assert_eq!(form, WEB);
    assert!(grpc.len() > 4000 && web.starts_with(&grpc));
    assert_eq!(web[grpc.len()..], frame(0x80, b"grpc-status:0\r\n"));
}

/// With HTTP/1.1 the server does not read while it writes. So it checks the time limit while it
/// writes, too.
#[test]
fn a_reply_that_nobody_takes_is_given_up_whatever_else_is_sent() {
    let set = set();
    let running = open_door(server(2, &set), hasty());
    let request = CallRequest {
        message: parts_request(&server(2, &set)).into(),
        tag: None,
    };
    let body = frame(0, &request.encode_to_vec());
    let whole = {
        let mut client = WebClient::open(&running);
        client.post("Call", &body).wire
    };
    let head = WebClient::open(&running).head("/sordino.v1.Search/Call", WEB, body.len());
    let answered = "sordino_answered_total 1\n";
    until_metric(&running, "answered_total 1");
    // Sends enough requests that their answers exceed every buffer on the way.
    let many = (64 << 20) / whole + 1;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let taken = runtime.block_on(async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut tcp = socket.connect(running.address()).await.unwrap();
        let (_, mut write) = tcp.split();
        let one = [head.as_bytes(), &body].concat();
        let flood = async {
            for _ in 0..many {
                if write.write_all(&one).await.is_err() {
                    return;
                }
            }
        };
        // The server stops reading when it cannot write.
        let _ = tokio::time::timeout(std::time::Duration::from_secs(2), flood).await;
        // The kernel takes all requests before the server has accepted the connection. So the
        // test waits for an answer after the first client's.
        until(|| !running.service().metrics().contains(answered));
        until_metric(&running, "connections 0");
        until_metric(&running, "in_flight 0");
        let mut taken = Vec::new();
        // The connection ends with a reset.
        let _ = tcp.read_to_end(&mut taken).await;
        taken.len()
    });
    assert!(taken < many * whole, "{taken} bytes were taken");
    still_serves(&running);
}
