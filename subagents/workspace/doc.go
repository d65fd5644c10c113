// Package workspace gives each attempt a private work tree to edit and build in: a slot of a fixed pool. Its input is a
// commit of the mirror, its output a clean tree, and after the attempt one commit with its changes. A slot's git directory
// lies outside its tree and git never searches for it, so that nothing that an agent puts into the tree changes what the
// host's git does. Between attempts a slot is reset; when a reset fails, it is thrown away and rebuilt. It never runs a
// command of an agent. Builds are the layers that green tries have left over the build cache of the gates.
package workspace
