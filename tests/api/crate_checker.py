"""The checker of RO-Crates (roc-validator), without a network."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

# The terms of RO-Crate's own list (version 1.1.3, public domain) that crates of runs use. The checker complains of any
# other term.
TERMS = Path(__file__).parent / "ro_crate_terms.json"
ADDRESS = "https://w3id.org/ro/crate/1.1/context"


def complaints(crate: Path, profile: str, cache: Path) -> list[str]:
    """Return what a crate lacks that its profile requires; `cache` is a file for what the checker would download."""
    pytest.importorskip("rocrate_validator")  # with requests and its cache
    from rocrate_validator import services
    from rocrate_validator.models import Severity, ValidationSettings

    _remember(cache)
    settings = ValidationSettings(
        rocrate_uri=str(crate),
        profile_identifier=profile,
        requirement_severity=Severity.REQUIRED,
        offline=True,
        cache_path=cache,
    )
    found = services.validate(settings)
    return [f"{issue.check.identifier}: {issue.message}" for issue in found.get_issues()]


def _remember(cache: Path) -> None:
    """Put RO-Crate's terms into the checker's cache, as if they had been downloaded."""
    import requests
    import requests_cache
    import urllib3

    body = TERMS.read_bytes()
    answer = requests.Response()
    answer.status_code, answer.url = 200, ADDRESS
    answer.headers["Content-Type"] = "application/ld+json"
    answer.raw = urllib3.HTTPResponse(io.BytesIO(body), status=200, preload_content=False)
    answer._content = body
    answer.request = requests.Request("GET", ADDRESS).prepare()
    with requests_cache.CachedSession(str(cache), backend="sqlite", expire_after=-1) as session:
        session.cache.save_response(answer, session.cache.create_key(answer.request))
