"""Failures: processes that die, calls and disks that fail, damaged and hand-edited files, several writers at once.

How to write such a test:

1. Begin from a store that has something of everything. `changes.prepared(root)` makes a small one; make it once for a
   module and copy it (`copies.copy`, where the copy's index is to be believed) to the folder of the fixture `fast`.
2. Name what is interrupted: a function of the store in `changes.OPERATIONS` (or, with sessions and whole folders, in
   `durability.operations`), or a command line.
3. Let it fail in another process:

   - `nursery.Nursery` has memctl imported and forks a child for each case. It kills the child before its n-th call to a
     file or to the index (`kill_at`), or after some time (`delay`), and waits for all that the child has started. Its
     children are changes (`failing.changes`), command lines (`failing.commands`), and changes behind a library that makes
     system calls fail (`durability.shimmed`). Use it as `with Nursery(...) as nursery`.
   - `nursery.in_a_fork` and `nursery.die` do it once, for a few lines of Python.
   - `players.Player` are processes that work at one store at the same time, or hold its lock (`players.held`).

4. Say what may be there afterwards: `changes.reference` gives the whole states of an operation. `comparing.truth` is what
   must be whole of a store, as bytes; `comparing.differences` shows what is not. `changes.repaired` opens what a crash left
   and checks all of it.
5. End with `conftest.same_as_rebuilt`, `conftest.left_over` and `doctor.examining.examine`: the index is what a rebuild
   gives, no temporary file stays, and doctor finds nothing.
6. Try a share of the cases in `make test` (`conftest.spread`, `conftest.sampled`), all of them with TORTURE, and note how
   many there were (`conftest.count_cases`); docs/guarantees.md names the test.

Wait for an event, never for a time: a line that a child says, a process that ends. `conftest.PATIENCE` is the limit after
which a wait counts as hanging. Nothing may go on behind a test: whoever starts a process waits for its end before a folder
is removed.
"""
