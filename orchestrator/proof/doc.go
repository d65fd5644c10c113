// Package proof reports the limits of a run's gates: gates that cannot be compared with the base commit, reasons for unverified
// patches, and tests of the base commit that did not run. Its input is the state of the run; it decides nothing.
package proof

// maxNamed bounds what a message lists.
const maxNamed = 4
