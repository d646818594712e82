"""Every sentence of the page on security has a test beside it, or promises nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "security.md"
ADVICE = ""  # for the reader, or about what others do

# The beginning of each sentence, in the order of the page, and the test that fails if it is false.
SENTENCES: list[tuple[str, str]] = [
    ("This page says", ADVICE),
    ("To report", ADVICE),
    ("Loading executes nothing", "test_pickles_in_a_model_file_are_refused_and_not_executed"),
    ("It reads JSON and arrays", "test_numpy_reads_the_file_without_pickle"),
    ("The file is a zip", "test_compressed_members_are_refused_unread"),
    ("Members that are compressed", "test_members_that_overlap_are_refused"),
    ("Every number that becomes", "test_no_number_in_a_model_file_crashes_or_hangs"),
    ("A file that does not pass", "test_each_kind_of_unusable_file_has_its_sentence"),
    (
        "Loading a model and predicting",
        "test_many_labels_in_a_small_file_are_refused_before_their_tables_are_allocated",
    ),
    (
        "Tables for each pair",
        "test_shared_rows_of_two_rounds_in_a_small_file_are_refused_before_they_are_copied",
    ),
    ("In the rare case", "test_a_model_that_needs_more_than_its_file_may_ask_for_is_saved_with_padding"),
    ("Resuming training", ADVICE),
    ("The file is read once", "test_a_loaded_model_is_out_of_reach_of_changes_to_its_file"),
    ("The checksum detects", "test_every_flipped_byte_is_refused"),
    ("Whoever can change", ADVICE),
    ("Prediction does not change", "test_eight_threads_give_the_serial_result"),
    ("Threads may share one", "test_other_threads_are_refused_during_partial_fit_and_served_during_fit"),
    ("The time of a tagger", "test_the_time_of_a_call_grows_with_its_input"),
    ("Limit the length", ADVICE),
    (
        "The parser searches",
        "test_the_work_of_a_chart_is_bounded_by_leaving_out_words_that_stand_for_nothing",
    ),
    (
        "A parser with hundreds",
        "test_the_work_of_a_chart_is_bounded_by_leaving_out_words_that_stand_for_nothing",
    ),
    ("You can request at most", "test_absurd_numbers_are_refused_by_every_command"),
    ("Predicted labels", ADVICE),
    ("Escape them", "test_html_escapes_words_symbols_and_meanings"),
    ("`structsvm serve`, `structsvm teach`", ADVICE),
    ("It listens on", "test_ctrl_c_ends_the_service"),
    ("Every request needs the token", "test_requests_without_the_token_are_refused"),
    ("The token is compared", "test_the_token_is_not_logged_with_an_error"),
    ("No command line", "test_the_token_is_in_no_command_line_and_in_no_file_that_others_can_read"),
    ("Programs of other users", "test_tokens_are_random"),
    ("Without the token", "test_probes_need_neither_token_nor_host_and_learn_only_that_the_service_is_up"),
    ("The Host header must", "test_other_hosts_are_refused"),
    ("If you set `--host`", "test_any_address_is_accepted_only_by_a_service_that_listens_on_one"),
    ("A request with an Origin", "test_other_origins_are_refused"),
    ("Bodies are limited", "test_bytes_outside_a_body_end_the_connection_when_there_are_too_many"),
    ("A pipelined request", "test_requests_of_a_pipeline_are_answered_in_order"),
    ("The connection closes", "test_a_refusal_that_leaves_the_body_unread_closes_the_connection"),
    ("A request with both", "test_what_is_not_http_gets_one_sentence_and_is_closed"),
    ("The headers of a request", "test_a_connection_ends_if_its_first_or_next_request_does_not_arrive"),
    ("At most 512", "test_a_process_with_few_files_still_answers_when_many_connect"),
    ("At the limit", "test_idle_connections_give_way_to_new_ones"),
    ("Clients without", "test_idle_connections_give_way_to_new_ones"),
    ("A body may contain", "test_a_body_with_too_many_values_is_refused_before_it_is_parsed"),
    ("A request to `serve`", "test_no_request_keeps_the_event_loop_busy"),
    ("A sentence may have", "test_requests_that_are_too_large_are_refused"),
    ("A model that learns", "test_requests_that_are_too_large_are_refused"),
    ("A label configuration", "test_no_request_keeps_the_event_loop_busy"),
    ("A text for `parse serve`", "test_bad_requests_get_one_sentence"),
    ("Long requests are processed", "test_no_request_keeps_the_event_loop_busy"),
    ("Time and memory grow", "test_time_and_memory_of_a_request_grow_with_its_size"),
    ("At most once per minute", "test_what_is_refused_is_logged_once_a_minute"),
    ("Nothing in a request", "test_xml_with_entities_is_refused_and_opens_no_file"),
    ("The XML parser stops", "test_xml_with_entities_is_refused_and_opens_no_file"),
    ("It reads every document", "test_bad_documents_are_refused"),
    ("JSON is checked", "test_no_body_makes_the_service_fail"),
    ("Responses carry", "test_the_token_opens_the_service_in_the_path_and_in_the_header"),
    ("Texts are never inserted", "test_markup_in_a_corpus_is_only_text"),
    ("If there is a journal", ADVICE),
    ("The journal contains", ADVICE),
    ("It is created", "test_only_its_owner_can_read_it"),
    ("While the service runs", "test_a_second_process_cannot_open_the_path_of_a_journal_that_was_moved"),
    ("If someone moves", "test_a_journal_that_was_moved_or_deleted_is_reported_and_nothing_is_learned"),
    ("The connection is not", ADVICE),
    ("If other people use", ADVICE),
    ("Dask exchanges pickles", ADVICE),
    ("Keep the cluster", ADVICE),
    ("Readers accept any bytes", "test_fuzzers_run"),
    ("Wrong data raise", "test_an_endless_line_is_refused_before_it_fills_the_memory"),
    ("A gzip file may", ADVICE),
    ("The parser learns only", "test_endless_nesting_is_refused"),
    ("Training data decide", ADVICE),
    ("Do not train", ADVICE),
    ("Files are written atomically", "test_interrupted_save_leaves_the_old_file_and_nothing_else"),
    ("After a crash", "test_a_killed_command_leaves_the_old_file_or_the_new_one"),
    ("A process that is killed", "test_writers_killed_while_they_write_leave_the_old_file_or_the_new_one"),
    ("On systems without", "test_writing_works_where_files_need_a_name"),
    ("A service that is killed", "test_a_lock_that_a_killed_process_left_behind_does_not_block"),
    ("A command refuses", "test_an_output_that_is_an_input_is_refused_also_through_links"),
]


def sentences() -> list[str]:
    """The sentences of the page, without headings and tables."""
    text = re.sub(r"^[|#].*$", "\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = []
    for part in re.split(r"\n\s*\n|\n(?=\* )", text):
        plain = " ".join(part.split()).removeprefix("* ")
        found += [one for one in re.split(r"(?<=\.) (?=[A-Z`])", plain) if one]
    return found


def test_each_sentence_is_listed_here() -> None:
    """A new sentence needs a test; put both into the list."""
    shown = sentences()
    for sentence, (beginning, _) in zip(shown, SENTENCES, strict=False):
        assert sentence.startswith(beginning), f"{sentence!r} is not the sentence {beginning!r}"
    assert len(shown) == len(SENTENCES), "sentences were added or removed at the end"


@pytest.mark.parametrize("test", sorted({test for _, test in SENTENCES if test}))
def test_the_test_of_a_sentence_exists(test: str) -> None:
    files = ROOT.glob("tests/**/test_*.py")
    assert any(f"def {test}(" in path.read_text(encoding="utf-8") for path in files)
