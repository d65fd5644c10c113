// Package checkout keeps the parts of the user's checkout that git does not store as files: its submodules at their recorded
// commits, and the contents of files that Git LFS keeps. Its input are a checkout and a commit, its output layers that are only
// read. It runs no program of the repository, connects to nothing, and reads the checkout in Take alone.
package checkout
