// Package prefix makes siblings share the part of their requests that is the same. A service caches the beginning of a
// request once it has begun to answer it; siblings that ask at the same moment all pay for it in full. So the first goes
// ahead and the others wait for its first byte. Where many siblings share a prefix and the model has caches by name, one is
// made for all of them, kept while it is used, and deleted.
package prefix
