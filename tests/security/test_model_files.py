"""Files that were cut, flipped, tampered with or made up: an error by name, and nothing runs."""

import io
import json
import sys
import tracemalloc
import zipfile
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.preprocessing import StandardScaler

from conftest import FILES
from predictree import ToPsClassifier, ToPsRegressor, export_text, load
from predictree.errors import (
    DamagedModelError,
    InvalidInputError,
    PredictreeError,
    UntrustedTypeError,
)
from predictree.estimators.files import dumps, loads
from predictree.estimators.survival import ToPsSurvival
from predictree.publish.files import archive as persistence
from predictree.publish.files import soundness
from predictree.publish.files.archive import HEADER, SCHEMA, SUMMARY, summary_of
from predictree.publish.files.compiled import check_compiled
from predictree.publish.files.records import to_record

N_MUTANTS = 2000
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
y = (X[:, 0] * np.where(X[:, 1] > 0, 1, -1) > 0).astype(int)
HELD_OUT = {"validation": (0.6, 0.2, 0.2), "weights": "path", "random_state": 0}
MODEL = ToPsClassifier("lr", max_depth=1, min_gain_se=0.0, **HELD_OUT).fit(X, y)
PROBABILITIES = MODEL.predict_proba(X)
TEXT = export_text(MODEL)
CONTENT = dumps(MODEL)
loads(CONTENT)  # what loading imports is there from here on


def members(content=CONTENT):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(parts):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in parts.items():
            archive.writestr(name, member)
    return buffer.getvalue()


def changed(content=CONTENT, **replaced):
    """Return a file with other members; ``schema`` and ``header`` as objects."""
    parts = members(content)
    for name, key in ((SCHEMA, "schema"), (HEADER, "header")):
        if key in replaced:
            parts[name] = json.dumps(replaced.pop(key)).encode()
    return archive_of(parts | replaced)


def schema_of(content=CONTENT):
    return json.loads(members(content)[SCHEMA])


def nodes_of(state):
    """Yield every node of a description."""
    if isinstance(state, dict):
        if "__loader__" in state:
            yield state
        for value in state.values():
            yield from nodes_of(value)
    elif isinstance(state, list):
        for value in state:
            yield from nodes_of(value)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def read(content):
    """Load a file, and see that this brings no module into the process."""
    before = set(sys.modules)
    try:
        return loads(content)
    finally:
        assert set(sys.modules) == before


def is_same(model):
    np.testing.assert_array_equal(model.predict_proba(X), PROBABILITIES)
    assert export_text(model) == TEXT


@st.composite
def mutants(draw):
    """Draw the file with bytes flipped, cut out, put in, or cut off."""
    content = bytearray(CONTENT)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        how = draw(st.sampled_from(["flip", "byte", "cut", "insert", "truncate", "repeat"]))
        if how == "flip":
            content[at : at + 1] = bytes(
                b ^ (1 << draw(st.integers(0, 7))) for b in content[at:][:1]
            )
        elif how == "byte":
            content[at : at + 1] = bytes([draw(st.integers(0, 255))])
        elif how == "cut":
            del content[at : at + draw(st.integers(1, 64))]
        elif how == "insert":
            content[at:at] = draw(st.binary(min_size=1, max_size=64))
        elif how == "truncate":
            del content[at:]
        else:
            content[at:at] = content[at : at + draw(st.integers(1, 64))]
    return bytes(content)


@settings(
    max_examples=N_MUTANTS, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
@given(mutants())
def test_mutants_are_refused_or_the_model_itself(content):
    try:
        model = read(content)
    except (DamagedModelError, UntrustedTypeError):
        return
    is_same(model)


PLACES = [
    (node, key)
    for node in range(len(list(nodes_of(schema_of()))))
    for key in ("__class__", "__module__", "__loader__", "__id__", "content", "file", "type")
]
STRANGE = [
    None, True, -1, 0, 10**30, "", "os", "system", "list", "numpy", "NaN", "[]", "1e999", '"x"', [],
    {}, [[]], {"a": 1},
]  # fmt: skip


@settings(max_examples=500, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PLACES), st.sampled_from(STRANGE), st.integers(0, 10**6))
def test_descriptions_that_lie_are_refused_or_harmless(place, strange, other):
    schema = schema_of()
    nodes = list(nodes_of(schema))
    node, key = nodes[place[0]], place[1]
    donor = nodes[other % len(nodes)]
    node[key] = deepcopy(donor.get(key, strange)) if other % 2 else strange
    with suppress(PredictreeError):
        model = read(changed(schema=schema))
        with suppress(Exception):  # another model, perhaps one that cannot answer
            model.predict_proba(X)


