#!/bin/sh
# Makes the text that bundled.toml trains on: sh model/configs/bundled.sh CORPORA DATA [TEST_SET ...]
#
# CORPORA has train.NAME.de and .en for the corpora that bundled.toml names, mono.NAME.de or .en for sentences of one
# language, and valid.de and .en. DATA is made anew, but for what model/README.md translates back. Lines of the test sets
# are not generated. PYTHON is the interpreter.
set -eu
corpora=$1 data=$2
shift 2
run() { echo "== $*" >&2; nice "${PYTHON:-python}" -m "$@"; }
work=$(mktemp -d "${TMPDIR:-/tmp}/bundled.XXXXXX")
trap 'rm -r "$work"' EXIT

mkdir -p "$data" "$work/general" "$work/phrases" "$work/generated"
run model.clean "$corpora" --languages de en --out "$data"
cp "$corpora"/valid.?? "$data"

# the memory's phrases: all that apply to a direction, and in other forms those that apply to both
memory=service/default_bundle/memory.tsv
for code in de en; do
    run model.collect "$memory" --languages de en --into "$code" --name "phrases-$code" --out "$data"
done
run model.collect "$memory" --languages de en --name phrases --out "$work/phrases"
run model.augment.forms "$work/phrases" --languages de en --out "$work/generated"
cp "$work"/generated/train.phrases-forms.?? "$data"

# new forms, names and facts are made of the text that is not about computers, with the words of a dictionary
for name in tatoeba tatoeba-more tatoeba-pivot bcontrast cocoa-mt mt-geneval woz xgqa xquad-context xquad-questions ud-pud \
    mlqe-pe pawsx europarl-comtrans europarl-wmt0608 wmde-report un-sdg kde-edu stellarium-skycultures freeciv-nations \
    privacyguides cs-unplugged fdroid-website corona-warn-app home-assistant pretix-pretalx gnome-help mozilla-www \
    opensource-guide lexicon-wiktionary; do
    for code in de en; do
        cat "$data/train.$name.$code" >> "$work/general/train.$code"
    done
done
run model.augment.forms "$work/general" --languages de en --out "$work/generated"
for kind in forms rough-de rough-en copied-de copied-en; do  # a third is enough, and can be packed
    for code in de en; do
        sed -n '1~3p' "$work/generated/train.$kind.$code" > "$data/train.$kind.$code"
    done
done
run model.augment.names "$work/general" --languages de en --lexicon de-en --out "$data"
run model.augment.lexicon "$work/general" de-en --out "$data"
run model.augment.facts "$work/general" de-en --count 120000 ${1+--without "$@"} --out "$data"

# what a model translates back: everyday text, and encyclopedias, news and debates, with few laws
for code in de en; do
    cat "$corpora"/mono.tatoeba."$code" "$corpora"/mono.common-voice."$code" > "$data/mono.everyday.$code"
done
sed -n '1~8p' "$corpora"/mono.gesetze.de | cat "$corpora"/mono.germeval14.de "$corpora"/mono.wikipedia-lcc.de \
    "$corpora"/mono.ud-gsd.de "$corpora"/mono.europarl-ner.de - > "$data/mono.written.de"
cat "$corpora"/mono.wikisplit.en "$corpora"/mono.wikitext103.en "$corpora"/mono.paws-wiki.en "$corpora"/mono.gum.en \
    > "$data/mono.written.en"
