"""Units of measure that a number in an answer may carry: what each measures, and how many of the base unit it is.

Only units that are unmistakable beside a number; a word that is not here is taken for what was counted, and says
nothing about the value.
"""

from __future__ import annotations

MULTIPLES = {
    "hundred": 1e2,
    "k": 1e3,
    "thousand": 1e3,
    "mn": 1e6,
    "mio": 1e6,
    "million": 1e6,
    "millions": 1e6,
    "bn": 1e9,
    "billion": 1e9,
    "billions": 1e9,
    "trillion": 1e12,
    "trillions": 1e12,
    "千": 1e3,
    "万": 1e4,
    "萬": 1e4,
    "亿": 1e8,
    "億": 1e8,
}
"""Words that multiply the number before them."""

_LENGTH = {
    "mm millimetre millimetres millimeter millimeters 毫米": 1e-3,
    "cm centimetre centimetres centimeter centimeters 厘米": 1e-2,
    "m metre metres meter meters 米": 1.0,
    "km kilometre kilometres kilometer kilometers 公里 千米": 1e3,
    "inch inches": 0.0254,
    "ft foot feet": 0.3048,
    "yd yard yards": 0.9144,
    "mi mile miles": 1609.344,
}
_MASS = {
    "mg milligram milligrams 毫克": 1e-6,
    "g gram grams 克": 1e-3,
    "kg kilogram kilograms 公斤 千克": 1.0,
    "t tonne tonnes 吨": 1e3,
    "lb lbs pound pounds": 0.45359237,
    "oz ounce ounces": 0.028349523125,
}
_TIME = {
    "ms millisecond milliseconds 毫秒": 1e-3,
    "s sec secs second seconds 秒": 1.0,
    "min mins minute minutes 分钟": 60.0,
    "h hr hrs hour hours 小时": 3600.0,
    "day days 天": 86400.0,
    "week weeks 周": 604800.0,
}
_AREA = {"m2 sqm": 1.0, "ha hectare hectares 公顷": 1e4, "km2 sqkm": 1e6}
_VOLUME = {"ml millilitre millilitres milliliter milliliters": 1e-3, "l litre litres liter liters 升": 1.0}
_DATA = {"byte bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
_SHARE = {"% percent ‰": 0.01}
_MONEY = {
    "usd": "$ usd us$ dollar dollars 美元",
    "eur": "€ eur euro euros 欧元",
    "gbp": "£ gbp",
    "cny": "¥ cny rmb yuan 元 人民币",
    "jpy": "jpy yen 円",
    "inr": "₹ inr rupee rupees",
}


def _table() -> dict[str, tuple[str, float]]:
    table = {}
    measures = {
        "length": _LENGTH,
        "mass": _MASS,
        "time": _TIME,
        "area": _AREA,
        "volume": _VOLUME,
        "data": _DATA,
        "share": _SHARE,
    }
    for measure, units in measures.items():
        table.update({name: (measure, size) for names, size in units.items() for name in names.split()})
    table["‰"] = ("share", 0.001)
    for currency, names in _MONEY.items():
        table.update(dict.fromkeys(names.split(), (currency, 1.0)))
    return table


UNITS = _table()
"""Unit to what it measures and its size in the base unit of that."""
