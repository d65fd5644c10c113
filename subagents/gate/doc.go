// Package gate detects the commands that decide over a change, runs them confined and reports their results. Its input are
// commands and a clean tree, its output receipts with a set of signatures, one for each normalised failure; compared with the
// set of the base commit they show whether the change is at fault. It never trusts a claim without a receipt and never
// changes the tree.
package gate
