"""Names, numbers and times of sentences: as they are written, listed or new."""

import random

import pytest

from semparse import MR, Ospas
from semparse.entities.dates import date
from semparse.entities.quantities import UNITS, quantity
from semparse.entities.times import time
from semparse.entities.tokens import original, read, tokenize
from semparse.schema import Schema, SchemaError


def parser_for(data, **options):
    texts, meanings = zip(*data, strict=True)
    return Ospas(**options).fit(texts, [[meaning] for meaning in meanings])


def parsed(parser, text):
    found = parser.parse(text)
    return found[0].mr.args if found else None


PLACES = ["McDonald's", "St. Giles", "7-Eleven", "C++", "C#", "O'Brien's", "Oslo"]


def place_parser(listed=PLACES, heard=("Oslo",), **schema):
    schema = {
        "relations": {"find": {"slots": ["place"]}, "leave": {"slots": ["place"]}},
        "types": {"place": list(listed)},
    } | schema
    frames = {"find": ["where is {}", "take me to {}"], "leave": ["get me out of {}", "leave {} now"]}
    data = [(text.format(n), f'{rel}("{n}")') for rel in frames for text in frames[rel] for n in heard]
    return parser_for(data * 4, schema=schema)


@pytest.mark.parametrize("name", PLACES)
def test_a_listed_name_with_punctuation_is_found_in_any_case(name):
    parser = place_parser()
    for text in (name, name.lower(), name.upper(), name.replace("'", "\u2019")):
        assert parsed(parser, f"take me to {text}, please") == (name,)
        assert parsed(parser, ["take", "me", "to", *text.split()]) == (name,)


@pytest.mark.parametrize(
    "name", ["Wilhelmina", "McDonald's", "Jean-Luc van den Berg-Smith junior", "Dr. No", "AC/DC"]
)
def test_a_new_name_of_an_open_type_keeps_its_form_and_its_length(name):
    parser = place_parser(["Oslo", "Bergen"], ["Oslo", "Bergen"], open={"place": True})
    for text in ("where is {}", "leave {} now"):
        assert parsed(parser, text.format(name)) == (name,)


def test_a_copied_name_is_a_part_of_the_text():
    parser = place_parser(["Oslo", "Bergen"], ["Oslo", "Bergen"], open={"place": True})
    rng = random.Random(0)
    words = ["Zed", "o'Neil's", "x-7", "where", "IS", "leave", "now", "12:30", "1,200", "C#", "Bergen"]
    for _ in range(60):
        text = rng.choice([" ", ", ", " - "]).join(rng.choices(words, k=rng.randint(1, 7)))
        for found in parser.parse(text, 3):
            (name,) = found.mr.args
            assert name in text or name not in found.symbols  # a constant that no word names


def test_new_names_are_written_like_those_of_training():
    frames = ["play {}", "put on {}", "i want to hear {}"]
    names = {"Miles Davis": "miles_davis", "Nina Simone": "nina_simone", "Prince": "prince"}
    data = [(text.format(name), f"play({c})") for name, c in names.items() for text in frames] * 3
    schema = {
        "relations": {"play": {"slots": ["artist"]}},
        "types": {"artist": ["prince"]},
        "open": {"artist": True},
    }
    assert parsed(parser_for(data, schema=schema), "play Johnny Cash") == ("johnny_cash",)


def test_an_alias_names_its_constant():
    schema = {
        "relations": {"size": {"slots": ["state"]}},
        "types": {"state": ["ohio", "united states", "_"]},
        "aliases": {"united states": ["usa", "u.s.", "the States"]},
    }
    parser = parser_for(
        [("how big is ohio", "size(ohio)"), ("the size of ohio", "size(ohio)")] * 4, schema=schema
    )
    for name in ("united states", "usa", "U.S.", "the states"):
        assert parsed(parser, f"how big is {name}") == ("united states",)
    assert Schema.from_json(Schema.from_json(schema).to_json()).aliases == schema["aliases"]
    with pytest.raises(SchemaError, match="aliases has 'mars'"):
        Schema.from_json(schema | {"aliases": {"mars": ["red planet"]}})


ALARMS = [("7:45", "7:45"), ("8 pm", "20:00"), ("half past six", "6:30"), ("21:15", "21:15")]


def test_a_new_time_is_not_read_as_another_one():
    data = [(f"wake me at {text}", f"alarm('{value}')") for text, value in ALARMS] * 4
    parser = parser_for(data)
    for text, value in (("7:30", "7:30"), ("5 pm", "17:00"), ("quarter to nine", "8:45"), ("7:45", "7:45")):
        assert parsed(parser, f"wake me at {text}") == (value,)


@pytest.mark.parametrize(
    ("text", "value"),
    [("7:30", "7:30"), ("07:30 pm", "19:30"), ("12 am", "0:00"), ("12:05 pm", "12:05"),
     ("seven o'clock", "7:00"), ("quarter past eleven pm", "23:15"), ("half to one", "0:30")],
)  # fmt: skip
def test_times_are_read_from_digits_and_words(text, value):
    words = tokenize(text)
    assert time([*words, "sharp"], 0) == (len(words), value)