ARRAYS = [name for name in members() if name.endswith(".npy")]


@settings(max_examples=300, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(ARRAYS),
    st.integers(0, 10**6),
    st.sampled_from([-(2**62), -2, -1, 0, 1, 5, 10**6, 2**62, np.nan, np.inf, 1e300]),
)
def test_arrays_that_lie_are_refused_or_harmless(name, place, value):
    array = np.load(io.BytesIO(members()[name])).copy()
    flat = array.reshape(-1)
    with suppress(OverflowError, ValueError, IndexError, ZeroDivisionError):
        flat[place % flat.size] = value
    with suppress(PredictreeError):
        model = read(changed(**{name: npy(array)}))
        with suppress(PredictreeError):
            answer = model.predict_proba(X)
            assert answer.shape == PROBABILITIES.shape


@settings(max_examples=100, deadline=None, database=None)
@given(st.binary(max_size=300))
def test_noise_is_refused(content):
    with pytest.raises(DamagedModelError):
        read(content)


def node(loader, module, name, **more):
    return {"__loader__": loader, "__module__": module, "__class__": name, "__id__": 7} | more


def text(value):
    return node("JsonNode", "builtins", "str", content=json.dumps(value), is_json=True) | {
        "__id__": 8
    }


def sequence(kind, *items):
    return node(f"{kind.title()}Node", "builtins", kind, content=list(items)) | {"__id__": 9}


ATTACKS = {
    "function": (node("FunctionNode", "os", "system"), "os.system"),
    "type": (node("TypeNode", "builtins", "eval"), "builtins.eval"),
    "made up": (node("ObjectNode", "no_such_module", "Evil"), "no_such_module.Evil"),
    "call": (
        node("ConstructorFromReduceNode", "subprocess", "Popen", content=sequence("tuple")),
        "subprocess.Popen",
    ),
    "partial": (
        node(
            "PartialNode",
            "functools",
            "partial",
            content={
                "func": node("FunctionNode", "os", "system") | {"__id__": 10},
                "args": sequence("tuple", text("true")),
                "kwds": text({}) | {"__id__": 11},
                "namespace": text(None) | {"__id__": 12},
            },
        ),
        "os.system",
    ),
    "method": (
        node(
            "MethodNode",
            "sklearn.linear_model._base",
            "LinearRegression",
            content={
                "obj": node("ObjectNode", "sklearn.linear_model._base", "LinearRegression")
                | {"__id__": 13},
                "func": "__reduce__",
            },
        ),
        "LinearRegression.__reduce__",
    ),
    "operator": (
        node("OperatorFuncNode", "operator", "methodcaller", attrs=sequence("tuple", text("x"))),
        "operator.methodcaller",
    ),
    "list": (node("ListNode", "this", "s", content=[]), "this.s"),
    "tuple": (node("TupleNode", "antigravity", "fly", content=[]), "antigravity.fly"),
    "array": (node("NdArrayNode", "os", "system", type="json", content=[], shape=text([])), "os"),
    "loss": (
        node(
            "LossNode",
            "os",
            "system",
            content=text({}),
            __reduce__={"args": sequence("tuple", text("true"))},
        ),
        "os.system",
    ),
}


@pytest.mark.parametrize("whole", [True, False], ids=["alone", "inside"])
@pytest.mark.parametrize("name", ATTACKS)
def test_foreign_types_are_refused_by_name_before_they_are_imported(name, whole):
    attack, culprit = ATTACKS[name]
    schema = schema_of()
    if whole:
        schema = {"protocol": schema["protocol"], "_skops_version": "0"} | attack
    else:
        schema["content"]["schema"] = attack
    with pytest.raises(UntrustedTypeError, match=culprit) as caught:
        read(changed(schema=schema))
    assert any(culprit in kind for kind in caught.value.types)


