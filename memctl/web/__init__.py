"""The local page: what an agent believes, to see and to correct (the extra `web`). A module for each page.

A page is an interface: every action is a method of the store, and every page names the command that does the same.
"""
