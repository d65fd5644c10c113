// Package landing decides what lands. Its input is the state of the run, with the accepted patches and the gates of batches;
// its output are actions: merge these patches as one chain, test it, move the branch, test a failed batch in parts, or send a
// task back. It merges in memory, one commit for each task. It needs no work tree and never moves a ref: the conductor does.
package landing
