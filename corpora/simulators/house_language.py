"""How the simulated house is spoken of: names, pronouns, and a frame for each verb."""

from __future__ import annotations

from random import Random

from corpora.bags import NO_SYMBOL

# Frames: numbers are arguments, * marks the word that names the verb; the rest stands as it is.
FRAMES = {
    "move": "0 goes* from 1 to 2",
    "get": "0 gets* 1 from 2",
    "give": "0 gives* 1 to 2",
    "put": "0 puts* 1 {on} 2",
    "sleep": "0 sleeps* on 1",
    "wake_up": "0 wakes* up",
    "play": "0 plays* with 1",
    "drink": "0 drinks* 1",
    "eat": "0 eats* 1",
    "bring": "0 brings* 1 to 2",
    "drop": "0 drops* 1 in 2",
    "sit": "0 sits* on 1",
    "stand_up": "0 stands* up",
    "cook": "0 cooks* 1",
    "work": "0 works* on 1",
}
PEOPLE = ("John", "Mark", "Harry", "Gina", "Francoise", "Maggie")
KIN = {"John": "father", "Gina": "mother", "Mark": "brother"}
MORE_KIN = {"Harry": "uncle", "Francoise": "sister", "Maggie": "aunt"}
HE, SHE, IT = ("he", "him"), ("she", "her"), ("it", "it")
PRONOUNS = dict.fromkeys(PEOPLE[:3], HE) | dict.fromkeys(PEOPLE[3:], SHE)
# Said with "the", or with "some", "a" or nothing else where that is English.
SOME = {"water", "milk", "chocolate", "yoghurt", "salad", "rice", "bread"}
WITH_A = {"doll", "toy", "ball", "football", "videogame", "book"}
PLACES = {"kitchen", "bedroom", "hall", "livingroom", "garden", "bathroom"}
ENCLOSING = {"fridge", "closet", "cupboard"}


def pronoun(concept: str, place: int) -> str:
    """The pronoun of a concept as argument number `place`; rooms have none."""
    return "" if concept in PLACES else PRONOUNS.get(concept, IT)[place > 0]


class Describer:
    """Makes sentences; second_names gives every person a second unique name, where there are no pronouns."""

    def __init__(self, rng: Random, *, second_names: bool) -> None:
        self.rng = rng
        self.second_names = second_names
        self.kin = KIN | MORE_KIN if second_names else KIN

    def describe(
        self, verb: str, args: tuple[str, ...], hidden: int | None = None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Words and what each names; the argument `hidden` becomes a pronoun."""
        words: list[tuple[str, str]] = []
        for part in FRAMES[verb].split():
            if part.isdigit():
                place = int(part)
                if place == hidden:
                    words.append((pronoun(args[place], place), args[place]))
                else:
                    words += self.name(args[place])
            elif part.endswith("*"):
                said = "walks" if part == "goes*" and self.second_names and self.rng.random() < 0.5 else part
                words.append((said.rstrip("*"), verb))
            else:
                preposition = "in" if args[-1] in ENCLOSING else "on"
                words.append((preposition if part == "{on}" else part, NO_SYMBOL))
        tokens, symbols = zip(*words, strict=True)
        return tokens, symbols

    def name(self, concept: str) -> list[tuple[str, str]]:
        """A noun phrase that means one concept only, its head labelled."""
        if concept in PEOPLE and not (concept in self.kin and self.rng.random() < 0.5):
            return [(concept, concept)]
        noun = self.kin.get(concept, concept)
        article = "some" if noun in SOME else "a" if noun in WITH_A else "the"
        return [("the" if self.rng.random() < 0.5 else article, NO_SYMBOL), (noun, concept)]
