"""Tables, text and HTML pages by what they show: run/, queue/, graph/, history/; the rest is shared by these."""
