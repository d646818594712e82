"""The semantic parsing part of `structsvm demo`: learn a simulated sportscast and parse it."""

from __future__ import annotations

import time
import warnings

from corpora.simulators.sportscast import simulate_sportscast
from semparse.evaluation import score_matches, score_parses
from semparse.ospas import Ospas


def demo(*, seed: int = 0) -> None:
    """Train on 600 comments with candidate meanings, test on 300 others, and show some of them."""
    bags = simulate_sportscast(600, seed=seed)
    test = simulate_sportscast(300, seed=seed + 1)
    print(
        "4. Train a semantic parser on 600 comments on a simulated football game\n"
        "   $ structsvm parse train game.jsonl\n\n"
        "   Each comment has the events just before it as candidate meanings; the right one is unknown:\n"
    )
    example = next(bag for bag in bags if len(bag.candidates) == 3)
    print(f'   "{example.text}"')
    print("".join(f"      {mr} ?\n" for mr in example.candidates))
    start = time.perf_counter()
    parser = Ospas(random_state=seed).fit([bag.text for bag in bags], [bag.candidates for bag in bags])
    print(f"   Trained in {time.perf_counter() - start:.1f} s. On 300 comments of another game:\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an event that never happened in the first game cannot be matched
        print(f"   parsing comments that mean an event       {score_parses(parser, test)}")
        print(f"   choosing the candidate that is meant      {score_matches(parser, test)}\n")
    shown: set[str] = set()
    for bag in test:
        gold = bag.gold or ()
        for parse in parser.parse(bag.text) if gold and len(shown) < 3 else ():
            if parse.mr.rel not in shown and len(parse.mr.args) > 1:
                shown.add(parse.mr.rel)
                wrong = "" if str(parse) in gold else f"   (wrong: it means {', '.join(gold)})"
                print(f'   "{bag.text}"\n      => {parse}{wrong}')
