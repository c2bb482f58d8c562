"""Output for people and programs: JSON documents and lines of text, as pure functions. Nothing here prints."""
