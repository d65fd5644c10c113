// Package proof reports what the gates of a run can prove: what cannot be compared with the base commit, why a patch lands
// unverified, and which tests of the base commit did not run. Its input is the state of the run; it decides nothing.
package proof

// maxNamed bounds what a message lists.
const maxNamed = 4
