"""THE TRUTH: layout, formats and crash-safe writing of a user's files. Imports neither index nor providers."""
