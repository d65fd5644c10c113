// Package landing decides what lands: it batches proven patches, merges them in memory into a chain of one commit for each task,
// and judges the gates of a batch down to the task that broke it. It needs no work tree and moves no ref; the conductor does.
package landing
