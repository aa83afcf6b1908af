"""What expected.json says, and where what is seen differs from it."""

import os


def differences(expected, seen, path=""):
    """Where what is seen is not what is expected. A list means any of these; `contains`: a word in a text."""
    if isinstance(expected, dict) and set(expected) == {"contains"}:
        return (
            []
            if expected["contains"].lower() in str(seen).lower()
            else [f"{path}: {str(seen)[-200:]!r} lacks {expected['contains']!r}"]
        )
    if isinstance(expected, dict):
        if not isinstance(seen, dict):
            return [f"{path}: {seen!r}, not {expected!r}"]
        found = []
        for key, value in expected.items():
            found += differences(value, seen.get(key), f"{path}.{key}" if path else key)
        return found
    if isinstance(expected, list) and expected:
        fits = any(not differences(one, seen) for one in expected)
        return [] if fits else [f"{path}: {seen!r}, none of {expected!r}"]
    return [] if seen == expected else [f"{path}: {seen!r}, not {expected!r}"]


def with_patterns(everything, entry):
    """An entry with what it is `like` filled in."""
    like = entry.get("like")
    own = {key: value for key, value in entry.items() if key != "like"}
    return _merged(with_patterns(everything, everything["patterns"][like]), own) if like else own


def expectation(everything, variant, check, via):
    """What holds for all, or for this RabbitMQ; then for where messages wait."""
    entry = everything["set-ups"].get(str(variant), {}).get(check)
    if entry is None:
        return {f"expected.json says nothing of {variant} {check}": True}
    entry = with_patterns(everything, entry.get(f"RabbitMQ {os.environ.get('DLO_TEST_RABBITMQ')}", entry))
    return _merged(
        {key: value for key, value in entry.items() if not key.startswith(("via ", "RabbitMQ "))},
        entry.get(f"via {via}", {}),
    )


def _merged(base, over):
    merged = dict(base)
    for key, value in over.items():
        merged[key] = (
            _merged(merged[key], value) if isinstance(value, dict) and isinstance(merged.get(key), dict) else value
        )
    return merged
