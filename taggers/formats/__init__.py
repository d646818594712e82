"""File formats: one module each, with an object called FORMAT; `taggers.formats.files` opens files."""

# Detection tries the formats in this order; the last one matches every file.
NAMES = ("conllu", "svmhmm", "crfsuite", "text", "columns")
AUTO = "auto"