def test_a_module_on_the_path_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("raise SystemExit('the trap was sprung')")
    monkeypatch.syspath_prepend(tmp_path)
    for loader in ("ObjectNode", "FunctionNode", "TypeNode", "ConstructorFromReduceNode"):
        schema = schema_of()
        schema["content"]["schema"] = node(loader, "trap", "Trap", content=sequence("tuple"))
        with pytest.raises(UntrustedTypeError, match=r"trap\.Trap"):
            read(changed(schema=schema))


def test_a_pickle_is_no_model(tmp_path):
    import pickle

    class Trap:
        def __reduce__(self):
            return sys.exit, ("the trap was sprung",)

    path = tmp_path / "model"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(DamagedModelError, match=r"not written by predictree\.save"):
        load(path)


def test_an_array_of_objects_is_refused():
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DamagedModelError, match="holds objects"):
        read(changed(**{ARRAYS[0]: buffer.getvalue()}))


def test_an_array_that_claims_to_be_huge_is_refused():
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**11,)}
    np.lib.format.write_array_header_1_0(header, shape)
    with pytest.raises(DamagedModelError, match="bytes and should have"):
        read(changed(**{ARRAYS[0]: header.getvalue()}))


def test_arrays_are_read_from_the_members_that_were_checked():
    schema = schema_of()
    first = next(n for n in nodes_of(schema) if n.get("file") == ARRAYS[0])
    first["file"] = "0.bin"
    with pytest.raises(DamagedModelError, match="a file out of place"):
        read(changed(schema=schema, **{"0.bin": members()[ARRAYS[0]]}))


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [("MAX_HEADER", 9, HEADER), ("MAX_MEMBERS", 3, "members")],
)
def test_files_have_limits(monkeypatch, limit, value, message):
    monkeypatch.setattr(persistence, limit, value)
    with pytest.raises(DamagedModelError, match=message):
        read(CONTENT)


TOO_MUCH = r"would take some \d+ bytes of memory or more, and at most .* larger max_bytes="


def peak(work):
    """Return the most memory that some work takes."""
    tracemalloc.start()
    try:
        with suppress(DamagedModelError):
            work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def least(content):
    """Return the least max_bytes with which a file is read."""
    low, high = 0, 1 << 32
    while high - low > 1:
        middle = (low + high) // 2
        try:
            loads(content, max_bytes=middle)
        except DamagedModelError:
            low = middle
        else:
            high = middle
    return high


def test_reading_a_file_takes_no_more_than_is_allowed():
    allowed = least(CONTENT)
    assert peak(lambda: loads(CONTENT, max_bytes=allowed)) < allowed
    with pytest.raises(DamagedModelError, match=TOO_MUCH):
        loads(CONTENT, max_bytes=allowed - 1)


def test_a_larger_file_is_allowed_more(monkeypatch):
    monkeypatch.setattr(persistence, "MAX_BYTES", 1000)
    with pytest.raises(DamagedModelError, match=TOO_MUCH):
        loads(CONTENT)
    monkeypatch.setattr(persistence, "SHARE", 1000)
    is_same(loads(CONTENT))


@pytest.mark.parametrize("value", [0, -1, 1.5, "1 GB", True])
def test_odd_limits_are_refused(value):
    with pytest.raises(InvalidInputError, match="max_bytes="):
        loads(CONTENT, max_bytes=value)


@pytest.mark.parametrize("numbered", [True, False], ids=["numbered", "without numbers"])
def test_an_array_that_many_nodes_name_is_counted_as_often(numbered):
    """A small file, whose one array is read once for every node that names it."""
    zeros = npy(np.zeros(1_000_000))
    bomb = [
        node("NdArrayNode", "numpy", "ndarray", type="numpy", file="zeros.npy")
        | {"__id__": 10**6 + i if numbered else None}
        for i in range(400)
    ]
    schema = schema_of()
    schema["content"]["account"] = sequence("list", *bomb)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in (members() | {"zeros.npy": zeros}).items():
            archive.writestr(name, json.dumps(schema) if name == SCHEMA else member)
    content = buffer.getvalue()
    assert len(content) < 100_000
    with pytest.raises(DamagedModelError, match=TOO_MUCH):
        read(content)
    assert peak(lambda: loads(content)) < 10_000_000


