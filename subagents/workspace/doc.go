// Package workspace gives each attempt a private work tree to edit and build in: a slot of a fixed pool. A slot's git
// directory lies outside its tree, borrows its objects from the mirror and is never looked for by git, so nothing that an
// agent puts into the tree can change what the host's git does. Between attempts a slot is reset, not made anew; when a
// reset fails, the slot is thrown away and rebuilt.
package workspace
