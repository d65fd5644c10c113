// Package gate finds out which commands decide over a change, runs them confined and says what they found. A gate yields a
// set of signatures, one for each normalised failure; comparing it with the set of the base commit tells whether a red gate
// is the change's fault. A claim without such a receipt counts for nothing.
package gate