@pytest.mark.parametrize(
    "inner", ["[],", "{},", '"a",', '"\\u00e9",', "1,", "1e5,", '{"a":0,"b":[1]},', '"{}",']
)
def test_a_description_that_is_larger_once_it_is_read_is_counted_so(inner):
    text = f"[{inner * 100_000}0]"
    assert peak(lambda: json.loads(text)) < cost(text)


def cost(text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", text)
    with zipfile.ZipFile(buffer) as archive:
        return persistence._cost_of_text(archive, "a", 1 << 40)


@pytest.mark.parametrize("name", [SCHEMA, SUMMARY])
def test_a_description_is_not_read_before_its_cost_is_known(name, tmp_path, monkeypatch):
    path = tmp_path / "model"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, given in (members() | {name: b"[" + b"[]," * 20_000_000 + b"0]"}).items():
            archive.writestr(member, given)
    for look in (load, summary_of):
        if look is load or name == SUMMARY:
            taken = peak(lambda look=look: look(path))
            assert taken < 50_000_000
    with pytest.raises(DamagedModelError, match=TOO_MUCH):
        (load if name == SCHEMA else summary_of)(path)


@pytest.mark.parametrize("trusted", ["os.system", b"os.system", str, [3], 3, {"a": None, 3: 1}])
def test_only_a_list_of_names_and_types_is_trusted(trusted):
    """A single word would be taken for its letters."""
    with pytest.raises(InvalidInputError, match="trusted"):
        loads(CONTENT, trusted=trusted)


def test_trees_have_limits(monkeypatch):
    monkeypatch.setattr(soundness, "MAX_NODES", 2)
    with pytest.raises(DamagedModelError, match="see a tree"):
        read(CONTENT)


def test_a_bomb_is_not_unpacked():
    buffer = io.BytesIO(CONTENT)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.npy", bytes(10**6))
        archive.infolist()[-1].file_size = 10**12  # as the directory will say
    with pytest.raises(DamagedModelError, match="cannot be read as a model"):
        read(buffer.getvalue())


def test_a_description_does_not_unfold():
    doubled = text(1)
    for level in range(60):
        short = node("ListNode", "builtins", "list", content=[]) | {"__id__": 100 + level - 1}
        twice = [doubled, short if level else doubled]
        doubled = node("ListNode", "builtins", "list", content=twice) | {"__id__": 100 + level}
    schema = schema_of()
    schema["content"]["account"] = doubled
    with pytest.raises(DamagedModelError, match="contradicts itself"):
        read(changed(schema=schema))


def test_a_description_does_not_hold_itself():
    schema = schema_of()
    inner = next(n for n in nodes_of(schema["content"]) if "__id__" in n)
    inner["__id__"] = schema["__id__"]
    with pytest.raises(DamagedModelError, match="contradicts itself"):
        read(changed(schema=schema))


def test_a_deep_description_is_refused():
    depth = 100_000
    text = '{"__loader__": "ListNode", "a": ' + "[" * depth + "]" * depth + "}"
    with pytest.raises(DamagedModelError, match="RecursionError"):
        read(changed(**{SCHEMA: text.encode()}))


@pytest.mark.parametrize("name", ["../../outside.npy.sh", "evil.py", "data.npz", "data.pkl"])
def test_other_members_are_refused(name):
    with pytest.raises(DamagedModelError, match="neither an array nor a description"):
        read(changed(**{name: b""}))


def test_members_of_one_name_are_refused():
    buffer = io.BytesIO(CONTENT)
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(buffer, "a") as archive,
    ):
        archive.writestr(SCHEMA, "{}")
    with pytest.raises(DamagedModelError, match="one name"):
        read(buffer.getvalue())


@pytest.mark.parametrize(
    "header", [None, [], {}, {"format": "predictree model"}, {"format": "x", "protocol": 1}]
)
def test_a_file_without_our_header_is_refused(header):
    with pytest.raises(DamagedModelError):
        read(changed(header=header))


@pytest.mark.parametrize("protocol", [0, -1, True, "1", 1.0, None])
def test_odd_protocols_are_refused(protocol):
    header = json.loads(members()[HEADER]) | {"protocol": protocol}
    with pytest.raises(DamagedModelError, match="protocol"):
        read(changed(header=header))


