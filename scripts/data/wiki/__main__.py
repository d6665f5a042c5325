from scripts.data.wiki import build

build()
