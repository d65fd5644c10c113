// Package sessiontest builds and draws sessions for tests, and checks contents against the demands of the model's interface.
package sessiontest