@pytest.mark.parametrize("missing", [HEADER, SCHEMA, ARRAYS[0]], ids=["header", "schema", "array"])
def test_a_missing_member_is_told(missing):
    parts = members()
    del parts[missing]
    with pytest.raises(DamagedModelError):
        read(archive_of(parts))


def record(**changes):
    """Return the file of the model's record with some fields changed."""
    return file_of(to_record(MODEL.model_) | changes)


def older_record(**changes):
    """Return a file of an older protocol with some attributes of its estimator changed."""
    content = (FILES / "protocol 3").read_bytes()
    return file_of(persistence._build(skops.io, content, list(persistence.TRUSTED)) | changes)


def file_of(record):
    return archive_of(members(skops.io.dumps(record)) | {HEADER: members()[HEADER]})


def told(**changes):
    return to_record(MODEL.model_.account) | changes


def given(**changes):
    parameters = MODEL.model_.settings.parameters | changes
    return to_record(replace(MODEL.model_.settings, parameters=parameters))


@pytest.mark.parametrize(
    "changes",
    [
        {"trees": ()},
        {"trees": (3,)},
        {"trees": None},
        {"predictree": "os.system"},
        {"predictree": "Tree"},
        {"predictree": "Account"},
        {"predictree": "SurvivalModel"},
        {"predictree": ["a"]},
        {"schema": None},
        {"schema": to_record(replace(MODEL.schema_, columns=MODEL.schema_.columns[:1]))},
        {"named": 1},
        {"classes": np.arange(3)},
        {"classes": np.array([0, 0])},
        {"classes": [0, 1]},
        {"classes": None},
        {"loss": "auc"},
        {"loss": to_record(MODEL.loss_) | {"own": True, "half_is_second": "x"}},
        {"needed": [0]},
        {"needed": (5,)},
        {"imputations": (1,)},
        {"imputations": None},
        {"backgrounds": None},
        {"backgrounds": (1,)},
        {"backgrounds": to_record(MODEL.backgrounds_) * 2},
        {"predict": 1},
        {"scores": 1},
        {"account": None},
        {"account": told(verdict="good")},
        {"account": told(verdict={"predictree": "Verdict", "loss": 1.0})},
        {"account": told(verdict=to_record(MODEL.verdict_) | {"best": 1})},
        {"account": told(fits={"predictree": "FitCount", "strange": 1})},
        {"account": told(fits={"predictree": "FitCount", "made": "many"})},
        {"account": told(fits=3)},
        {"account": told(failures=3)},
        {"account": told(failures=("lost",))},
        {"account": told(segments="none")},
        {"account": told(stopped="by hand")},
        {"account": told(strange=1)},
        {"settings": None},
        {"settings": {"predictree": "Settings", "kind": "ToPsClassifier", "parameters": None}},
        {"settings": given() | {"kind": "ToPsRegressor"}},
        {"settings": given() | {"kind": "ToPsSurvival"}},
        {"settings": given() | {"kind": "os.system"}},
        {"settings": given() | {"kind": 3}},
        {"settings": given(predict=1)},
        {"settings": given(model_=1)},
        {"settings": given(_scores=1)},
    ],
    ids=str,
)
def test_records_that_are_no_model_are_refused(changes):
    with pytest.raises(DamagedModelError):
        read(record(**changes))


def test_a_record_that_is_not_changed_is_the_model():
    is_same(read(record()))
    assert read(older_record()).get_n_leaves() == 2


@pytest.mark.filterwarnings("ignore::predictree.errors.ModelVersionWarning")
@pytest.mark.parametrize(
    "changes",
    [
        {"trees_": ()},
        {"trees_": (3,)},
        {"trees_": None},
        {"predictree": "ToPsRegressor"},
        {"predictree": "ToPsSurvival"},
        {"schema_": None},
        {"n_features_in_": 3},
        {"classes_": np.arange(3)},
        {"verdict_": "good"},
        {"loss_": "auc"},
        {"_needed": [5]},
        {"_needed": 1},
        {"imputations_": (1,)},
        {"predict": 1},
        {"model_": 1},
        {"_scores": 1},
        {"__class__": 1},
        {"fits_": {"predictree": "FitCount", "strange": 1}},
        {"fit_failures_": [1]},
        {"verdict_": {"predictree": "Verdict", "loss": 1.0}},
        {"models_": ()},
        {"models_": (1,), "_shared": True, "horizons_": np.ones(1), "causes_": np.ones(1)},
    ],
    ids=str,
)
def test_older_records_that_are_no_model_are_refused(changes):
    with pytest.raises(DamagedModelError):
        read(older_record(**changes))


