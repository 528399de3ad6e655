"""What ``mxref diff --json`` prints about block formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mxref.blocks.two_level import TensorScale
    from mxref.conformance.differing.difference import BlockBytes, Difference
    from mxref.conformance.differing.figures import DataFigures

__all__ = ["as_json"]


def as_json(found: Difference) -> dict[str, Any]:
    """The difference between two profiles in a block format, as `--json` prints it."""
    digits, of_scale = found.layout.width // 4, -(-found.format.scale.bits // 4)

    def bits(words: tuple[int, ...]) -> str:
        return " ".join(f"{word:0{digits}x}" for word in words)

    def made(one: BlockBytes) -> dict[str, Any]:
        if one.scale is None:
            return {"error": True}
        return {
            **tensor(one.tensor),
            "scale": f"{one.scale:0{of_scale}x}",
            "codes": " ".join(f"{code:02x}" for code in one.codes),
            "read": bits(one.own),
            "read_by_the_other": bits(one.other) if one.other else None,
        }

    def tensor(one: TensorScale | None) -> dict[str, Any]:
        if one is None:
            return {}
        return {"tensor_scale": f"{one.bits:08x}", "tensor_scale_kind": one.kind.value}

    return {
        "a": found.a,
        "b": found.b,
        "format": found.format.name,
        "float": found.layout.name,
        "blocks": found.tried,
        "notes": list(found.notes),
        "quantizing": [
            {
                "kind": one.kind,
                "blocks": one.count,
                "in": bits(one.words),
                **({} if one.elsewhere is None else {"elsewhere": bits((one.elsewhere,))}),
                "a": made(one.a),
                "b": made(one.b),
            }
            for one in found.examples
        ],
        "reading": [
            {
                "kind": one.kind,
                "pairs": one.count,
                **tensor(one.tensor),
                "scale": f"{one.scale:0{of_scale}x}",
                "code": f"{one.code:02x}",
                "a": bits((one.a,)),
                "b": bits((one.b,)),
            }
            for one in found.readings
        ]
        if found.read
        else None,
        "data": [_figures_as_json(one) for one in found.figures],
        **({} if found.total is None else {"total": _figures_as_json(found.total)}),
    }


def _figures_as_json(one: DataFigures) -> dict[str, Any]:
    return {
        "data": one.data,
        "elements": one.elements,
        "blocks": one.blocks,
        "sqnr_db": one.sqnr_db,
        "not_finite": one.lost,
        "other_scale": one.other_scale,
        "other_code": one.other_code,
        "other_value": one.other_value,
        "other_sign": one.other_sign,
        "b_reads_a_otherwise": one.other_reading[0],
        "a_reads_b_otherwise": one.other_reading[1],
    }
