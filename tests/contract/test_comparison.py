"""The comparison of two documents finds what a client would notice, and nothing else."""

from __future__ import annotations

from typing import Any

from tests.contract.comparison import JSON, differences

TEXT = {"type": "string"}
NUMBER = {"type": "integer", "format": "int64"}
TREE = {"$ref": "#/components/schemas/Tree"}


def document(operation: dict[str, Any] | None = None, path: str = "/trees/{treeID}", **schemas: Any) -> dict[str, Any]:
    operations = {} if operation is None else {"post": operation}
    return {"paths": {path: operations} if operations else {}, "components": {"schemas": schemas}}


def op(body: Any = None, answer: Any = None, status: str = "200", **parts: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"operationId": "plant", "responses": {status: content(answer)}, **parts}
    return made if body is None else made | {"requestBody": content(body)}


def content(schema: Any) -> dict[str, Any]:
    return {} if schema is None else {"content": {JSON: {"schema": schema}}}


def tree(required: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required)}


def of_records(ours: Any, theirs: Any, *, where: str) -> set[str]:
    """Both documents have one operation, which sends or answers a tree."""
    return differences(document(op(**{where: TREE}), Tree=ours), document(op(**{where: TREE}), Tree=theirs))


def test_equal_documents_do_not_differ() -> None:
    same = document(op(TREE, TREE), Tree=tree(("name",), name=TEXT, children={"type": "array", "items": TREE}))
    assert differences(same, same) == set()


def test_an_operation_that_is_missing_or_elsewhere_is_found() -> None:
    assert differences(document(), document(op())) == {"plant: missing"}
    assert differences(document(op(), path="/woods"), document(op())) == {
        "plant: at POST /woods, not at POST /trees/{treeID}"
    }
    assert differences(document(op()), document()) == set(), "one of our own is nobody's loss"


def test_other_statuses_tags_and_a_missing_body_are_found() -> None:
    ours = document(op(status="201", tags=["a"]))
    theirs = document(op(TREE, tags=["b"]), Tree=tree())
    assert differences(ours, theirs) == {
        "plant: tags ['a'], not ['b']", "plant: no body", "plant: answers ['201'], not ['200']",
    }  # fmt: skip


def test_parameters_are_found_by_name_and_place() -> None:
    def query(name: str, schema: Any = TEXT, **more: Any) -> dict[str, Any]:
        return {"in": "query", "name": name, "schema": schema, **more}

    def compared(ours: list[Any], theirs: list[Any]) -> set[str]:
        return differences(document(op(parameters=ours)), document(op(parameters=theirs)))

    words = {"type": "array", "items": TEXT}
    assert compared([query("to", words, explode=False)], [query("to")]) == set()
    assert compared([query("to", words)], [query("to")]) == {"plant to: array, not string"}
    assert compared([], [query("to")]) == {"plant to: missing"}
    assert compared([query("own")], []) == set()
    assert compared([query("own", required=True)], []) == {"plant own: required"}
    assert compared([query("n", NUMBER)], [query("n", {"type": "integer"})]) == set()


def test_a_request_may_ask_for_less_and_an_answer_may_promise_more() -> None:
    loose, strict = tree(name=TEXT), tree(("name",), name=TEXT)
    assert of_records(loose, strict, where="body") == set()
    assert of_records(strict, loose, where="body") == {"Tree.name: required"}
    assert of_records(strict, loose, where="answer") == set()
    assert of_records(loose, strict, where="answer") == {"Tree.name: not required"}


def test_fields_that_are_missing_or_of_another_kind_are_found_wherever_they_are() -> None:
    twig = {"type": "object", "additionalProperties": NUMBER}
    assert of_records(tree(), tree(name=TEXT), where="answer") == {"Tree.name: missing"}
    assert of_records(tree(name=NUMBER), tree(name=TEXT), where="answer") == {"Tree.name: integer, not string"}
    assert of_records(tree(twigs=twig), tree(twigs=twig | {"additionalProperties": TEXT}), where="body") == {
        "Tree.twigs{}: integer, not string"
    }
    time = {"type": "string", "format": "date-time"}
    assert of_records(tree(at=TEXT), tree(at=time), where="answer") == {"Tree.at: string, not string date-time"}
    assert of_records(tree(own=TEXT), tree(), where="answer") == set()


def test_words_of_a_text_and_more_kinds_in_a_request_are_no_difference() -> None:
    assert of_records(tree(kind=TEXT | {"enum": ["oak"]}), tree(kind=TEXT), where="answer") == set()
    several = tree(root={"anyOf": [NUMBER, TREE]})
    assert of_records(several, tree(root=TREE), where="body") == set()
    assert of_records(several, tree(root=TREE), where="answer") == {"Tree.root: several kinds, not Tree"}


def test_null_is_found_only_where_a_reader_is_not_ready_for_it() -> None:
    maybe = {"allOf": [TREE], "nullable": True}
    assert of_records(tree(root=TREE), tree(root=maybe), where="answer") == set()
    assert of_records(tree(root=maybe), tree(root=TREE), where="body") == set()
    assert of_records(tree(root=maybe), tree(root=TREE), where="answer") == {"Tree.root: may be null"}


def test_a_record_of_another_name_is_found_and_its_fields_all_the_same() -> None:
    ours = document(op(answer={"$ref": "#/components/schemas/Bush"}), Bush=tree())
    theirs = document(op(answer=TREE), Tree=tree(name=TEXT))
    assert differences(ours, theirs) == {"plant 200: Bush, not Tree", "Tree.name: missing"}