def test_survival_records_that_are_no_model_are_refused():
    model = ToPsSurvival((0.5, 1), ToPsClassifier("lr", max_depth=0, random_state=0))
    fitted = to_record(model.fit(X, (y, np.abs(X[:, 0]) + 0.1)).model_)
    assert read(file_of(fitted)).predict_survival(X).shape == (len(X), 2)
    for changes in (
        {"models": ()},
        {"models": fitted["models"][:1]},
        {"models": (MODEL.loss_.name, 3)},
        {"shared": True},
        {"shared": 0},
        {"horizons": (0.5, 1.0)},
        {"horizons": np.array(["a", "b"])},
        {"causes": np.ones((1, 1))},
        {"settings": given()},
        {"settings": fitted["settings"] | {"parameters": 3}},
        {"strange": 1},
    ):
        with pytest.raises(DamagedModelError):
            read(file_of(fitted | changes))


@pytest.mark.parametrize(
    ("array", "place", "value"),
    [
        ("left", 0, 0), ("right", 0, 9), ("parent", 1, 2), ("depth", 2, 7), ("feature", 0, 2),
        ("feature", 0, -2), ("threshold", 0, np.nan), ("threshold", 0, -np.inf), ("weight", 0, 7.0),
        ("weight", 0, np.nan), ("weight_leaf", 0, 0), ("weight_node", 0, 9), ("predictor", 0, 9),
        ("weight_predictor", 0, -1), ("left", 1, 0), ("n_rows", 0, -1), ("is_level", 0, True),
        ("weight_node", 0, 2),
    ],
)  # fmt: skip
def test_trees_that_contradict_themselves_are_refused(array, place, value):
    tree = to_record(MODEL.tree_)
    tree[array] = tree[array].copy()
    if array == "is_level":
        tree["threshold"] = np.where(tree["feature"] >= 0, 0.5, np.nan)
    tree[array][place] = value
    with pytest.raises(DamagedModelError):
        read(record(trees=(tree,)))


@pytest.mark.parametrize("array", ["parent", "threshold", "weight", "n_rows", "is_level"])
def test_arrays_of_another_length_or_type_are_refused(array):
    tree = to_record(MODEL.tree_)
    for wrong in (tree[array][:-1], tree[array].astype(object), tree[array].astype("U9"), None):
        with pytest.raises(DamagedModelError):
            read(record(trees=(tree | {array: wrong},)))


ADDITIVE = {
    kind: ToPsClassifier("additive", validation=3, max_depth=1, random_state=0).fit(X, labels)
    for kind, labels in (("two", y), ("three", np.digitize(X[:, 0], [-0.5, 0.5])))
}
ADDITIVE["values"] = ToPsRegressor("additive", validation=3, max_depth=0, random_state=0).fit(
    X, np.prod(X, axis=1)
)


def additive_with(kind, change):
    """Return the file of an additive tree whose root's function was changed."""
    record = to_record(ADDITIVE[kind].model_)
    function = record["trees"][0]["predictors"][0]["models"][0]
    change(function)
    return file_of(record)


def put(*path, value):
    """Return what puts a value somewhere in a record; the value may be made of what is there."""

    def change(record):
        for key in path[:-1]:
            record = _opened(record, key)
        record[path[-1]] = value(record[path[-1]]) if callable(value) else value

    return change


def _opened(record, key):
    if isinstance(record[key], tuple):
        record[key] = list(record[key])
    return record[key]


def edited(place, value):
    def edit(array):
        array = array.copy()
        array.reshape(-1)[place] = value
        return array

    return edit


