"""Scores of languages without spaces are those of sacreBLEU with the tokenizer of the language, or by characters."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from aiayn.config.schema import BleuTokenizer
from aiayn.evaluation.bleu import check_tokenizer, corpus_bleu, corpus_chrf, corpus_ter, doubt, sentence_statistics
from aiayn.evaluation.matrix import TITLES, Translations, quick_matrix, slow_scores, title
from aiayn.evaluation.score import Score
from aiayn.evaluation.tokenization import (
    EXTRAS,
    OF_LANGUAGE,
    bleu_tokenizer,
    characters_apart,
    is_by_character,
    tokenizer_of,
)

TEXTS = {
    "zh": (
        ["红色的台灯在古老的台灯旁边。", "他们昨天去了学校。"],
        ["红色的台灯在古老的桌子旁边。", "他们昨天去了学校。"],
    ),
    "ja": (["赤いランプは古い机の隣にあります。"], ["赤いランプは古い椅子の隣にあります。"]),
    "ko": (["빨간 램프가 오래된 책상 옆에 있다."], ["빨간 램프가 오래된 의자 옆에 있다."]),
    "th": (["โคมไฟสีแดงอยู่ข้างโต๊ะเก่า"], ["โคมไฟสีแดงอยู่ข้างเก้าอี้เก่า"]),
    "km": (["ចង្កៀងក្រហមនៅក្បែរតុចាស់"], ["ចង្កៀងក្រហមនៅក្បែរកៅអីចាស់"]),
}
"""Outputs and references that differ in a word, by language."""


@pytest.mark.parametrize("language", ["zh", "ja", "ko", "de", "fr", "en", "hi"])
def test_the_tokenizer_is_sacrebleus_own(language: str) -> None:
    ours, theirs = bleu_tokenizer(language), BLEU(trg_lang=language)
    check_tokenizer(ours)
    assert type(BLEU(tokenize=ours).tokenizer) is type(theirs.tokenizer)


def test_codes_of_a_language_have_one_tokenizer() -> None:
    for codes in (("zh", "zho", "zh-Hans", "zh_CN", "ZH", "yue"), ("ja", "jpn", "ja-JP"), ("th", "tha"), ("my", "mya")):
        [tokenizer] = {bleu_tokenizer(code) for code in codes}
        assert tokenizer != "13a"
    assert bleu_tokenizer("zu") == bleu_tokenizer("brackets") == "13a"
    assert bleu_tokenizer("zh", pretokenized=True, stated="zh") == "none"
    assert bleu_tokenizer("zh", stated="char") == bleu_tokenizer("de", stated="char") == "char"


def test_the_setting_has_every_tokenizer_that_languages_have() -> None:
    assert {*OF_LANGUAGE.values()} < {*BleuTokenizer} == {each.name for each in BleuTokenizer}
    for name in BleuTokenizer:
        check_tokenizer(name)
        assert tokenizer_of(corpus_bleu(["a"], ["a"], tokenize=name).signature) == name


@pytest.mark.parametrize("language", TEXTS)
def test_bleu_is_sacrebleus(language: str) -> None:
    hypotheses, references = TEXTS[language]
    tokenizer = bleu_tokenizer(language)
    theirs = BLEU(tokenize=tokenizer, force=True)
    ours = corpus_bleu(hypotheses, references, tokenize=tokenizer)
    assert ours == Score(theirs.corpus_score(hypotheses, [references]).score, str(theirs.get_signature()))
    assert ours.score > 30
    assert f"tok:{tokenizer}" in ours.signature
    assert sentence_statistics(hypotheses, references, tokenize=tokenizer).shape == (len(hypotheses), 10)


@pytest.mark.parametrize("language", ["zh", "ja", "th", "km"])
def test_scores_by_words_are_by_characters(language: str) -> None:
    hypotheses, references = TEXTS[language]
    text = Translations(hypotheses, references, language)
    found = quick_matrix(text) | slow_scores(text, ["ter", "chrf_pp"], comet_model="")
    apart = [characters_apart(side) for side in TEXTS[language]]
    assert found["ter"].score == TER().corpus_score(apart[0], [apart[1]]).score
    assert found["chrf_pp"].score == CHRF(word_order=2).corpus_score(apart[0], [apart[1]]).score
    unsmoothed = BLEU(tokenize="char", smooth_method="none", force=True)
    assert found["multi_bleu"].score == pytest.approx(unsmoothed.corpus_score(hypotheses, [references]).score)
    assert all("tok:char" in found[name].signature.split("|") for name in ("ter", "chrf_pp", "multi_bleu"))
    assert all("character" in title(name, found[name]) for name in ("ter", "chrf_pp", "multi_bleu"))
    assert "bleu_intl" not in found, "a sentence would be one word"
    assert bleu_tokenizer(language) in title("bleu_lc", found["bleu_lc"])


@pytest.mark.parametrize("language", ["de", "ko", "hi", "ar"])
def test_words_separated_by_spaces_stay_words(language: str) -> None:
    assert not is_by_character(bleu_tokenizer(language))
    text = Translations(["ein Wort mehr"], ["ein Wort"], language)
    assert slow_scores(text, ["ter"], comet_model="")["ter"] == corpus_ter(["ein Wort mehr"], ["ein Wort"])
    assert {*quick_matrix(text)} == {"bleu_lc", "bleu_intl", "bleu_intl_lc", "multi_bleu", "multi_bleu_split"}


def test_words_given_apart_stay_words_in_every_language() -> None:
    words = Translations(["红色 的 台灯"], ["红色 的 桌子"], "zh", pretokenized=True)
    found = quick_matrix(words)
    assert found["bleu_detokenized"].score > 0
    assert "tok:zh" in found["bleu_detokenized"].signature.split("|")
    assert slow_scores(words, ["ter"], comet_model="")["ter"] == corpus_ter(words.hypotheses, words.references)


def test_plain_chrf_is_of_the_text_itself() -> None:
    hypotheses, references = TEXTS["zh"]
    assert corpus_chrf(hypotheses, references, tokenize="zh") == corpus_chrf(hypotheses, references)


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_characters_apart_are_those_of_sacrebleu(lines: list[str]) -> None:
    tokenizer = BLEU(tokenize="char").tokenizer
    assert [each.split() for each in characters_apart(lines)] == [tokenizer(line).split() for line in lines]


def test_bleu_of_about_0_beside_a_high_chrf_is_doubted() -> None:
    hypotheses, references = TEXTS["zh"]
    bleu, chrf = corpus_bleu(hypotheses[:1], references[:1]), corpus_chrf(hypotheses[:1], references[:1])
    remark = doubt(bleu, chrf)
    assert remark is not None
    assert "tok:13a" in remark
    assert "\n" not in remark
    assert doubt(corpus_bleu(hypotheses, references, tokenize="zh"), chrf) is None
    assert doubt(Score(0, ""), Score(20, "")) is None, "a bad model"
    assert doubt(None, None) is None


def test_titles_of_words_separated_by_spaces_are_as_ever() -> None:
    text = Translations(["Ein Hund."], ["Ein Hund."], "de")
    scores = quick_matrix(text) | slow_scores(text, ["ter", "chrf_pp"], comet_model="")
    scores["bleu"] = corpus_bleu(text.hypotheses, text.references)
    assert {name: title(name, score) for name, score in scores.items()} == {name: TITLES[name] for name in scores}


@pytest.mark.parametrize(("tokenizer", "module"), [("ja-mecab", "MeCab"), ("ko-mecab", "mecab_ko")])
def test_a_tokenizer_that_is_not_installed_is_refused_in_one_line(tokenizer: str, module: str) -> None:
    program = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from aiayn.errors import UserError\n"
        "from aiayn.evaluation.bleu import check_tokenizer\n"
        "from aiayn.evaluation.matrix import Translations, quick_matrix\n"
        f"try: check_tokenizer({tokenizer!r})\n"
        "except UserError as error: print(error)\n"
        f"words = Translations(['a b'], ['a b'], {EXTRAS[tokenizer]!r}, pretokenized=True)\n"
        "assert {*quick_matrix(words)} == {'multi_bleu_none', 'multi_bleu_none_split'}\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert f"decoding.bleu_tokenizer={tokenizer}: " in done.stdout
    assert f'pip install -e ".[{EXTRAS[tokenizer]}]"' in done.stdout
