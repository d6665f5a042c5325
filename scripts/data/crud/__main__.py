from scripts.data.crud import LANGUAGES, make

for language in LANGUAGES:
    for path, text in make(language).items():
        path.write_text(text, encoding="utf-8")