def test_numbers_open_their_type_next_to_other_words_of_it():
    """One "max" among the numbers, and words such as "twice", close nothing and stay known."""
    data = [(f"set the volume to {n}", f"volume({n})") for n in (3, 5, 8, 12)]
    data += [
        ("set the volume to the top", "volume(max)"),
        ("knock twice", "knock(2)"),
        ("knock once", "knock(1)"),
    ]
    data += [("knock thrice", "knock(3)"), ("knock 5 times", "knock(5)")]
    parser = parser_for(data * 4)
    assert parsed(parser, "set the volume to 77") == ("77",)
    assert parsed(parser, "set the volume to 1,200") == ("1200",)
    assert parsed(parser, "set the volume to the top") == ("max",)
    for word, n in (("once", "1"), ("twice", "2"), ("thrice", "3")):
        assert parsed(parser, f"knock {word}") == (n,)


def test_a_relation_can_be_a_constant_too(tmp_path):
    """`latlong` alone and `latlong(one)`, as in questions to maps."""
    data = [("where is {0}", "query({0}, latlong)"), ("the first place of {0}", "query({0}, latlong(one))")]
    data += [("what is the name of {0}", "query({0}, name)")]
    data = [(text.format(town), mr.format(town)) for town in ("paris", "rome", "bonn") for text, mr in data]
    parser = parser_for(data * 3)
    parser.save(tmp_path / "maps.ssvm")
    for one in (parser, Ospas.load(tmp_path / "maps.ssvm")):
        for text, mr in data:
            assert str(one.parse(text)[0]) == mr


def test_the_places_of_words_are_those_of_the_text():
    text = "Don't call\u00a0O'Neil's at 7:30, or +1,200 x C++!"
    words = read(text)
    assert list(words) == ["don", "t", "call", "o", "neil", "'s", "at", "7:30", "or", "+1,200", "x", "c++"]
    assert [text[a:b].lower() for a, b in words.spans] == list(words)
    assert original(words, 3, 6) == "O'Neil's"


def test_a_number_can_be_part_of_a_name_and_a_value():
    """The 3 of "aisle 3" names A3, though "order 3 lamps" copies a number."""
    rng = random.Random(1)
    names = {str(n): f"A{n}" for n in range(1, 7)}
    data = []
    for _ in range(240):
        n, goods = rng.randint(1, 6), rng.choice(["lamps", "tables", "chairs"])
        data.append(
            rng.choice(
                [
                    (f"sweep aisle {n}", f"clean({names[str(n)]})"),
                    (f"put the {goods} in row {n}", f"move({goods}, {names[str(n)]})"),
                    (f"order {n + 4 * n} {goods}", f"order({5 * n}, {goods})"),
                    (f"get {n} more {goods}", f"order({n}, {goods})"),
                ]
            )
        )
    parser = parser_for(data)
    assert parsed(parser, "sweep aisle 3") == ("A3",)
    assert parsed(parser, "put the chairs in row two") == ("chairs", "A2")
    assert parsed(parser, "order 3 tables") == ("3", "tables")
    assert parsed(parser, "get 17 more lamps") == ("17", "lamps")


@pytest.mark.parametrize(
    ("text", "end", "value"),
    [("2026-05-03", 1, "2026-05-03"), ("3 May 2026 at", 3, "2026-05-03"), ("May 3rd, 2026", 3, "2026-05-03"),
     ("3rd of Sep 2026", 4, "2026-09-03"), ("31 april 2026", 1, None), ("may i go", 1, None),
     ("2026-13-01", 1, None), ("3 may", 1, None), ("of of of of", 1, None), ("3 of may of 2026", 1, None)],
)  # fmt: skip
def test_dates_are_read_in_digits_and_words(text, end, value):
    assert date(tokenize(text), 0) == (end, value)


def test_a_new_date_is_copied_as_a_value():
    days = ["2026-05-03", "2026-06-11", "2026-07-28", "2026-08-09"]
    data = [
        (f"book the {room} on {day}", f"book({room}, {day})") for day in days for room in ("hall", "attic")
    ]
    data += [
        (f"is the {room} free on {day}", f"free({room}, {day})") for day in days for room in ("hall", "attic")
    ]
    parser = parser_for(data * 2)
    assert parsed(parser, "book the attic on 2027-01-30") == ("attic", "2027-01-30")
    assert parsed(parser, "is the hall free on the 30th of January 2027") == ("hall", "2027-01-30")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("wait 5 minutes", "5 minutes"),
        ("wait five min", "5 minutes"),
        ("warm it to 20°C", "20 celsius"),
        ("warm it to 20 °C now", "20 celsius"),
        ("warm it to twenty seven degrees celsius", "27 celsius"),
        ("dim to 35% now", "35 percent"),
        ("go 3km", "3 kilometres"),
        ("go 3.5 km", "3.5 kilometres"),
        ("in 90s", "90 seconds"),
        ("1,200 kg", "1200 kilograms"),
        ("espera 5 minutos", "5 minutes"),
        ("in zehn apples", None),
        ("the 5 s", None),
        ("7-eleven", None),
        ("20 people", None),
    ],
)
def test_quantities_are_read_from_digits_and_words(text, found):
    x = read(text)
    assert next((value for i in range(len(x)) if (value := quantity(x, i)[1])), None) == found


