"""Shards and the server that joins them, in one process: clients cannot tell it from one server."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import until

import sordino

PACKAGING = Path(__file__).parents[2] / "packaging"


@pytest.fixture
def shards(index, key):
    """Two servers of each of two shards, and the server over them."""
    public = key.public()
    servers = [
        [sordino.serve(index, public_key=public, shard=(number, 2), listen="127.0.0.1:0", plaintext=True, anyone=True) for _ in range(2)]
        for number in (1, 2)
    ]
    urls = [[server.url for server in some] for some in servers]
    front = sordino.gather(urls, public_key=public, listen="127.0.0.1:0", hedge=True, plaintext=True, anyone=True)
    yield servers, front
    for server in [front, *servers[0], *servers[1]]:
        server.stop()


def test_shards_answer_like_one_server_also_when_one_of_two_is_gone(shards, index, vectors, key, client):
    servers, front = shards
    expected = client.search(vectors[:20])
    with sordino.Client(front.url, key=key.reader()) as over:
        for _ in range(2):
            found = over.search(vectors[:20])
            assert (found.ids[:, 0] == np.arange(20)).all()
            assert np.abs(found.scores - expected.scores).max() < 0.03
            # The second time, each shard lacks a server.
            servers[0][0].stop()
            servers[1][1].stop()
        servers[0][1].stop()
        with pytest.raises(sordino.RefusedError, match="a part of the index"):
            over.search(vectors[0])
        with sordino.serve(index, public_key=key.public(), shard=(1, 2), listen="127.0.0.1:0", plaintext=True, anyone=True) as another:
            front.reach(1, another.url)
            assert over.search(vectors[7]).ids[0, 0] == 7
            front.reach(1, [])
            with pytest.raises(sordino.RefusedError):
                over.search(vectors[0])


def test_a_version_is_served_when_all_have_it(tmp_path, vectors, key):
    index = sordino.build(tmp_path / "index", vectors[:200], key=key)
    public = key.public()
    with (
        sordino.serve(index, public_key=public, shard=(1, 2), listen="127.0.0.1:0", plaintext=True, anyone=True) as first,
        sordino.serve(index, public_key=public, shard=(2, 2), listen="127.0.0.1:0", plaintext=True, anyone=True) as second,
        sordino.gather([first.url, second.url], public_key=public, listen="127.0.0.1:0", wait=5, plaintext=True, anyone=True) as front,
        sordino.Client(front.url, key=key.reader()) as client,
    ):
        assert (first.version, front.version, front.behind) == (1, 1, 0)
        index.add(vectors[200:210])
        until(client.refresh)
        assert client.search(vectors[205]).ids[0, 0] == 205
    assert front.version == 0 and front.metrics() == ""


def test_what_cannot_be_joined_is_refused(shards, index, key):
    (first, *_), (second, *_) = shards[0]
    public = key.public()

    def refused(error, text, what):
        with pytest.raises(error, match=text):
            what()

    def gather(urls, **more):
        return lambda: sordino.gather(urls, public_key=more.pop("public_key", public), listen="127.0.0.1:0", plaintext=True, anyone=True, **more)

    refused(sordino.InputError, "expected shard 1/2", gather([second.url, first.url]))
    refused(sordino.InputError, "0 shards", gather([]))
    refused(sordino.InputError, "a list of URLs", gather(first.url))
    refused(sordino.InputError, "expected a URL", gather([[first.url, 3]]))
    refused(sordino.SignatureError, "owner", gather([first.url, second.url], public_key=sordino.keygen().public()))
    refused(sordino.NetworkError, "cannot connect", gather([first.url, "http://127.0.0.1:9"]))
    refused(sordino.KeyKindError, "public", gather([first.url, second.url], public_key=key))
    refused(sordino.InputError, "shard 3: expected 1 to 2", lambda: shards[1].reach(3, first.url))
    refused(sordino.AddressError, "nowhere", lambda: shards[1].reach(1, "nowhere"))
    for shard in [(0, 2), (3, 2), (1, 1025), 2, (1,), "12x"]:
        refused(sordino.InputError, "shard", lambda shard=shard: sordino.serve(index, public_key=public, shard=shard, plaintext=True, anyone=True))


def test_the_dashboard_names_metrics_that_there_are(shards):
    servers, front = shards
    kinds = {}
    for server in (front, servers[0][0]):
        kinds |= dict(re.findall(r"^# TYPE (\w+) (\w+)$", server.metrics(), re.MULTILINE))
    endings = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_count", "_sum"]}
    series = {name + ending for name, kind in kinds.items() for ending in endings[kind]}
    assert "sordino_shard_missing_total" in series

    dashboard = json.loads((PACKAGING / "grafana.json").read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    named = set()
    for panel in panels:
        assert panel["title"] and panel["gridPos"] and panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            found = set(re.findall(r"\bsordino_\w+", target["expr"]))
            assert found <= series, target["expr"]
            named |= found
    assert len({panel["id"] for panel in panels}) == len(panels)
    # The dashboard shows each metric; of a histogram, one of its series.
    for name, kind in kinds.items():
        assert any(name + ending in named for ending in endings[kind]), name
    # The operator's page names them too.
    page = (PACKAGING.parent / "docs" / "operations" / "monitoring.md").read_text()
    for name, kind in kinds.items():
        ending = "_total" if kind == "counter" else ""
        assert name + ending in page, name
    # Only a server of a folder of indexes exports the metrics of one of several indexes.
    shown = set(re.findall(r"\bsordino_(?!index_)[a-z_]+\b(?!::)", page))
    # A server with a certificate also exports the time at which the certificate ends.
    assert shown <= series | set(kinds) | {"sordino_certificate_expiry_seconds"}
