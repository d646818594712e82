"""The templates that have a name, and the patterns that extend them by word classes and gazetteers."""

NAMED = {
    # The classic chunking template: with a cutoff of 3 it has 76,328 features on CoNLL-2000.
    "conll2000": """
        w[-2..2], w[-1]|w[0], w[0]|w[1],
        p[-2..2], p[-2]|p[-1], p[-1]|p[0], p[0]|p[1], p[1]|p[2],
        p[-2]|p[-1]|p[0], p[-1]|p[0]|p[1], p[0]|p[1]|p[2]
    """,
    "pos": """
        w[0], lower[-2..2], lower[-1]|lower[0], lower[0]|lower[1], lower[-1]|lower[1],
        prefix1[0], lower_prefix2[0], lower_prefix3[0], lower_prefix4[0], lower_prefix5[0],
        lower_suffix1[-1..1], lower_suffix2[-1..1], lower_suffix3[-1..1], lower_suffix4[0], lower_suffix5[0],
        lower[0]|lower_suffix2[-1], lower[0]|lower_suffix2[1],
        lower_suffix3[0]|lower[-1], lower_suffix3[0]|lower[1],
        shape[-1..1], short_shape[-1..1], has_digit[0], has_hyphen[0], is_title[0], is_upper[0],
        cluster[-2..2], cluster[-2]|cluster[-1], cluster[-1]|cluster[0], cluster[-1]|cluster[1],
        cluster[0]|cluster[1], cluster[1]|cluster[2], short_shape[0]|cluster[-1], short_shape[0]|cluster[1],
        bias
    """,
    "chunk": """
        w[-2..2], w[-1]|w[0], w[0]|w[1],
        p[-2..2], p[-2]|p[-1], p[-1]|p[0], p[0]|p[1], p[1]|p[2], p[-1]|p[1],
        p[-2]|p[-1]|p[0], p[-1]|p[0]|p[1], p[0]|p[1]|p[2],
        w[0]|p[0], w[0]|p[-1], w[0]|p[1], w[-1]|p[0], w[1]|p[0], w[-1]|p[-1], w[1]|p[1],
        lower[0], suffix3[0], shape[0], is_title[0], has_hyphen[0], bias
    """,
    "ner": """
        w[-1..1], lower[-2..2], w[-1]|w[0], w[0]|w[1], lower[-1]|lower[0], lower[0]|lower[1],
        lower[-2]|lower[-1], lower[1]|lower[2], lower[-1]|lower[1],
        prefix1[0], prefix2[0], prefix3[0], prefix4[0], suffix1[0], suffix2[0], suffix3[0], suffix4[0],
        lower_prefix2[0], lower_prefix3[0], lower_prefix4[0], lower_prefix5[0], lower_prefix6[0],
        lower_suffix2[0], lower_suffix3[0], lower_suffix4[0], lower_suffix5[0], lower_suffix6[0],
        lower_prefix3[0]|lower_suffix3[0],
        suffix3[-1], suffix3[1], shape[-1..1], short_shape[-2..2], short_shape[-1]|short_shape[0],
        short_shape[0]|short_shape[1], short_shape[-1]|short_shape[0]|short_shape[1], w[-1]|short_shape[0],
        lower[1]|short_shape[0], lower[-2]|short_shape[0], lower[2]|short_shape[0],
        lower[-2]|lower[-1]|short_shape[0], lower[-1]|short_shape[0]|short_shape[1],
        short_shape[-2]|lower[-1]|short_shape[0], short_shape[0]|lower[1]|short_shape[2],
        is_title[-1..1], is_upper[0], has_digit[0], has_hyphen[0],
        p[-2..2], p[-1]|p[0], p[0]|p[1], p[-1]|p[0]|p[1], p[0]|short_shape[0], bias
    """,
    "label": """
        w[-4..4], w[-2]|w[-1], w[-1]|w[0], w[0]|w[1], w[1]|w[2], w[-1]|w[1],
        lower[0], prefix2[0], prefix3[0], prefix4[0], suffix1[0], suffix2[0], suffix3[0], suffix4[0],
        shape[0], has_digit[0], p[-2..2], p[-1]|p[0], p[0]|p[1], p[-1]|p[0]|p[1], w[0]|p[0], bias
    """,
}

# What named templates are extended by: for word classes that are paths in a tree, for others, for gazetteers.
OF_PATHS = """
    NAME4[-2..2], NAME6[-2..2], NAME10[-2..2], NAME20[-2..2],
    NAME6[-1]|NAME6[0], NAME6[0]|NAME6[1], NAME10[-1]|NAME10[0], NAME10[0]|NAME10[1]
"""
OF_CLASSES = "NAME[-2..2], NAME[-1]|NAME[0], NAME[0]|NAME[1]"
OF_VECTORS = "NAME[-1..1]"
OF_GAZETTEERS = "NAME[-1..1], NAME[0]|NAME_length[0], NAME[0]|short_shape[0]"
