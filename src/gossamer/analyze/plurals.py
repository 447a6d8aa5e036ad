"""Singular and plural of a keyword's last word, by the rules of English and its usual exceptions.

Nothing here guesses at other languages: of a word that these rules do not fit, only the form with an s is looked for,
which is the plural of most loan words and acronyms too (`CRM`, `CRMs`).
"""

import re
from collections.abc import Mapping

_LATIN = re.compile(r"[A-Za-zÀ-ÖØ-öø-ɏ]+")
_LAST_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]+\Z")
_HISSES = ("s", "x", "z", "ch", "sh")
_VOWELS = frozenset("aeiou")
_SHORTEST = 3  # letters of a singular that is found by taking an ending off
_IRREGULAR: Mapping[str, str] = {
    "ad": "ads",
    "analysis": "analyses",
    "basis": "bases",
    "calf": "calves",
    "child": "children",
    "crisis": "crises",
    "criterion": "criteria",
    "foot": "feet",
    "goose": "geese",
    "half": "halves",
    "hero": "heroes",
    "knife": "knives",
    "leaf": "leaves",
    "life": "lives",
    "loaf": "loaves",
    "man": "men",
    "matrix": "matrices",
    "mouse": "mice",
    "person": "people",
    "phenomenon": "phenomena",
    "potato": "potatoes",
    "quiz": "quizzes",
    "scarf": "scarves",
    "shelf": "shelves",
    "thesis": "theses",
    "thief": "thieves",
    "tomato": "tomatoes",
    "tooth": "teeth",
    "wife": "wives",
    "wolf": "wolves",
    "woman": "women",
}
_SINGULAR_OF = {plural: singular for singular, plural in _IRREGULAR.items()}
_REGULAR = frozenset(
    {"barefoot", "behalf", "bluetooth", "caiman", "german", "human", "mongoose", "norman", "ottoman", "roman", "shaman"}
    | {"talisman"}
)
# They end in s and are no plurals; of the first ones there is none at all.
_UNCHANGED = frozenset(
    {
        "across",
        "always",
        "data",
        "goods",
        "headquarters",
        "https",
        "its",
        "mathematics",
        "means",
        "news",
        "perhaps",
        "physics",
    }
    | {"politics", "saas", "series", "species", "texas", "thanks", "yes"}
)
# What looks like the plural of another word, `IT` or `new`, and stands in nearly every text with its own meaning.
_NEVER_FORMS = _UNCHANGED | {"as", "does", "has", "his", "is", "plus", "this", "thus", "us", "was"}
_NEVER_OF_TWO = {"bus", "gas", "mas", "yes"}  # of words of two letters
_NO_PLURALS = frozenset({"atlas", "bias", "canvas", "christmas", "gas", "lens"})


def forms_of(keyword: str) -> tuple[str, ...]:
    """The other forms of a keyword: its plurals, and its singular if it is a plural. In the case it is written in."""
    found = _LAST_WORD.search(keyword)
    if found is None or not _LATIN.fullmatch(found[0]) or len(found[0]) < 2:
        return ()
    word = found[0]
    shouted = word.isupper()
    if word[-1] == "s" and word[:-1].isupper():
        forms = {word[:-1]: None}  # CRM, of CRMs
    else:
        forms = dict.fromkeys(form.upper() if shouted else _cased(form, word) for form in _of_word(word.lower()))
    if shouted:
        forms[f"{word}s"] = None  # CRMs
    never = _NEVER_FORMS | _NEVER_OF_TWO if len(word) == 2 else _NEVER_FORMS
    return tuple(keyword[: found.start()] + form for form in forms if form != word and form.lower() not in never)


def _of_word(word: str) -> tuple[str, ...]:
    if word in _UNCHANGED:
        return ()
    if word in _IRREGULAR or len(word) == 2:
        return (_IRREGULAR.get(word, f"{word}s"),)
    if word in _SINGULAR_OF:
        return (_SINGULAR_OF[word], *_singulars_of(word))
    return _of_compound(word) or _singulars_of(word) or (_plural_of(word),)


def _of_compound(word: str) -> tuple[str, ...]:
    """Return the other forms of a word that ends with an irregular one: salesman, grandchildren."""
    for singular, plural in _IRREGULAR.items():
        if word.endswith(singular) and word not in _REGULAR:
            return (word.removesuffix(singular) + plural,)
        if word.endswith(plural) and plural != "ads":  # specimens and olives only look like it
            return (word.removesuffix(plural) + singular, *(_singulars_of(word) or (_plural_of(word),)))
    return ()


def _plural_of(word: str) -> str:
    if word.endswith(_HISSES):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return f"{word[:-1]}ies"
    return f"{word}s"


def _singulars_of(word: str) -> tuple[str, ...]:
    """Return all possible singulars of a plural (`buses`, `houses`); empty if it is not a plural.

    Some may not be words, which does no harm, since they occur on no page.
    """
    if word in _NO_PLURALS or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return ()
    if word.endswith("ies") and len(word) > 4:
        found: tuple[str, ...] = (f"{word[:-3]}y", word[:-1])
    elif word.endswith(("xes", "ches")):
        found = (word[:-2], word[:-1])  # boxes and axes, watches and caches
    elif word.endswith(("sses", "zzes", "shes")):
        found = (word[:-2],)
    elif word.endswith("ses"):
        found = (word[:-1], word[:-2])
    else:
        found = (word[:-1],)
    return tuple(singular for singular in found if len(singular) >= _SHORTEST)


def _cased(form: str, word: str) -> str:
    """A form in the case of its word, as far as they begin alike."""
    same = next((at for at, (a, b) in enumerate(zip(form, word.lower(), strict=False)) if a != b), None)
    kept = min(len(form), len(word)) if same is None else same
    return word[:kept] + form[kept:]
