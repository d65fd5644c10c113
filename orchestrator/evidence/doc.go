// Package evidence reads facts for the rules from a run's mirror and the objects of its log: the content of a commit, what a
// patch changes, the tests that fail, and which tests ran. It decides nothing, and stores no more than lists of tests.
package evidence
