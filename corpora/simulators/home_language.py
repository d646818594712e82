"""The words of the simulated smart home: names, numbers, commands, comments, and talk about nothing."""

from __future__ import annotations

from random import Random

HERE = "hall"  # the room of the microphone: the one that is meant if no room is said
ROOMS = (HERE, "kitchen", "bathroom", "bedroom", "garage", "office")
DEVICES = ("lamp", "tv", "fan", "heater", "radio")
MUSIC = ("jazz", "rock", "opera", "blues", "techno", "reggae")
PEOPLE = ("anna", "bob", "carla", "dmitri", "elif", "frank", "grace", "hiro")
APPLIANCES = ("dishwasher", "dryer", "robot", "oven")
# Several words, many of them shared; the symbols join them by underscores.
LONG_ROOMS = ("living_room", "dining_room", "small_guest_room", "large_guest_room", "small_guest_bath")
LONG_DEVICES = ("floor_lamp", "desk_lamp", "ceiling_fan", "coffee_machine")
LONG_MUSIC = ("blue_river", "river_of_stars", "night_train", "the_last_train")
LONG_PEOPLE = ("aunt_rosa", "uncle_tom", "doctor_lee")
# Names that no sentence has unless `unseen` asks for them.
NEW_MUSIC = ("polka", "samba", "grunge", "baroque")
NEW_PEOPLE = ("ines", "jamal", "kaito", "lucy", "marek", "nadia")
NEW_LONG_MUSIC = ("golden_fields", "train_to_nowhere", "one_more_winter")
NEW_LONG_PEOPLE = ("aunt_olga", "doctor_ito", "cousin_pete")

TYPES: dict[str, tuple[str, ...]] = {
    "room": ROOMS, "device": DEVICES, "music": MUSIC, "person": PEOPLE, "appliance": APPLIANCES,
    "opening": ("window", "blinds", "curtains"), "door": ("gate", "porch", "cellar"),
    "degrees": tuple(map(str, range(14, 30))), "percent": tuple(map(str, range(5, 100, 5))),
    "minutes": tuple(map(str, range(2, 60))),
}  # fmt: skip
LONG: dict[str, tuple[str, ...]] = {
    "room": LONG_ROOMS,
    "device": LONG_DEVICES,
    "music": LONG_MUSIC,
    "person": LONG_PEOPLE,
}
NEW: dict[str, tuple[str, ...]] = {"music": NEW_MUSIC, "person": NEW_PEOPLE}
NEW_LONG: dict[str, tuple[str, ...]] = {"music": NEW_LONG_MUSIC, "person": NEW_LONG_PEOPLE}
NUMBERS = ("degrees", "percent", "minutes")
# Other words for a symbol; without an entry, its own words name it.
SYNONYMS = {
    "tv": ("tv", "television"), "radio": ("radio", "wireless"), "robot": ("robot", "vacuum"),
    "office": ("office", "study"), "blinds": ("blinds", "shutters"),
}  # fmt: skip

