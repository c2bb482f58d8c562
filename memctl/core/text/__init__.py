"""Natural language: detecting the language, splitting sentences, shortening texts."""
