"""Tables, text and pages by what they show: run/, queue/, graph/, history/, advice/; the rest is shared by these."""
