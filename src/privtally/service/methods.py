"""What OPTIONS answers: every method of a path."""

from litestar.datastructures import MutableScopeHeaders
from litestar.types import Message, Scope


async def name_all_methods(message: Message, scope: Scope) -> None:
    """Name every method of the path in the answer to OPTIONS; the framework names those it was told of first."""
    if scope.get("method") != "OPTIONS" or message["type"] != "http.response.start" or "path_template" not in scope:
        return
    methods = {
        method
        for route in scope["litestar_app"].routes
        if route.path_format == scope["path_template"]
        for method in getattr(route, "methods", ())
    }
    MutableScopeHeaders.from_message(message)["Allow"] = ", ".join(sorted(methods))
