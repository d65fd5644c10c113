// Package git runs git, and is the only package that does. It runs the command line with an empty environment, with fixed flags
// and always with an explicit repository directory, so that no hook, filter, driver, alias or setting of a repository that
// another user wrote is ever run. A user's own repository is only read, through a throw-away view of it; Publish alone adds to
// it: objects, and exactly one ref.
//
// The objects that Divisi works on live in a mirror: a bare repository without history, made from one commit of the
// user's repository. Everything that merges, checks and lands happens there, without a work tree.
package git
