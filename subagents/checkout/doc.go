// Package checkout keeps what trees have of the user's checkout beside the files that git stores: its submodules at their
// recorded commits, and the contents of files that Git LFS keeps. Its input are a checkout and a commit, its output layers that
// are only read. It runs no program of the repository, connects to nothing, and reads the checkout in Take alone.
package checkout