LIES = {
    "link": [put("link", value=v) for v in ("identity", "log", "eval", None, ["logit"])],
    "span": [put("span", value=v) for v in ((1.0, 0.0), (0.0,), None, (np.nan, 1.0), (0, "1"))],
    "intercept": [
        put("intercept", value=v)
        for v in (np.zeros(4), np.zeros((1, 1)), np.array([np.nan]), np.zeros(1, int), 0.0, None)
    ],
    "curves": [
        put("curves", value=v) for v in (None, (1,), lambda curves: [*curves], lambda c: c + c)
    ],
    "curve": [
        put("curves", 0, name, value=v)
        for name in ("values", "variance")
        for v in (edited(0, np.nan), edited(0, np.inf), lambda a: a[:-1], lambda a: a.ravel())
    ],
    "variance": [put("curves", 0, "variance", value=edited(0, -1.0))],
    "axis": [
        put("curves", 0, "axis", name, value=v)
        for name, values in {
            "feature": (2, -1, 1.0, "0", None, True, 1),
            "is_category": (1, None),
            "knots": (
                lambda k: k[::-1],
                lambda k: k[:0],
                lambda k: k[:-1],
                lambda k: k[:, None],
                edited(0, np.nan),
                edited(0, -np.inf),
                None,
            ),
        }.items()
        for v in values
    ],
}


@pytest.mark.parametrize("kind", ["two", "three"])
@pytest.mark.parametrize(
    "change",
    [change for some in LIES.values() for change in some],
    ids=[f"{name} {i}" for name, some in LIES.items() for i in range(len(some))],
)
def test_additive_functions_that_contradict_themselves_are_refused(kind, change):
    with pytest.raises(DamagedModelError):
        read(additive_with(kind, change))


@pytest.mark.parametrize(
    "change",
    [
        put("surfaces", value=None),
        put("surfaces", 0, value=3),
        put("surfaces", 0, "axes", value=lambda axes: axes[:1]),
        put("surfaces", 0, "axes", value=lambda axes: axes + axes),
        put("surfaces", 0, "values", value=lambda v: v[:-1]),
        put("surfaces", 0, "values", value=edited(3, np.nan)),
        put("surfaces", 0, "variance", value=edited(3, -1.0)),
        put("surfaces", 0, "axes", 0, "feature", value=2),
        put("link", value="logit"),
    ],
)
def test_pairs_that_contradict_themselves_are_refused(change):
    with pytest.raises(DamagedModelError):
        read(additive_with("values", change))


def test_additive_functions_that_are_not_changed_are_the_model():
    for kind, model in ADDITIVE.items():
        again = read(additive_with(kind, lambda function: None))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def lone(learner, X=X, **params):
    model = ToPsClassifier([("a", learner)], max_depth=0, **HELD_OUT, **params)
    return model.fit(X, y)


def compiled(model, field):
    """Return the file of a model and the name of an array of nodes that has this field."""
    content = dumps(model)
    for name, member in members(content).items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(member))
            if field in (array.dtype.names or ()) and len(array) > 1:
                return content, name, array.copy()
    raise AssertionError(field)


FOREST = lone(RandomForestClassifier(2, random_state=0, max_depth=3))
BOOSTING = lone(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5))


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        (FOREST, "left_child", 10**9),
        (FOREST, "left_child", -2),
        (FOREST, "left_child", 0),
        (FOREST, "right_child", -1),
        (FOREST, "right_child", 10**9),
        (FOREST, "feature", 10**6),
        (FOREST, "feature", -2),
        (BOOSTING, "left", 2**31),
        (BOOSTING, "left", 0),
        (BOOSTING, "right", 0),
        (BOOSTING, "right", 2**31),
        (BOOSTING, "feature_idx", 10**6),
        (BOOSTING, "feature_idx", -1),
        (BOOSTING, "is_categorical", 1),
    ],
)
def test_compiled_trees_do_not_leave_their_arrays(model, field, value):
    content, name, nodes = compiled(model, field)
    assert read(content).predict_proba(X).shape == (len(X), 2)
    nodes[field][0] = value
    with pytest.raises(DamagedModelError, match="damaged estimator"):
        read(changed(content, **{name: npy(nodes)}))


