"""The application on Ray Serve and its manifest: their form. scripts/ray_test.py runs it and kills its replicas."""

from pathlib import Path

import pytest

import sordino

PACKAGING = Path(__file__).parents[2] / "packaging"


def manifests():
    yaml = pytest.importorskip("yaml")
    return list(yaml.safe_load_all((PACKAGING / "rayservice.yaml").read_text()))


def test_the_manifest_has_room_and_ports_for_what_it_serves():
    yaml = pytest.importorskip("yaml")
    service, search, _, policy = manifests()
    assert (service["apiVersion"], service["kind"]) == ("ray.io/v1", "RayService")
    (application,) = yaml.safe_load(service["spec"]["serveConfigV2"])["applications"]
    module, name = application["import_path"].split(":")
    source = Path(sordino.__file__).with_name(f"{module.removeprefix('sordino.')}.py").read_text()
    assert f"\ndef {name}(" in source
    args = application["args"]
    for argument in args:
        assert f"\n    {argument}: " in source, argument

    groups = {group["groupName"]: group for group in service["spec"]["rayClusterConfig"]["workerGroupSpecs"]}
    assert set(groups) == {"shards", "gatherers"}
    for group in groups.values():
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    (shard,) = groups["shards"]["template"]["spec"]["containers"]
    a_pod = min(
        int(shard["resources"]["requests"]["cpu"]) // args["cpus"],
        int(shard["resources"]["requests"]["memory"].removesuffix("Gi")) * 2**30 // args["memory"],
    )
    assert groups["shards"]["replicas"] * a_pod >= args["shards"] * args["replicas"]
    # Each gatherer is on a node of its own, which has its resource once.
    assert groups["gatherers"]["replicas"] == args["gatherers"]
    resources = groups["gatherers"]["rayStartParams"]["resources"]
    assert yaml.safe_load(yaml.safe_load(resources)) == {args["gatherer_resource"]: 1}

    template = groups["gatherers"]["template"]
    (gatherer,) = template["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in gatherer["ports"]}
    for option, port in [("listen", "search"), ("metrics", "metrics")]:
        assert args[option] == f"0.0.0.0:{ports[port]}"
    assert search["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    assert [port["targetPort"] for port in search["spec"]["ports"]] == ["search"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    others, everyone = policy["spec"]["ingress"]
    assert others["from"] and {port["port"] for port in everyone["ports"]} == set(ports.values())
    mounts = [mount["mountPath"] + "/" for mount in gatherer["volumeMounts"]]
    paths = [args["index"], args["public_key"], args["cert"], args["cert_key"], *args["clients"]]
    assert all(any(path.startswith(mount) for mount in mounts) for path in paths)


def test_an_application_has_a_deployment_for_each_shard():
    pytest.importorskip("ray.serve")
    from pydantic import ValidationError
    from ray.serve.schema import ServeDeploySchema

    import sordino.ray

    yaml = pytest.importorskip("yaml")
    config = yaml.safe_load(manifests()[0]["spec"]["serveConfigV2"])
    ServeDeploySchema.model_validate(config)
    options = sordino.ray.Options.model_validate(config["applications"][0]["args"])
    assert (options.shards, options.replicas, options.gatherer_resource) == (2, 2, "gatherer")
    assert sordino.ray.app(options) is not None
    # `serve run` passes its arguments as texts.
    texts = {"index": "i", "public_key": "o.pub", "shards": "8", "replicas": "2", "cpus": "0.5", "clients": "a.pub,b.pub"}
    assert sordino.ray.Options.model_validate(texts).shards == 8
    for wrong in [{"shards": 0}, {"shards": 1025}, {"replicas": 0}, {"cpus": 0}, {"shard": 2}]:
        with pytest.raises(ValidationError):
            sordino.ray.Options.model_validate(texts | wrong)
