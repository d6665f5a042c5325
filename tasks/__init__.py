"""Tasks: what is asked. A task is data: `<domain>/<name>.yaml` beside its question and demonstration files."""
