"""Wikipedia: articles on people, places, things, works, events and ideas. search finds titles; an article is read by
its exact title."""

import wikipedia

from r_eval.environments import NotFound, query_api

MOST_PARAGRAPHS = 5

wikipedia.set_user_agent("r-eval-example/1.0 (put your address here)")
wikipedia.set_rate_limiting(True)


@query_api
def search(words: str, limit: int = 5) -> list[str]:
    """Find titles of articles.

    Args:
        words: Words that the article should have.
        limit: The most titles, from 1 to 20.
    """
    return wikipedia.search(words, results=max(1, min(limit, 20)))


@query_api
def read_introduction(title: str) -> str:
    """Read the introduction of an article.

    Args:
        title: The exact title, as search finds it.
    """
    return _page(title).summary


@query_api
def find_in_article(title: str, keyword: str) -> list[str]:
    """Find up to 5 paragraphs of an article that contain a keyword.

    Args:
        title: The exact title, as search finds it.
        keyword: A word or phrase.
    """
    paragraphs = [text for text in _page(title).content.split("\n") if keyword.lower() in text.lower()]
    if not paragraphs:
        raise NotFound(f"No paragraph of {title} contains {keyword}.")
    return paragraphs[:MOST_PARAGRAPHS]


def _page(title: str) -> wikipedia.WikipediaPage:
    """An article; the client's errors become messages that a model can act on."""
    try:
        return wikipedia.page(title, auto_suggest=False)
    except wikipedia.PageError:
        raise NotFound(f"There is no article {title}. Find its title with search.") from None
    except wikipedia.DisambiguationError as error:
        raise NotFound(f"{title} may refer to: {', '.join(error.options[:10])}. Read one of these.") from None
