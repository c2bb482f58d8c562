"""What people and programs are shown: JSON documents and lines of text, made from data alone. Nothing here prints."""
