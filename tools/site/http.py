"""The HTTP interface, as the service describes itself."""

from typing import Any, cast

from privtally.service.app import create_app
from privtally.store.session import Store


def http_page() -> str:
    """A section for each path and method of the service's OpenAPI document."""
    described = create_app(cast(Store, None)).openapi_schema.to_schema()  # describing opens no store
    operations = [
        _section(method.upper(), path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    return "\n".join(operations)


def _section(method: str, path: str, operation: dict[str, Any]) -> str:
    lines = [f"## {method} {path}", "", f"{operation['summary']}. {_who(operation)}", ""]
    parameters = operation.get("parameters", [])
    if parameters:
        lines += ["| parameter | in | required |", "|---|---|---|"]
        lines += [f"| `{p['name']}` | {p['in']} | {'yes' if p.get('required') else 'no'} |" for p in parameters]
        lines.append("")
    body = operation.get("requestBody")
    if body:
        lines += [f"Body: {_kinds(body['content'])}.", ""]
    lines += ["| status | means |", "|---|---|"]
    lines += [f"| {status} | {_meaning(status, response)} |" for status, response in operation["responses"].items()]
    return "\n".join([*lines, ""])


def _meaning(status: str, response: dict[str, Any]) -> str:
    meaning = str(response["description"]).rstrip(".")
    given = response.get("content", {})
    return f"{meaning}: {_kinds(given)}" if status.startswith("2") and given else meaning


def _who(operation: dict[str, Any]) -> str:
    needed = operation.get("security", [])
    if not needed:
        return "Everybody may ask."
    if {} in needed:
        return "For the administrator, or for everybody if the campaign publishes its estimates."
    return "For the administrator."


def _kinds(content: dict[str, Any]) -> str:
    return ", ".join(f"`{kind}`" for kind in content)
