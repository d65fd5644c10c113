// Package outlier finds the edits of a shard that no other shard of its template makes: a changed literal, swapped arguments, a
// call that is gone. Its input is the files that each shard changes, before and after; it knows no grammar, reads no repository
// and decides nothing. All text is data.
package outlier