@pytest.mark.parametrize("style", ["{} minutes", "{}_min", "{}min"])
def test_new_quantities_are_written_like_those_of_the_training_data(style):
    texts = [f"wake me in {n} {unit}" for n in (3, 5, 8, 12, 40) for unit in ("minutes", "min")] * 2
    meanings = [[f"timer('{style.format(n)}')"] for n in (3, 5, 8, 12, 40) for _ in range(2)] * 2
    rest = [("call anna", ["call(anna)"]), ("call bob", ["call(bob)"])] * 5
    parser = Ospas().fit([*texts, *(text for text, _ in rest)], [*meanings, *(bag for _, bag in rest)])
    for text in ("wake me in 27 minutes", "wake me in twenty seven min"):
        assert parser.parse(text)[0].mr == MR("timer", (style.format(27),))
    usual = parser.schema_.named().types.keys()
    assert any(name.startswith("quantity") for name in usual)


@pytest.mark.parametrize("upper", [False, True])
def test_quantities_in_all_units_make_a_schema_that_can_be_read(upper):
    names = [name for unit in UNITS for name in unit]
    names += [name.title() for name in names] * upper  # too many for a pattern
    mrs = [MR("set", (f"{n} {name}",)) for n, name in enumerate(names)]
    schema = Schema.learn(mrs)
    assert bool(schema.open) is not upper
    assert Schema.from_json(schema.to_json()) == schema


def test_a_quantity_is_also_a_number_for_other_types():
    texts = [f"wait {n} minutes" for n in (2, 3, 4)] * 3 + [f"dim to {n} percent" for n in (20, 30, 40)] * 3
    bags = [[f"wait({n} minutes)".replace(" minutes", "_minutes")] for n in (2, 3, 4)] * 3
    bags += [[f"dim({n})"] for n in (20, 30, 40)] * 3
    parser = Ospas().fit(texts, bags)
    assert list(parser.predict(["wait 7 minutes", "dim to 55 percent", "dim to 55%"])) == [
        "wait(7_minutes)", "dim(55)", "dim(55)",
    ]  # fmt: skip
    assert parser.predict(["wait 2 hours"])[0] == "wait(2_hours)"  # a new unit of the same kind


ROOMS = [("page Anna", "page(Anna)"), ("page Bo", "page(Bo)")] * 12
UNITS_SAID = [
    ("{} °C", "{}_degrees"), ("{} degrees", "{}_fahrenheit"),
    ("{} degrees", "{}_C"), ("{} °C", "{}C"), ("${}", "{}_dollars"), ("{}", "{}_kg"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "meant"), UNITS_SAID)
def test_a_new_quantity_keeps_its_number_where_meanings_write_the_unit_otherwise(said, meant, tmp_path):
    data = [(f"set it to {said.format(n)}", f"set({meant.format(n)})") for n in (14, 15, 17, 18, 22, 24, 27)]
    parser = parser_for(data * 6 + ROOMS)
    parser.save(tmp_path / "m.ssvm")
    for one in (parser, Ospas.load(tmp_path / "m.ssvm")):
        for n in (17, 20, 31, 33.5):
            assert parsed(one, f"set it to {said.format(n)}") == (meant.format(n),)


@pytest.mark.parametrize(("said", "meant", "text"), [
    ("{} °C", "{}_degrees", "31 °F"), ("{} degrees", "{}_C", "31 °F"), ("{} °C", "{}C", "20 degrees"),
    ("{} kg", "{} kg", "20 lumens"),
])  # fmt: skip
def test_a_quantity_that_training_lacks_is_not_answered_with_another_one(said, meant, text):
    data = [
        (f"set it to {said.format(n)}", f"set('{meant.format(n)}')") for n in (14, 15, 17, 18, 22, 24, 27)
    ]
    assert parsed(parser_for(data * 6 + ROOMS), f"set it to {text}") is None


@pytest.mark.parametrize(
    ("hours", "usual"), [((6, 7, 9, 11, 16, 20, 22, 23), "{}:37"), ((6, 7, 9, 16, 20, 22), "{:02}:37")]
)
def test_new_times_are_written_as_in_training(hours, usual):
    zero = usual == "{:02}:37"
    times = [f"{h:02}:{m}" if zero else f"{h}:{m}" for h in hours for m in ("15", "45")]
    parser = parser_for([(f"wake me at {t}", f"alarm('{t}')") for t in times] * 3 + ROOMS)
    for text, hour in (("8:37", 8), ("08:37", 8), ("18:37", 18)):
        assert parsed(parser, f"wake me at {text}") == (usual.format(hour),)
    assert parsed(parser, "wake me at 24:99") is None
