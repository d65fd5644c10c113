// Package artifact keeps named, versioned blobs outside the prompt: a handle stands for one in text, and a store gives it
// back. Artifacts are immutable; new content under a known name is a new version.
package artifact
