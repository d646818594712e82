"""File formats: one module each, with an object called FORMAT; `taggers.formats.files` opens files."""

# Detection tries the formats in this order; the last one matches every file.
NAMES = (
    "conllup", "conllu", "brat", "jsonl", "labelstudio", "spacy", "parserator", "csv", "svmhmm", "crfsuite",
    "text", "columns",
)  # fmt: skip
AUTO = "auto"
