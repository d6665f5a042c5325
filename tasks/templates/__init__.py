"""Questions from templates: a record fills a sentence, and the template's program, run through the environment's own
query APIs in the sandbox, gives the gold answer. So every question is known to be answerable through the APIs.

    environment: aminer
    languages: [en, zh]                  those to make questions in; absent: the first of each template
    templates:
      - id: coauthor-of-paper
        level: KU
        from: person                     a kind of environment.records(...), or of the file's `records:`
        let:                             further records: the sampled ones, then the joins in order
          other: person                  sampled on its own
          paper:                         a join: all that go with the names above, by a field
            from: publication
            match: {authors: 'person["name"]'}
          late:                          or by a condition, asked of every pair
            from: publication
            where: late["year"] > paper["year"]
        where: len(person["interests"]) > 1
        question:                        a text, a list of phrasings, or these by language
          en: ["Who wrote {{ paper.title }} with {{ person.name }}?", "Whose co-author is {{ person.name }} ...?"]
          zh: "{{ person.name }} 与谁合写了 {{ paper.title }}？"
        options: ['paper["authors"]']    choices of the question, as expressions, for `{{ options | shuffled }}`
        program: |
          found = searchPublication(publication_info=paper["title"])
          answer = [name for name in found[0]["authors"] if name != person["name"]]
        evidence: ["found[0]['title']"]  what an observation must hold, as expressions over the program and the records
        aliases: ["answer[0].upper()"]   further answers that are right
        entities: [person["name"]]       what a counterfactual may replace
        choice: false                    true: the question itself names the answer, among others

Wording is Jinja2 (sandboxed) without calls and loops: `{{ film.year }}` is a field, `{{ film.cast[0] }}` a part of it,
`{% if film.year < 1950 %}` a condition. Filters: `number`, `date` (Jul 20, 1969) and `date_long` (July 20, 1969) write
as the question's language does; `shuffled` puts options into an order that the seed and the question decide, whatever
the answer; `listed("or")` writes them as a sentence does; and some of Jinja2's own. Of several phrasings, a hash of the
seed, the template and the records chooses one; it is no question of its own.

A question is dropped, and counted by reason, where `where` refuses its records, a slot is empty, its program fails or
gives nothing, its answer stands in its text (unless the text names several things and the answer is one of them), or it
is ambiguous: other records would make the same question with another answer.
"""

from r_eval.tasks.templates.generate import Generated, generate
from r_eval.tasks.templates.programs import with_values
from r_eval.tasks.templates.records import KnownRecords
from r_eval.tasks.templates.schema import Join, Template, TemplateFile, read_templates

__all__ = ["Generated", "Join", "KnownRecords", "Template", "TemplateFile", "generate", "read_templates", "with_values"]
