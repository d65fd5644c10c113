// Package landing decides what lands. Its input is the state of the run, with the accepted patches and the gates of batches;
// its output are actions: merge these patches as one chain, test it, move the branch, test a failed batch in parts, or send a
// task back. It needs no work tree and never moves a ref: the conductor does.
//
// It reads like its drawing. Each stage is a file, which calls the stages behind it alone; a rule begins in one of them.
//
//	queue.go     Land takes the next patches              how many, and how long they wait for others: window.go
//	   ▼         ParkSets gives up what cannot be complete
//	batch.go     they are merged, one commit for each task                      how, in memory: chain.go
//	   ▼         ProveRed merges the tests of a set alone, which must fail first
//	gaterun.go   the gates run on the chain; Settle meets their result   with which one it may land: receipt.go
//	   ▼         RetestWithout runs those that are red without the patch
//	verdict.go   green, red, or again; red: who was it       what earlier runs tell: suspect.go; failures: blame, rank
//	   ▼
//	move.go      the branch moves, unless what the gates did not see is a question first
//
// A rule gathers its facts once (facts.go) and hands them on. What a stage proposes is the next event of a batch (event.go).
package landing