RELATIONS: dict[str, tuple[str, ...]] = {
    "turn_on": ("device", "room"), "turn_off": ("device", "room"), "set_temperature": ("room", "degrees"),
    "dim": ("room", "percent"), "open": ("opening", "room"), "close": ("opening", "room"),
    "play": ("music", "room"), "lock": ("door",), "unlock": ("door",), "run": ("appliance",),
    "timer": ("minutes",), "call": ("person",), "came_home": ("person",), "left_home": ("person",),
    "sleeps": ("person",), "raining": (), "sunset": (),
}  # fmt: skip
COMMENTS = ("came_home", "left_home", "sleeps", "raining", "sunset")
# Numbers are arguments; a part in brackets is left out with the room that it names.
FRAMES = {
    "turn_on": (
        "turn on the {0}[ in the {1}]", "switch the {0}[ in the {1}] on",
        "[in the {1} ]put the {0} on please", "i would like the[ {1}] {0} on",
    ),
    "turn_off": (
        "turn off the {0}[ in the {1}]", "switch the {0}[ in the {1}] off",
        "no need for the {0}[ in the {1}]", "kill the[ {1}] {0}",
    ),
    "set_temperature": (
        "set the temperature[ in the {0}] to {1}", "make it {1} degrees[ in the {0}]",
        "heat the {0} to {1} degrees", "[in the {0} ]we want {1} degrees",
    ),
    "dim": (
        "dim the lights[ in the {0}] to {1} percent", "lights[ in the {0}] at {1} percent",
        "[in the {0} ]bring the lights down to {1}",
    ),
    "open": (
        "open the {0}[ in the {1}]", "let some air in through the[ {1}] {0}", "[in the {1} ]raise the {0}"
    ),
    "close": ("close the {0}[ in the {1}]", "shut the[ {1}] {0}", "[in the {1} ]lower the {0}"),
    "play": ("play {0}[ in the {1}]", "put some {0} on[ in the {1}]", "[in the {1} ]i want to hear {0}"),
    "lock": ("lock the {0}", "bolt the {0} for the night", "make sure the {0} is locked"),
    "unlock": ("unlock the {0}", "unbolt the {0} for the guests"),
    "run": ("run the {0}", "start the {0}", "get the {0} going"),
    "timer": ("set a timer for {0} minutes", "wake me in {0} minutes", "count down {0} minutes"),
    "call": ("call {0}", "give {0} a ring", "get {0} on the phone"),
    "came_home": ("{0} is back", "{0} just came home", "look who arrived it is {0}"),
    "left_home": ("{0} has left", "{0} went out a moment ago", "there goes {0} off to work"),
    "sleeps": ("{0} is asleep", "{0} fell asleep", "quiet now {0} is sleeping"),
    "raining": ("it is raining", "oh no rain again", "it started to pour"),
    "sunset": ("the sun is down", "it got dark outside", "the sun has set"),
}  # fmt: skip
CONDITIONS = {
    "came_home": ("{0} comes home", "{0} arrives"),
    "left_home": ("{0} leaves", "{0} goes out"),
    "sleeps": ("{0} falls asleep", "{0} sleeps"),
    "raining": ("it rains", "it starts to rain"),
    "sunset": ("the sun sets", "it gets dark"),
}
WHEN = ("when", "whenever", "as soon as", "once")
AND = ("and", "then", "and then", "and also")
# Off-topic talk: {room}, {device}, {person} and {percent} are names; the others are any of these words.
NOTHING = (
    "the {room} looks {how} today", "{person} told me a {how} story", "what a {how} {day}",
    "i think the {device} was {how}", "do you remember the {thing} in the {room}",
    "{person} likes the {thing}", "we need {percent} {thing}s for the {day}", "how was your {day}",
    "i am so {how}", "never mind the {thing}", "{person} and {other} had a {how} {day}",
    "who left the {thing} on the {device}", "my {thing} is in the {room} i guess",
    "that {thing} is {how}", "the {day} was {how} for {person}",
    "i read about a {how} {device}", "it is {percent} years since that {day}",
)  # fmt: skip
FILLERS = {
    "how": ("lovely", "tired", "funny", "long", "strange", "hungry", "bright", "terrible", "quiet"),
    "day": ("day", "week", "holiday", "birthday", "meeting", "dinner", "summer"),
    "thing": ("book", "shoe", "cake", "letter", "cat", "plant", "picture", "bag", "game"),
}

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def number_words(number: int) -> str:
    """A number below one hundred in words, such as "twenty seven"."""
    if number < len(_ONES):
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens - 2] + (f" {_ONES[ones]}" if ones else "")


def misspelt(word: str, rng: Random) -> str:
    """A word with one letter dropped, doubled, replaced, or swapped with the next."""
    at = rng.randrange(len(word) - 1)
    return rng.choice(
        (
            word[:at] + word[at + 1 :],
            word[: at + 1] + word[at:],
            word[:at] + rng.choice(_ALPHABET) + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        )
    )
