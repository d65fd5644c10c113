// Package trust lists what the files of a repository request beyond confined commands without network, and keeps a person's
// decision about that list. Requests is a pure function; Store keeps decisions outside the repository.
package trust