@pytest.mark.parametrize(
    ("model", "key", "value"),
    [
        (FOREST, "node_count", "-1"),
        (FOREST, "n_features_in_", "900"),
        (FOREST, "n_features_in_", "null"),
        (BOOSTING, "n_features_in_", "900"),
    ],
)
def test_estimators_agree_with_their_trees(model, key, value):
    content = dumps(model)
    schema = schema_of(content)
    owners = {"_predictors", "tree_", "estimators_", "node_count"}
    states = [_content(n) for n in nodes_of(schema)]
    found = [state[key] for state in states if key in state and owners & state.keys()]
    assert found
    for n in found:
        n["content"] = value
        n["__id__"] = None  # numbers are shared
    with pytest.raises(DamagedModelError):
        read(changed(content, schema=schema))


def _content(n):
    content = n.get("content")
    return content if isinstance(content, dict) else {}


@pytest.mark.parametrize(
    "change",
    [
        {"_in_fit": True},
        {"_bin_mapper": None},
        {"_preprocessor": StandardScaler().fit(X[:, :1])},
        {"_predictors": [[3]]},
        {"somewhere_else": [RandomForestClassifier(1).fit(X, y)[0].tree_]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_boostings_see_their_own_features(change):
    boosting = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    check_compiled([boosting])
    vars(boosting).update(change)
    with pytest.raises(DamagedModelError, match="damaged estimator"):
        check_compiled([boosting])


def test_ensembles_see_as_many_features_as_their_trees():
    ensemble = GradientBoostingClassifier(n_estimators=2).fit(X, y)
    check_compiled({"a": ensemble})
    ensemble.n_features_in_ = 1
    with pytest.raises(DamagedModelError, match="ensemble of other features"):
        check_compiled({"a": ensemble})


def test_a_generator_stays_within_its_words():
    generator = np.random.Generator(np.random.MT19937(0))
    check_compiled((generator,))
    state = generator.bit_generator.state
    state["state"]["pos"] = 10**9
    generator.bit_generator.state = state
    with pytest.raises(DamagedModelError, match="random generator"):
        check_compiled((generator,))


def test_levels_of_a_boosting_stay_within_their_sets():
    import pandas as pd

    levels = np.array(list("abcdef"))[np.arange(len(X)) % 6]
    frame = pd.DataFrame({"level": levels, "x": X[:, 1]})
    target = np.isin(levels, ["a", "c"]).astype(int)
    learner = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5)
    model = ToPsClassifier([("a", learner)], max_depth=0, **HELD_OUT).fit(frame, target)
    content, name, nodes = compiled(model, "bitset_idx")
    np.testing.assert_array_equal(read(content).predict(frame), model.predict(frame))
    assert nodes["is_categorical"][0]
    nodes["bitset_idx"][0] = 10**6
    with pytest.raises(DamagedModelError, match="unknown set of levels"):
        read(changed(content, **{name: npy(nodes)}))


def test_a_random_state_stays_within_its_words():
    model = ToPsRegressor(
        "lr", max_depth=0, **HELD_OUT | {"random_state": np.random.RandomState(0)}
    )
    content = dumps(model.fit(X, X[:, 0]))
    schema = schema_of(content)
    position = next(n["content"]["pos"] for n in nodes_of(schema) if "pos" in _content(n))
    position |= {"content": "1000000000", "__id__": None}
    with pytest.raises(DamagedModelError, match="random state"):
        read(changed(content, schema=schema))


@pytest.mark.parametrize("name", ["cells", "size", "moved", "apart"])
@pytest.mark.parametrize(
    "lie", [None, np.zeros(3), np.zeros((2, 2), int), (), "a", edited(0, np.nan)]
)
def test_a_census_that_does_not_fit_the_tree_is_refused(name, lie):
    record = to_record(ADDITIVE["two"].model_)
    path = ("cells", 0) if name == "cells" and callable(lie) else (name,)
    put("backgrounds", 0, "census", *path, value=lie)(record)
    with pytest.raises(DamagedModelError):
        read(file_of(record))


def test_a_census_of_a_tree_without_terms_is_refused():
    record = to_record(MODEL.model_)
    put("backgrounds", 0, "census", value=to_record(ADDITIVE["two"].backgrounds_[0].census))(record)
    with pytest.raises(DamagedModelError):
        read(file_of(record))
